#!/bin/bash
# Installs what is missing, builds, and runs the main job: a short tour that creates tensors and prints them.
# Arguments go to the program.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tools/common.sh"
tools/setup.sh
aorta_bazel build -c opt //examples:tour
program=$(aorta_bazel info -c opt bazel-bin 2>/dev/null)/examples/tour
"$program" "$@"

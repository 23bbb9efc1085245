#!/bin/bash
# Brings docs/kernels.md up to date: compiles all kernels with -c opt, which takes 20 minutes of a CPU, and writes what
# the compiler says of each.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
AORTA_WRITE_TABLES=$PWD aorta_bazel run -c opt --config=cuda --cuda_archs=90-real //tests/checks:kernels_test

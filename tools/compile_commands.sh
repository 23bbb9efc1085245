#!/bin/bash
# Writes compile_commands.json in the project's root, for editors: what Bazel would run, without building anything.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
tools/setup.sh
mkdir -p build/include
ln -sfn ../.. build/include/aorta
actions=$(mktemp)
trap 'rm -f "$actions"' EXIT
bazel aquery --unity=false --output=jsonproto --ui_event_filters=-info --noshow_progress \
  'mnemonic("CppCompile|CudaCompile", deps(//...))' >"$actions"
python3 tools/compile_commands.py "$PWD" "$(bazel info output_base 2>/dev/null)" <"$actions" >compile_commands.json.part
mv compile_commands.json.part compile_commands.json

#!/bin/bash
# What each source of a target costs to compile, in CPU seconds (docs/building.md): compile_cost.sh [BAZEL FLAGS] TARGET
#   tools/compile_cost.sh -c opt --isa=machine --cuda=false //apps/echo:aorta-echo
#   AORTA_MNEMONIC=CudaCompile tools/compile_cost.sh //cuda:libaorta_cuda.so      # what nvcc takes, and no other compiler
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
flags=("${@:1:$#-1}") target=${!#}
aorta_bazel build "${flags[@]}" "$target" >/dev/null # what is joined or generated must be there
actions=$(mktemp)
trap 'rm -f "$actions"' EXIT
bazel aquery --output=jsonproto --ui_event_filters=-info --noshow_progress "${flags[@]}" \
  "mnemonic('^(${AORTA_MNEMONIC:-CppCompile|CudaCompile})\$', deps($target))" >"$actions"
python3 tools/compile_cost.py "$(bazel info "${flags[@]}" execution_root 2>/dev/null)" <"$actions"

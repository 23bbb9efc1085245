#!/bin/bash
# Runs the GPU tests (or, with `bench` as first word, the benchmarks) of this folder:
#   ./run.sh                              every test
#   ./run.sh --gtest_filter='CudaOps.*'   some
#   ./run.sh bench                        the table `cuda`, beside PyTorch where AORTA_PEER_PYTHON names its interpreter
# The tests end with one line, `N passed, N failed, N skipped`; the exit status is not 0 when one failed, when none
# ran, and when there is a GPU that can't be used.
# It needs an NVIDIA driver and CUDA 13's libraries; where they are not found by themselves, set CUDA_HOME.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Folders that may hold libcublasLt.so.13: a toolkit's, or those of Python's packages.
candidates=()
[[ -n ${CUDA_HOME:-} ]] && candidates+=("$CUDA_HOME/lib64" "$CUDA_HOME/lib")
candidates+=(/usr/local/cuda/lib64 /usr/local/cuda-13*/lib64 /usr/lib/x86_64-linux-gnu)
for python in python3 ${AORTA_PEER_PYTHON:+"$AORTA_PEER_PYTHON"}; do
  command -v "$python" >/dev/null || continue
  while read -r root; do
    candidates+=("$root"/nvidia/*/lib)
  done < <("$python" -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)
done
libraries=$here/lib
for name in libcublasLt.so.13 libcudnn.so.9; do
  for folder in "${candidates[@]}"; do
    [[ -e $folder/$name ]] && { libraries+=:$folder; break; }
  done
done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export AORTA_CUDA_PLUGIN=$here/bin/libaorta_cuda.so
export AORTA_FIXTURES=$here/fixtures

gpu=
if command -v nvidia-smi >/dev/null; then
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null) || gpu=
fi
echo "GPU: ${gpu:-none seen by nvidia-smi}"
if [[ ${1:-} == bench ]]; then
  shift
  (($#)) || set -- cuda
  exec "$here/bin/bench" "$@"
fi
for argument; do
  [[ $argument == --gtest_list_tests || $argument == --help ]] && exec "$here/bin/cuda_test" "$@"
done

# What a test printed comes when it has ended; of skipped ones the reasons, once, with how many gave each.
status=0
"$here/bin/cuda_test" --gtest_color=no "$@" 2>&1 | awk -v gpu="$gpu" '
  function flush_test() { if (held != "") printf "%s", held; held = ""; running = ""; fflush() }
  /^\[ RUN      \]/ { running = $0; held = $0 "\n"; reason = ""; next }
  running != "" && /^\[       OK \]/ { ++passed; held = held $0 "\n"; flush_test(); next }
  running != "" && /^\[  FAILED  \]/ { ++failed; held = held $0 "\n"; flush_test(); next }
  running != "" && /^\[  SKIPPED \]/ { ++skipped; ++why[reason]; held = ""; running = ""; next }
  running != "" { held = held $0 "\n"; if ($0 != "" && $0 !~ /: Skipped$/) reason = $0; next }
  /^\[  SKIPPED \]/ || /^\[-----/ || /^$/ || /^Running main/ { next }
  { print }
  END {
    if (running != "") { ++failed; print "The program ended in this test:"; flush_test() }
    for (text in why) print "skipped: " why[text] " tests, because: " text
    if (gpu != "" && skipped > 0 && passed == 0) print "There is a GPU, and no test could use it."
    print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
    exit failed > 0 || passed + skipped == 0 || (gpu != "" && skipped > 0 && passed == 0)
  }' || status=$?
exit "$status"

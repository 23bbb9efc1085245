#!/bin/bash
# Runs the GPU tests (or, with `bench` as first word, the benchmarks) of this folder:
#   ./run.sh                              every test
#   ./run.sh --gtest_filter='CudaOps.*'   some
#   ./run.sh bench                        the table `cuda`, beside PyTorch where AORTA_PEER_PYTHON names its interpreter
# It needs an NVIDIA driver and CUDA 13's libraries; where they are not found by themselves, set CUDA_HOME.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Folders that may hold libcublasLt.so.13: a toolkit's, or those of Python's packages.
candidates=()
[[ -n ${CUDA_HOME:-} ]] && candidates+=("$CUDA_HOME/lib64" "$CUDA_HOME/lib")
candidates+=(/usr/local/cuda/lib64 /usr/local/cuda-13*/lib64 /usr/lib/x86_64-linux-gnu)
for root in $(command -v python3 >/dev/null && python3 -c 'import site, sys
print("\n".join(site.getsitepackages() + [p for p in sys.path if p.endswith("-packages")]))' 2>/dev/null | sort -u); do
  candidates+=("$root"/nvidia/*/lib)
done
cuda=()
for name in libcublasLt.so.13 libcudnn.so.9; do
  for folder in "${candidates[@]}"; do
    [[ -e $folder/$name ]] && { cuda+=("$folder"); break; }
  done
done
libraries=$here/lib
for folder in ${cuda[@]+"${cuda[@]}"}; do libraries+=:$folder; done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export AORTA_CUDA_PLUGIN=$here/bin/libaorta_cuda.so

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
if [[ ${1:-} == bench ]]; then
  shift
  (($#)) || set -- cuda
  exec "$here/bin/bench" "$@"
fi
exec "$here/bin/cuda_test" "$@"

#!/bin/bash
# Makes FOLDER/aorta-gpu/ and FOLDER/aorta-gpu.tar.xz (default: the current folder): the GPU tests and benchmarks
# with all that they need but glibc, the NVIDIA driver and CUDA 13's libraries. tools/gpu_bundle.sh [FOLDER]
#
# On the other machine: tar xf aorta-gpu.tar.xz && aorta-gpu/run.sh   (docs/gpu_bundle.md)
set -euo pipefail
folder=$(realpath "${1:-.}")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
tools/setup.sh

archs=${AORTA_BUNDLE_ARCHS:-90-real}
limit_mib=60
# What the other machine has.
theirs='^(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libcuda|libcublasLt|libcudnn|libnccl)\.so'

programs=(tests/cuda/cuda_test tests/cuda/runtime_rules_test tests/data/stager_gpu_test tests/nn/nn_gpu_test tests/nn/parallel/parallel_gpu_test
  tests/apps/echo/echo_gpu_test tools/bench/bench apps/echo/aorta-echo)
targets=(//cuda:libaorta_cuda.so)
for program in "${programs[@]}"; do targets+=("//${program%/*}:${program##*/}"); done
flags=(-c opt --config=cuda "--cuda_archs=$archs")
aorta_bazel build "${flags[@]}" "${targets[@]}"
bin=$(aorta_bazel info "${flags[@]}" bazel-bin 2>/dev/null)

bundle=$folder/aorta-gpu
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/fixtures/core" "$bundle/apps/echo"
programs_of_bundle=()
for file in "${programs[@]}" cuda/libaorta_cuda.so; do
  programs_of_bundle+=("$bundle/bin/${file##*/}")
  strip -o "${programs_of_bundle[-1]}" "$bin/$file"
done
# Where the tests find them.
ln -s ../../bin/aorta-echo "$bundle/apps/echo/aorta-echo"
cp apps/echo/weights/left_ventricle.safetensors "$bundle/apps/echo/"
mkdir -p "$bundle/bin/bench.runfiles/aorta/tools/bench"
cp tools/bench/*.py "$bundle/bin/bench.runfiles/aorta/tools/bench/"
ldd "${programs_of_bundle[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | while read -r name path; do
  [[ $name =~ $theirs ]] || cp -L "$path" "$bundle/lib/$name"
done
cp tests/fixtures/core/*.npz "$bundle/fixtures/core/"
install -m 755 tools/gpu_bundle_run.sh "$bundle/run.sh"
install -m 644 docs/gpu_bundle.md "$bundle/README.md"

# Nothing may be needed that is neither here nor there.
for file in "${programs_of_bundle[@]}" "$bundle"/lib/*; do
  readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
    if ! [[ $name =~ $theirs || -e $bundle/lib/$name || -e $bundle/bin/$name ]]; then
      echo "gpu_bundle: $(basename "$file") needs $name, which is neither in the bundle nor expected there" >&2
      exit 1
    fi
  done
done
glibc=$(objdump -T "${programs_of_bundle[@]}" "$bundle"/lib/* 2>/dev/null | grep -o 'GLIBC_2\.[0-9.]*' | sort -uV | tail -1)

tar -C "$folder" -c aorta-gpu | xz -9 -T0 >"$folder/aorta-gpu.tar.xz"
size=$(stat -c %s "$folder/aorta-gpu.tar.xz")
echo "$folder/aorta-gpu.tar.xz: $((size / 1048576)) MiB, GPU code for $archs, needs ${glibc/_/ } or newer"
((size <= limit_mib * 1048576)) || { echo "gpu_bundle: larger than $limit_mib MiB" >&2; exit 1; }

#!/bin/bash
# Runs the file parsers under libFuzzer with the address and undefined-behaviour sanitizers.
#
#   tools/fuzz.sh [RUNS] [FORMAT...]     1,000,000 runs of each format of tests/fuzz/formats.bzl unless told otherwise
#
# The parsers below are compiled with the sanitizers; what else they call comes from libaorta.so, as Bazel builds it.
# Needs clang++ and its sanitizer libraries (Debian: clang). A run may take 256 MB and an input 1 s; of onnx, whose
# networks are run too, 4 GB and 10 s. What is found
# stays in .cache/fuzz: the grown corpora, and inputs that fail as FORMAT-crash-*; copy those to
# tests/fuzz/corpus/FORMAT, which replay_test of tests/fuzz runs in the ordinary suite.
set -eu
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
runs=${1:-1000000}
shift || true
formats=${*:-$(python3 -c 'exec(open("tests/fuzz/formats.bzl").read()); print(*FORMATS)')}

work=$PWD/.cache/fuzz
mkdir -p "$work/include" "$work/objects"
ln -sfn "$PWD" "$work/include/aorta"
flags="-std=c++20 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I$work/include"

parsers="core/check.cc core/dtype.cc core/module_path.cc core/shape.cc core/io/bytes.cc core/io/crc32c.cc core/io/file.cc core/io/zip.cc
         core/io/npy_format.cc core/io/npz_format.cc core/io/safetensors_format.cc core/io/state_format.cc
         data/video/avi_format.cc data/byte_source.cc data/csv.cc data/gzip.cc data/idx_format.cc data/images/jpeg_format.cc
         data/images/image.cc data/images/image_bytes.cc data/images/jpeg.cc data/images/png.cc data/lmdb_format.cc
         data/datasets/echo.cc data/datasets/echo_check.cc data/datasets/echo_tables.cc
         apps/echo/failure.cc apps/echo/files.cc apps/echo/interrupt.cc apps/echo/run_folder.cc onnx/load.cc onnx/node.cc tests/siege/judge.cc"
aorta_bazel build //tools/package:libaorta.so //onnx:libaorta_onnx.so
library=$(aorta_bazel info bazel-bin 2>/dev/null)/tools/package/libaorta.so
ln -sfn "$library" "$work/$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')"
objects=
for source in $parsers; do
  object=$work/objects/${source//\//_}.o
  clang++ $flags -fsanitize=fuzzer-no-link -c "$source" -o "$object"
  objects="$objects $object"
done

export AORTA_ONNX_PLUGIN=${library%/tools/package/*}/onnx/libaorta_onnx.so
export ASAN_OPTIONS=quarantine_size_mb=8 UBSAN_OPTIONS=print_stacktrace=1
for format in $formats; do
  megabytes=256 seconds=1
  if [ "$format" = onnx ]; then megabytes=4096 seconds=10; fi
  clang++ $flags -fsanitize=fuzzer "tests/fuzz/${format}_fuzz.cc" $objects "$library" -Wl,-rpath,"$work" \
    -lz -ljpeg -lpng -lfmt -o "$work/$format"
  mkdir -p "$work/corpus/$format"
  echo "== $format"
  "$work/$format" "$work/corpus/$format" "tests/fuzz/corpus/$format" -runs="$runs" -max_len=4096 \
    -rss_limit_mb=$megabytes -timeout=$seconds -dict="tests/fuzz/$format.dict" -artifact_prefix="$work/$format-" \
    -print_final_stats=1 > "$work/$format.log" 2>&1 || { tail -40 "$work/$format.log"; exit 1; }
  grep -E 'DONE|stat::' "$work/$format.log" | tail -6
done

#!/bin/bash
# Writes the table of docs/mutants.md: which wrong results the fixtures tell from right ones. AORTA_ONNX_VECTORS names the
# folder of ONNX's published cases, as in docs/onnx.md; without it the line on its operators stays as it is.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export AORTA_WRITE_TABLES=$PWD
for target in //tests:catalog_test //tests:gradients_test //tests/nn:nn_test //tests/distributions:distributions_test \
  //tests/onnx:onnx_test; do
  aorta_bazel run "$target" -- '--gtest_filter=*Mutants*.ThePageCountsThem'
done

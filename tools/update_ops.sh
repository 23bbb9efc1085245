#!/bin/bash
# Brings up to date what is made of the ops: samples and references in tests/fixtures, which PyTorch gives, and the tables
# of docs/dtypes.md, docs/devices.md and docs/mutants.md, which tests write from the op table and from what each op does.
#
#   tools/update_ops.sh [FAMILY...]    the tables, and before them the fixtures of these families (core_cases/FAMILY.py)
#
# AORTA_PEER_PYTHON is a Python that has PyTorch; without it, it is python3.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

(($# == 0)) || "${AORTA_PEER_PYTHON:-python3}" tests/fixtures/make_core.py "$@"
# On the emulated device, for the tables say what runs on CUDA.
export AORTA_WRITE_TABLES=$PWD AORTA_CUDA_PLUGIN=tests/cuda/emulated/libaorta_cuda_emulated.so
aorta_bazel run //tests/cuda:cuda_emulated_test -- '--gtest_filter=DTypes.*:Devices.*'
tools/update_mutants.sh

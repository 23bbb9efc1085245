#!/bin/bash
# Writes the table of docs/mutants.md: which wrong results the fixtures tell from right ones.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export AORTA_WRITE_TABLES=$PWD
aorta_bazel run //tests:catalog_test -- '--gtest_filter=*Mutants*'

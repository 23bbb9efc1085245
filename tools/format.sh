#!/bin/bash
# Formats every .h .cc .cu .cuh of the tree in place; with --check, names the lines that would change and exits 1.
#   tools/format.sh [--check] [ROOT]
set -euo pipefail
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run -Werror)
  shift
fi
cd "${1:-$tools/..}"
command -v clang-format-14 >/dev/null || {
  echo "format: clang-format-14 must be installed: tools/setup.sh --test" >&2
  exit 1
}
list='import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import source_tree
print("\0".join(source_tree.files(".", source_tree.CODE)), end="")'
python3 -c "$list" "$tools" | xargs -0 -r -n 20 -P "$(nproc)" clang-format-14 --style=file "${mode[@]}" || {
  echo "format: run tools/format.sh" >&2
  exit 1
}

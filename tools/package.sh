#!/bin/bash
# Makes aorta-VERSION-linux-x86_64.tar.gz, optimised, in FOLDER (default: the current one): tools/package.sh [FOLDER]
set -euo pipefail
folder=$(realpath "${1:-.}")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
tools/setup.sh
aorta_bazel build -c opt --unity=false //:dist
tarball=$(echo "$(aorta_bazel info -c opt bazel-bin 2>/dev/null)"/tools/package/aorta-*.tar.gz)
mkdir -p "$folder"
install -m 644 "$tarball" "$folder/"
echo "$folder/$(basename "$tarball")"

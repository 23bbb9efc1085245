#!/bin/bash
# Makes the reference of every public name, with the pages of docs/, for a browser: tools/reference.sh [FOLDER]
#
# It writes to FOLDER, by default .cache/reference, and says which file to open. It needs Doxygen
# (`tools/setup.sh --docs` installs it). A name without a comment, a link that leads nowhere, and anything else that
# Doxygen warns of, is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.cache/reference}

if ! command -v doxygen >/dev/null; then
  echo "reference: doxygen must be installed: tools/setup.sh --docs" >&2
  exit 1
fi
python3 tools/reference/headers.py .
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$PWD" "$work/aorta"
{
  cat tools/reference/Doxyfile
  echo "PROJECT_NUMBER = $(sed -n 's/^VERSION = "\(.*\)"/\1/p' bazel/version.bzl)"
  echo "OUTPUT_DIRECTORY = $folder"
  echo "STRIP_FROM_PATH = $work"
  echo "STRIP_FROM_INC_PATH = $work"
  python3 tools/reference/headers.py --list . | sed 's/^/INPUT += aorta\//'
  echo "LAYOUT_FILE = $work/layout"
  echo "INPUT += aorta/docs/README.md aorta/README.md"
  grep -o ']([a-z_]*\.md)' docs/README.md | sed 's/](\(.*\))/INPUT += aorta\/docs\/\1/'
} >"$work/Doxyfile"
# A class or file is explained before its members are listed.
doxygen -l "$work/layout" >/dev/null
sed -i -e '/<detaileddescription/d' -e 's|<briefdescription visible="yes"/>|<detaileddescription title=""/>|' "$work/layout"
(cd "$work" && doxygen Doxyfile)
echo "reference: open $folder/index.html"

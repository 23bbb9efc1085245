#!/bin/bash
# Installs what Aorta needs of Debian 12 and is missing; does nothing, quickly, where all of it is there.
#   tools/setup.sh           what building needs
#   tools/setup.sh --test    clang too, which compiles programs of users, the formatter, Doxygen, and Slurm, whose
#                            srun starts processes
#   tools/setup.sh --fuzz    clang with libFuzzer too
#   tools/setup.sh --docs    Doxygen too, which makes the reference (tools/reference.sh)
# Without root, or away from Debian, it names what is missing and stops.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

packages=(
  bazel-bootstrap g++ pkg-config cmake make python3 python3-numpy git   # tools
  libeigen3-dev libfmt-dev nlohmann-json3-dev zlib1g-dev                # libraries of the core
  libjpeg62-turbo-dev libpng-dev libopencv-videoio-dev libdcmtk-dev     # images and videos
  libavcodec-dev libavformat-dev libavutil-dev                          # videos for browsers
  liblmdb-dev libwebp-dev                                               # LSUN
  libcli11-dev libopencv-imgproc-dev                                    # programs: command lines, drawing
  libopenmpi-dev openmpi-bin                                            # processes that train together
  libonnx-dev libprotobuf-dev                                           # networks in ONNX files
  libdlpack-dev libopencv-core-dev                                      # interchange headers
  libgtest-dev libgmock-dev libbenchmark-dev                            # tests
  libdnnl-dev                                                           # the benchmark's peer
)
[[ ${1:-} == --test ]] && packages+=(clang clang-format-14 doxygen slurm-wlm munge)
[[ ${1:-} == --fuzz ]] && packages+=(clang libclang-rt-14-dev)
[[ ${1:-} == --docs ]] && packages+=(doxygen)

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; these packages (or their like) must be there: ${packages[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

if [[ $(id -u) != 0 ]]; then
  echo "setup: missing packages; as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install=(apt-get install -y --no-install-recommends -o APT::Status-Fd=3 "${missing[@]}")
if ! apt-get update </dev/null >"$log" 2>&1 ||
  ! "${install[@]}" 3>&1 </dev/null >>"$log" 2>&1 | show_progress "setup" "$log"; then
  tail -n 30 "$log" >&2
  echo "setup: apt-get could not install ${missing[*]}" >&2
  exit 1
fi

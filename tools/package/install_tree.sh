#!/bin/bash
# install_tree.sh TARBALL NAME VERSION FILES...: lays FILES out as an installed Aorta and packs them, the same
# bytes each time. Headers keep their path below include/aorta; *.in are filled with the version.
set -euo pipefail
tarball=$1 name=$2 version=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
major=${version%%.*}

fill() {
  mkdir -p "$(dirname "$2")"
  sed -e "s/@VERSION@/$version/g" -e "s/@MAJOR@/$major/g" "$1" >"$2"
}
copy() {
  mkdir -p "$(dirname "$2")"
  cp -L "$1" "$2"
  chmod u+w "$2"
}

for file; do
  case $file in
    */AortaConfig*.cmake.in) fill "$file" "$root/lib/cmake/Aorta/$(basename "$file" .in)" ;;
    */aorta.pc.in) fill "$file" "$root/lib/pkgconfig/aorta.pc" ;;
    */BUILD.in) fill "$file" "$root/BUILD" ;;
    */CMakeLists.txt.in) fill "$file" "$root/share/aorta/examples/CMakeLists.txt" ;;
    */libaorta.so) copy "$file" "$root/lib/libaorta.so.$version" ;;
    */libaorta_cuda.so) copy "$file" "$root/lib/libaorta_cuda.so" ;;
    */libaorta_mpi.so) copy "$file" "$root/lib/libaorta_mpi.so" ;;
    */libaorta_opencv.so) copy "$file" "$root/lib/libaorta_opencv.so" ;;
    */libaorta_dicom.so) copy "$file" "$root/lib/libaorta_dicom.so" ;;
    */libaorta_lsun.so) copy "$file" "$root/lib/libaorta_lsun.so" ;;
    */libaorta_onnx.so) copy "$file" "$root/lib/libaorta_onnx.so" ;;
    */aorta-echo) copy "$file" "$root/bin/aorta-echo" ;;
    */left_ventricle.safetensors) copy "$file" "$root/share/aorta/left_ventricle.safetensors" ;;
    README.md) copy "$file" "$root/share/doc/aorta/README.md" ;;
    examples/*) copy "$file" "$root/share/aorta/$file" ;;
    bazel/*) copy "$file" "$root/$file" ;;
    *.h) copy "$file" "$root/include/aorta/$file" ;;
    *) echo "install_tree: no place for $file" >&2; exit 1 ;;
  esac
done
ln -s "libaorta.so.$version" "$root/lib/libaorta.so.$major"
ln -s "libaorta.so.$major" "$root/lib/libaorta.so"
echo 'workspace(name = "aorta")' >"$root/WORKSPACE"
touch "$root/bazel/BUILD"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$work" -cf - "$name" | gzip -n >"$tarball"

#!/bin/bash
# Installs what is missing, builds aorta-echo, and runs it with the arguments: ./run.sh train --data_dir FOLDER ...
# Without arguments it does the whole job in output/demo: makes a synthetic data set, trains a small network on it,
# evaluates it, and outlines the ventricle in a video that the network never saw.
set -euo pipefail
here=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/tools/common.sh"
source tools/progress.sh
tools/setup.sh

# For this machine alone: kernels of its instruction set, and CUDA where there is a driver to load it. What calls kernels
# compiles in three quarters of the time with -O1, and a training takes as long.
flags=(-c opt --copt=-O1 --isa=machine)
has_nvidia_driver || flags+=(--cuda=false)
log=$(mktemp)
if ! aorta_bazel build "${flags[@]}" --show_progress_rate_limit=1 //apps/echo:aorta-echo 2>&1 |
  show_progress "building aorta-echo" "$log"; then
  cat "$log" >&2
  rm -f "$log"
  exit 1
fi
rm -f "$log"
program=$(aorta_bazel info "${flags[@]}" bazel-bin 2>/dev/null)/apps/echo/aorta-echo
cd "$here"
if (($#)); then exec "$program" "$@"; fi

echo_and_run() {
  echo
  echo "+ aorta-echo $*"
  "$program" "$@"
}
demo=output/demo
echo_and_run synth --output $demo/data --overwrite --train 320 --test 64 --frames 60
echo_and_run train --data_dir $demo/data --output $demo/run --overwrite --model_name unet_3d --optimizer adam \
  --lr 4e-3 --schedule onecycle --num_epochs 16 --batch_size 4 --num_workers 1 --run_test
echo_and_run evaluate --weights $demo/run --data_dir $demo/data --split test --num_workers 1
video=$(awk -F, '$NF ~ /TEST/ { print $1; exit }' $demo/data/FileList.csv)
echo_and_run segment --weights $demo/run --output $demo/segmented --overwrite "$demo/data/Videos/${video%.avi}.avi"
echo
echo "report  $demo/run/report.html"
echo "curves  $demo/run/curves.svg, $demo/run/dice.svg"
echo "video   $demo/segmented/${video%.avi}_segmented.mp4"

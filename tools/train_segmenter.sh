#!/bin/bash
# Trains the segmenter that comes with aorta-echo on synthetic hearts, in output/segmenter, and puts its weights in their
# place: the same bits again on the same machine. What it is and does: docs/shipped_segmenter.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=output/segmenter weights=apps/echo/weights/left_ventricle.safetensors
./run.sh synth --output $work/data --overwrite --train 1024 --frames 14 --fps 10
./run.sh train --data_dir $work/data --output $work/run --overwrite --model_name unet_small --optimizer adam \
  --lr 4e-3 --schedule onecycle --num_epochs 12 --batch_size 4 --num_workers 1 --run_test --seed 1
./run.sh export --weights $work/run --output $weights --dtype f16 --overwrite

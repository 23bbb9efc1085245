"""PyTorch's side of `aorta-echo segment` for echo.py: reads videos with OpenCV, outlines the ventricle in each frame and
writes overlay videos; prints frames and seconds, without the start of the program.

    peer_segment.py --model_name unet_small --weights FILE --output FOLDER VIDEO...

Weights that aren't there are drawn at random and written.
"""

import argparse
import json
import os
import time

import cv2
import numpy as np
import torch
from peer_echo import logits_of, network
from safetensors.torch import load_file, save_file


def frames_of(path):
    capture, frames = cv2.VideoCapture(path), []
    while True:
        more, frame = capture.read()
        if not more:
            return np.stack(frames), capture.get(cv2.CAP_PROP_FPS)
        frames.append(frame)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("videos", nargs="+")
    for name in "model_name", "weights", "output":
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--batch_size", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    net = network(args.model_name)
    if not os.path.exists(args.weights):
        save_file({k: v.contiguous() for k, v in net.state_dict().items()}, args.weights)
    net.load_state_dict(load_file(args.weights))
    net.to(memory_format=torch.channels_last).eval()
    mean, std = 32.5, 49.1
    count, start = 0, time.perf_counter()
    for path in args.videos:
        frames, rate = frames_of(path)
        height, width = frames.shape[1:3]
        writer = cv2.VideoWriter(os.path.join(args.output, os.path.basename(path)), cv2.VideoWriter_fourcc(*"MJPG"),
                                 rate, (width, height))
        areas = []
        for first in range(0, len(frames), args.batch_size):
            batch = frames[first:first + args.batch_size]
            x = torch.from_numpy(np.ascontiguousarray(batch[..., ::-1])).permute(0, 3, 1, 2)
            with torch.inference_mode():
                masks = (logits_of(net((x.float() - mean) / std)) > 0).numpy()
            areas += masks.sum((1, 2)).tolist()
            for frame, mask in zip(batch, masks):
                frame[mask] = frame[mask] // 2 + np.array([0, 0, 127], np.uint8)
                writer.write(frame)
        writer.release()
        count += len(frames)
    print(json.dumps({"frames": count, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()

"""What EchoNet's `Echo` gives for a folder: echo_peer.py FOLDER OUT.npz; exits with 77 without OpenCV or scikit-image.

The steps of echonet/datasets/echo.py in numpy: whole video to float32, zeros after the end, the clip that starts at
START, the frames first and last in VolumeTracings.csv, masks by skimage.draw.polygon. For each video NAME:
    NAME/clip    (3, length, H, W) f32
    NAME/frames  (2, 3, H, W) u8, of the small trace and of the large
    NAME/masks   (2, H, W) u8
    NAME/index   (2) i64
    NAME/values  EF, EDV, ESV
"""

import collections
import csv
import os
import sys

try:
    import cv2
    import numpy as np
    import skimage.draw
except ImportError as error:
    print(error)
    sys.exit(77)

LENGTH, PERIOD, START = 16, 2, 13


def load_video(path):
    capture = cv2.VideoCapture(path, cv2.CAP_OPENCV_MJPEG)
    frames = []
    while True:
        ok, frame = capture.read()
        if not ok:
            return np.stack(frames).transpose(3, 0, 1, 2)
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))


def mask_of(trace, shape):
    x1, y1, x2, y2 = np.array(trace).T
    x = np.concatenate((x1[1:], np.flip(x2[1:])))
    y = np.concatenate((y1[1:], np.flip(y2[1:])))
    r, c = skimage.draw.polygon(np.rint(y).astype(int), np.rint(x).astype(int), shape)
    mask = np.zeros(shape, np.uint8)
    mask[r, c] = 1
    return mask


def main(folder, out):
    traces = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(os.path.join(folder, "VolumeTracings.csv")) as file:
        for row in csv.DictReader(file):
            name = row["FileName"] if "." in row["FileName"] else row["FileName"] + ".avi"
            traces[name][int(row["Frame"])].append([float(row[key]) for key in ("X1", "Y1", "X2", "Y2")])
    arrays = {}
    for row in csv.DictReader(open(os.path.join(folder, "FileList.csv"))):
        name = row["FileName"] if "." in row["FileName"] else row["FileName"] + ".avi"
        video = load_video(os.path.join(folder, "Videos", name))
        shape = video.shape[2:]
        frames = sorted(traces[name], key=lambda frame: mask_of(traces[name][frame], shape).sum())
        frames = [frames[0], frames[-1]]
        whole = (video.astype(np.float32) - np.float32(32.5)) / np.float32(49.25)
        missing = LENGTH * PERIOD - whole.shape[1]
        if missing > 0:
            whole = np.concatenate((whole, np.zeros((3, missing) + shape, np.float32)), 1)
        start = START % (whole.shape[1] - (LENGTH - 1) * PERIOD)
        arrays[name + "/clip"] = whole[:, start + PERIOD * np.arange(LENGTH)]
        arrays[name + "/frames"] = video[:, frames].transpose(1, 0, 2, 3)
        arrays[name + "/masks"] = np.stack([mask_of(traces[name][frame], shape) for frame in frames])
        arrays[name + "/index"] = np.array(frames, np.int64)
        arrays[name + "/values"] = np.array([float(row[key]) for key in ("EF", "EDV", "ESV")])
    np.savez(out, **arrays)
    print("%d videos" % (len(arrays) // 5))


if __name__ == "__main__":
    main(*sys.argv[1:])

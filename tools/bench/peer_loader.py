"""PyTorch's DataLoader beside Aorta's: one measurement a call, its figures on one line.

    peer_loader.py videos  FOLDER SAMPLES WORKERS BATCH          samples a second, seconds to the first batch
    peer_loader.py library FOLDER SAMPLES WORKERS BATCH LIB      the same with Aorta's decoder behind ctypes
    peer_loader.py wait    FOLDER SAMPLES WORKERS BATCH LIB      the share of waiting beside 5 ms a batch
    peer_loader.py memory  FOLDER EPOCHS WORKERS NAMES           MiB more after the last epoch than after the second

`videos` reads as EchoNet-Dynamic does: a sample decodes its whole video with OpenCV, converts it to f32 and
takes two frames.
"""

import csv
import ctypes
import os
import sys
import time

import numpy as np
import torch
from memory import pss


class Videos(torch.utils.data.Dataset):
    def __init__(self, root, count):
        self.root, self.count = root, count
        with open(os.path.join(root, "FileList.csv")) as table:
            self.names = [row["FileName"].removesuffix(".avi") for row in csv.DictReader(table)]
        self.frames = {}
        with open(os.path.join(root, "VolumeTracings.csv")) as table:
            for row in csv.DictReader(table):
                self.frames.setdefault(row["FileName"].removesuffix(".avi"), {})[int(row["Frame"])] = 1

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        import cv2
        name = self.names[index % len(self.names)]
        capture, frames = cv2.VideoCapture(os.path.join(self.root, "Videos", name + ".avi")), []
        while True:
            more, frame = capture.read()
            if not more:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        video = np.stack(frames).transpose(3, 0, 1, 2).astype(np.float32)
        video = (video - 32) / 49
        first, second = list(self.frames[name])[:2]
        return video[:, first], video[:, second]


class Library(torch.utils.data.Dataset):
    """Two frames and two masks a sample, written by a C function into arrays."""

    def __init__(self, root, count, path):
        self.reader = ctypes.CDLL(path)
        self.reader.echo_open.restype = ctypes.c_void_p
        self.reader.echo_open.argtypes = [ctypes.c_char_p]
        self.reader.echo_read.argtypes = [ctypes.c_void_p, ctypes.c_int64] + 4 * [ctypes.c_void_p]
        self.reader.echo_size.argtypes = [ctypes.c_void_p]
        self.echo = self.reader.echo_open(root.encode())
        self.size, self.count = self.reader.echo_size(self.echo), count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        out = [np.empty((3, 112, 112), np.uint8), np.empty((3, 112, 112), np.uint8),
               np.empty((112, 112), np.uint8), np.empty((112, 112), np.uint8)]
        if self.reader.echo_read(self.echo, index % self.size, *[array.ctypes.data for array in out]):
            raise RuntimeError(f"sample {index} can't be read")
        return out


class Names(torch.utils.data.Dataset):
    def __init__(self, count):
        self.names = [f"/data/videos/0X{i * 7919}_of_a_patient.avi" for i in range(count)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return len(self.names[index])


def loader(dataset, workers, batch):
    return torch.utils.data.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=workers)


def speed(dataset, workers, batch):
    start, first = time.perf_counter(), None
    for _ in loader(dataset, workers, batch):
        first = first or time.perf_counter() - start
    return len(dataset) / (time.perf_counter() - start), first


def wait_share(dataset, workers, batch):
    start = before = time.perf_counter()
    waited = 0.0
    for _ in loader(dataset, workers, batch):
        now = time.perf_counter()
        waited += now - before
        time.sleep(0.005)
        before = time.perf_counter()
    return waited / (before - start), 0.0


def growth(epochs, workers, names):
    sampler = torch.utils.data.RandomSampler(range(names), replacement=False, num_samples=names // 50)
    data = torch.utils.data.DataLoader(Names(names), batch_size=500, sampler=sampler, num_workers=workers,
                                       persistent_workers=True)
    for epoch in range(epochs):
        for _ in data:
            pass
        if epoch == 1:
            after_two = pss(os.getpid())
    return pss(os.getpid()) - after_two, after_two


def main():
    what, folder, count, workers, batch = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    torch.set_num_threads(2)
    if what == "memory":
        figures = growth(count, workers, batch)
    else:
        dataset = Videos(folder, count) if what == "videos" else Library(folder, count, sys.argv[6])
        figures = wait_share(dataset, workers, batch) if what == "wait" else speed(dataset, workers, batch)
    print(*figures)


main()

"""PyTorch's side of the main job: trains a segmenter as EchoNet-Dynamic does, whole videos read for two frames.

    peer_echo.py FOLDER --model_name unet_small --num_epochs 2 [--batch_size 20] [--lr 1e-5] [--optimizer sgd]
        [--num_workers 4] [--amp] [--augment] [--contiguous] [--own_mjpeg] [--weights FILE.safetensors]
        [--mean 32.5 --std 49.1] [--test] [--save FILE]

One line of JSON: losses, Dice and seconds of each phase, seconds from the start to the first step and to its end,
the test videos' counts. Two passes a step, the losses summed over pixels and samples, added and halved;
channels_last, unless --contiguous; 2 threads; frames by OpenCV's own MJPEG reader with --own_mjpeg, else by FFmpeg.
"""

import time

START = time.time()

import argparse
import csv
import json
import os
import sys

import cv2
import numpy as np
import skimage.draw
import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/fixtures"))


class Echo(torch.utils.data.Dataset):
    def __init__(self, root, split, mean, std, augment=False, reader=cv2.CAP_ANY):
        self.root, self.mean, self.std, self.augment, self.reader = root, mean, std, augment, reader
        traces = {}
        with open(os.path.join(root, "VolumeTracings.csv")) as table:
            for row in csv.DictReader(table):
                frames = traces.setdefault(row["FileName"].removesuffix(".avi"), {})
                frames.setdefault(int(row["Frame"]), []).append([float(row[k]) for k in ("X1", "Y1", "X2", "Y2")])
        with open(os.path.join(root, "FileList.csv")) as table:
            names = [r["FileName"].removesuffix(".avi") for r in csv.DictReader(table) if r["Split"].upper() == split]
        self.names = [name for name in names if len(traces.get(name, {})) >= 2]
        self.traces = {name: [(f, np.array(rows)) for f, rows in traces[name].items()] for name in self.names}

    def __len__(self):
        return len(self.names)

    def mask(self, rows, height, width):
        x1, y1, x2, y2 = rows.T
        x, y = np.concatenate((x1[1:], x2[:0:-1])), np.concatenate((y1[1:], y2[:0:-1]))
        r, c = skimage.draw.polygon(np.rint(y).astype(int), np.rint(x).astype(int), (height, width))
        mask = np.zeros((height, width), np.float32)
        mask[r, c] = 1
        return mask

    def __getitem__(self, index):
        name = self.names[index]
        capture, frames = cv2.VideoCapture(os.path.join(self.root, "Videos", name + ".avi"), self.reader), []
        while True:
            more, frame = capture.read()
            if not more:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        video = np.stack(frames).transpose(3, 0, 1, 2).astype(np.float32)
        masks = [(frame, self.mask(rows, *video.shape[2:])) for frame, rows in self.traces[name]]
        masks.sort(key=lambda pair: -pair[1].sum())
        (large, large_mask), (small, small_mask) = masks[0], masks[-1]
        frames, masks = video[:, [large, small]].transpose(1, 0, 2, 3), np.stack([large_mask, small_mask])
        if self.augment:
            frames, masks = augmented(torch.from_numpy(frames), torch.from_numpy(masks))
        return (torch.as_tensor(frames) - self.mean) / self.std, torch.as_tensor(masks)


def augmented(frames, masks):
    """The recipe of `aorta-echo train --augment`."""
    from torchvision.transforms import v2
    from torchvision import tv_tensors
    affine = v2.RandomAffine(15, (0.1, 0.1), (0.8, 1.25), 5, interpolation=v2.InterpolationMode.BILINEAR)
    frames, masks = affine(tv_tensors.Image(frames / 255), tv_tensors.Mask(masks))
    frames = frames.clamp(0, 1) ** np.random.uniform(0.7, 1.4)
    frames = v2.ColorJitter(0.2, 0.2)(frames)
    frames = frames * (1 + 0.1 * torch.randn(frames.shape[0], 1, *frames.shape[2:]))
    return frames.clamp(0, 1).as_subclass(torch.Tensor) * 255, masks.as_subclass(torch.Tensor)


def network(name):
    if name == "unet_small" or name == "unet":
        from make_models import UNet
        torch.set_default_dtype(torch.float32)  # make_models works in f64
        return UNet(3, 1, 16 if name == "unet_small" else 64, 4)
    return getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=1,
                                                          aux_loss=False)


def logits_of(output):
    return (output if isinstance(output, torch.Tensor) else output["out"])[:, 0].float()


class Counts:
    def __init__(self):
        self.loss = self.samples = self.pixels = 0
        self.both, self.either = [0, 0], [0, 0]

    def add(self, which, logits, truth):
        found, there = logits.detach() > 0, truth > 0
        self.both[which] += (found & there).sum().item()
        self.either[which] += (found | there).sum().item()

    def dice(self):
        return 2 * sum(self.both) / (sum(self.both) + sum(self.either))


def run_phase(net, loader, optimizer, amp, layout, first_step):
    counts, start, step_losses = Counts(), time.time(), []
    net.train(optimizer is not None)
    with torch.set_grad_enabled(optimizer is not None):
        for frames, masks in loader:
            first_step.setdefault("begin", time.time() - START)
            losses = []
            for which in 0, 1:
                x = frames[:, which].contiguous(memory_format=layout)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                    logits = logits_of(net(x))
                losses.append(torch.nn.functional.binary_cross_entropy_with_logits(logits, masks[:, which], reduction="sum"))
                counts.add(which, logits, masks[:, which])
            loss = (losses[0] + losses[1]) / 2
            if optimizer:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            counts.loss += loss.item()
            step_losses.append(loss.item())
            counts.samples += len(frames)
            counts.pixels += masks.numel() // 2
            first_step.setdefault("seconds", time.time() - START)
    return {"loss": counts.loss / counts.pixels, "dice": counts.dice(), "seconds": time.time() - start,
            "steps": step_losses, "both": counts.both, "either": counts.either, "samples": counts.samples}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--model_name", default="deeplabv3_resnet50")
    for name, kind, default in (("num_epochs", int, 1), ("batch_size", int, 20), ("num_workers", int, 4),
                                ("lr", float, 1e-5), ("optimizer", str, "sgd"), ("seed", int, 0), ("mean", float, 32.5),
                                ("std", float, 49.1), ("weights", str, ""), ("save", str, "")):
        parser.add_argument("--" + name, type=kind, default=default)
    for name in "amp", "augment", "contiguous", "test", "no_dropout", "own_mjpeg":
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    torch.set_num_threads(2)
    layout = torch.contiguous_format if args.contiguous else torch.channels_last
    net = network(args.model_name).to(memory_format=layout)
    if args.weights:
        from safetensors.torch import load_file
        net.load_state_dict(load_file(args.weights))
    for module in net.modules():
        if args.no_dropout and isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizer = (torch.optim.SGD(net.parameters(), args.lr, momentum=0.9) if args.optimizer == "sgd"
                 else torch.optim.Adam(net.parameters(), args.lr))

    def loader(split, train):
        data = Echo(args.folder, split, args.mean, args.std, train and args.augment,
                    cv2.CAP_OPENCV_MJPEG if args.own_mjpeg else cv2.CAP_ANY)
        return torch.utils.data.DataLoader(data, args.batch_size, shuffle=train, drop_last=train,
                                           num_workers=args.num_workers)

    first_step, epochs = {}, []
    train, validation = loader("TRAIN", True), loader("VAL", False)
    for _ in range(args.num_epochs):
        epochs.append({"train": run_phase(net, train, optimizer, args.amp, layout, first_step)})
        epochs[-1]["val"] = run_phase(net, validation, None, args.amp, layout, first_step)
    result = {"begin": first_step.get("begin"), "first_step": first_step.get("seconds"), "epochs": epochs}
    if args.test:
        result["test"] = run_phase(net, loader("TEST", False), None, args.amp, layout, first_step)
    if args.save:
        from safetensors.torch import save_file
        save_file({k: v.contiguous() for k, v in net.state_dict().items()}, args.save)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The main job beside PyTorch: aorta-echo and peer_echo.py on the same data, turn by turn, ratios of medians.

    echo.py epoch AORTA_ECHO FOLDER MODEL [--amp] [--runs 3] [--epochs 2] [--batch_size 20] [--workers 4]
        time of an epoch (training and validation), start to the first step, memory of the whole process tree
    echo.py curve AORTA_ECHO FOLDER MODEL [--steps 20] [--lr 1e-5] [--weights FILE]
        the loss of each step from the same weights, all videos of TRAIN in one batch, no dropout: the same
        order and recipe. PyTorch reads frames by OpenCV's own MJPEG reader, as FFmpeg's differ by a level of
        grey, which moves the first loss of a random DeepLabV3 by 1e-3. It runs a second time in the other
        memory format, whose kernels sum in another order: what rounding alone does to the curve. The weights
        are random, or those that `aorta-echo export` wrote to FILE
    echo.py dice AORTA_ECHO FOLDER MODEL [--epochs 100] [--seeds 1] [--augment] [--weights FILE]
        leave one patient out: a fold for each first part of the file names, the last weights, Dice pooled over
        the videos of all folds; with --weights Aorta starts from those
    echo.py segment AORTA_ECHO FOLDER MODEL [--runs 3] [--batch_size 20]
        frames a second of `segment` over all videos, decoded, outlined, drawn and written; the start of Aorta's
        program is counted, that of PyTorch's isn't

PyTorch runs in the interpreter that AORTA_PEER_PYTHON names.
"""

import argparse
import csv
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

from memory import pss

PEER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "peer_echo.py")


def run(command):
    """Its stdout, seconds, and the most memory of its tree at one time."""
    start, peak = time.time(), [0.0]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def watch():
        while process.poll() is None:
            peak[0] = max(peak[0], pss(process.pid))
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out = process.communicate()[0]
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return out, time.time() - start, peak[0]


def recipe(args, epochs, seed):
    flags = ["--model_name", args.model, "--num_epochs", str(epochs), "--batch_size", str(args.batch_size),
             "--num_workers", str(args.workers), "--lr", str(args.lr), "--optimizer", args.optimizer,
             "--seed", str(seed)]
    return flags + (["--amp"] if args.amp else []) + (["--augment"] if args.augment else [])


def aorta(args, folder, output, epochs, extra=(), seed=0):
    command = [args.program, "train", "--data_dir", folder, "--output", output, "--overwrite", "--save_every", "1e6"]
    out, seconds, memory = run(command + recipe(args, epochs, seed) + list(extra))
    with open(os.path.join(output, "log.csv")) as table:
        rows = list(csv.DictReader(table))
    first = re.search(r"first step from ([0-9.]+) to ([0-9.]+) s", open(os.path.join(output, "train.log")).read())
    return {"rows": rows, "seconds": seconds, "memory": memory, "begin": float(first[1]), "first_step": float(first[2])}


def peer(args, folder, epochs, extra=(), seed=0):
    command = [os.environ["AORTA_PEER_PYTHON"], PEER, folder] + recipe(args, epochs, seed) + list(extra)
    out, seconds, memory = run(command)
    return json.loads(out) | {"seconds": seconds, "memory": memory}


def row(what, ours, theirs, unit):
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"| {what} | {statistics.median(ours):.2f} {unit} | {statistics.median(theirs):.2f} {unit} | {ratio:.2f} |", flush=True)


def epoch(args):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for _ in range(args.runs):
            ours.append(aorta(args, args.folder, temporary + "/run", args.epochs))
            theirs.append(peer(args, args.folder, args.epochs))

    def phases(phase):
        return ([float(r["time"]) for run in ours for r in run["rows"] if r["phase"] == phase],
                [e[phase]["seconds"] for run in theirs for e in run["epochs"]])

    trained, validated = phases("train"), phases("val")
    name = f"{args.model} {'bf16' if args.amp else 'f32'}, batch {args.batch_size}, {args.workers} workers"
    print(f"\n{name}, {args.runs} runs of {args.epochs} epochs, turn by turn\n\n| | Aorta | PyTorch | ratio |\n|---|---|---|---|")
    row("epoch", *[[a + b for a, b in zip(trained[i], validated[i])] for i in (0, 1)], "s")
    row("of it training", trained[0], trained[1], "s")
    row("whole program", [r["seconds"] for r in ours], [r["seconds"] for r in theirs], "s")
    row("start to first step", [r["begin"] for r in ours], [r["begin"] for r in theirs], "s")
    row("start to first step done", [r["first_step"] for r in ours], [r["first_step"] for r in theirs], "s")
    row("memory of the process tree", [r["memory"] for r in ours], [r["memory"] for r in theirs], "MiB")


def curve(args):
    with open(os.path.join(args.folder, "FileList.csv")) as table:
        args.batch_size = sum(r["Split"].upper() == "TRAIN" for r in csv.DictReader(table))
    with tempfile.TemporaryDirectory() as temporary:
        weights = args.weights
        if not weights:
            weights = temporary + "/weights.safetensors"
            peer(args, args.folder, 0, ["--save", weights])
        program = os.path.join(os.path.dirname(args.program), "../bench/echo_curve")
        out = run([program, args.folder, args.model, weights, str(args.steps), str(args.lr)])[0]
        mean, std, *a = map(float, out.split())
        flags = ["--weights", weights, "--mean", str(mean), "--std", str(std), "--no_dropout", "--own_mjpeg"]
        b, c = ([e["train"]["loss"] for e in peer(args, args.folder, args.steps, flags + layout)["epochs"]]
                for layout in ([], ["--contiguous"]))
    print("step, Aorta, PyTorch, difference, PyTorch with other sums, difference")
    for i, (x, y, z) in enumerate(zip(a, b, c)):
        print(f"{i + 1}, {x:.7f}, {y:.7f}, {abs(x / y - 1):.1e}, {z:.7f}, {abs(z / y - 1):.1e}")
    for name, other in ("Aorta", a), ("PyTorch with other sums", c):
        print(f"{name}: largest relative difference {max(abs(x / y - 1) for x, y in zip(other, b)):.1e}")


def folds(folder, into):
    """A data folder for each patient: the patient's videos are VAL and TEST, the others TRAIN."""
    with open(os.path.join(folder, "FileList.csv")) as table:
        rows = list(csv.DictReader(table))
    patients = sorted({r["FileName"].split("_")[0] for r in rows})
    for patient in patients:
        fold = os.path.join(into, patient)
        os.mkdir(fold)
        os.symlink(os.path.abspath(os.path.join(folder, "Videos")), fold + "/Videos")
        shutil.copy(os.path.join(folder, "VolumeTracings.csv"), fold)
        with open(fold + "/FileList.csv", "w", newline="") as table:
            writer = csv.DictWriter(table, rows[0].keys())
            writer.writeheader()
            for r in rows:
                if r["FileName"].split("_")[0] != patient:
                    writer.writerow(r | {"Split": "TRAIN"})
                else:
                    writer.writerow(r | {"Split": "VAL"})
        yield patient, fold


def dice(args):
    pooled = {"Aorta": [], "PyTorch": []}
    for seed in range(args.seeds):
        totals = {"Aorta": [0, 0], "PyTorch": [0, 0]}
        with tempfile.TemporaryDirectory() as temporary:
            for patient, fold in folds(args.folder, temporary):
                extra = ["--weights", args.weights] if args.weights else []
                ours = aorta(args, fold, temporary + "/run", args.epochs, extra, seed)["rows"][-1]
                parts = [f"seed {seed}, {patient}: Aorta {float(ours['overall_dice']):.4f}"]
                add(totals["Aorta"], temporary + "/run")
                if not args.alone:
                    theirs = peer(args, fold, args.epochs, seed=seed)["epochs"][-1]["val"]
                    totals["PyTorch"][0] += sum(theirs["both"])
                    totals["PyTorch"][1] += sum(theirs["either"])
                    parts.append(f"PyTorch {theirs['dice']:.4f}")
                print(", ".join(parts), flush=True)
        for name, (both, either) in totals.items():
            if either:
                pooled[name].append(2 * both / (both + either))
                print(f"seed {seed}, {name}: pooled Dice {pooled[name][-1]:.4f}", flush=True)
    for name, values in pooled.items():
        if len(values) > 1:
            print(f"{name}: mean of {len(values)} seeds {statistics.mean(values):.4f}")


def segment(args):
    videos = sorted(glob.glob(os.path.join(args.folder, "Videos", "*.avi")))
    ours, theirs = [], []
    os.environ["OMP_NUM_THREADS"] = "2"  # as the peer
    with tempfile.TemporaryDirectory() as temporary:
        flags = ["--model_name", args.model, "--weights", temporary + "/weights.safetensors", "--output", temporary,
                 "--batch_size", str(args.batch_size)]
        script = os.path.join(os.path.dirname(PEER), "peer_segment.py")
        for _ in range(args.runs):
            out = run([os.environ["AORTA_PEER_PYTHON"], script, *flags, *videos])[0]
            result = json.loads(out.splitlines()[-1])
            theirs.append(result["frames"] / result["seconds"])
            seconds = run([args.program, "segment", *flags, "--tta", "0", "--overwrite", "--quiet", *videos])[1]
            ours.append(result["frames"] / seconds)
    print(f"\n{args.model}, batch {args.batch_size}, {len(videos)} videos of {result['frames']} frames in all, "
          f"{args.runs} runs, turn by turn\n\n| | Aorta | PyTorch | ratio |\n|---|---|---|---|")
    row("segment", ours, theirs, "frames a second")


def add(total, folder):
    """The counts of the last validation, which train.log names."""
    with open(os.path.join(folder, "train.log")) as log:
        counts = re.findall(r"pixels of validation: ([0-9]+) in .*, ([0-9]+) in either", log.read())[-1]
    total[0] += int(counts[0])
    total[1] += int(counts[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["epoch", "curve", "dice", "segment"])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("model")
    for name, kind, default in (("runs", int, 3), ("epochs", int, 2), ("steps", int, 20), ("batch_size", int, 20),
                                ("workers", int, 4), ("seeds", int, 1), ("lr", float, 1e-5), ("optimizer", str, "sgd"), ("weights", str, "")):
        parser.add_argument("--" + name, type=kind, default=default)
    for name in "amp", "augment", "alone":
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    {"epoch": epoch, "curve": curve, "dice": dice, "segment": segment}[args.table](args)


if __name__ == "__main__":
    main()

"""The main job from end to end, on synthetic data and on the real videos that AORTA_ECHO names."""

import csv
import html.parser
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

ECHO = os.path.abspath(sys.argv.pop(1))
PEER = os.environ.get("AORTA_PEER_PYTHON")
REAL = os.environ.get("AORTA_ECHO")
RECIPE = ["--model_name", "unet_small", "--optimizer", "adam", "--lr", "4e-3", "--schedule", "onecycle",
          "--batch_size", "6", "--num_workers", "2"]
DICE = r"dice overall ([0-9.]+) large ([0-9.]+) small ([0-9.]+)"


def echo(*arguments, code=0, **settings):
    """Its stdout; stderr where another exit code than 0 is asked for."""
    done = subprocess.run([ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=os.environ | settings)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if code else done.stdout


def rows(path):
    with open(path, newline="") as table:
        return list(csv.DictReader(table))


def tensors(path):
    """Name, shape and bytes of each tensor of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = (entry["shape"], data[8 + size + begin:8 + size + end])
    return found


def strip(path, to):
    """Copies the tensors alone, as PyTorch writes them, with DataParallel's names."""
    header, data = {}, b""
    for name, (shape, content) in tensors(path).items():
        dtype = "I64" if name.endswith("num_batches_tracked") else "F32"
        header["module." + name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(to, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class References(html.parser.HTMLParser):
    """What a page asks for beyond itself."""

    def __init__(self):
        super().__init__()
        self.outside = []
        self.images = 0

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href") and not value.startswith(("data:", "#")):
                self.outside.append(value)
            self.images += name == "src" and value.startswith("data:image")


class Synthetic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.data, cls.run_folder = cls.folder + "/data", cls.folder + "/run"
        echo("synth", "--output", cls.data, "--train", "30", "--val", "6", "--test", "4", "--frames", "56",
             "--seed", "3")
        cls.said = echo("train", "--data_dir", cls.data, "--output", cls.run_folder, *RECIPE, "--num_epochs", "10",
                        "--run_test", "--save_video")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def names(self, *below):
        return sorted(os.listdir(os.path.join(self.run_folder, *below)))

    def test_the_run_folder_is_whole(self):
        names = self.names()
        self.assertEqual(len([n for n in names if n.startswith("events.out.tfevents.")]), 1)
        for name in ("args.yaml", "best.safetensors", "checkpoint.safetensors", "curves.svg", "log.csv", "report.html",
                     "samples", "size", "size.csv", "test_dice.csv", "test_ef.csv", "train.log", "val_dice.csv", "videos"):
            self.assertIn(name, names)
        self.assertEqual([n for n in names if n.endswith(".tmp") or n.startswith(".")], [".lock"])
        tests = [r["FileName"] for r in rows(self.data + "/FileList.csv") if r["Split"] == "TEST"]
        for folder, suffix in ("size", ".svg"), ("videos", ".avi"):
            self.assertEqual(self.names(folder), sorted(name + suffix for name in tests))
        self.assertEqual(len(self.names("samples")), 10)
        self.assertEqual([r["Filename"] for r in rows(self.run_folder + "/test_dice.csv")],
                         [name + ".avi" for name in tests])

    def test_the_log_has_a_row_a_phase(self):
        log = rows(self.run_folder + "/log.csv")
        self.assertEqual([(r["epoch"], r["phase"]) for r in log],
                         [(str(e), phase) for e in range(10) for phase in ("train", "val")])
        self.assertEqual(len(log[0]), 11)
        self.assertLess(float(log[-2]["loss"]), float(log[0]["loss"]) / 2)
        for row in log:
            self.assertEqual(row["samples"], "30" if row["phase"] == "train" else "6")
        with open(self.run_folder + "/train.log") as file:
            text = file.read()
        self.assertNotIn("\r", text)
        self.assertNotIn("\r", self.said)
        # What tools/bench/echo.py reads.
        counts = re.findall(r"pixels of validation: ([0-9]+) in .*, ([0-9]+) in either", text)
        self.assertEqual(len(counts), 10)
        for (both, either), row in zip(counts, log[1::2]):
            self.assertAlmostEqual(2 * int(both) / (int(both) + int(either)), float(row["overall_dice"]), 9)

    def test_it_finds_ventricles(self):
        said = echo("evaluate", "--weights", self.run_folder, "--data_dir", self.data, "--split", "test",
                    "--output", self.folder + "/evaluated")
        overall, large, small = map(float, re.fullmatch(DICE, said.strip().split("\n")[-1]).groups())
        self.assertGreater(overall, 0.75)
        self.assertTrue(min(large, small) <= overall <= max(large, small))
        self.assertIn(f"overall {overall:.4f}", self.said)
        ef = said.strip().split("\n")[-2]
        self.assertRegex(ef, r"^ef mae [0-9.]+ bias [+-][0-9.]+ r2 -?[0-9.]+$")
        self.assertIn(ef, self.said)
        with open(self.folder + "/evaluated/test_dice.csv", "rb") as a, open(self.run_folder + "/test_dice.csv", "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_names_are_found_whatever_their_capitals(self):
        output = self.folder + "/Evaluated"
        echo("Evaluate", "--Weights", self.run_folder, "--data-dir", self.data, "--Split", "TEST", "--device=CPU",
             "--model_name", "UNet_Small", "--save_video=FALSE", "--Output=" + output)
        with open(output + "/test_dice.csv", "rb") as a, open(self.run_folder + "/test_dice.csv", "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_the_report_needs_nothing_else(self):
        page = References()
        with open(self.run_folder + "/report.html") as text:
            page.feed(text.read())
        self.assertEqual(page.outside, [])
        self.assertGreaterEqual(page.images, 9)  # both frames of the best, the median and the worst, and their beats

    def test_without_run_test_the_report_is_of_val(self):
        folder = self.folder + "/untested"
        echo("train", "--data_dir", self.data, "--output", folder, *RECIPE, "--num_epochs", "1")
        with open(folder + "/report.html") as text:
            page = text.read()
        for words in "Best, median and worst", "frame by frame", "limits of agreement", "val: found against told":
            self.assertIn(words, page)
        self.assertNotIn("test: found against told", page)
        self.assertNotIn("test_dice.csv", os.listdir(folder))

    def test_segment(self):
        output = self.folder + "/segmented"
        video = sorted(os.listdir(self.data + "/Videos"))[0]
        said = echo("segment", "--weights", self.run_folder, "--output", output, self.data + "/Videos/" + video)
        stem = video.removesuffix(".avi")
        frames = [r for r in rows(self.data + "/FileList.csv") if r["FileName"] == stem][0]["NumberOfFrames"]
        areas = rows(f"{output}/size/{stem}.csv")
        self.assertEqual([r["frame"] for r in areas], [str(i) for i in range(int(frames))])
        self.assertGreater(min(int(r["area"]) for r in areas), 0)
        self.assertGreater(os.path.getsize(f"{output}/{stem}_segmented.avi"), 10000)
        self.assertTrue(os.path.exists(f"{output}/size/{stem}.svg"))
        self.assertRegex(said, rf"{stem}\.avi: {frames} frames, \d+ beats?, EF [0-9.]+ % \([0-9.-]+ to [0-9.-]+; beats? ")
        beats = rows(f"{output}/ef/{stem}.csv")
        self.assertEqual([b["beat"] for b in beats], [str(i + 1) for i in range(len(beats) - 1)] + ["all"])
        for beat in beats:
            self.assertTrue(float(beat["low"]) <= float(beat["ef"]) <= float(beat["high"]))

    def test_a_segmenter_comes_with_the_program(self):
        output = self.folder + "/shipped"
        said = echo("evaluate", "--data_dir", self.data, "--output", output)
        self.assertGreater(float(re.fullmatch(DICE, said.strip().split("\n")[-1])[1]), 0.9)
        video = sorted(os.listdir(self.data + "/Videos"))[0]
        self.assertIn("EF ", echo("segment", "--output", output, "--tta", "0", "--skip_video", self.data + "/Videos/" + video))

    def test_export_has_the_networks_names(self):
        path = self.folder + "/weights.safetensors"
        echo("export", "--weights", self.run_folder, "--output", path)
        names = tensors(path)
        self.assertEqual(names["encoder.0.0.weight"][0], [16, 3, 3, 3])
        self.assertEqual([n for n in names if n.startswith(("model.", "segmenter."))], [])
        half = self.folder + "/half.safetensors"
        echo("export", "--weights", self.run_folder, "--output", half, "--dtype", "f16")
        self.assertEqual(len(tensors(half)["encoder.0.0.weight"][1]), 2 * 16 * 3 * 3 * 3)
        scores = [float(re.fullmatch(DICE, echo("evaluate", "--data_dir", self.data, "--output", self.folder + "/half",
                                                "--weights", weights).strip().split("\n")[-1])[1]) for weights in (path, half)]
        self.assertAlmostEqual(*scores, delta=2e-3)
        self.assertIn("--dtype: must be f32 or f16, got", echo("export", "--weights", path, "--output", half, "--overwrite",
                                                               "--dtype", "i8", code=2))

    def test_half_written_files_of_killed_programs_go(self):
        made = self.folder + "/littered"
        video = self.data + "/Videos/" + sorted(os.listdir(self.data + "/Videos"))[0]
        weights = ["--weights", self.run_folder]
        for folder, *command in (
                [".", "export", *weights, "--output", made + "/net.npz"],
                [".", "segment", *weights, "--output", made, video], ["size", "segment", *weights, "--output", made, video],
                [".", "evaluate", "--data_dir", self.data, *weights, "--output", made],
                ["p", "evaluate", "--data_dir", self.data, *weights, "--output", made, "--predictions", made + "/p/ef.csv"],
                ["k", "import", video, "--output", made + "/imported", "--key", made + "/k/key.csv"],
                [".", "synth", "--output", made, "--train", "1", "--val", "1", "--test", "1", "--frames", "56"]):
            for overwrite in [[], ["--overwrite"]]:
                if overwrite and command[0] == "evaluate":
                    continue
                with self.subTest(command=command[0], overwrite=overwrite):
                    if not overwrite:
                        shutil.rmtree(made, ignore_errors=True)
                    os.makedirs(os.path.join(made, folder), exist_ok=True)
                    litter = os.path.join(made, folder, ".FileList.csv.7-1.tmp")
                    open(litter, "w").close()
                    echo(*command, *overwrite)
                    self.assertFalse(os.path.exists(litter))

    def test_another_program_that_makes_the_output(self):
        """It has the same process number, in another container, and has locked its folder."""
        place = self.folder + "/contested"
        os.makedirs(place)
        script = 'mkdir .made.$$.tmp; exec 9<.made.$$.tmp; flock 9; exec "$0" synth --output made --train 1 --val 1 --test 1'
        done = subprocess.run(["bash", "-c", script, ECHO], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stderr, "^error: made: no other program may make it at the same time, got .* locked\n$")
        self.assertEqual(len(os.listdir(place)), 1, "the other's folder stays alone")

    def test_weights_alone_can_be_applied(self):
        ours, plain = self.folder + "/ours.safetensors", self.folder + "/plain.safetensors"
        echo("export", "--weights", self.run_folder, "--output", ours)
        strip(ours, plain)
        video = self.data + "/Videos/" + sorted(os.listdir(self.data + "/Videos"))[0]
        scores = []
        for weights in [self.run_folder], [ours], [plain, "--model_name", "unet_small"]:
            said = echo("evaluate", "--data_dir", self.data, "--output", self.folder + "/applied", "--weights", *weights)
            scores.append(said.strip().split("\n")[-1])
            echo("segment", "--output", self.folder + "/applied", "--overwrite", video, "--weights", *weights)
        self.assertEqual(scores[1:], scores[:1] * 2)
        self.assertIn("need --model_name", echo("evaluate", "--data_dir", self.data, "--weights", plain, code=3))

    def test_a_run_of_no_epoch_has_the_weights_that_it_was_given(self):
        run = self.folder + "/no_epoch"
        echo("train", "--data_dir", self.data, "--output", run, "--model_name", "unet_small", "--weights", self.run_folder,
             "--num_epochs", "0", "--batch_size", "6", "--num_workers", "0")
        given, kept = tensors(self.run_folder + "/best.safetensors"), tensors(run + "/best.safetensors")
        self.assertEqual(kept, {name: value for name, value in given.items() if name in kept})
        echo("train", "--resume", "--output", run, "--num_epochs", "1")
        self.assertEqual(len(rows(run + "/log.csv")), 2)

    def test_compare_counts_the_recordings_that_it_reads(self):
        said = echo("compare", "--data_dir", self.data, "--recordings", "7", "--batch_size", "4", "--workers", "0",
                    "--epochs", "1", "--model_name", "unet_small", "--device", "cpu")
        self.assertIn("7 recordings, unet_small, batch 4, 1 epoch\n", said)
        seconds, rate = re.search(r"off +([0-9.]+) +([0-9.]+)", said).groups()
        self.assertAlmostEqual(float(seconds) * float(rate), 4, delta=1)

    def test_amp_is_near(self):
        data, losses = self.folder + "/few", []
        echo("synth", "--output", data, "--train", "6", "--val", "2", "--test", "2", "--frames", "56")
        for flag in "--amp", "--no_amp":
            folder = self.folder + "/" + flag
            echo("train", "--data_dir", data, "--output", folder, *RECIPE, "--num_epochs", "2", flag)
            losses.append([float(r["loss"]) for r in rows(folder + "/log.csv") if r["phase"] == "train"])
        for narrow, wide in zip(*losses):
            self.assertNotEqual(narrow, wide)
            self.assertLess(abs(narrow - wide), 0.05 * wide)

    @unittest.skipUnless(PEER, "AORTA_PEER_PYTHON names no Python with PyTorch")
    def test_weights_go_to_pytorch_and_back(self):
        home = self.folder + "/home"
        os.makedirs(home + "/aorta")
        name = "deeplabv3_resnet50"
        message = echo("train", "--data_dir", self.data, "--output", self.folder + "/none", "--pretrained",
                       "--model_name", name, code=4, XDG_DATA_HOME=home)
        self.assertIn(f"must be in {home}/aorta/{name}.safetensors", message)
        python("import sys, torch, torchvision, safetensors.torch as s; torch.manual_seed(1)\n"
               "net = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, aux_loss=True)\n"
               "s.save_file(net.state_dict(), sys.argv[1])", f"{home}/aorta/{name}.safetensors")
        run, exported = self.folder + "/pretrained", self.folder + "/exported.safetensors"
        echo("train", "--data_dir", self.data, "--output", run, "--pretrained", "--model_name", name, "--lr", "1e-30",
             "--max_steps", "1", "--batch_size", "2", "--num_workers", "0", XDG_DATA_HOME=home)
        echo("export", "--weights", run, "--output", exported)
        given, back = tensors(f"{home}/aorta/{name}.safetensors"), tensors(exported)
        key = "backbone.layer4.2.conv3.weight"
        self.assertEqual(back[key], given[key])
        self.assertEqual(back["classifier.4.weight"][0], [1, 256, 1, 1])
        python("import sys, torchvision, safetensors.torch as s\n"
               "net = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, "
               "num_classes=1, aux_loss=False)\n"
               "net.load_state_dict(s.load_file(sys.argv[1]), strict=True)", exported)


class Help(unittest.TestCase):
    def test_the_version(self):
        self.assertRegex(echo("--version"), r"^aorta-echo [0-9]+\.[0-9]+\.[0-9]+\n$")

    def test_switches_that_are_on_say_so(self):
        self.assertRegex(echo("segment", "--help"), r"--save_video[^\n]*\n? *write overlay videos \[on\]")


class Terminal(unittest.TestCase):
    """What a person sees, on 80 columns."""

    def test_every_long_stage_has_a_bar(self):
        with tempfile.TemporaryDirectory() as folder:
            data, run = folder + "/data", folder + "/run"
            said = self.watch(["synth", "--output", data, "--train", "6", "--val", "2", "--test", "2", "--frames", "56"])
            self.assertRegex(said, r"synth +[1-9]0% .* [1-9]/10 ")
            said = self.watch(["train", "--data_dir", data, "--output", run, *RECIPE, "--num_epochs", "1", "--run_test",
                               "--save_video"])
            for stage in "epoch 1/1 train", "epoch 1/1 val", "evaluate val", "evaluate test", "segment test":
                self.assertRegex(said, stage + r" +[0-9]+% ")
            self.assertRegex(said, r"epoch 1/1 train +[0-9]+% .*loss [0-9.]+ dice [0-9.]+ [0-9.]+[MG]\x1b\[K")

    def test_ctrl_c_is_answered_and_the_last_line_is_the_way_on(self):
        with tempfile.TemporaryDirectory() as folder:
            data, run = folder + "/data", folder + "/run"
            echo("synth", "--output", data, "--train", "12", "--val", "2", "--test", "2", "--frames", "56")
            said = self.watch(["train", "--data_dir", data, "--output", run, *RECIPE, "--num_epochs", "1000"], 130,
                              stop_after="epoch    2/1000 train  50%")
            self.assertIn("\nstopping when this step is done; a second Ctrl-C stops at once\r\n", said)
            shown = [line.split("\r")[-1].split("\x1b[K")[-1] for line in said.split("\r\n")]
            self.assertRegex(shown[-3], "^stopped by Ctrl-C after step [0-2] of epoch 2; everything is saved$")
            self.assertEqual(shown[-2:], ["go on with: aorta-echo train --resume --output " + run, ""])

    def watch(self, arguments, code=0, stop_after=None):
        """What the program writes to a terminal of 80 columns, on which Ctrl-C is pressed after some text."""
        near, far = pty.openpty()
        termios.tcsetwinsize(far, (24, 80))
        process = subprocess.Popen([ECHO, *arguments], stdin=far, stdout=far, stderr=far,
                                   env=os.environ | {"TERM": "xterm", "LANG": "C.UTF-8"})
        self.addCleanup(lambda: process.poll() is None and process.kill())
        os.close(far)
        said = ""
        while True:
            try:
                said += os.read(near, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            if stop_after and stop_after in said:
                stop_after = None
                process.send_signal(signal.SIGINT)
        os.close(near)
        self.assertEqual(process.wait(), code, said)
        return said


def python(program, *arguments):
    subprocess.run([PEER, "-c", program, *arguments], check=True)


@unittest.skipUnless(REAL, "AORTA_ECHO names no folder")
class Real(unittest.TestCase):
    def test_it_finds_ventricles(self):
        with tempfile.TemporaryDirectory() as folder:
            echo("train", "--data_dir", REAL, "--output", folder + "/run", *RECIPE, "--num_epochs", "15", "--augment")
            said = echo("evaluate", "--weights", folder + "/run", "--data_dir", REAL, "--split", "test")
            overall = float(re.fullmatch(DICE, said.strip().split("\n")[-1])[1])
            self.assertGreater(overall, 0.7)
            video = sorted(os.listdir(REAL + "/Videos"))[0]
            echo("segment", "--weights", folder + "/run", "--output", folder + "/segmented", REAL + "/Videos/" + video)


if __name__ == "__main__":
    unittest.main()

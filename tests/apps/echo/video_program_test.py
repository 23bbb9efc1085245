"""`aorta-echo video` from end to end on synthetic hearts: its run, its resume, its evaluation."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ECHO = os.path.abspath(sys.argv.pop(1))
# Two frames far apart, so that a video has few clips and a processor little to do.
PERIOD = 28
RECIPE = ["--random", "--model_name", "mc3_18", "--frames", "2", "--period", str(PERIOD), "--batch_size", "3",
          "--num_workers", "1", "--lr", "1e-3"]


def echo(*arguments, code=0):
    """Its stdout; stderr where another exit code than 0 is asked for."""
    done = subprocess.run([ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if code else done.stdout


def rows(path):
    with open(path, newline="") as table:
        return list(csv.DictReader(table))


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


class Video(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.data, cls.run_folder = cls.folder + "/data", cls.folder + "/run"
        echo("synth", "--output", cls.data, "--train", "6", "--val", "2", "--test", "3", "--frames", "56", "--size", "48",
             "--seed", "1")
        cls.said = echo("video", "--data_dir", cls.data, "--output", cls.run_folder, *RECIPE, "--num_epochs", "2",
                        "--run_test")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_the_run_folder_is_whole(self):
        names = os.listdir(self.run_folder)
        self.assertEqual(len([n for n in names if n.startswith("events.out.tfevents.")]), 1)
        for name in ("args.yaml", "best.safetensors", "checkpoint.safetensors", "curves.svg", "mae.svg", "log.csv",
                     "report.html", "train.log", *(f"{split}_{rest}" for split in ("val", "test") for rest in (
                         "predictions.csv", "values.csv", "scatter.svg", "bland_altman.svg", "roc.svg"))):
            self.assertIn(name, names)
        page = content(self.run_folder, "report.html").decode()
        for words in "receiver operating characteristic", "Farthest off", "EF from videos", "AUC":
            self.assertIn(words, page)

    def test_the_log_has_a_row_a_phase(self):
        log = rows(self.run_folder + "/log.csv")
        self.assertEqual([(r["epoch"], r["phase"], r["samples"]) for r in log],
                         [(str(e), phase, count) for e in range(2) for phase, count in (("train", "6"), ("val", "2"))])
        self.assertEqual(list(log[0])[:5], ["epoch", "phase", "loss", "r2", "mae"])

    def test_all_clips_are_averaged(self):
        tests = [r for r in rows(self.data + "/FileList.csv") if r["Split"] == "TEST"]
        clips, values = rows(self.run_folder + "/test_predictions.csv"), rows(self.run_folder + "/test_values.csv")
        self.assertEqual([r["FileName"] for r in values], [r["FileName"] + ".avi" for r in tests])
        off = 0
        for told, row in zip(tests, values):
            own = [float(r["Value"]) for r in clips if r["FileName"] == row["FileName"]]
            self.assertEqual(len(own), max(int(told["NumberOfFrames"]), 2 * PERIOD) - PERIOD)
            self.assertAlmostEqual(sum(own) / len(own), float(row["Found"]), delta=1e-3)
            self.assertAlmostEqual(float(told["EF"]), float(row["Told"]), delta=1e-3)
            off += abs(float(row["Found"]) - float(told["EF"])) / 3
        mae = re.search(r"^test EF MAE ([0-9.]+) RMSE [0-9.]+ R2 \S+$", self.said, re.M)[1]
        self.assertAlmostEqual(float(mae), off, delta=0.01)

    def test_a_run_goes_on_to_the_same_bits(self):
        stopped = self.folder + "/stopped"
        echo("video", "--data_dir", self.data, "--output", stopped, *RECIPE, "--num_epochs", "1")
        self.assertIn("resume epoch 2", echo("video", "--resume", "--output", stopped, "--num_epochs", "2", "--run_test"))
        for name in "best.safetensors", "test_predictions.csv", "val_values.csv":
            self.assertEqual(content(stopped, name), content(self.run_folder, name), name)

    def test_evaluate_takes_its_weights(self):
        table, output = self.folder + "/modelname.csv", self.folder + "/evaluated"
        said = echo("evaluate", "--data_dir", self.data, "--weights", self.run_folder, "--output", output,
                    "--predictions", table, "--batch_size", "3")
        last = said.strip().split("\n")[-1]
        self.assertIn(last, self.said)
        self.assertEqual(content(output, "test_values.csv"), content(self.run_folder, "test_values.csv"))
        values = rows(output + "/test_values.csv")
        self.assertEqual([(r["FileName"] + ".avi", r["EF_pred"]) for r in rows(table)],
                         [(r["FileName"], r["Found"]) for r in values])
        video = self.data + "/Videos/" + values[0]["FileName"]
        message = echo("segment", "--weights", self.run_folder, "--output", output, video, code=3)
        self.assertIn("must be a segmenter that aorta-echo wrote, got weights of `aorta-echo video`", message)

    def test_a_segmenter_of_clips_goes_through_every_command(self):
        run, video = self.folder + "/clips", self.data + "/Videos/" + rows(self.data + "/FileList.csv")[-1]["FileName"] + ".avi"
        said = echo("train", "--data_dir", self.data, "--output", run, "--model_name", "unet_3d", "--frames", "4", "--period",
                    "2", "--pretrain_epochs", "1", "--optimizer", "adam", "--lr", "1e-2", "--num_epochs", "3", "--batch_size",
                    "2", "--num_workers", "1", "--run_test")
        self.assertRegex(said, r"(?m)^pre-training 1/1 squared error of a pixel [0-9.]+ ")
        self.assertEqual([r["phase"] for r in rows(run + "/log.csv")], ["train", "val"] * 3)
        for name in "report.html", "test_dice.csv", "test_ef.csv", "dice.svg", "best.safetensors":
            self.assertIn(name, os.listdir(run))
        output = self.folder + "/clips_evaluated"
        again = echo("evaluate", "--data_dir", self.data, "--weights", run, "--output", output, "--num_workers", "0")
        self.assertIn(again.strip().split("\n")[-1], said)
        self.assertEqual(content(output, "test_dice.csv"), content(run, "test_dice.csv"))
        exported = self.folder + "/clips.safetensors"
        echo("export", "--weights", run, "--output", exported)
        for weights, folder in (run, "a"), (exported, "b"):
            echo("segment", "--weights", weights, "--output", self.folder + "/segmented_" + folder, "--tta", "1", "--skip_video",
                 video)
        name = "size/" + os.path.basename(video)[:-4] + ".csv"
        self.assertEqual(content(self.folder, "segmented_a", name), content(self.folder, "segmented_b", name))
        self.assertEqual(len(rows(os.path.join(self.folder, "segmented_a", name))), 56)
        beats = self.folder + "/clips_beats"
        echo("beats", "--weights", run, "--video_weights", self.run_folder, "--output", beats, video)
        self.assertEqual(len(rows(beats + "/videos.csv")), 1)


if __name__ == "__main__":
    unittest.main()

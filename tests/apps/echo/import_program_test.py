"""Scanners' DICOM files through the program: import, training on what it made, segment."""

import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest

ECHO = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dicom_files as dicom


def echo(*arguments, code=0):
    """Its stdout; stderr where another exit code than 0 is asked for."""
    done = subprocess.run([ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if code else done.stdout


def rows(path):
    with open(path, newline="") as table:
        return list(csv.DictReader(table))


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        cls.folder = cls.place.name
        cls.source, cls.output = cls.folder + "/export", cls.folder + "/data"
        os.makedirs(cls.source + "/Doe/1")
        picture = dicom.Picture()
        fan = dicom.region((20, 5, 180, 140), centimetres=(0.12, 0.12))
        ecg = dicom.region((0, 130, 199, 149), spatial_format=3, data_type=10)
        cls.frames = picture.frames(30)
        files = {
            "Doe/1/IM001": dicom.dicom(cls.frames, regions=(ecg, fan)),
            "Doe/1/IM002": dicom.dicom(picture.frames(24, seed=1), rle=True),
            "IM003": dicom.dicom(picture.frames(24, seed=2), patient="B-2", grey=True, frame_time=""),
            "CT001": dicom.dicom(cls.frames[:2], modality="CT"),
            "report.txt": b"no video",
            "DICOMDIR": dicom.dicom(cls.frames[:1])}
        for name, content in files.items():
            with open(os.path.join(cls.source, name), "wb") as file:
                file.write(content)
        with open(cls.folder + "/told.csv", "w") as file:
            file.write("FileName,EF\nIM001,55\nIM002,60\nIM003,30\n")
        cls.said = echo("import", cls.source, "--output", cls.output, "--table", cls.folder + "/told.csv", "--key",
                        cls.folder + "/key.csv")
        cls.key = {os.path.basename(row["Source"]): row["FileName"] for row in rows(cls.folder + "/key.csv")}

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_the_data_set(self):
        told = {row["FileName"]: row for row in rows(self.output + "/FileList.csv")}
        self.assertEqual(sorted(os.listdir(self.output)), ["FileList.csv", "Videos", "removed.csv", "sectors.csv"])
        self.assertEqual(sorted(os.listdir(self.output + "/Videos")), sorted(name + ".avi" for name in told))
        self.assertEqual(set(self.key), {"IM001", "IM002", "IM003"})
        first, second, third = (told[self.key["IM00%d" % number]] for number in (1, 2, 3))
        self.assertEqual([row["EF"] for row in (first, second, third)], ["55", "60", "30"])
        self.assertEqual([row["FPS"] for row in (first, second, third)], ["50", "50", ""])
        self.assertEqual([row["NumberOfFrames"] for row in (first, second, third)], ["30", "24", "24"])
        self.assertEqual(first["Split"], second["Split"])  # one patient's
        self.assertEqual({first["FrameHeight"], first["FrameWidth"]}, {"112"})
        # 1.2 mm a pixel; the sector is 120 pixels high.
        self.assertAlmostEqual(float(first["PixelSpacing"]), 1.2 * 120 / 112, delta=0.03)
        self.assertEqual(second["PixelSpacing"], "")
        for row in rows(self.output + "/sectors.csv"):
            self.assertAlmostEqual(int(row["Top"]), 12, delta=3)
            self.assertAlmostEqual(int(row["Height"]), 120, delta=4)
            self.assertAlmostEqual(int(row["Left"]) + int(row["Width"]) / 2, 100, delta=4)

    def test_nothing_tells_who_it_is(self):
        for folder, _, names in os.walk(self.output):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                for secret in b"Doe", b"Jane", b"A-17", b"B-2", b"IM001", b"Hospital", b"1143":
                    self.assertNotIn(secret, content, name)
        removed = {row["Attribute"]: row["Videos"] for row in rows(self.output + "/removed.csv")}
        for name in "PatientName", "PatientID", "InstitutionName", "StudyInstanceUID", "MediaStorageSOPInstanceUID":
            self.assertEqual(removed[name], "3")
        self.assertNotIn("Rows", removed)

    def test_it_says_what_it_did(self):
        self.assertIn("3 files passed over, which aren't ultrasound videos", self.said)  # CT, text, DICOMDIR
        self.assertIn("2 without the size of a pixel", self.said)
        self.assertIn("1 without the time between frames", self.said)
        self.assertRegex(self.said, r"\d+ attributes left out, PatientName and all identifiers with them")
        self.assertIn("what can't be known: whether each shows the four chambers", self.said)

    def test_a_network_learns_from_it(self):
        output = self.folder + "/learnt"
        done = echo("import", self.source + "/Doe/1/IM001", self.source + "/Doe/1/IM002", "--output", output, "--split", "train",
                    "--table", self.folder + "/told.csv")
        self.assertIn("no file for \"IM003\"", done)
        table = output + "/FileList.csv"
        with open(table) as file:
            text = file.read()
        with open(table, "w") as file:  # the second for VAL
            head, last = text.rstrip("\n").rsplit("\n", 1)
            file.write(head + "\n" + last.replace("TRAIN", "VAL") + "\n")
        said = echo("video", "--data_dir", output, "--output", self.folder + "/run", "--random", "--model_name", "mc3_18",
                    "--frames", "2", "--period", "8", "--batch_size", "1", "--num_workers", "0", "--num_epochs", "1", "--max_steps", "1")
        self.assertIn("EF MAE", said)

    def test_a_table_that_names_some_files_keeps_patients_together(self):
        told, output = self.folder + "/some.csv", self.folder + "/some"

        def splits(text):
            with open(told, "w") as file:
                file.write(text)
            said = echo("import", self.source, "--output", output, "--table", told, "--overwrite", "--quiet")
            self.assertNotIn("of unknown patients", said)
            found = {row["FileName"]: row["Split"] for row in rows(output + "/FileList.csv")}
            return [found[self.key["IM00%d" % number]] for number in (1, 2)]

        for split in "TRAIN", "VAL", "TEST":  # IM002's too, which is of the same patient
            self.assertEqual(splits(f"FileName,Split\nIM001,{split}\n"), [split, split])
        seen = set()
        for patient in "abcdefgh":
            first, second = splits(f"FileName,Patient\nIM001,{patient}\n")
            self.assertEqual(first, second)
            seen.add(first)
        self.assertGreater(len(seen), 1)

    def test_segment_takes_the_same_files(self):
        weights, out = self.folder + "/weights", self.folder + "/segmented"
        echo("synth", "--output", self.folder + "/synthetic", "--train", "2", "--val", "1", "--test", "0", "--frames", "56")
        echo("train", "--data_dir", self.folder + "/synthetic", "--output", weights, "--model_name", "unet_small", "--num_workers",
             "0", "--batch_size", "1", "--num_epochs", "1", "--max_steps", "1")
        said = echo("segment", "--weights", weights, "--output", out, self.source + "/Doe/1/IM001", self.source + "/IM003")
        self.assertIn("IM001: 30 frames, ", said)
        self.assertIn("not known: whether each shows the four chambers from the apex", said)
        known = rows(out + "/size/IM001.csv")
        self.assertEqual(len(known), 30)
        # 20 disks in pixels of 112 to the sector's height.
        pixel = 1.2 * 120 / 112
        for row in known:
            self.assertAlmostEqual(float(row["volume_ml"]), float(row["volume"]) * pixel ** 3 / 1000, delta=0.03 * float(row["volume_ml"]) + 0.1)
        self.assertTrue(all(row["volume_ml"] == "" for row in rows(out + "/size/IM003.csv")))
        # The same of what import made of it.
        echo("segment", "--weights", weights, "--output", out, self.output + "/Videos/" + self.key["IM001"] + ".avi")
        self.assertTrue(all(row["volume_ml"] for row in rows(out + "/size/" + self.key["IM001"] + ".csv")))

    def test_the_same_files_give_the_same_data_set(self):
        again = self.folder + "/again"
        echo("import", self.source, "--output", again, "--table", self.folder + "/told.csv", "--quiet")
        for folder, _, names in os.walk(self.output):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as one, open(path.replace(self.output, again), "rb") as other:
                    self.assertEqual(one.read(), other.read(), name)

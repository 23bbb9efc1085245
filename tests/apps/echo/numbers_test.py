"""Every flag of every command that takes a number, from the command line's own list: what is no number of its kind is
refused by name, before anything is read, and what is one is never taken for another."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ECHO = os.path.abspath(sys.argv.pop(1))
COMMANDS = ("train",), ("evaluate",), ("segment",), ("synth",), ("compare",), ("data", "check"), ("doctor",), ("export",)
# What the commands must be given besides.
NEEDS = {"evaluate": ["--weights", "/nowhere"], "segment": ["--weights", "/nowhere", "/nowhere.avi"],
         "synth": ["--output", "/proc/nowhere"], "compare": ["--model_name", "unet_small"]}
NO_NUMBERS = ("", " ", "+", "-", ".", "e5", "x", "8x", "1 2", "1_000", "1'000", "0x10", "0b1", "++1", "+-1", "--1",
              "1e", "1e5e5", "\u0661", "1\u00a0", "five", "true", "{}", "null", "None", "%d", "1" * 4 + "\n")
NOT_WHOLE = ("1.5", "1.", "1e3", ".5", "nan", "-nan", "NaN", "inf", "-inf", "Infinity", "0x1p3", "1/2")
NOT_FINITE = ("nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e309", "-1e309", "1e999999999999", "9" * 400)
VANISHING = ("1e-400", "-1e-400", "0." + "0" * 400 + "1")
SIGNED = {"INT": 63, "UINT": 64}
USAGE = 2


def run(*arguments):
    done = subprocess.run([ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "AORTA_ECHO": ""}, errors="replace", text=True)
    return done.returncode, done.stderr


def flags(command):
    """(name, INT, UINT or FLOAT) of each that takes a number."""
    text = subprocess.run([ECHO, *command, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"^ +(--\w+) (INT|UINT|FLOAT)\b", text, re.M)


class Numbers(unittest.TestCase):
    def each_flag(self):
        for command in COMMANDS:
            needs = NEEDS.get(command[0], []) + ([] if command[0] in NEEDS or command[0] == "doctor" else
                                                 ["--data_dir", "/nowhere"])
            for name, kind in flags(command):
                yield [*command, *needs], name, kind

    def refused(self, command, name, value, rule):
        code, error = run(*command, name + "=" + value)
        told = "%s %s=%r: %s" % (command, name, value, error)
        self.assertEqual(code, USAGE, told)
        lines = error.splitlines()
        self.assertEqual(len(lines), 1, told)
        self.assertRegex(lines[0], "^error: %s: must %s, got " % (name, rule), told)
        got = lines[0].partition(", got ")[2].partition("; `")[0]
        self.assertTrue(got in (value, '"%s"' % value) or got.endswith('..."') or "\\x" in got or
                        (value == "" and got == "none"), told)

    def test_there_are_flags(self):
        found = [(command[0], name) for command, name, _ in self.each_flag()]
        for one in ("train", "--lr"), ("train", "--seed"), ("evaluate", "--batch_size"), ("compare", "--workers"), (
                "synth", "--fps"), ("segment", "--batch_size"):
            self.assertIn(one, found)
        self.assertGreaterEqual(len(found), 24)

    def test_what_is_no_number_is_refused(self):
        for command, name, kind in self.each_flag():
            rule = "be a number" if kind == "FLOAT" else "be a whole number"
            for value in NO_NUMBERS + (NOT_WHOLE if kind != "FLOAT" else ("0x1p3", "1/2")):
                either = "(%s|not be negative|have a value)" % rule
                self.refused(command, name, value, either)

    def test_what_does_not_fit_is_refused(self):
        for command, name, kind in self.each_flag():
            if kind == "FLOAT":
                for value in NOT_FINITE:
                    self.refused(command, name, value, "be a finite number")
                for value in VANISHING:
                    self.refused(command, name, value, "be 0 or at least 5e-324 in size")
                continue
            most = 2 ** SIGNED[kind] - 1
            for value in most + 1, most * 10, 10 ** 40:
                self.refused(command, name, str(value), r"be at most \d+")
            for value in -most - 2, -10 ** 40:
                self.refused(command, name, str(value), r"(be at least -\d+|not be negative)")

    def test_the_largest_and_smallest_are_judged_by_a_rule(self):
        """Of its type, but perhaps not of its range: another error than that of the data, or that one; no crash."""
        for command, name, kind in self.each_flag():
            most = 2 ** SIGNED.get(kind, 1) - 1
            values = ("1.7976931348623157e308", "5e-324", "-1e-30", "-0.0") if kind == "FLOAT" else (
                str(most), str(2 ** 31 - 1), str(2 ** 31), "0", "-0", "-1", str(-most - 1))
            for value in values:
                code, error = run(*command, name + "=" + value)
                told = "%s %s=%s: %d %s" % (command, name, value, code, error)
                self.assertIn(code, (2, 3, 4, 6), told)
                self.assertEqual(len(error.splitlines()), 1, told)
                if code == USAGE and "got none" not in error:
                    shown = "-?0" if value in ("-0", "-0.0") else re.escape(value.replace("e308", "e+308"))
                    self.assertRegex(error, "got %s(;|$| )" % shown, told)

    def test_decimal_is_meant(self):
        """010 is ten, +5 is five, and 0.1 the number that is nearest to it."""
        with tempfile.TemporaryDirectory() as folder:
            data, out = folder + "/data", folder + "/run"
            self.assertEqual(run("synth", "--train=02", "--val=+1", "--test=001", "--frames=0056", "--output", data)[0], 0)
            self.assertEqual(len(os.listdir(data + "/Videos")), 4)
            code, error = run("train", "--data_dir", data, "--output", out, "--model_name", "unet_small", "--num_epochs",
                              "00", "--num_workers=+0", "--seed", "010", "--batch_size=02", "--lr", "+0.1", "--save_every",
                              "0.30000000000000004", "--weight_decay", "2.2250738585072011e-308", "--quiet")
            self.assertEqual(code, 0, error)
            with open(out + "/args.yaml", encoding="utf-8") as file:
                text = file.read()
            for line in ("seed: 10", "batch_size: 2", "lr: 0.1", "save_every: 0.30000000000000004",
                         "weight_decay: 2.225073858507201e-308"):
                self.assertIn("\n" + line + "\n", text)

    def test_lines_of_a_config_are_judged_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/args.yaml"
            for name, kind in flags(("train",)):
                for value in ("x", "99999999999999999999999", "nan", "0x10") if kind != "FLOAT" else ("x", "1e400", "nan"):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write("# mine\n%s: %s # a comment\n" % (name[2:], value))
                    code, error = run("train", "--data_dir", "/nowhere", "--config", path)
                    self.assertEqual(code, USAGE, error)
                    self.assertRegex(error, r"^error: %s:2: %s: must be .*, got %s; `" % (re.escape(path), name, value))

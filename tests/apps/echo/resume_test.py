"""A run that is stopped, killed or damaged goes on bit for bit, and loses nothing."""

import csv
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ECHO = os.path.abspath(sys.argv.pop(1))
KILLS = int(os.environ.get("AORTA_KILLS", "6"))  # 50 for docs/echo.md
RECIPE = ["--model_name", "unet_small", "--optimizer", "adam", "--lr", "1e-3", "--schedule", "onecycle",
          "--num_epochs", "3", "--batch_size", "2", "--num_workers", "2", "--augment", "--save_every", "0.005"]


def tensors(path):
    """Name and bytes of each tensor of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, data[8 + size + begin:8 + size + end]


def fingerprint(folder):
    """Of everything that training makes: the last weights and the optimizer, the best weights, the rows."""
    digest = hashlib.sha256()
    for name, data in sorted(tensors(folder + "/checkpoint.safetensors")):
        if not name.startswith("history."):  # holds times
            digest.update(name.encode() + data)
    for name, data in sorted(tensors(folder + "/best.safetensors")):
        digest.update(name.encode() + data)
    with open(folder + "/log.csv") as table:
        for row in csv.reader(table):
            digest.update(repr(row[:6]).encode())
    return digest.hexdigest()


def fingerprint_of_file(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def event_steps(folder):
    """(tag, step) of each record of the event file, whose framing is checked."""
    names = [name for name in os.listdir(folder) if name.startswith("events.out.tfevents.")]
    assert len(names) == 1, names
    with open(os.path.join(folder, names[0]), "rb") as file:
        data = file.read()
    found, at = [], 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        record = data[at + 12:at + 12 + size]
        assert len(record) == size and at + 16 + size <= len(data), "a record that is cut"
        found.append(event(record))
        at += 16 + size
    return [one for one in found if one[0]]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def event(record):
    """Event: step = 2, summary = 5; Summary: value = 1; Value: tag = 1."""
    step, tag = 0, ""
    for number, value in fields(record):
        if number == 2:
            step = value
        if number == 5:
            for _, one in fields(value):
                tag = next(v.decode() for n, v in fields(one) if n == 1)
    return tag, step


def family(pid):
    """Its descendants, but for those that end meanwhile."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            found = [int(child) for child in children.read().split()]
    except OSError:
        return
    for child in found:
        yield child
        yield from family(child)


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.data = cls.folder + "/data"
        subprocess.run([ECHO, "synth", "--output", cls.data, "--train", "6", "--val", "2", "--test", "2", "--frames", "56", "--size", "32",
                        "--seed", "3"], check=True, stdout=subprocess.DEVNULL)
        cls.reference = cls.folder + "/reference"
        start = time.monotonic()
        subprocess.run(cls.train(cls.reference), check=True, stdout=subprocess.DEVNULL)
        cls.seconds = time.monotonic() - start
        cls.want = fingerprint(cls.reference)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def train(cls, run):
        return [ECHO, "train", "--data_dir", cls.data, "--output", run] + RECIPE

    @staticmethod
    def resume(run):
        return [ECHO, "train", "--resume", "--output", run]

    def start(self, command, **options):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def run_folder(self):
        return os.path.join(self.folder, self.id().split(".")[-1])

    def check(self, run):
        self.assertEqual(fingerprint(run), self.want)
        self.assertEqual(sorted(event_steps(run)), sorted(event_steps(self.reference)))

    def finish(self, run):
        done = subprocess.run(self.resume(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(run)
        left = [name for _, _, names in os.walk(run) for name in names if name.endswith(".tmp")]
        self.assertEqual(left, [], "what a killed run left must be removed")
        return done

    def wait_for_steps(self, process, run):
        """Until the run has a checkpoint."""
        while not os.path.exists(run + "/checkpoint.safetensors"):
            self.assertIsNone(process.poll())
            time.sleep(0.01)

    def test_events_have_each_epoch_once(self):
        found = event_steps(self.reference)
        for tag in "loss/train", "loss/val", "dice/val", "lr", "samples":
            self.assertEqual([step for name, step in found if name == tag], [1, 2, 3], tag)

    def test_kills_at_random_moments(self):
        generator, kills = random.Random(5), 0
        while kills < KILLS:
            run = self.run_folder()
            shutil.rmtree(run, ignore_errors=True)
            command = self.train(run)
            while True:
                process = self.start(command)
                try:
                    out, err = process.communicate(timeout=generator.uniform(0.02, self.seconds))
                    self.assertEqual(process.returncode, 0, err)
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                command = self.resume(run) if os.path.exists(run + "/args.yaml") else self.train(run)
            self.check(run)

    def stop_with(self, number):
        run = self.run_folder()
        process = self.start(self.train(run))
        self.wait_for_steps(process, run)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertIn("go on with: aorta-echo train --resume --output " + run, out)
        # An epoch may have ended before, whose poor Dice is said.
        self.assertEqual([line for line in err.splitlines() if not line.startswith("warning: the Dice of validation ")], [])
        self.finish(run)

    def test_a_network_of_clips_is_killed_in_each_stage(self):
        recipe = ["--model_name", "unet_3d", "--frames", "4", "--optimizer", "adam", "--lr", "1e-3", "--pretrain_epochs", "1",
                  "--num_epochs", "1", "--batch_size", "2", "--num_workers", "1", "--save_every", "0.001"]
        want = []
        for kills in [], ["checkpoint.safetensors"], ["checkpoint.safetensors", "log.csv"]:
            run = self.run_folder() + str(len(kills))
            command = [ECHO, "train", "--data_dir", self.data, "--output", run] + recipe
            for file in kills:
                process = self.start(command)
                while not os.path.exists(os.path.join(run, file)) and process.poll() is None:
                    time.sleep(0.01)
                process.kill()
                process.communicate()
                command = self.resume(run)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            want.append(fingerprint(run))
        self.assertEqual(want, [want[0]] * 3)
        with open(run + "/log.csv") as table:
            self.assertEqual([row["phase"] for row in csv.DictReader(table)], ["train", "val"])

    def test_ctrl_c_saves_and_says_how_to_go_on(self):
        self.stop_with(signal.SIGINT)

    def test_sigterm_alike(self):
        self.stop_with(signal.SIGTERM)

    def test_a_signal_that_is_sent_twice_is_one(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        self.wait_for_steps(process, run)
        for _ in range(2):  # as `timeout` does: to the program, then to its group
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("go on with: ", out)
        self.finish(run)

    def test_workers_end_with_a_killed_program(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        self.wait_for_steps(process, run)

        processes = list(family(process.pid))
        self.assertGreaterEqual(len(processes), 3)  # two workers and who starts them
        process.kill()
        process.communicate()
        limit = time.monotonic() + 5

        def is_alive(pid):
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
            except OSError:
                return False

        alive = lambda: [pid for pid in processes if is_alive(pid)]
        while alive() and time.monotonic() < limit:
            time.sleep(0.05)
        self.assertEqual(alive(), [])
        self.finish(run)

    def test_a_killed_worker_is_replaced(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        self.wait_for_steps(process, run)
        killed = 0
        for pid in family(process.pid):
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    is_worker = comm.read().startswith("aorta-work ")
                if is_worker:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            except OSError:
                pass
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(killed, 0)
        self.check(run)

    def test_a_damaged_checkpoint_is_named_and_the_one_before_taken(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        while not os.path.exists(run + "/checkpoint.safetensors.1"):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        path = run + "/checkpoint.safetensors"
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) - 1000)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 4]))
        done = self.finish(run)
        self.assertRegex(done.stderr, r"warning: .*checkpoint.safetensors: .*; going on from the checkpoint before it")

    def test_a_full_disk_ends_it_with_the_checkpoint_before_intact(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        self.wait_for_steps(process, run)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 22, 1 << 22))

        before = open(run + "/checkpoint.safetensors", "rb").read()
        process = self.start(self.resume(run), preexec_fn=small_files)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 6, err)
        self.assertRegex(err.splitlines()[-1], r"error: .*/(checkpoint|best).safetensors.*EFBIG")
        self.assertEqual(open(run + "/checkpoint.safetensors", "rb").read(), before)
        self.finish(run)

    def test_a_kill_while_it_saves_leaves_nothing_behind(self):
        run = self.run_folder()
        process = self.start(self.train(run))
        saving = False
        while not saving and process.poll() is None:
            saving = os.path.isdir(run) and any(
                name.endswith(".tmp") and "safetensors" in name for name in os.listdir(run))
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(saving, "it ended before it saved")
        # This file is of a process that lives, this one: it isn't the run's to remove.
        mine = run + "/.best.safetensors.%d-0.tmp" % os.getpid()
        with open(mine, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            subprocess.run(self.resume(run), check=True, stdout=subprocess.DEVNULL)
            self.assertTrue(os.path.exists(mine))
        self.finish(run)

    def test_settings_that_would_change_the_run_are_refused(self):
        run = self.run_folder()
        shutil.copytree(self.reference, run)
        done = subprocess.run(self.resume(run) + ["--batch_size", "3"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: --resume: batch_size must stay what it was, got 3 after 2\n")
        self.assertEqual(fingerprint(run), self.want)
        cut = run + "_cut"
        done = subprocess.run(self.train(cut) + ["--schedule", "step", "--max_steps", "1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(self.resume(cut) + ["--max_steps", "2"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^error: --resume: a run that --max_steps has ended inside of an epoch has no more steps, got 1 "
                         r"of \d+ steps an epoch\n$")
        done = subprocess.run(self.resume(cut), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_killed_run_goes_on_with_its_own_data_alone(self):
        run = self.run_folder()
        data = run + "-data"
        shutil.copytree(self.data, data)
        process = self.start(self.train(run) + ["--data_dir", data])
        self.wait_for_steps(process, run)
        process.kill()
        process.communicate(timeout=60)
        before = fingerprint_of_file(run + "/checkpoint.safetensors")
        table = data + "/FileList.csv"
        with open(table) as file:
            head, *rows = file.read().splitlines()
        train = [i for i, row in enumerate(rows) if row.endswith("TRAIN")]
        val = next(i for i, row in enumerate(rows) if row.endswith("VAL"))
        first, second = train[:2]
        name = lambda i: '"%s.avi"' % rows[i].split(",")[0].removesuffix(".avi")
        swapped = list(rows)
        swapped[first], swapped[second] = rows[second], rows[first]
        fewer = rows[:first] + rows[first + 1:]
        moved = list(rows)
        moved[val] = rows[val].removesuffix("VAL") + "TRAIN"
        changes = (swapped, "train has %s where %s was" % (name(second), name(first))), \
            (fewer, "train lacks " + name(first)), (moved, "train has %s besides; val lacks %s" % (name(val), name(val)))

        def write(rows):
            with open(table, "w") as file:
                file.write("\n".join([head, *rows]) + "\n")

        for changed, difference in changes:
            write(changed)
            done = subprocess.run(self.resume(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stderr, "error: --resume: the data must be those that the run began with, got others: "
                             + difference + "; --allow_changed_data takes them all the same\n")
            self.assertEqual(fingerprint_of_file(run + "/checkpoint.safetensors"), before)
        shutil.copytree(run, run + "-changed")
        write(swapped)
        done = subprocess.run(self.resume(run + "-changed") + ["--allow_changed_data"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines()[0], "warning: the data must be those that the run began with, got "
                         "others: " + changes[0][1] + "; going on with them")
        write(rows)
        self.finish(run)

    def test_a_run_that_met_a_bad_video_goes_on_with_it_when_it_is_repaired(self):
        begun, data = self.run_folder(), self.run_folder() + "-data"
        shutil.copytree(self.data, data)
        process = self.start(self.train(begun) + ["--data_dir", data])
        self.wait_for_steps(process, begun)
        process.kill()
        process.communicate(timeout=60)
        with open(data + "/FileList.csv") as table:
            names = [row["FileName"] for row in csv.DictReader(table) if row["Split"] == "TRAIN"]
        inside = 0
        for number, name in enumerate(names):
            run, video = begun + str(number), "%s/Videos/%s.avi" % (data, name.removesuffix(".avi"))
            shutil.copytree(begun, run)
            with open(video, "rb") as file:
                content = file.read()
            with open(video, "wb") as file:
                file.write(content.replace(b"\xff\xda", b"\0\0"))  # no scan begins: no frame can be read
            done = subprocess.run(self.resume(run) + ["--num_workers", str(number % 3)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(os.path.basename(video), done.stderr)
            with open(video, "wb") as file:
                file.write(content)
            inside += not re.search("step 0 of|step 3 of", self.finish(run).stdout)
        self.assertGreater(inside, 0, "a video must be bad in the middle of an epoch")

    def test_a_complete_run_says_so_and_keeps_its_report(self):
        run = self.run_folder()
        shutil.copytree(self.reference, run)
        done = self.finish(run)
        self.assertIn("resume the run is complete, epoch 3 of 3; it is evaluated again\n", done.stdout)
        with open(run + "/report.html") as page:
            self.assertNotRegex(page.read(), r"<td[^>]*>forward</td>\s*<td[^>]*>0\.0+ s")

    def test_a_start_that_fails_leaves_no_folder_and_no_harm(self):
        run = self.run_folder()
        for flags, code in (["--data_dir", run + "/nowhere"], 3), (["--lr", "0"], 2):
            command = self.train(run + "/deeper") + flags
            self.assertEqual(subprocess.run(command, stderr=subprocess.PIPE).returncode, code)
            self.assertFalse(os.path.exists(run))
        shutil.copytree(self.reference, run)
        command = self.train(run) + ["--overwrite", "--data_dir", run + "/nowhere"]
        self.assertEqual(subprocess.run(command, stderr=subprocess.PIPE).returncode, 3)
        self.check(run)

    def test_the_file_of_arguments_repeats_the_run(self):
        run = self.run_folder()
        subprocess.run([ECHO, "train", "--config", self.reference + "/args.yaml", "--output", run, "--num-workers", "0",
                        "--quiet"], check=True)
        self.check(run)


if __name__ == "__main__":
    unittest.main()

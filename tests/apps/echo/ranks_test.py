"""Training by several processes: the curve of one, a stop and an end on any rank, and going on by more or fewer."""

import array
import csv
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../mpi")]
import mpirun
import two_hosts

ECHO = os.path.abspath(sys.argv[1])
import resume_test  # noqa: E402  (takes sys.argv[1])

KILLS = int(os.environ.get("AORTA_KILLS", "2"))  # 20 for docs/parallel.md
COUNTS = (1, 2, 4, 8) if KILLS >= 4 else (2, 8)  # of ranks
# Sums over a batch, cut at other places: f32's rounding, through six steps that don't amplify it. (Those of Adam, or of a
# learning rate 100 times this one, do.)
# An overlap changes by 1e-5 where rounding takes one pixel over the threshold.
BOUNDS, WEIGHT_BOUND = {"loss": 1e-5, "overall_dice": 1e-4}, 1e-7
VIDEOS, BATCH, EPOCHS, LR = 16, 8, 3, 1e-7
STEPS_OF_EPOCH = VIDEOS // BATCH
STEPS = STEPS_OF_EPOCH * EPOCHS
RECIPE = ["--model_name", "unet_small", "--optimizer", "sgd", "--lr", str(LR), "--num_epochs", str(EPOCHS), "--batch_size",
          str(BATCH), "--batch_parts", "8", "--num_workers", "0", "--augment", "--rank_timeout", "20", "--save_every", "0.0001"]


def errors(text):
    """What is said beside mpirun's words; six steps make no good network, and it is warned of that."""
    return [line for line in mpirun.said_by_us(text) if not line.startswith("warning: the Dice of validation")]


def rows(run):
    with open(run + "/log.csv", encoding="utf-8") as table:
        return [{name: float(value) for name, value in row.items() if name != "phase" and re.match(r"-?[\d.]", value)}
                for row in csv.DictReader(table)]


def steps_done(run):
    """Of the last checkpoint, which is written behind each step."""
    try:
        with open(run + "/checkpoint.safetensors", "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    except FileNotFoundError:
        return 0
    return int(re.search(r"\d+", header["__metadata__"]["value:progress.steps"]).group())


def weights(run):
    """The network's parameters, as numbers."""
    return {name: array.array("f", data) for name, data in resume_test.tensors(run + "/checkpoint.safetensors")
            if name.startswith("model.") and name.endswith(("weight", "bias"))}


@unittest.skipUnless(mpirun.is_there(), "there is no mpirun")
class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.data = cls.folder + "/data"
        subprocess.run([ECHO, "synth", "--output", cls.data, "--train", str(VIDEOS), "--val", "5", "--test", "2", "--frames",
                        "56", "--size", "32", "--seed", "3"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.reference = cls.folder + "/reference"
        subprocess.run(cls.train(cls.reference), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=mpirun.environment())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def tearDown(self):
        self.assertEqual(mpirun.left(), [], "processes are left")

    @classmethod
    def train(cls, run, *more):
        return [ECHO, "train", "--data_dir", cls.data, "--output", run, *RECIPE, *more]

    @staticmethod
    def resume(run, *more):
        return [ECHO, "train", "--resume", "--output", run, *more]

    def run_folder(self, name=""):
        return os.path.join(self.folder, self.id().split(".")[-1] + name)

    def finish(self, count, command):
        done = mpirun.run(count, command) if count else subprocess.run(
            command, capture_output=True, text=True, env=mpirun.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(errors(done.stderr), [])
        return done.stdout

    def check_curve(self, run, reference=None, epochs=EPOCHS):
        """The losses and overlaps of one process in training: a validation has the running statistics of the first part."""
        reference = reference or self.reference
        found, wanted = rows(run), rows(reference)
        self.assertEqual(len(found), 2 * epochs)
        for i, (a, b) in enumerate(zip(found, wanted)):
            self.assertEqual(a["samples"], b["samples"])
            for name, bound in BOUNDS.items() if i % 2 == 0 else ():
                self.assertLess(abs(a[name] - b[name]), bound * max(1, abs(b[name])), (name, a, b))
        own, other = weights(run), weights(reference)
        self.assertEqual(set(own), set(other))
        # A video that was missed or seen twice would move them by a tenth of a step.
        apart = sum(abs(a - b) for name, values in own.items() for a, b in zip(values, other[name]))
        self.assertLess(apart / sum(map(len, own.values())), WEIGHT_BOUND)

    def test_the_curve_is_that_of_one_process(self):
        for count in 2, 8:  # 4 are below
            run = self.run_folder(str(count))
            out = self.finish(count, self.train(run))
            self.assertEqual(out.count("aorta-echo · unet_small"), 1, "the first rank alone speaks")
            self.assertIn("ranks  %d processes, %d videos of each step in each" % (count, BATCH // count), out)
            self.check_curve(run)

    def test_one_rank_has_the_bits_of_a_process_by_itself(self):
        run = self.run_folder()
        self.finish(1, self.train(run))
        self.assertEqual(resume_test.fingerprint(run), resume_test.fingerprint(self.reference))

    def start(self, count, command, run):
        """Returns when it has a checkpoint inside an epoch."""
        before = os.path.exists(run + "/checkpoint.safetensors") and os.stat(run + "/checkpoint.safetensors").st_mtime_ns
        process = mpirun.start(count, command)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        while not os.path.exists(run + "/checkpoint.safetensors") or \
                os.stat(run + "/checkpoint.safetensors").st_mtime_ns == before:
            self.assertIsNone(process.poll(), process.poll() is not None and process.communicate())
            time.sleep(0.005)
        return process

    def stop(self, count, command, run, number, rank):
        process = self.start(count, command, run)
        os.kill(mpirun.pids(process)[rank], number)
        out, err = mpirun.finish(process)
        self.assertEqual(errors(err), [])
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertEqual(out.count("everything is saved"), 1, out)

    def test_the_validation_is_of_the_weights_that_are_saved(self):
        run = self.run_folder()
        # Steps that move something: the last one given counts.
        said = self.finish(2, self.train(run, "--lr", "5e-3", "--optimizer", "adam", "--run_test"))
        best = min(rows(run)[1::2], key=lambda row: row["loss"])
        done = subprocess.run([ECHO, "evaluate", "--weights", run, "--data_dir", self.data, "--split", "val", "--num_workers", "0"],
                              capture_output=True, text=True, env=mpirun.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        dice = float(re.search(r"overall (\d\.\d+)", done.stdout).group(1))
        self.assertAlmostEqual(dice, best["overall_dice"], delta=2e-4, msg=done.stdout + said)

    def test_going_on_by_other_numbers_of_ranks(self):
        run, reference = self.run_folder(), self.run_folder("_reference")
        # However late a signal comes on a busy machine, there is something left to do.
        self.stop(8, self.train(run, "--num_epochs", "1000"), run, signal.SIGTERM, 5)
        self.stop(4, self.resume(run), run, signal.SIGINT, 0)
        self.stop(8, self.resume(run), run, signal.SIGTERM, 7)
        epochs = str(steps_done(run) // STEPS_OF_EPOCH + 1)
        self.finish(0, self.resume(run, "--num_epochs", epochs))
        self.finish(0, self.train(reference, "--num_epochs", epochs))
        self.check_curve(run, reference, int(epochs))

    def test_divided_state_has_the_same_bits_and_bf16_gradients_nearly_the_same_losses(self):
        whole, zero, bf16 = (self.run_folder(name) for name in ("", "_zero", "_bf16"))
        short = ["--num_epochs", "1"]
        self.finish(2, self.train(whole, *short))
        self.finish(2, self.train(zero, "--zero", *short))
        self.assertEqual(resume_test.fingerprint(zero), resume_test.fingerprint(whole))
        self.finish(2, self.train(bf16, "--bf16_gradients", *short))
        self.assertNotEqual(resume_test.fingerprint(bf16), resume_test.fingerprint(whole))
        for a, b in zip(rows(bf16), rows(whole)):
            self.assertLess(abs(a["loss"] - b["loss"]), 0.01 * b["loss"])
        # The state that was divided among two is one process's.
        self.finish(0, self.resume(zero, "--num_epochs", "2"))

    def begin_or_resume(self, run):
        """As a person does: a run that was killed before it had a folder begins."""
        return self.resume(run) if os.path.exists(run + "/args.yaml") else self.train(run)

    def kill(self, count, run, step, rank):
        """Begins a run or goes on with it, and kills a rank soon after the checkpoint of `step`; of step 0, as it starts."""
        process = mpirun.start(count, self.begin_or_resume(run))
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        while steps_done(run) < step or rank not in mpirun.pids(process):
            self.assertIsNone(process.poll(), process.poll() is not None and process.communicate())
            time.sleep(0.001)
        time.sleep(self.moments.uniform(0, 0.05))
        os.kill(mpirun.pids(process)[rank], signal.SIGKILL)
        _, err = mpirun.finish(process, 30)
        self.assertNotEqual(process.returncode, 0, err)

    def killed_again_and_again(self, counts, kills, check):
        """Kills at steps by chance, of which each run has as many as it comes by; each run's end is checked."""
        run, said = self.run_folder("_killed"), []
        for count, step in [(count, self.moments.randrange(STEPS - 1)) for count in counts for _ in range(kills)]:
            if 0 < step <= steps_done(run):
                self.finish(count, self.begin_or_resume(run))
                check(run)
                shutil.rmtree(run)
            rank = self.moments.randrange(count)
            self.kill(count, run, step, rank)
            said.append("rank %d of %d behind step %d" % (rank, count, step))
        self.finish(counts[-1], self.begin_or_resume(run))
        check(run)
        print("killed: " + ", ".join(said), file=sys.stderr)
        shutil.rmtree(run)

    def test_ranks_killed_at_random_steps_go_on_to_the_same_bits(self):
        for count in COUNTS:
            self.moments = random.Random(count)
            whole = self.run_folder("_whole%d" % count)
            self.finish(count, self.train(whole))
            wanted = resume_test.fingerprint(whole)
            self.killed_again_and_again([count], KILLS // len(COUNTS),
                                        lambda run: self.assertEqual(resume_test.fingerprint(run), wanted))

    def test_ranks_killed_at_random_steps_go_on_by_other_numbers(self):
        self.moments = random.Random(7)
        counts = [self.moments.choice(COUNTS) for _ in range(KILLS)]
        self.killed_again_and_again(counts, 1, self.check_curve)

    def test_a_stopped_rank_is_named_and_its_calls_are_shown(self):
        run = self.run_folder()
        process = self.start(2, self.train(run, "--num_epochs", "1000", "--rank_timeout", "5"), run)
        started = time.monotonic()
        os.kill(mpirun.pids(process)[1], signal.SIGSTOP)
        out, err = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - started, 15)
        said = errors(err)
        self.assertEqual(len(said), 1, err)
        self.assertRegex(said[0], r"^error: \w+ \d+( of [^:]*)?: every rank must come within 5 s, got none of rank 1 \(pid \d+\): "
                         r"(it is [a-z ]+, for [\d.]+ s; )?its last call: .*$")
        self.assertEqual(process.returncode, 4, err)
        shown = subprocess.run([ECHO, "ranks", run], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        # It may have been stopped in between.
        self.assertRegex(shown.stdout, r"(?m)^rank 1 had not joined .*, which rank 0 entered [\d.]+ s before the end; its last there: |"
                         r"^all had joined .*, and ranks [01, ]+ had not left it$")
        self.finish(0, self.resume(run, "--num_epochs", "1"))  # the last checkpoint is whole
        self.assertFalse(os.path.exists(run + "/ranks"))

    def test_a_network_that_makes_two_slower_than_one_is_told_of(self):
        why_not = two_hosts.why_not()
        if why_not:
            self.skipTest(why_not)
        hosts = two_hosts.TwoHosts(two_hosts.Cable(bits_per_second=2e8, seconds=0.01))
        self.addCleanup(hosts.close)
        command = hosts.command(self.folder + "/agent", self.train(self.run_folder(), "--max_steps", "5", "--save_every", "10"))
        done = subprocess.run(command, capture_output=True, text=True, env=mpirun.environment(), timeout=mpirun.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.findall(r"warning: 2 processes take ([\d.e+]+) times as long as one would with all of the batch: each computes a step in "
                          r"([\d.e-]+) s and then waits ([\d.e-]+) s for the rest of ([\d.e-]+) MB of gradients, at ([\d.e-]+) GB/s and "
                          r"([\d.e-]+) ms an exchange", done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        times, computes, waits, megabytes, speed, latency = map(float, said[0])
        self.assertGreater(times, 1)
        self.assertAlmostEqual(times, (computes + waits) / (2 * computes), delta=0.06 * times)
        # The cable's, 25 MB a second and 10 ms each way, or what a busy machine makes of it.
        self.assertTrue(2e-3 < speed < 3e-2 and 10 < latency < 100, said)
        self.assertAlmostEqual(waits, megabytes * 1e-3 / speed + latency * 1e-3, delta=computes)

    def test_a_rank_without_its_data_ends_all(self):
        run, started = self.run_folder(), time.monotonic()
        other = self.train(run)
        other[other.index("--data_dir") + 1] = self.folder + "/nowhere"
        done = mpirun.run(2, [self.train(run), other])
        said = mpirun.said_by_us(done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], r"^error: rank 1: .*nowhere")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertLess(time.monotonic() - started, 10)

    def test_a_loss_that_is_not_finite_ends_all(self):
        done = mpirun.run(2, self.train(self.run_folder(), "--lr", "1e30"))
        said = errors(done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], r"^error: rank [01]: the loss must be finite, got (nan|inf) at step \d .*holds the batch and the weights$")
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_what_all_find_wrong_is_said_once(self):
        for flags, code, text in (["--lr", "0"], 2, "error: rank 0: --lr: must be positive, got 0"), \
                (["--batch_parts", "3"], 2, "error: rank 0: --batch_parts: must be a multiple of the number of processes, got 3 for 2"), \
                (["--devices", "cpu:0,cpu:1"], 2, "error: rank 0: --devices: each process has one device, got --devices "
                                                  "\"cpu:0,cpu:1\" in 2 processes"):
            done = mpirun.run(2, self.train(self.run_folder(), *flags))
            self.assertEqual(mpirun.said_by_us(done.stderr), [text])
            self.assertEqual(done.returncode, code)
        done = mpirun.run(2, [ECHO, "synth", "--output", self.run_folder()])
        self.assertEqual(mpirun.said_by_us(done.stderr), [
            "error: rank 0: synth: one process does it, and several `train` alone, got 2 of mpirun or srun"])
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

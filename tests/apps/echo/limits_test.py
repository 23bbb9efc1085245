"""Each limit of a process from nothing to enough: aorta-echo does what it is told, or ends with one line and the right
code, and what earlier runs wrote is whole.

    python3 limits_test.py AORTA_ECHO BAD_TENSOR BAD_MACHINE.so

Descriptors are stepped through one by one, the other limits coarsely; tests/siege/program_siege.py draws any value of
each for every command. Below some value the kernel or the dynamic loader ends a program before it begins: that is theirs.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bad_input_case import ECHO, LIMIT, MODEL, Case, errors_of, fault_of_lines, has_begun

MIB = 1 << 20
THREADS = {"OMP_NUM_THREADS": "3"}  # more than CPUs, and so many that teams of them differ
AS_A_SHELL_HAS_IT = {"OMP_NUM_THREADS": None}  # tests set it
# What C++, C and their libraries say in their own words.
RAW = re.compile(r"terminate called|filesystem error|basic_|std::|libgomp|Sanitizer|Segmentation|got Success|"
                 r"got No such file or directory|cannot create|what\(\)|got no more$")

STEPS = {
    "NOFILE": range(0, 64),
    "AS": range(8 * MIB, 420 * MIB, 37 * MIB),
    "DATA": range(0, 300 * MIB, 31 * MIB),
    "STACK": (16 << 10, 128 << 10, 256 << 10, 512 << 10, 1 * MIB),
    "FSIZE": (0, 1, 100, 4096, 60000, MIB, 4 * MIB, 32 * MIB),
}
CODES = {"NOFILE": (4,), "AS": (4,), "DATA": (4,), "STACK": (4,), "FSIZE": (4, 6), "NPROC": (4,)}


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        Case.shared = cls.folder.name + "/shared"
        data, run = Case.shared + "/data", Case.shared + "/run"
        os.mkdir(Case.shared)
        for command in (["synth", "--train", "4", "--val", "2", "--test", "2", "--frames", "56", "--size", "32", "--output", data],
                        ["train", "--data_dir", data, "--output", run, *MODEL, "--batch_size", "1",
                         "--num_train_patients", "2", "--num_epochs", "1"]):
            subprocess.run([ECHO, *command], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def judge(self, done, codes, what):
        """Whether it went well; None where the program didn't begin."""
        said = "%s: exit code %d\n%s" % (what, done.code, done.err)
        if done.code == 0:
            return True
        if not has_begun(done):
            return None
        self.assertIn(done.code, codes, said)
        self.assertEqual(fault_of_lines(done), "", said)
        self.assertRegex(errors_of(done)[0], r"^error: .*: ", said)
        self.assertNotRegex(done.err, RAW, said)
        return False

    def step_through(self, limit, run, check=lambda case, done: None, values=None):
        """Runs `run(case, limits)` at each value until two in a row are enough. What is too little at one value must not
        begin at a smaller one."""
        number = getattr(resource, "RLIMIT_" + limit)
        begun = False
        ended = []
        for value in values or STEPS[limit]:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                case = Case(folder)
                try:
                    done = run(case, [(number, value)])
                    well = self.judge(done, CODES[limit], "%s %d" % (limit, value))
                    self.assertFalse(begun and well is None, "%s %d: %d %s" % (limit, value, done.code, done.err))
                    begun = begun or well is not None
                    check(case, done)
                finally:
                    case.end()
            ended.append(well)
            if ended[-2:] == [True, True]:
                break
        self.assertTrue(ended[-1], "%s: the last value must be enough" % limit)
        self.assertIn(False, ended, "%s: a value must be too little" % limit)

    @staticmethod
    def kept(case, done):
        """A resumed run: it can be gone on with, and nothing half-written stays."""
        if done.code != 0:
            try:
                case.expect_earlier_files("best.safetensors", "checkpoint.safetensors")
            except AssertionError:  # it came to newer ones
                again = case.resume("--num_epochs", "2")
                assert again.code == 0, again.err
        left = [name for _, _, names in os.walk(case.run_folder) for name in names if name.endswith(".tmp")]
        assert not left, left

    def train(self, limit, *flags, environment=THREADS):
        self.step_through(limit, lambda case, limits: case.begun().echo(
            *case.train_arguments("--resume", "--num_epochs", "2", *flags), limits=limits, environment=environment), self.kept)

    def test_descriptors_of_a_training(self):
        self.train("NOFILE")

    def test_descriptors_of_a_training_with_workers(self):
        self.train("NOFILE", "--num_workers", "2", environment=AS_A_SHELL_HAS_IT)

    def test_descriptors_of_a_run_that_replaces_one(self):
        self.step_through("NOFILE", lambda case, limits: case.begun().train("--overwrite", "--max_steps", "1", limits=limits))

    def test_address_space_of_a_training(self):
        self.train("AS")

    def test_address_space_of_a_training_with_workers(self):
        self.train("AS", "--num_workers", "2", environment=AS_A_SHELL_HAS_IT)

    def test_address_space_of_an_evaluation(self):
        self.step_through("AS", lambda case, limits: case.echo(
            "evaluate", "--data_dir", case.data_folder, "--weights", Case.shared + "/run", "--num_workers", "1",
            "--output", case.path("evaluation"), limits=limits), values=range(40 * MIB, 420 * MIB, 6 * MIB))

    def test_data_of_a_training_with_workers(self):
        self.train("DATA", "--num_workers", "2")

    def test_stack_of_a_training(self):
        self.train("STACK")

    def test_cpu_time_of_a_training(self):
        """The soft limit is a signal, which comes again each second: the run is saved, and goes on."""
        for seconds in 1, 2:
            with self.subTest(seconds), tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                case = Case(folder)
                try:
                    done = case.begun().resume("--num_epochs", "100000",
                                               limits=[(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))])
                    self.assertEqual(done.code, 128 + signal.SIGXCPU, done.out)
                    self.assertEqual([line for line in done.err.splitlines()
                                      if not line.startswith("warning: the Dice of validation ")], [])
                    self.assertIn("\nstopped by SIGXCPU (ulimit -t: no more CPU time) after step ", done.out)
                    case.expect_resumes()
                finally:
                    case.end()

    def test_cpu_time_of_an_evaluation(self):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            case = Case(folder)
            try:
                done = case.echo("evaluate", "--data_dir", case.data_folder, "--weights", Case.shared + "/run",
                                 "--batch_size", "1", "--split", "all", "--save_video", "--num_workers", "0",
                                 "--output", case.path("evaluation"),
                                 limits=[(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))])
                self.assertEqual(done.code, 128 + signal.SIGXCPU, done.err)
                self.assertRegex(done.err, r"^error: stopped by SIGXCPU \(ulimit -t: no more CPU time\): .*\n$")
            finally:
                case.end()

    def test_size_of_files_of_a_training(self):
        self.train("FSIZE")

    def test_size_of_files_of_a_training_with_workers(self):
        self.train("FSIZE", "--num_workers", "1")

    def test_size_of_files_of_a_segmentation(self):
        def segment(case, limits):
            videos = case.data.path("Videos")
            return case.echo("segment", "--weights", Case.shared + "/run", "--output", case.path("segmented"),
                             os.path.join(videos, sorted(os.listdir(videos))[0]), limits=limits)
        self.step_through("FSIZE", segment)

    def test_size_of_files_of_an_evaluation(self):
        self.step_through("FSIZE", lambda case, limits: case.echo(
            "evaluate", "--data_dir", case.data_folder, "--weights", Case.shared + "/run", "--num_workers", "0",
            "--output", case.path("evaluation"), limits=limits))

    def test_descriptors_of_the_other_commands(self):
        data, run = Case.shared + "/data", Case.shared + "/run"
        video = data + "/Videos/" + sorted(os.listdir(data + "/Videos"))[0]
        train = ["video", "--data_dir", data, "--random", "--model_name", "mc3_18", "--frames", "2", "--period", "28", "--batch_size",
                 "1", "--num_workers", "1", "--num_train_patients", "1", "--max_steps", "1", "--output"]
        clips = Case.shared + "/clips"
        subprocess.run([ECHO, *train, clips], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
        os.makedirs(Case.shared + "/ranked/ranks")
        for rank in range(2):
            with open(Case.shared + "/ranked/ranks/rank_%d.csv" % rank, "w", encoding="utf-8") as records:
                records.write("group,number,call,module,entered,left\nworld,1,all_reduce,head,1.5,%s\n" % ("" if rank else "2.5"))
        commands = (["synth", "--output", "made", "--train", "1", "--val", "1", "--test", "1", "--frames", "56", "--size", "32"],
                        ["data", "check", "--data_dir", data], ["data", "info", "--data_dir", data],
                        ["import", video, "--output", "made"],
                        ["export", "--weights", run, "--output", "net.safetensors"],
                        ["evaluate", "--data_dir", data, "--weights", run, "--num_workers", "0", "--output", "made"],
                        ["compare", "--data_dir", data, "--recordings", "2", "--workers", "1", "--epochs", "1",
                         "--model_name", "unet_small", "--batch_size", "1"],
                        ["segment", "--weights", run, "--output", "made", video], ["doctor"], ["ranks", Case.shared + "/ranked"],
                        [*train, "made"], ["beats", "--weights", run, "--video_weights", clips, "--output", "made", video])
        listed = subprocess.run([ECHO, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.partition("Subcommands:\n")[2]
        self.assertEqual({line.split()[0] for line in listed.splitlines() if line.strip()},
                         {command[0] for command in commands} | {"train"})
        for command in commands:
            with self.subTest(" ".join(command[:2])):
                self.step_through("NOFILE", lambda case, limits: case.echo(*command, limits=limits))

    def test_processes_of_a_training_with_workers(self):
        for count in 0, 1, 2, 3, 4, 6, 8, 24:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                case = Case(folder)
                try:
                    done = case.begun().echo_with_processes(
                        count, *case.train_arguments("--resume", "--num_epochs", "2", "--num_workers", "2"),
                        environment=THREADS)
                    if done is None:
                        self.skipTest("another user can't be had here")
                    well = self.judge(done, CODES["NPROC"], "NPROC %d" % count)
                    self.kept(case, done)
                finally:
                    case.end()
        self.assertTrue(well, "the last value must be enough")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

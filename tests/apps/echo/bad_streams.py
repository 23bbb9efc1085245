"""Closed standard streams, and pipes that nobody reads."""

import fcntl
import mmap
import os
import resource
import signal
import tempfile
import time

import bad_input_files as files
from bad_input_case import ECHO, LIMIT, Case, SharedData, errors_of

F_SETPIPE_SZ = 1031

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")


def files_below(folder):
    return {os.path.relpath(os.path.join(place, name), folder): files.read(os.path.join(place, name))
            for place, _, names in os.walk(folder) for name in names}


class ClosedStreams(SharedData):
    def in_each_case(self, check):
        """check(case, how) for each way of closing some of standard input, output and error, and first for none."""
        for how in ["", *CLOSED]:
            with self.subTest(how), tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                case = Case(folder)
                try:
                    check(case, how)
                finally:
                    case.end()

    @staticmethod
    def echo(case, how, *arguments):
        return case.finish(case.start("sh", "-c", 'exec "$0" "$@" ' + how, ECHO, *arguments))

    def test_of_a_new_training_with_workers(self):
        """Its files are those of one whose streams are open, and hold nothing that belongs elsewhere."""
        usual = {}

        def check(case, how):
            done = self.echo(case, how, *case.train_arguments("--num_workers", "2", "--max_steps", "1"))
            self.assertEqual((done.code, errors_of(done)), (0, []))
            made = {name.partition("tfevents")[0]: content for name, content in files_below(case.run_folder).items()}
            self.assertEqual(made[".lock"], b"")
            self.assertEqual(len(made["log.csv"].splitlines()), 3)
            usual.setdefault("names", sorted(made))
            self.assertEqual(sorted(made), usual["names"])
            for name in made:  # those without times, and without the names of folders
                if name.startswith(("val_", "samples/")) or name == "best.safetensors":
                    self.assertEqual(made[name], usual.setdefault(name, made[name]), name)
        self.in_each_case(check)
        self.assertIn("best.safetensors", usual)

    def test_of_the_other_commands(self):
        data, run = Case.shared + "/data", Case.shared + "/run"
        video = data + "/Videos/" + sorted(os.listdir(data + "/Videos"))[0]
        commands = [["data", "check", "--data_dir", data], ["data", "info", "--data_dir", data],
                    ["import", video, "--output", "imported"], ["export", "--weights", run, "--output", "net.safetensors"],
                    ["evaluate", "--data_dir", data, "--weights", run, "--num_workers", "1", "--output", "evaluated",
                     "--predictions", "predicted.csv"]]
        usual = {}

        def check(case, how):
            for command in commands:
                done = self.echo(case, how, *command)
                self.assertEqual((done.code, errors_of(done)), (0, []), command)
            made = files_below(case.folder)
            self.assertGreater(len(made), 8, sorted(made))
            self.assertEqual(made, usual.setdefault("made", made))
        self.in_each_case(check)

    def test_of_commands_that_fail(self):
        """With their codes, and without a change of what is there."""
        def check(case, how):
            before = files_below(case.begun().folder)
            for code, command in ((2, ["train", "--lr=x"]), (3, ["export", "--weights", case.data.path(files.TABLE), "--output", "x.npz"]),
                                  (4, ["train", "--resume", "--output", "none", "--data_dir", "none"]),
                                  (6, case.train_arguments())):
                done = self.echo(case, how, *command)
                self.assertEqual(done.code, code, done.err)
                self.assertEqual(len(errors_of(done)), 0 if "2>" in how else 1, done.err)
            self.assertEqual(files_below(case.folder), before)
        self.in_each_case(check)


class LostOutput(SharedData):
    """What is printed and can't be written, for the disk is full or the file as large as it may be, is said."""

    def commands(self, case):
        data, run = case.begun().data_folder, case.run_folder
        video = data + "/Videos/" + sorted(os.listdir(data + "/Videos"))[0]
        return [["--help"], ["--version"], ["train", "--help"], ["doctor"], ["data", "check", "--data_dir", data],
                ["data", "info", "--data_dir", data], ["synth", "--train", "1", "--val", "1", "--test", "1", "--output", "made"],
                ["import", video, "--output", "imported"], ["segment", video, "--weights", run, "--output", "segmented"],
                ["export", "--weights", run, "--output", "net.safetensors"],
                ["evaluate", "--data_dir", data, "--weights", run, "--num_workers", "0", "--output", "evaluated"]]

    def with_case(self, check):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            case = Case(folder)
            try:
                check(case)
            finally:
                case.end()

    def test_on_a_full_disk(self):
        def check(case):
            for command in self.commands(case):
                with self.subTest(" ".join(command)), open("/dev/full", "w", encoding="utf-8") as full:
                    done = case.echo(*command, stdout=full)
                    self.assertEqual((done.code, errors_of(done)), (6, [
                        "error: standard output: it must take what is printed, got No space left on device"]))
            for name in ("made/FileList.csv", "imported/FileList.csv", "net.safetensors", "evaluated/test_ef.csv"):
                self.assertTrue(os.path.exists(case.path(name)), name)
        self.with_case(check)

    def test_of_a_training(self):
        """Its log has it all."""
        def check(case):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = case.echo(*case.train_arguments(), stdout=full)
            self.assertEqual((done.code, errors_of(done)), (0, []))
            self.assertIn("warning: standard output: it must take what is printed, got No space left on device\n", done.err)
            self.assertIn("\ndice overall ", files.read(case.run_folder + "/train.log").decode())
        self.with_case(check)

    def test_in_a_file_as_large_as_it_may_be(self):
        def check(case):
            for command in ["--help"], ["train", "--help"]:
                with self.subTest(" ".join(command)), open(case.path("help"), "w", encoding="utf-8") as file:
                    done = case.echo(*command, stdout=file, limits=[(resource.RLIMIT_FSIZE, 512)])
                    self.assertEqual((done.code, errors_of(done)), (6, [
                        "error: standard output: it must take what is printed, got File too large"]))
        self.with_case(check)

    def test_whose_reader_went_away(self):
        def check(case):
            for command in self.commands(case):
                end, out = os.pipe()
                os.close(end)
                done = case.echo(*command, stdout=out)
                os.close(out)
                self.assertEqual(errors_of(done), [], command)
                self.assertIn(done.code, (0, 128 + signal.SIGPIPE), command)
        self.with_case(check)


class FullPipes(SharedData):
    """Pipes that nobody reads: SIGTERM ends what waits for their reader."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self.folder.name)
        self.addCleanup(folder.cleanup)
        self.case = Case(folder.name)
        self.addCleanup(self.case.end)

    def pipe(self, room):
        """The end to write to of a pipe that takes so many bytes more."""
        end, out = os.pipe()
        self.addCleanup(os.close, end)
        self.addCleanup(os.close, out)
        size = fcntl.fcntl(out, F_SETPIPE_SZ, mmap.PAGESIZE)
        os.write(out, b"\n" * (size - room))
        return out

    def wait_until_it_waits(self, started):
        deadline = time.monotonic() + LIMIT
        while "pipe_write" not in files.read("/proc/%d/wchan" % started.pid).decode():
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(started.poll())
            time.sleep(0.02)

    def end_what_waits(self, *command, room=0, **how):
        pipe = self.pipe(room)
        started = self.case.start(*command, stdout=pipe, **how)
        self.wait_until_it_waits(started)
        started.send_signal(signal.SIGTERM)
        done = self.case.finish(started)
        self.assertEqual(errors_of(done), [])
        return done

    def test_standard_output_of_a_training(self):
        done = self.end_what_waits(ECHO, *self.case.begun().resume_arguments("--num_epochs", "100000"), room=600)
        self.assertEqual(done.code, 143)
        log = files.read(self.case.run_folder + "/train.log").decode()
        self.assertIn("\nstopped by SIGTERM after step ", log)
        self.case.expect_resumes()

    def test_standard_output_and_error_of_a_training_that_begins(self):
        done = self.end_what_waits("sh", "-c", 'exec "$0" "$@" 2>&1', ECHO, *self.case.train_arguments("--num_workers", "2"))
        self.assertEqual(done.code, 143)
        self.case.expect_resumes()

    def test_standard_output_and_error_of_the_other_commands(self):
        self.case.begun()
        for command in (["data", "check", "--data_dir", self.case.data_folder],
                        # It has written its files, and waits with its last words.
                        ["evaluate", "--data_dir", self.case.data_folder, "--weights", self.case.run_folder,
                         "--num_workers", "0", "--output", self.case.path("evaluated")]):
            done = self.end_what_waits("sh", "-c", 'exec "$0" "$@" 2>&1', ECHO, *command)
            self.assertEqual(done.code, 143, command)
        self.assertTrue(os.path.exists(self.case.path("evaluated/test_ef.csv")))

    def test_log_of_a_training(self):
        log = self.case.begun().run_folder + "/train.log"
        os.remove(log)
        os.mkfifo(log)
        reader = os.open(log, os.O_RDWR)
        self.addCleanup(os.close, reader)
        size = fcntl.fcntl(reader, F_SETPIPE_SZ, mmap.PAGESIZE)
        os.write(reader, b"\n" * size)
        started = self.case.resume_for_long()
        started.send_signal(signal.SIGTERM)
        done = self.case.finish(started)
        self.assertEqual((done.code, errors_of(done)), (143, []))
        self.assertIn("train.log: lines are missing, got Resource temporarily unavailable; the training goes on\n", done.err)
        self.assertIn("; everything is saved\n", done.out)

    def test_log_of_a_training_that_has_no_reader(self):
        log = self.case.begun().run_folder + "/train.log"
        os.remove(log)
        os.mkfifo(log)
        started = self.case.resume_for_long()
        started.send_signal(signal.SIGTERM)
        done = self.case.finish(started)
        self.assertEqual((done.code, errors_of(done)), (143, []))
        self.assertIn("; everything is saved\n", done.out)


class NamedPipes(SharedData):
    """In the place of each file that a command reads or writes a pipe without another end is refused: nothing waits."""

    def refused(self, code, names, command):
        for name in names:
            with self.subTest(name), tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                case = Case(folder)
                try:
                    path = os.path.join(case.begun().folder, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    if os.path.lexists(path):
                        case.remove(path)
                    os.mkfifo(path)
                    done = case.echo(*command(case))
                    self.assertEqual((done.code, len(errors_of(done))), (code, 1), done.err)
                    self.assertIn(path, errors_of(done)[0])
                    self.assertRegex(errors_of(done)[0], "pipe or socket$|, got a file$|Not a directory")
                finally:
                    case.end()

    def test_of_a_new_training(self):
        read = ["data/" + files.TABLE, "data/" + files.TRACES, "weights.npz"]

        def train(case, *flags):
            return case.train_arguments("--output", case.path("new"), "--weights", case.path("weights.npz"), *flags)
        self.refused(3, read, train)
        self.refused(2, ["args"], lambda case: train(case, "--config", case.path("args")))
        self.refused(4, ["new"], train)

    def test_of_a_training_that_goes_on(self):
        """The log is one that it writes to without waiting."""
        there = sorted(os.listdir(Case.shared + "/run"))
        names = ["run/" + name for name in there if name not in (".lock", "args.yaml", "train.log") and "tfevents" not in name]
        self.assertGreater(len(names), 10)
        self.refused(4, names, lambda case: case.resume_arguments())
        self.refused(2, ["run/args.yaml"], lambda case: case.resume_arguments())

    def test_of_the_other_commands(self):
        def evaluate(case):
            return ["evaluate", "--data_dir", case.data_folder, "--weights", case.run_folder, "--num_workers", "0", "--output",
                    case.path("out"), "--predictions", case.path("predicted.csv")]
        self.refused(3, ["run/best.safetensors", "data/" + files.TABLE, "data/" + files.TRACES], evaluate)
        self.refused(6, ["predicted.csv", *("out/test" + rest for rest in ("_dice.csv", "_ef.csv", "_ef.svg", "_bland_altman.svg"))],
                     evaluate)
        self.refused(4, ["out"], evaluate)

        def export(case):
            return ["export", "--weights", case.run_folder, "--output", case.path("net.npz"), "--overwrite"]
        self.refused(6, ["net.npz"], export)
        self.refused(3, ["run/best.safetensors"], export)

        def of_a_video(name, *flags):
            return lambda case: [name, *flags, case.path("a.avi"), "--output", case.path("out")]
        for command in of_a_video("segment"), of_a_video("import"):
            self.refused(3, ["a.avi"], command)
        self.refused(6, ["out"], of_a_video("import"))
        self.refused(3, ["run/ranks/rank_0.csv"], lambda case: ["ranks", case.run_folder])

"""Closed standard streams, and pipes that nobody reads."""

import os
import tempfile

import bad_input_files as files
from bad_input_case import ECHO, Case, SharedData, errors_of

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

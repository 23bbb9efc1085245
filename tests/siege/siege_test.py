"""The siege's short form: fixed seeds, so many cases of each part, and no finding (docs/reliability.md)."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:8]]
INTERFACE, PARSERS, PROGRAM = PROGRAMS[0], PROGRAMS[1], PROGRAMS[2:]
SIEGE = "tests/siege/program_siege.py"

sys.argv = [SIEGE, *PROGRAM]
sys.path.insert(0, os.path.dirname(SIEGE))
import program_siege  # noqa: E402  (reads sys.argv)


def default_signals():
    """As a shell starts a program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)


class Siege(unittest.TestCase):
    def attack(self, *command, tried):
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=600)
        out = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, 0, out + done.stderr.decode(errors="replace")[-2000:])
        self.assertGreaterEqual(int(out.splitlines()[-1].split()[1]), tried, out)
        self.assertTrue(out.endswith(", 0 findings\n"), out)

    def test_interface(self):
        self.attack(INTERFACE, "--seed", 1, "--cases", 40000, tried=39000)

    def test_parsers(self):
        self.attack(PARSERS, "--seed", 1, "--cases", 60000, tried=59000)

    @staticmethod
    def attack_in(folder):
        """One that has a data set of one video."""
        program_siege.Case.shared = folder + "/shared"
        os.makedirs(folder + "/shared/data/Videos")
        for name in program_siege.files.TABLE, program_siege.files.TRACES:
            program_siege.files.write(folder + "/shared/data/" + name, "FileName\n0X1\n")
        return program_siege.Attack(types.SimpleNamespace(seed=1), 0, folder)

    def test_every_command_is_attacked(self):
        def commands(*words):
            said = subprocess.run([PROGRAM[0], *words, "--help"], check=True, stdout=subprocess.PIPE).stdout.decode()
            return [line.split()[0] for line in said.partition("Subcommands:\n")[2].splitlines() if line.strip()]
        names = {" ".join((name, *more)) for name in commands() for more in list(zip(commands(name))) or [()]}
        self.assertLess({"train", "beats", "data info"}, names)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            attacked = {" ".join(command[:2]) if command[0] == "data" else command[0]
                        for command in self.attack_in(folder).commands()}
        self.assertEqual(names, attacked)

    def test_what_came_to_nothing_is_missed(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            siege = object.__new__(program_siege.Siege)
            siege.seed, siege.folder, name = 1, folder, self.attack_in(folder).random.choice(program_siege.ATTACKS)
            for result, hit in ((None, True), (True, True), (False, False)):
                with unittest.mock.patch.object(program_siege.Attack, name, lambda attack, result=result: result):
                    self.assertEqual(siege.run(0), (name, hit, ""))

    def test_only_large_counts_are_left_out(self):
        taken = {value for value in program_siege.NUMBERS if not program_siege.takes_long("--num_epochs", value)}
        self.assertEqual(set(program_siege.NUMBERS) - taken, {"500", "1000000000000000000", "0x10"})
        self.assertFalse(program_siege.takes_long("--lr", "500"))

    def test_bytes_are_judged_as_they_were_written(self):
        """Not as Python reads them: with U+FFFD for what is no UTF-8, and a newline for a carriage return."""
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            case = self.attack_in(folder).case
            for said, fault in ((r"a: n must be positive, got 0\n", ""), (r"a: n must be positive, got \377\n", "must be UTF-8"),
                                (r"a: n must be positive, got \357\277\275\n", ""),
                                (r"a: n must be positive,\r got 0\n", "must be one line"),
                                (r"a: n must be positive,\0 got 0\n", "must have no control characters")):
                done = case.finish(case.start("sh", "-c", "printf 'error: %s' >&2; exit 2" % said))
                found = program_siege.Judge(program_siege.JUDGE).fault(done, {2})
                self.assertEqual(bool(found), bool(fault), found)
                self.assertIn(fault, found)
            case.end()

    def test_paths_that_cannot_be_looked_at(self):
        """From the Nth on each stat fails: once "/" seemed absent, and the search for a folder's parents never ended."""
        echo, calls = PROGRAM[0], PROGRAM[3]
        ended = set()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            data, run = folder + "/data", folder + "/run"
            subprocess.run([echo, "synth", "--train", "1", "--val", "1", "--test", "1", "--frames", "56", "--output",
                            data], check=True, stdout=subprocess.DEVNULL)
            for at in range(1, 8):
                done = subprocess.run(
                    [echo, "train", "--data_dir", data, "--output", run], check=False, timeout=60,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={
                        **os.environ, "LD_PRELOAD": calls, "FAIL_CALL": "stat", "FAIL_AT": str(at), "FAIL_ON": "1",
                        "FAIL_WITH": str(errno.EACCES)})
                said = done.stderr.decode()
                self.assertRegex(said, r"\Aerror: .*Permission denied\n\Z")
                self.assertIn(done.returncode, (3, 4), said)
                ended.add(said)
        self.assertGreater(len(ended), 1, "the calls must be those of different rules")

    def test_signals_end_every_command_with_a_line(self):
        """Each signal comes with the Nth file that is opened."""
        echo, calls = PROGRAM[0], PROGRAM[3]
        names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP",
                 signal.SIGXCPU: r"SIGXCPU \(ulimit -t: no more CPU time\)"}
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            data, run = folder + "/data", folder + "/run"
            for command in (["synth", "--train", "2", "--val", "1", "--test", "1", "--frames", "56", "--output", data],
                            ["train", "--data_dir", data, "--output", run, "--model_name", "unet_small", "--batch_size", "1",
                             "--num_epochs", "1", "--num_workers", "0"]):
                subprocess.run([echo, *command], check=True, stdout=subprocess.DEVNULL)
            for command in (["data", "check", "--data_dir", data], ["data", "info", "--data_dir", data], ["doctor"],
                            ["export", "--weights", run, "--overwrite", "--output", folder + "/out.npz"],
                            ["evaluate", "--weights", run, "--data_dir", data, "--output", folder],
                            ["segment", "--weights", run, "--output", folder + "/segmented", "--overwrite",
                             data + "/Videos/" + os.listdir(data + "/Videos")[0]],
                            ["compare", "--data_dir", data, "--workers", "0", "--epochs", "1", "--model_name", "unet_small",
                             "--batch_size", "1"]):
                for number, name in names.items():
                    said = []
                    for at in (1, 8):
                        done = subprocess.run([echo, *command], check=False, timeout=60, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.PIPE, preexec_fn=default_signals, env={
                                                  **os.environ, "LD_PRELOAD": calls, "FAIL_CALL": "open", "FAIL_AT": str(at),
                                                  "FAIL_SIGNAL": str(int(number))})
                        self.assertIn(done.returncode, (0, -number, 128 + number), done.stderr)
                        if done.returncode == 128 + number:
                            said.append(done.stderr.decode().replace("\r", "\n").strip().splitlines()[-1])
                    self.assertTrue(said, "%s: no %s was answered" % (command, name))
                    for line in said:
                        self.assertRegex(line, r"\Aerror: stopped by %s: .+\Z" % name)

    def test_what_killed_programs_leave_goes_with_the_next_run(self):
        """Killed at each rename in turn: what was there is there, or set aside, and the next run leaves only its own."""
        echo, calls = PROGRAM[0], PROGRAM[3]
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            def run(*command, **settings):
                return subprocess.run([echo, *command], check=False, timeout=60, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, env={**os.environ, **settings})

            def files_below(path):
                return sorted(os.path.relpath(os.path.join(place, name), path) for place, _, names in os.walk(path)
                              for name in names)

            data = folder + "/data"
            sizes = ["--val", "1", "--test", "1", "--frames", "56"]
            self.assertEqual(run("synth", "--train", "2", *sizes, "--output", data).returncode, 0)
            run_folder = folder + "/run"
            self.assertEqual(run("train", "--data_dir", data, "--output", run_folder, "--model_name", "unet_small",
                                 "--batch_size", "1", "--num_epochs", "0", "--num_workers", "0").returncode, 0)
            video = data + "/Videos/" + sorted(os.listdir(data + "/Videos"))[0]
            for command, name in ((["synth", "--train", "1", *sizes], "made"), (["import", data + "/Videos"], "made"),
                                  (["segment", "--weights", run_folder, video], "made")):
                made = folder + "/place/" + name
                command = [*command, "--output", made]
                left, killed = set(), 0
                while True:
                    shutil.rmtree(folder + "/place", ignore_errors=True)
                    os.mkdir(folder + "/place")
                    self.assertEqual(run(*command).returncode, 0)
                    whole = files_below(made)
                    done = run(*command, "--overwrite", LD_PRELOAD=calls, FAIL_CALL="rename", FAIL_AT=str(killed + 1),
                               FAIL_SIGNAL=str(int(signal.SIGKILL)))
                    if done.returncode == 0:
                        break
                    self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                    killed += 1
                    beside = set(os.listdir(folder + "/place")) | set(os.listdir(made) if os.path.isdir(made) else ())
                    kinds = {word.rsplit(".", 1)[-1] for word in beside if word.startswith(".")}
                    left |= kinds
                    kept = [path for path in files_below(folder + "/place") if os.path.basename(path) in
                            [os.path.basename(file) for file in whole]]
                    self.assertGreaterEqual(len(kept), len(whole), "nothing that was there is lost")
                    if "old" in kinds:  # a run that may not replace sees what was set aside
                        self.assertEqual(run(*command).returncode, 6)
                        self.assertEqual(files_below(folder + "/place"), [name + "/" + file for file in whole])
                    self.assertEqual(run(*command, "--overwrite").returncode, 0)
                    self.assertEqual(os.listdir(folder + "/place"), [name])
                    self.assertEqual(files_below(made), whole)
                self.assertGreater(killed, 2, command)
                self.assertEqual(left, {"tmp", "mp4"} if command[0] == "segment" else {"tmp", "old"})

    def test_program(self):
        self.attack(sys.executable, SIEGE, *PROGRAM, "--seed", 1, "--cases", 24, tried=18)

    def test_calls_that_fail_in_turn(self):
        self.attack(sys.executable, SIEGE, *PROGRAM, "--step", "rename", "open", "write", "--cases", 5, tried=13)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

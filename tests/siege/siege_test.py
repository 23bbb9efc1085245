"""The siege's short form: fixed seeds, so many cases of each part, and no finding (docs/reliability.md)."""

import errno
import os
import re
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

# What planted functions of the interface must be found for (planted.cc); how many cases that takes at most.
PLANTED = {
    "unclear": (20, "a message must start with what it is about and a colon"), "without_values": (20, "a message must"),
    "of_another_function": (20, "an error must name the function that was called, got mul: "),
    "of_another_type": (5, "must throw an Error alone, got vector::_M_range_check"),
    "of_an_undefined_tensor": (200, "an error must name the operand that is undefined, got "),
    "crashes": (5, "was ended by signal 11 (SIGSEGV)"), "never_ends": (1, "took more than 10 s"),
    "another_result": (200, "a call with safe copies must give the same result, got element 0: "),
    "another_gradient": (500, "a call with safe copies must give the same gradients, got element "),
}

# aorta-echo, and what it does wrong where PLANTED says so: behind a training, or instead of any command.
PLANTED_PROGRAM = """#!/bin/sh
case "$PLANTED" in
  silent) exit 3 ;;
  unclear) echo "error: something went wrong" >&2; exit 3 ;;
  twice) echo "error: a: n must be positive, got 0" >&2; echo "error: a: n must be positive, got 0" >&2; exit 3 ;;
  code) echo "error: a: n must be positive, got 0" >&2; exit 9 ;;
  raw) echo "epoch 1"; kill -SEGV $$ ;;
  done) echo "error: a: n must be positive, got 0" >&2; exit 0 ;;
esac
"%s" "$@"
code=$?
while [ $# -gt 1 ]; do
  [ "$1" = --output ] && [ -e "$2/checkpoint.safetensors" ] && case "$PLANTED" in
    left) touch "$2/.best.safetensors.7-1.tmp" ;;
    bits) echo >>"$2/log.csv" ;;
  esac
  shift
done
exit $code
"""
PLANTED_FOLDER = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
PLANTED_ECHO = PLANTED_FOLDER.name + "/aorta-echo"
with open(PLANTED_ECHO, "w", encoding="utf-8") as script:
    script.write(PLANTED_PROGRAM % PROGRAM[0])
os.chmod(PLANTED_ECHO, 0o755)

sys.argv = [SIEGE, PLANTED_ECHO, *PROGRAM[1:]]
sys.path.insert(0, os.path.dirname(SIEGE))
import program_siege  # noqa: E402  (reads sys.argv)
import bad_input_case  # noqa: E402  (which that one finds)
import dicom_files  # noqa: E402


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

    def test_what_is_planted_in_the_interface_is_found(self):
        """And once more from the number of its case."""
        for name, (cases, text) in PLANTED.items():
            with self.subTest(name):
                def attack(*arguments, name=name):
                    done = subprocess.run([INTERFACE, "--seed", "1", "--only", name, *arguments], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, env={**os.environ, "AORTA_SIEGE_PLANTED": "1"},
                                          check=False, timeout=600)
                    return done, done.stdout.decode(errors="replace")
                done, out = attack("--cases", str(cases))
                self.assertEqual(done.returncode, 1, out)
                self.assertIn("finding: ", out)
                self.assertIn(text, out)
                if name != "never_ends":
                    again = re.search(r"see it again: .* --case (\d+)", out)
                    self.assertNotEqual(attack("--case", again[1])[0].returncode, 0)

    def test_what_is_planted_in_the_program_is_found(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            siege = program_siege.Siege(1, folder)
            for name, text in (("", ""), ("silent", 'there must be one line "error: ..."'), ("unclear", "a line must say what it got"),
                               ("twice", 'there must be one line "error: ..."'), ("code", "the exit code must be one of"),
                               ("raw", "the exit code must be one of"), ("done", "there must be no error, got 1")):
                with self.subTest(name), unittest.mock.patch.dict(os.environ, {"PLANTED": name}), \
                        unittest.mock.patch.object(program_siege, "ATTACKS", ["config"]):
                    _, _, wrong = siege.run(0)
                    self.assertIn(text, wrong) if text else self.assertEqual(wrong, "")
            for number, (name, text) in enumerate((("left", "nothing may be left over, got ['.best.safetensors.7-1.tmp']"),
                                                   ("bits", "a run must go on to the same bits, got others"))):
                place = "%s/%d" % (folder, number)
                os.mkdir(place)
                attack = program_siege.Attack(siege, number, place)
                with self.subTest(name), unittest.mock.patch.dict(os.environ, {"PLANTED": name}):
                    with self.assertRaisesRegex(AssertionError, re.escape(text)):
                        attack.finish_run()

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
            self.attack_in(folder)
            siege = object.__new__(program_siege.Siege)
            siege.seed, siege.folder, name = 1, folder, program_siege.ATTACKS[0]
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
            subprocess.run([echo, "synth", "--train", "1", "--val", "1", "--test", "1", "--frames", "56", "--size", "32", "--output",
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

    def test_what_the_machine_lacks_is_neither_the_input_s_nor_the_output_s_fault(self):
        """No thread starts: for OpenCV's codec, which reads MP4, and for DCMTK's parser."""
        echo, calls = PROGRAM[0], PROGRAM[3]
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            picture = dicom_files.Picture(height=60, width=80, apex=(40, 4), radius=50)
            frames, dicom = picture.frames(3), folder + "/heart.dcm"
            with open(dicom, "wb") as file:
                file.write(dicom_files.dicom(frames, regions=[dicom_files.region((0, 0, 79, 59))]))
            subprocess.run([echo, "synth", "--train", "1", "--val", "1", "--test", "1", "--frames", "56", "--size", "32", "--output",
                            folder + "/data"], check=True, stdout=subprocess.DEVNULL)
            videos = folder + "/data/Videos/"
            weights = folder + "/run"
            subprocess.run([echo, "train", "--data_dir", folder + "/data", "--output", weights, "--model_name", "unet_small",
                            "--num_epochs", "1", "--num_workers", "0", "--batch_size", "1"], check=True, stdout=subprocess.DEVNULL)
            avi = sorted(os.listdir(videos))[0]
            subprocess.run([echo, "segment", videos + avi, "--weights", weights, "--output", folder + "/films"], check=True,
                           stdout=subprocess.DEVNULL)
            film = folder + "/films/" + avi.replace(".avi", "_segmented.mp4")
            for command, input_file in (("import", dicom), ("segment", film)):
                more = ["--weights", weights] if command == "segment" else []
                done = subprocess.run(
                    [echo, command, input_file, *more, "--output", folder + "/" + command], check=False, timeout=60,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={
                        **os.environ, "OMP_NUM_THREADS": "1", "LD_PRELOAD": calls, "FAIL_CALL": "pthread_create",
                        "FAIL_AT": "1", "FAIL_ON": "1", "FAIL_WITH": str(errno.EAGAIN)})
                said = done.stderr.decode()
                self.assertRegex(said, r"\Aerror: .*got no thread for it \(memory and limits allow no more\).*\n\Z")
                self.assertEqual(done.returncode, 4, said)

    def test_signals_end_every_command_with_a_line(self):
        """A signal comes with the Nth file that is opened. Once one is answered, so are all that come later, which
        SIGINT shows; of the others, which the same handler takes, each command gets one until it is answered."""
        names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP",
                 signal.SIGXCPU: r"SIGXCPU \(ulimit -t: no more CPU time\)"}
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder, \
                unittest.mock.patch.object(bad_input_case, "ECHO", PROGRAM[0]):
            siege = program_siege.Siege(1, folder)
            for which, command in enumerate(self.attack_in_siege(siege).commands()):
                others = sorted(names.keys() - {signal.SIGINT})
                for number in (signal.SIGINT, others[which % len(others)]):
                    name, answered = names[number], False
                    for at in (1, 8, 40) if number == signal.SIGINT else (8, 1, 40):
                        attack = self.attack_in_siege(siege)
                        arguments = attack.commands()[which]
                        attack.prepare(arguments)
                        done = attack.case.echo(*arguments, environment={
                            "LD_PRELOAD": PROGRAM[3], "FAIL_CALL": "open", "FAIL_AT": str(at), "FAIL_SIGNAL": str(int(number))})
                        said = "%s, at %d: %s" % (" ".join(command), at, done.err)
                        self.assertIn(done.code, (0, 128 + number), said)
                        self.assertFalse(done.raw and (answered or done.out or done.err), said)
                        if done.code == 128 + number and not done.raw:
                            answered = True
                            last = (done.err if arguments[0] not in ("train", "video") else done.out + done.err).replace("\r", "\n")
                            self.assertRegex(last, r"(?m)^(error: )?stopped by %s(:| after step) .+$" % name)
                        attack.case.end()
                        shutil.rmtree(attack.case.folder)
                        if answered and number != signal.SIGINT:
                            break
                    self.assertTrue(answered, "%s: no %s was answered" % (" ".join(command), name))

    @staticmethod
    def attack_in_siege(siege):
        return program_siege.Attack(siege, 1, tempfile.mkdtemp(dir=siege.folder))

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
            sizes = ["--val", "1", "--test", "1", "--frames", "56", "--size", "32"]
            self.assertEqual(run("synth", "--train", "2", *sizes, "--output", data).returncode, 0)
            run_folder = folder + "/run"
            self.assertEqual(run("train", "--data_dir", data, "--output", run_folder, "--model_name", "unet_small",
                                 "--batch_size", "1", "--num_epochs", "0", "--num_workers", "0").returncode, 0)
            picture = dicom_files.Picture(height=60, width=80, apex=(40, 4), radius=50)
            video = folder + "/heart.dcm"
            with open(video, "wb") as file:
                file.write(dicom_files.dicom(picture.frames(3), regions=[dicom_files.region((0, 0, 79, 59))]))
            for command, name in ((["synth", "--train", "1", *sizes], "made"), (["import", data + "/Videos"], "made"),
                                  (["segment", "--weights", run_folder, video], "made")):
                made = folder + "/place/" + name
                command = [*command, "--output", made]
                shutil.rmtree(folder + "/place", ignore_errors=True)
                os.mkdir(folder + "/place")
                self.assertEqual(run(*command).returncode, 0)
                whole = files_below(made)
                shutil.rmtree(folder + "/before", ignore_errors=True)
                shutil.copytree(folder + "/place", folder + "/before")
                left, killed = set(), 0
                while True:
                    shutil.rmtree(folder + "/place")
                    shutil.copytree(folder + "/before", folder + "/place")
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
                self.assertEqual(left, {"tmp"} if command[0] == "segment" else {"tmp", "old"})

    def test_program(self):
        """Each attack once."""
        self.assertEqual(set(program_siege.ATTACKS[:len(program_siege.SHARES)]), set(program_siege.SHARES))
        self.attack(sys.executable, SIEGE, *PROGRAM, "--seed", 1, "--cases", len(program_siege.SHARES), tried=11)

    def test_calls_that_fail_in_turn(self):
        self.attack(sys.executable, SIEGE, *PROGRAM, "--step", "rename", "open", "write", "--cases", 5, tried=13)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

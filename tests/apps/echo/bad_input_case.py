"""The table of bad_input_test.py, which bad_data.py, bad_runs.py and bad_flags.py fill, and what its rows run on."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bad_input_files as files

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../mpi"))
import mpirun  # noqa: E402

ECHO, BAD_TENSOR, BAD_MACHINE = (os.path.abspath(path) for path in sys.argv[1:4])
LIMIT = 120  # seconds; a command that takes longer hangs
MODEL = ["--model_name", "unet_small", "--num_workers", "0"]

ROWS = []
LEFT_OUT = {}


class Row:
    def __init__(self, number, what, command, code, message, run):
        self.number, self.what, self.command, self.code, self.message, self.run = (
            number, what, command, code, message, run)


def row(number, what, code, message, command="train"):
    def keep(run):
        ROWS.append(Row(number, what, command, code, message, run))
        return run
    return keep


def left_out(number, what, reason):
    LEFT_OUT[number] = (what, reason)


class Done:
    """How a program ended. What it said is text for its bytes: those that are no UTF-8 are surrogates."""

    def __init__(self, code, out, err, raw=False):
        """A negative code is that of a signal which the program left to the kernel, `raw`."""
        self.code, self.out, self.err, self.raw = 128 - code if code < 0 else code, out, err, raw or code < 0


HEARTBEAT = re.compile(r".* \d+% +\d+/\d+( |$)")  # how far a program is that has said nothing for 30 s


def lines_of(text):
    """As a newline ends them; any other control character is one of a line's."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def errors_of(done):
    """The lines on stderr that aren't news of a run that goes on."""
    # libgcrypt, which FFmpeg is linked with, writes when it is loaded.
    news = ("warning: ", "aorta: data_loader: ", "aorta: the zygote ", "can't mmap pool of ")
    return [line for line in lines_of(done.err) if not line.startswith(news) and not HEARTBEAT.match(line)]


def fault_of_lines(done):
    """What is wrong with what a program that failed said on stderr; nothing where one error is its last line."""
    errors = errors_of(done)
    if len(errors) != 1 or not errors[0].startswith("error: "):
        return 'there must be one line "error: ..."'
    return "" if lines_of(done.err)[-1] == errors[0] else "the error must be the last line"


# How the system's loader says that it hadn't room for the libraries.
LOADER = re.compile(r"error while loading shared libraries|cannot (apply|allocate|map)|failed to map", re.IGNORECASE)


def has_begun(done):
    """False where the kernel or the loader hadn't room for the program: nothing of ours has run."""
    ended = done.code in (127, 128 + signal.SIGKILL, 128 + signal.SIGSEGV)
    return not ended or bool(done.out or (done.err and not LOADER.search(done.err)))


class Case:
    """A row's folder, data and run."""

    shared = None  # folder with `data` and `run`, made once

    def __init__(self, folder):
        self.folder = folder
        self.data_folder = os.path.join(folder, "data")
        self.run_folder = os.path.join(folder, "run")
        self.data = files.Data(os.path.join(Case.shared, "data"), self.data_folder)
        self.started = []
        self.saved_before = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def move_to(self, name):
        """The data, and the run that will be, lie in a folder of this name."""
        place = self.path(name)
        os.mkdir(place)
        os.rename(self.data_folder, place + "/data")
        self.data.folder = self.data_folder = place + "/data"
        self.run_folder = place + "/run"
        return place

    # Starting programs.
    def start(self, *command, limits=(), environment=None, stdout=subprocess.PIPE):
        def before():
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)  # as a shell starts it: Python ignores some
            for name, value in limits:
                resource.setrlimit(name, value if isinstance(value, tuple) else (value, value))
        full = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": self.folder, **(environment or {})}
        full = {name: value for name, value in full.items() if value is not None}
        full.pop("AORTA_ECHO", None)
        full.pop("XDG_DATA_HOME", None)
        self.saved_before = self.saved()
        started = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=before, env=full,
                                   cwd=self.folder)
        self.started.append(started)
        return started

    def finish(self, started, limit=LIMIT):
        return self.done(started, started.communicate(timeout=limit))

    @staticmethod
    def done(started, said):
        return Done(started.returncode, *((text or b"").decode(errors="surrogateescape") for text in said))

    def echo(self, *arguments, **how):
        return self.finish(self.start(ECHO, *arguments, **how))

    def echo_with_processes(self, count, *arguments, **how):
        """As a user who may have so many processes, threads among them, and has no others; None where there can't be one."""
        user = 100_000 + os.getpid()
        os.chmod(os.path.dirname(Case.shared), 0o755)
        given = subprocess.run(["chown", "-R", str(user), self.folder], check=False, stderr=subprocess.DEVNULL)
        if given.returncode != 0:
            return None
        done = self.finish(self.start("setpriv", "--reuid", str(user), "--clear-groups", "prlimit", "--nproc=%d" % count,
                                      ECHO, *arguments, **how))
        while subprocess.run(["ps", "-u", str(user), "-o", "pid="], check=False, stdout=subprocess.DEVNULL).returncode == 0:
            time.sleep(0.02)  # they end with their parent, and count until then
        return None if re.search("setpriv|prlimit", done.err) else done

    def train_arguments(self, *arguments):
        return ["train", "--data_dir", self.data_folder, "--output", self.run_folder, *MODEL, "--batch_size", "1",
                "--num_train_patients", "2", "--num_epochs", "1", *arguments]

    def train(self, *arguments, **how):
        return self.echo(*self.train_arguments(*arguments), **how)

    def video(self, *arguments):
        return self.echo("video", "--data_dir", self.data_folder, "--output", self.run_folder, "--random", "--model_name",
                         "mc3_18", "--frames", "2", "--batch_size", "1", "--num_workers", "0", "--max_steps", "1", *arguments)

    def check(self):
        return self.echo("data", "check", "--data_dir", self.data_folder)

    def evaluate(self, weights):
        return self.echo("evaluate", "--data_dir", self.data_folder, "--weights", weights, "--num_workers", "0",
                         "--output", self.path("evaluation"))

    def tensor(self, *arguments):
        return self.finish(self.start(BAD_TENSOR, *arguments))

    # Runs that have begun.
    def begun(self):
        """Copies the shared run; kept(name) is what a file of it was."""
        shutil.copytree(os.path.join(Case.shared, "run"), self.run_folder)
        return self

    def resume_arguments(self, *arguments):
        return self.train_arguments("--resume", "--num_epochs", "3", *arguments)

    def resume(self, *arguments, **how):
        return self.echo(*self.resume_arguments(*arguments), **how)

    def resume_for_long(self, *arguments, **how):
        """A running training that has said that it goes on."""
        started = self.start(ECHO, *self.resume_arguments("--num_epochs", "100000", *arguments), **how)
        self.wait_for(started, "resume epoch")
        return started

    def wait_for(self, started, text):
        for line in started.stdout:
            if line.startswith(text.encode()):
                return
        raise AssertionError("it ended without \"%s\": %r" % (text, started.stderr.read()))

    def expect_earlier_files(self, *names):
        for name in names or ("best.safetensors", "checkpoint.safetensors", "log.csv"):
            old = files.read(os.path.join(Case.shared, "run", name))
            now = files.read(os.path.join(self.run_folder, name))
            whole = now.startswith(old) if name == "log.csv" else now == old
            assert whole, name + " isn't what it was"

    def saved(self):
        """What tells one version of a file that a run saves from the next, by its name."""
        places = {name: os.path.join(self.run_folder, name) for name in ("best.safetensors", "checkpoint.safetensors")}
        stats = {name: os.stat(place) for name, place in places.items() if os.path.isfile(place)}
        return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def expect_saved_files(self):
        """What was saved before the last program began is as it was, or a newer one that is whole."""
        before, now = self.saved_before, self.saved()
        for name, version in before.items():
            assert name in now, name + " is gone"
            if now[name] != version:
                loaded = self.tensor("load", os.path.join(self.run_folder, name))
                assert loaded.code == 0, loaded.err

    def expect_resumes(self):
        done = self.resume("--max_steps", "1")
        assert done.code == 0, done.err

    @staticmethod
    def remove(path):
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    # Several processes.
    def start_ranks(self, *arguments):
        """A rank for each list of arguments; two ranks of one list."""
        if not mpirun.is_there():
            raise unittest.SkipTest("there is no mpirun")
        programs = [[ECHO, *one] for one in (arguments if len(arguments) > 1 else arguments * 2)]
        return self.start(*mpirun.command(2, programs), environment=mpirun.folders())

    def finish_ranks(self, started, limit=LIMIT):
        done = self.done(started, mpirun.finish(started, limit))
        return Done(done.code, done.out, "".join(line + "\n" for line in mpirun.said_by_us(done.err)))

    def ranks(self, started):
        """The pids by rank, after an epoch."""
        self.wait_for(started, "epoch ")
        return [pid for _, pid in sorted(mpirun.pids(started).items())]

    # Other processes.
    @staticmethod
    def has_pending_signals(pid):
        with open("/proc/%d/status" % pid, encoding="ascii") as status:
            fields = dict(line.split(":", 1) for line in status)
        return any(int(fields[name], 16) for name in ("SigPnd", "ShdPnd"))

    @staticmethod
    def generations(pid):
        """The processes that a process has started, those that they have started, and so on."""
        parents = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(name)] = int(fields[1])
        last = [pid]
        while last:
            last = [child for child, parent in parents.items() if parent in last]
            yield last

    def descendants(self, pid):
        return sum(self.generations(pid), [])

    def worker_list(self, started):
        """The workers: the program starts a process that starts their parent."""
        return sum(list(self.generations(started.pid))[2:], [])

    def workers(self, started):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline and started.poll() is None:
            found = self.worker_list(started)
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("there are no workers")

    @staticmethod
    def kill(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        for started in self.started:
            if started.poll() is None:
                for pid in self.descendants(started.pid) + [started.pid]:
                    self.kill(pid, signal.SIGKILL)
            started.wait()
            for stream in started.stdout, started.stderr:
                if stream:
                    stream.close()


class SharedData(unittest.TestCase):
    """Tests on the data set and the run that all rows share, which the first of them makes."""

    folder = None

    @classmethod
    def setUpClass(cls):
        if SharedData.folder:
            return
        SharedData.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        Case.shared = cls.folder.name + "/shared"
        data, run = Case.shared + "/data", Case.shared + "/run"
        os.mkdir(Case.shared)
        for command in (["synth", "--train", "6", "--val", "2", "--test", "2", "--frames", "56", "--size", "32", "--output", data],
                        ["train", "--data_dir", data, "--output", run, *MODEL, "--batch_size", "1",
                         "--num_train_patients", "2", "--num_epochs", "2"]):
            subprocess.run([ECHO, *command], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)


INTRODUCTION = """# Exit codes and errors of aorta-echo

| exit code | meaning |
|---|---|
| 0 | done |
| 2 | usage: a flag or its value |
| 3 | data: a table, a video, a file of weights |
| 4 | environment: a folder, memory, descriptors, a device |
| 5 | diverged: the loss is no longer finite |
| 6 | storage: a file couldn't be written, or would have replaced one |
| 130, 143, 129 | ended by Ctrl-C, SIGTERM or SIGHUP, after a checkpoint (a second signal ends it at once) |
| 152 | ended by SIGXCPU, the soft limit of CPU time (`ulimit -St`), after a checkpoint |

The other commands say in one line which of these signals ended them; what they had written is whole.

What fails says so in one line on stderr, `error: ` and the message, and leaves whole what earlier runs wrote and what
it had saved. That line is the last and the only one of its kind (mpirun writes lines of its own behind a rank's); news of what went on before it may precede it: lines
that begin with `warning: ` or with `aorta: ` (a worker that was started again, say), and of how far a program is that has
said nothing for 30 s. Where a signal comes while standard output or error is a pipe that nobody reads, the rest of what
would be said is lost, and the exit code is the signal's. What is printed and can't be written, on a full disk say, is an
error of code 6; a training, whose log has it, goes on and warns at its end.

In the messages below `*` stands for anything, DATA for the data folder and RUN for the run's folder. Where the exit code
is 0 the message is a line of what the command prints. `tensors` is a program of the tests, for what no command
reaches. `tests/apps/echo/bad_input_test.py` runs every row, and prints this page with `--markdown`.
"""

"""Attacks aorta-echo itself: starved, interrupted, and with damaged data, files and flags.

    program_siege.py AORTA_ECHO BAD_TENSOR BAD_MACHINE.so BAD_CALLS.so JUDGE.so [--seed N] [--cases N] [--seconds S]
                     [--case N] [--step [CALL...]]

Each case is drawn from the seed and its number alone; with --step its number is that of the call (of any, unless some are
named) which fails: the first of each command, the second, and so on, up to the last that there is. However it ends, the exit code is one that docs/echo_errors.md has,
a failure is one clear line (judge.h), and a run goes on to the same bits as one that nothing happened to.
"""

import argparse
import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ECHO_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps", "echo")
sys.path.insert(0, ECHO_TESTS)
import bad_input_files as files  # noqa: E402
import dicom_files  # noqa: E402
from bad_input_case import ECHO, LIMIT, MODEL, Case, has_begun, lines_of  # noqa: E402  (reads sys.argv)
from judge import CODES, Judge  # noqa: E402
import mpirun  # noqa: E402  (which that one finds)

BAD_CALLS, JUDGE = (os.path.abspath(path) for path in sys.argv[4:6])
ARGUMENTS, sys.argv = sys.argv[6:], [sys.argv[0], ECHO]
from resume_test import fingerprint  # noqa: E402  (takes sys.argv[1])

MEGABYTE = 1 << 20
NUMBERS = ["", "0", "-1", "nan", "inf", "-inf", "1e308", "-50", "500", "1e999", "0x10", "1,5", "9223372036854775808",
           "1000000000000000000", "-9223372036854775809", "18446744073709551616", "7" * 309, "2.5", "x", "\"", "\xff", "\udcff",
           " 1", "1 ", "--1", "TRAIN", "train", "../x", "a\tb"]
# Bytes of a name; "\udcff" is the byte 0xff, which is no UTF-8.
NAMES = ["\udcff", "\u00e9\udcc3", "a b", "\x1b[0m", "\"", "#: x"]
CALLS = ["access", "close", "dup", "dup2", "eventfd", "fcntl", "fdatasync", "flock", "fopen", "fork", "fstat", "fsync",
         "ftruncate", "gethostname", "getrandom", "link", "lseek", "lseek64", "madvise", "memfd_create", "mkdir", "mkdtemp",
         "mmap", "mprotect", "mremap", "munmap", "open", "opendir", "poll", "posix_fallocate", "prctl", "pread", "pread64",
         "pthread_create", "pwrite", "read", "readdir", "realpath", "recvmsg", "rename", "rmdir", "sched_getaffinity",
         "sendmsg", "socketpair", "stat", "statvfs", "unlink", "unlinkat", "waitpid", "write"]
# What --step lets calls fail with; the others with EIO.
STEP_ERRORS = {
    errno.ENOSPC: "write pwrite posix_fallocate ftruncate", errno.EACCES: "rename unlink unlinkat rmdir mkdir link stat access statvfs",
    errno.EMFILE: "open opendir fopen dup dup2 eventfd memfd_create socketpair fcntl",
    errno.ENOMEM: "mmap mprotect mremap madvise poll",
    errno.EAGAIN: "fork pthread_create", errno.ENOLCK: "flock", errno.ENOBUFS: "sendmsg recvmsg"}
OF_THE_MACHINE = "fork", "pthread_create"  # what fails there is neither the input's fault nor the output's
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU]
STEPPED = 14  # commands
ERRORS = [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EACCES, errno.EINTR, errno.EAGAIN, errno.EROFS]
# From nothing to enough.
LIMITS = {"NOFILE": lambda draw: draw.randrange(64), "AS": lambda draw: draw.randrange(4 * MEGABYTE, 420 * MEGABYTE),
          "DATA": lambda draw: draw.randrange(320 * MEGABYTE), "STACK": lambda draw: draw.randrange(2 * MEGABYTE),
          "FSIZE": lambda draw: int(2 ** draw.uniform(0, 26)) - 1, "NPROC": lambda draw: draw.randrange(24),
          "CPU": lambda draw: (draw.randrange(1, 6), resource.RLIM_INFINITY)}
# Flags whose large values would rightly take for ever.
COUNTS = ("--num_epochs", "--max_steps", "--num_workers", "--workers", "--train", "--val", "--test", "--frames",
          "--epochs", "--timeout", "--size", "--threads", "--recordings")
CLIPS = ["--random", "--model_name", "mc3_18", "--frames", "2", "--period", "28", "--batch_size", "1", "--num_workers", "0",
         "--num_train_patients", "1", "--max_steps", "1"]


def takes_long(flag, value):
    """Whether it is a count that is taken, and large."""
    try:
        return flag in COUNTS and 8 < int(value, 0) < 2 ** 63
    except ValueError:
        return False


class Attack:
    """One case: its folder, what it draws, and what it has done."""

    def __init__(self, siege, number, folder):
        self.siege, self.number = siege, number
        self.random = random.Random("%d %d" % (siege.seed, number))
        self.case = Case(folder)
        self.said = []
        if self.random.random() < 0.2:
            self.rename(self.random.choice(NAMES))

    def rename(self, name):
        """The data and the run lie in folders of other names."""
        case = self.case
        data = case.data_folder
        case.data.folder = case.data_folder = data + name
        os.rename(data, case.data_folder)
        case.run_folder += name
        self.say("folders", repr(name))

    def say(self, *words):
        self.said += [str(word) for word in words]

    def judge(self, done, codes=CODES):
        fault = self.siege.judge.fault(done, codes)
        if fault:
            raise AssertionError("%s\n%s" % (fault, done.err[-1500:]))
        return done

    def finish_run(self):
        """Goes on with the run, or starts it again where nothing was saved: the same bits, nothing left over."""
        run = self.case.run_folder
        saved = os.path.exists(run + "/checkpoint.safetensors")
        done = self.case.train(*self.recipe(), *(["--resume"] if saved else ["--overwrite"]))
        self.judge(done, {0})
        if fingerprint(run) != self.siege.want:
            raise AssertionError("a run must go on to the same bits, got others")
        self.expect_nothing_left()

    def expect_nothing_left(self):
        left = [name for name in os.listdir(self.case.run_folder) if ".tmp" in name]
        if left:
            raise AssertionError("nothing may be left over, got %s" % left)

    @staticmethod
    def recipe():
        return ["--num_epochs", "2"]

    def commands(self):
        """Each command, as arguments; a train is a new run, or one of which there is the first epoch."""
        data, shared, case = self.case.data_folder, Case.shared + "/run", self.case
        video = case.data.video()
        train = case.train_arguments(*self.recipe())
        clips = ["video", "--data_dir", data, "--output", case.path("clips"), *CLIPS]
        return [train, train + ["--num_workers", "2"], train + ["--resume"], train + ["--overwrite"],
                train + ["--resume", "--num_workers", "2"], clips, clips + ["--resume", "--max_steps", "2"],
                ["evaluate", "--data_dir", data, "--weights", shared, "--num_workers", "0", "--output",
                 case.path("evaluation")],
                ["segment", "--weights", shared, "--output", case.path("segmented"), video],
                ["data", "check", "--data_dir", data],
                ["synth", "--train", "2", "--val", "1", "--test", "1", "--frames", "56", "--size", "32", "--output", case.path("made")],
                ["import", video, "--output", case.path("imported")],
                ["export", "--weights", shared, "--output", case.path("out.safetensors")], ["doctor"],
                ["data", "info", "--data_dir", data], ["ranks", Case.shared + "/ranked"],
                ["compare", "--data_dir", data, "--recordings", "2", "--workers", "0", "--epochs", "1", "--model_name",
                 "unet_small", "--batch_size", "1"],
                ["beats", "--weights", shared, "--video_weights", Case.shared + "/clips", "--output", case.path("beats"),
                 video]]

    def run_command(self, arguments, **how):
        self.prepare(arguments)
        return self.case.echo(*arguments, **how)

    def prepare(self, arguments):
        """What the command needs besides the data and a whole run."""
        self.say(*arguments)
        again = "--resume" in arguments or "--overwrite" in arguments
        if arguments[0] == "beats" or (arguments[0] == "video" and again):
            self.siege.make_clips()
        if arguments[0] == "video" and again:
            shutil.copytree(Case.shared + "/clips", self.case.path("clips"))
        if arguments[0] == "train" and again and not os.path.exists(self.case.run_folder):
            shutil.copytree(Case.shared + "/half", self.case.run_folder)

    def stepped(self):
        """The commands of which --step lets each call fail."""
        fresh, _, _, _, resumed, clips, _, evaluate, segment, check, synth, imported, *others = self.commands()
        return [fresh, resumed, evaluate, segment, imported, clips, check, synth, *others]

    # The attacks. One that has come to nothing, as its call never came, gives False.
    def limit(self):
        """Of any size. A program that the kernel or its loader hadn't room for has come to nothing."""
        name = self.random.choice(sorted(LIMITS))
        value = LIMITS[name](self.random)
        self.say("limit", name, value)
        arguments = self.random.choice(self.commands())
        self.prepare(arguments)
        threads = {"OMP_NUM_THREADS": self.random.choice(("1", "3", None))}

        def run(*words):
            if name == "NPROC":
                return self.case.echo_with_processes(value, *words, environment=threads)
            return self.case.echo(*words, limits=[(getattr(resource, "RLIMIT_" + name), value)], environment=threads)

        try:
            done = run(*arguments)
            if done is None:
                return False
            if not has_begun(done):
                if run("--version").code == 0:
                    raise AssertionError("a program that the loader has room for must say why it ends, got %d" % done.code)
                return False
        except (OSError, subprocess.SubprocessError):
            return False
        self.judge(done, {0, 4} | {"FSIZE": {6}, "CPU": {128 + signal.SIGXCPU}}.get(name, set()))
        if arguments[0] == "train":
            self.finish_run()
        return True

    def call(self):
        name, error = self.random.choice(CALLS), self.random.choice(ERRORS)
        at = int(self.random.choice((5, 50, 500)) ** self.random.random())
        environment = {"LD_PRELOAD": BAD_CALLS, "FAIL_CALL": name, "FAIL_AT": str(at), "FAIL_WITH": str(error),
                       "FAIL_MARK": self.case.path("mark")}
        if self.random.random() < 0.4 and error not in (errno.EINTR, errno.EAGAIN):  # those are tried again
            environment["FAIL_ON"] = "1"
        self.say(*("%s=%s" % item for item in sorted(environment.items()) if item[0] not in ("LD_PRELOAD", "FAIL_MARK")))
        arguments = self.random.choice(self.commands())
        self.judge(self.run_command(arguments, environment=environment))
        if arguments[0] == "train":
            self.finish_run()
        return os.path.exists(self.case.path("mark"))

    def step(self, name, at, which):
        """One call of a command fails: the first, the second, and so on. What the machine lacks stays away from there on."""
        error = next((error for error, names in STEP_ERRORS.items() if name in names.split()), errno.EIO)
        environment = {"LD_PRELOAD": BAD_CALLS, "FAIL_CALL": name, "FAIL_AT": str(at), "FAIL_WITH": str(error),
                       "FAIL_MARK": self.case.path("mark")}
        if name in OF_THE_MACHINE:
            environment["FAIL_ON"] = "1"
        self.say(name, at)
        arguments = self.stepped()[which]
        done = self.run_command(arguments, environment=environment)
        if not os.path.exists(self.case.path("mark")):
            return False
        self.judge(done, {0, 4} if name in OF_THE_MACHINE else CODES)
        return self.finish_run() if arguments[0] == "train" else True

    def interrupt(self):
        """A signal at one of its calls: the command says which it was, and what it wrote is whole."""
        number, name = self.random.choice(SIGNALS), self.random.choice(("open", "read", "pread", "mmap", "write", "fstat"))
        environment = {"LD_PRELOAD": BAD_CALLS, "FAIL_CALL": name, "FAIL_SIGNAL": str(int(number)),
                       "FAIL_AT": str(int(self.random.choice((5, 50, 500)) ** self.random.random())),
                       "FAIL_MARK": self.case.path("mark")}
        self.say("signal", int(number), "at", name, environment["FAIL_AT"])
        arguments = self.random.choice(self.commands())
        done = self.run_command(arguments, environment=environment)
        if done.err or done.out or done.code != 128 + number:  # before main() nothing of ours answers a signal
            if done.raw and (done.err or done.out):
                raise AssertionError("a signal must be answered, got %d" % done.code)
            self.judge(done, CODES | {128 + number})
        if arguments[0] == "train":
            self.finish_run()
        return os.path.exists(self.case.path("mark"))

    def table(self):
        data = self.case.data
        for _ in range(self.random.randrange(1, 4)):
            name = self.random.choice((files.TABLE, files.TRACES))
            lines = data.lines(name)
            at = self.random.randrange(len(lines))
            how = self.random.choice(("field", "field", "field", "drop", "twice", "swap", "cut", "bytes"))
            fields = lines[at].split(",")
            if how == "field":
                fields[self.random.randrange(len(fields))] = self.random.choice(NUMBERS)
                lines[at] = ",".join(fields)
            elif how == "drop":
                del lines[at]
            elif how == "twice":
                lines.insert(at, lines[self.random.randrange(len(lines))])
            elif how == "swap":
                other = self.random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            elif how == "cut":
                lines[at] = lines[at][:self.random.randrange(len(lines[at]) + 1)]
            else:
                lines[at] += self.random.choice(("\0", "\x7f", "\"", "\r", ","))
            self.say(name, how, at + 1)
            files.write(data.path(name), "\n".join(lines) + "\n")
        self.judge(self.run_command(["data", "check", "--data_dir", self.case.data_folder]))
        self.judge(self.run_command(self.case.train_arguments("--max_steps", "1")))

    def video(self):
        change = self.random.choice((self.damage, lambda c: files.set_size(c, *self.some_sizes()),
                                     lambda c: files.set_frame_count(c, self.random.choice((0, 1, 57, 2 ** 32 - 1))),
                                     lambda c: files.damage_frame(c, self.random.randrange(56)), files.set_no_rate))
        for line in range(2, 8):
            self.case.data.set_video(change, line)
        self.judge(self.run_command(self.random.choice((
            ["data", "check", "--data_dir", self.case.data_folder], self.case.train_arguments("--max_steps", "1"),
            ["segment", "--weights", Case.shared + "/run", "--output", self.case.path("s"), self.case.data.video()]))))

    def dicom(self):
        picture = dicom_files.Picture(height=60, width=80, apex=(40, 4), radius=50)
        content = dicom_files.dicom(picture.frames(3), rle=self.random.random() < 0.5,
                                    regions=[dicom_files.region((0, 0, 79, 59))])
        path = self.case.path("a.dcm")
        files.write(path, self.damage(content))
        self.judge(self.run_command(self.random.choice((
            ["import", path, "--output", self.case.path("imported")],
            ["segment", "--weights", Case.shared + "/run", "--output", self.case.path("s"), path]))))

    def some_sizes(self):
        sizes = (0, 1, 8, 113, 4096, 65535, 2 ** 31 - 1)
        return self.random.choice(sizes), self.random.choice(sizes)

    def damage(self, content):
        """Some bytes changed, at the beginning more than elsewhere; or cut."""
        content = bytearray(content)
        if self.random.random() < 0.2:
            return bytes(content[:self.random.randrange(len(content) + 1)])
        for _ in range(self.random.randrange(1, 9)):
            most = self.random.choice((64, 1000, len(content)))
            at = self.random.randrange(min(most, len(content)))
            content[at] = self.random.choice((0, 1, 0x7f, 0x80, 0xff, self.random.randrange(256)))
        return bytes(content)

    def weights(self):
        path = self.case.path("weights.safetensors")
        content = self.damage(files.read(Case.shared + "/run/best.safetensors"))
        files.write(path, content)
        self.say("damaged weights")
        self.judge(self.run_command(self.random.choice((
            ["evaluate", "--data_dir", self.case.data_folder, "--weights", path, "--num_workers", "0", "--output",
             self.case.path("e")], self.case.train_arguments("--weights", path, "--max_steps", "1"),
            ["export", "--weights", path, "--output", self.case.path("out.safetensors")],
            ["segment", "--weights", path, "--output", self.case.path("s"), self.case.data.video()]))))

    def checkpoint(self):
        self.case.begun()
        name = self.random.choice(("checkpoint.safetensors", "checkpoint.safetensors.1", "args.yaml", "log.csv",
                                   "best.safetensors", "train.log", "events"))
        if name == "events":
            name = next(name for name in os.listdir(self.case.run_folder) if name.startswith("events.out.tfevents."))
        path = os.path.join(self.case.run_folder, name)
        how = self.random.choice(("damaged", "gone", "folder", "empty"))
        content = files.read(path) if os.path.exists(path) else b""
        if os.path.exists(path):
            os.remove(path)
        if how == "damaged":
            files.write(path, self.damage(content) if content else b"")
        elif how == "folder":
            os.mkdir(path)
        elif how == "empty":
            files.write(path, b"")
        self.say(name, how)
        self.judge(self.run_command(self.case.train_arguments(*self.recipe(), "--resume")))

    def ranks(self):
        """The tables of ranks, and a table beside the films that are taken over, with fields that aren't theirs."""
        path = self.case.path("ranked")
        shutil.copytree(Case.shared + "/ranked", path)
        table = path + "/ranks/rank_%d.csv" % self.random.randrange(2)
        files.write(table, self.damage(files.read(table)))
        self.judge(self.run_command(["ranks", path]))
        video = self.case.data.video()
        known = "FileName,EF,ESV,EDV,Split\n%s,55,40,90,TRAIN\n" % os.path.basename(video)
        files.write(self.case.path("known.csv"), self.damage(known.encode()))
        self.judge(self.run_command(["import", video, "--table", self.case.path("known.csv"), "--output", self.case.path("imported")]))

    def arguments(self):
        command = self.random.choice(self.commands())
        name = " ".join(command[:2]) if command[0] == "data" else command[0]
        flags = self.siege.flags(name) + ["--unknown"]
        added = []
        for _ in range(self.random.randrange(1, 4)):
            flag = self.random.choice(flags)
            value = self.random.choice(NUMBERS)
            if self.random.random() < 0.2:
                added.append(flag)
            elif not takes_long(flag, value):
                added.append(flag + "=" + value.replace("../x", "x"))
        done = self.run_command(command + added)
        for value in NUMBERS:  # digits in a name aren't a number that the program says
            if len(value) > 20:
                done.err = done.err.replace(value, "it")
        self.judge(done)

    def config(self):
        lines = lines_of(files.read(Case.shared + "/run/args.yaml").decode())
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(lines))
            name, _, _ = lines[at].partition(":")
            value = self.random.choice(NUMBERS)
            if not takes_long("--" + name, value):
                lines[at] = name + ": " + value
        files.write(self.case.path("args.yaml"), "\n".join(lines) + "\n")
        self.say(*lines)
        self.judge(self.run_command(["train", "--config", self.case.path("args.yaml"), "--output",
                                     self.case.run_folder, "--data_dir", self.case.data_folder, "--num_epochs", "1",
                                     "--num_workers", "0"]))

    def started(self, workers):
        arguments = self.case.train_arguments(*self.recipe(), "--num_workers", str(workers), "--save_every", "0.005")
        self.say(*arguments)
        return self.case.start(ECHO, *arguments)

    def kill(self):
        number = self.random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
        started = self.started(self.random.choice((0, 2)))
        wait = self.random.uniform(0, self.siege.seconds_per_run)
        self.say("signal", int(number), "after", wait)
        time.sleep(wait)
        running = started.poll() is None
        if self.random.random() < 0.3:
            started.send_signal(signal.SIGSTOP)
            time.sleep(0.3)
            started.send_signal(signal.SIGCONT)
        started.send_signal(number)
        # What it says on the way is judged; a second signal isn't sent.
        self.judge(self.case.finish(started), {0, 128 + number})
        self.finish_run()
        return running

    def worker(self):
        started = self.started(2)
        time.sleep(self.random.uniform(0, self.siege.seconds_per_run))
        number = self.random.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV))
        self.say("worker signal", int(number))
        found = self.case.descendants(started.pid)  # the zygote, the workers' parent, the workers
        if found:
            pid = self.random.choice(found)
            self.case.kill(pid, number)
            if number == signal.SIGSTOP:
                time.sleep(0.3)
                self.case.kill(pid, signal.SIGCONT)
        self.judge(self.case.finish(started), CODES)
        self.finish_run()
        return bool(found)

    def several(self):
        """Two processes of a training, of which one is killed, stopped or ended: one goes on with what was saved."""
        if not mpirun.is_there():
            return False
        arguments = self.case.train_arguments(*self.recipe(), "--batch_size", "2", "--rank_timeout", "5")
        number = self.random.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV))
        self.say(*arguments, "rank signal", int(number))
        started = self.case.start_ranks(arguments)
        time.sleep(self.random.uniform(0, 3 * self.siege.seconds_per_run))
        ranks = [pid for _, pid in sorted(mpirun.pids(started).items())]
        if ranks and started.poll() is None:
            self.case.kill(self.random.choice(ranks), number)
        # One that is stopped before it has started is waited for until CommOptions.start_timeout.
        self.judge(self.case.finish_ranks(started, limit=2 * LIMIT), CODES | {128 + signal.SIGKILL, 128 + number})
        saved = os.path.exists(self.case.run_folder + "/checkpoint.safetensors")
        self.judge(self.case.train(*self.recipe(), "--batch_size", "2", "--resume" if saved else "--overwrite"), {0})
        self.expect_nothing_left()
        return bool(ranks)

    def disk(self):
        """A file system of its own that is too small; where none may be mounted, a limit on files."""
        size = self.random.randrange(1, 40)
        os.mkdir(self.case.run_folder)
        self.say("disk of", size, "MB")
        mount = ["mount", "-t", "tmpfs", "-o", "size=%dm" % size, "tmpfs", self.case.run_folder]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        train = self.case.train_arguments(*self.recipe(), "--overwrite")
        if subprocess.run(mount, check=False, **quiet).returncode != 0:
            self.say("or files of an eighth")
            self.judge(self.run_command(train, limits=[(resource.RLIMIT_FSIZE, size * MEGABYTE // 8)]))
            return self.finish_run()
        try:
            self.judge(self.run_command(train))
            subprocess.run(["mount", "-o", "remount,size=400m", self.case.run_folder], check=True, **quiet)
            self.finish_run()
        finally:
            subprocess.run(["umount", "-l", self.case.run_folder], check=True, **quiet)
        return None


# Often what is cheap and finds much; each once before any comes again.
SHARES = {"call": 6, "table": 4, "arguments": 4, "limit": 3, "weights": 3, "checkpoint": 2, "video": 2, "dicom": 2,
          "config": 2, "kill": 2, "interrupt": 2, "ranks": 1, "worker": 1, "disk": 1, "several": 1}
ATTACKS = [name for turn in range(max(SHARES.values())) for name, share in SHARES.items() if turn < share]


class Siege:
    def __init__(self, seed, folder):
        self.seed, self.folder, self.known_flags = seed, folder, {}
        self.judge = Judge(JUDGE)
        Case.shared = folder + "/shared"
        data, run = Case.shared + "/data", Case.shared + "/run"
        os.mkdir(Case.shared)
        self.quietly("synth", "--train", "6", "--val", "2", "--test", "2", "--frames", "56", "--size", "32", "--output", data)
        train = ["train", "--data_dir", data, *MODEL, "--batch_size", "1", "--num_train_patients", "2"]
        begin = time.monotonic()
        self.quietly(*train, "--output", run, "--num_epochs", "2")
        self.seconds_per_run = time.monotonic() - begin
        self.quietly(*train, "--output", Case.shared + "/half", "--num_epochs", "1")
        self.want = fingerprint(run)
        os.makedirs(Case.shared + "/ranked/ranks")
        for rank in range(2):
            files.write(Case.shared + "/ranked/ranks/rank_%d.csv" % rank,
                        "group,number,call,module,entered,left\nworld,1,all_reduce,head,1.5,%s\n" % ("" if rank else "2.5"))

    def make_clips(self):
        """A run of `video`, once something needs it: its network is 46 MB."""
        if not os.path.exists(Case.shared + "/clips"):
            self.quietly("video", "--data_dir", Case.shared + "/data", "--output", Case.shared + "/clips", *CLIPS)

    @staticmethod
    def quietly(*arguments):
        subprocess.run([ECHO, *arguments], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL,
                       env={**os.environ, "OMP_NUM_THREADS": "1"})

    def flags(self, command):
        if command not in self.known_flags:
            text = subprocess.run([ECHO, *command.split(), "--help"], check=True, timeout=LIMIT,
                                  stdout=subprocess.PIPE).stdout.decode()
            words = (word.strip(",[]") for word in text.replace("=", " ").split())
            self.known_flags[command] = sorted({word for word in words if word.startswith("--") and word[2:].replace(
                "_", "").replace("-", "").isalnum()})
        return self.known_flags[command]

    def run(self, number, step=""):
        """The attack's name, whether it came to something, and what is wrong; nothing when all is well."""
        folder = tempfile.mkdtemp(dir=self.folder)
        attack = Attack(self, number, folder)
        name = step or ATTACKS[number % len(ATTACKS)]
        attack.say(name)
        try:
            hit = attack.step(step, number // STEPPED + 1, number % STEPPED) if step else getattr(attack, name)()
            return name, hit is not False, ""
        except subprocess.TimeoutExpired:
            return name, True, "it must end within %d s | %s" % (LIMIT, " ".join(attack.said))
        except Exception as error:  # pylint: disable=broad-except  (a siege goes on)
            return name, True, "%s: %s | %s" % (type(error).__name__, error, " ".join(attack.said))
        finally:
            attack.case.end()
            shutil.rmtree(folder, ignore_errors=True)


def cases(options, over):
    """(step, number) of each case: of several calls the first of each in each command, the second, as long as there are such
    calls."""
    for number in range(options.cases) if options.case is None else [options.case]:
        if len(over) == STEPPED * len(options.step):
            return
        yield from ((step, number) for step in options.step if (step, number % STEPPED) not in over)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=10 ** 9)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--case", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--step", default=[""], nargs="*")
    options = parser.parse_args(ARGUMENTS)
    options.step = options.step or CALLS
    if not set(options.step) <= {"", *CALLS}:
        parser.error("--step: calls must be some of %s, got %s" % (", ".join(CALLS), ", ".join(options.step)))
    sys.stdout.reconfigure(errors="backslashreplace")  # arguments and messages are any bytes
    ATTACKS[:] = [name for name in ATTACKS if options.only in name]
    end = time.monotonic() + options.seconds
    tried, missed, findings, over = {}, {}, {}, set()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        siege = Siege(options.seed, folder)
        for step, number in cases(options, over):
            if time.monotonic() > end:
                break
            name, hit, wrong = siege.run(number, step)
            counted = tried if hit else missed
            counted[name] = counted.get(name, 0) + 1
            if step and not hit:
                over.add((step, number % STEPPED))
            if not wrong:
                continue
            kind = "".join(c for c in wrong.partition(" | ")[0].replace(folder, "") if not c.isdigit())[:60]
            if kind not in findings:
                print("finding: %s\n  see it again: program_siege --seed %d --case %d%s%s" % (
                    wrong.replace("\n", " / "), options.seed, number, " --only " + options.only if options.only else "",
                    " --step " + step if step else ""), flush=True)
            findings[kind] = wrong
    for words, counted in ("tried", tried), ("missed", missed):
        print("program_siege: %s" % words, ", ".join("%d %s" % (count, name) for name, count in sorted(counted.items())))
    print("program_siege: %d tried, %d missed, %d findings" % (sum(tried.values()), sum(missed.values()), len(findings)),
          flush=True)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())

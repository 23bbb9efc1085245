"""Runs programs as several processes, as people do, and says who is left afterwards."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
import time

LIMIT = 120  # seconds; what takes longer hangs
STARTED = set()  # the sessions of all that was started here


def is_there():
    return shutil.which("mpirun") is not None


def command(count, program):
    """What starts `count` ranks; a list of programs starts one of each."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    start = ["mpirun"]
    if "Open MPI" in version:
        # More processes than CPUs, and tests that run as root.
        start += ["--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
    if isinstance(program[0], str):
        return start + ["-n", str(count)] + program
    assert len(program) == count
    for rank, one in enumerate(program):
        start += ([":"] if rank else []) + ["-n", "1"] + one
    return start


@functools.lru_cache(maxsize=None)
def folders():
    """Where mpirun and its ranks put what they share, of this program alone: they name it by mpirun's pid, which tests
    in sandboxes have in common. Sockets want short names."""
    paths = {"TMPDIR": tempfile.mkdtemp(prefix="mpi", dir="/tmp"),
             "OMPI_MCA_btl_vader_backing_directory": tempfile.mkdtemp(prefix="mpi", dir="/dev/shm")}
    for path in paths.values():
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    return paths


def environment(**more):
    """Without what a surrounding mpirun left, and with one thread a rank."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
    return {**kept, "OMP_NUM_THREADS": "1", **folders(), **more}


def start(count, program, **more):
    process = subprocess.Popen(command(count, program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(**more), errors="replace", start_new_session=True)
    STARTED.add(process.pid)
    return process


def has_ranks(process):
    """Whether mpirun has a child that is no zombie."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
            if state != "Z" and int(parent) == process.pid:
                return True
        except OSError:
            pass
    return False


def finish(process, limit=LIMIT):
    """What it has written. Open MPI 4.1.4's mpirun may lock itself up at its end, in PMIx_server_finalize, behind ranks
    that died as they started: where it alone has been left for 5 s, it is killed, which its exit code then says."""
    deadline = time.monotonic() + limit
    was_alone = False
    while True:
        try:
            return process.communicate(timeout=min(limit, 5))
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                process.kill()
                raise
            is_alone = not has_ranks(process)
            if is_alone and was_alone:
                process.kill()
            was_alone = is_alone


def run(count, program, **more):
    process = start(count, program, **more)
    out, err = finish(process)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def said_by_us(text):
    """The lines of stderr that aren't mpirun's own."""
    lines, between = [], False
    for line in text.splitlines():
        if line.startswith("-----"):
            between = not between
        elif not between and line and not line.startswith("["):
            lines.append(line)
    return lines


def alive(sessions):
    """Pids of the processes of these sessions."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as stat:
                state, _, _, session = stat.read().rpartition(")")[2].split()[:4]
            if state != "Z" and int(session) in sessions:
                found.append(int(name))
        except OSError:
            pass
    return found


def left():
    """Who is still there a while after all that was started has ended."""
    deadline = time.monotonic() + 5
    while alive(STARTED) and time.monotonic() < deadline:
        time.sleep(0.02)
    return alive(STARTED)


def pids(process):
    """By rank the processes of Open MPI's mpirun; not what they have started."""
    found = {}
    for pid in alive({os.getsid(process.pid)}):
        try:
            with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) != process.pid:
                    continue
            with open("/proc/%d/environ" % pid, "rb") as file:
                for entry in file.read().split(b"\0"):
                    if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(entry.partition(b"=")[2])] = pid
        except OSError:
            pass
    return found

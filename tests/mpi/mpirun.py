"""Runs programs as several processes, as people do: mpirun(n, command) and who is left afterwards."""

import os
import shutil
import subprocess

LIMIT = 120  # seconds; what takes longer hangs


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


def environment(**more):
    """Without what a surrounding mpirun left, and with one thread a rank."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
    return {**kept, "OMP_NUM_THREADS": "1", "TMPDIR": "/tmp", **more}


def start(count, program, **more):
    return subprocess.Popen(command(count, program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(**more), errors="replace", start_new_session=True)


def run(count, program, **more):
    process = start(count, program, **more)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
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


def processes_of(program):
    """Pids of those that live and run the program file."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink("/proc/%s/exe" % name) == os.path.realpath(program):
                with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as stat:
                    if stat.read().rpartition(")")[2].split()[0] != "Z":
                        found.append(int(name))
        except OSError:
            pass
    return found

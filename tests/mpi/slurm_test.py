"""Ranks that Slurm's srun starts, in a cluster of this machine alone that runs as long as the test."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mpirun

RANKS = os.path.abspath(sys.argv.pop(1))
os.environ["PATH"] += ":/usr/sbin"  # where daemons are
NEEDED = ("munged", "slurmctld", "slurmd", "srun")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """One node, whose daemons are children of this process and keep all they write in a folder."""

    def __init__(self):
        self.daemons = []
        self.log = None
        self.environment = {}

    def begin_all(self, folder):
        path = lambda name: os.path.join(folder, name)
        with open(path("key"), "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(path("key"), 0o400)
        host = socket.gethostname().split(".")[0]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        lines = ["ClusterName=aorta", "SlurmctldHost=%s(127.0.0.1)" % host, "SlurmctldPort=%d" % free_port(),
                 "SlurmdPort=%d" % free_port(), "SlurmUser=" + user, "SlurmdUser=" + user, "AuthType=auth/munge",
                 "AuthInfo=socket=" + path("socket"), "MpiDefault=pmix", "ProctrackType=proctrack/linuxproc",
                 "TaskPlugin=task/none", "StateSaveLocation=" + path("state"), "SlurmdSpoolDir=" + path("spool"),
                 "SlurmctldPidFile=" + path("slurmctld.pid"), "SlurmdPidFile=" + path("slurmd.pid"),
                 "NodeName=%s NodeAddr=127.0.0.1 CPUs=%d State=UNKNOWN" % (host, os.cpu_count()),
                 "PartitionName=all Nodes=ALL Default=YES State=UP"]
        with open(path("slurm.conf"), "w", encoding="ascii") as conf:
            conf.write("\n".join(lines) + "\n")
        for name in ("state", "spool"):
            os.mkdir(path(name))
        self.environment = mpirun.environment(SLURM_CONF=path("slurm.conf"))
        self.log = open(path("log"), "wb")
        self.begin("munged", "--foreground", "--force", "--key-file", path("key"), "--socket", path("socket"),
                   "--pid-file", path("munged.pid"), "--log-file", path("munged.log"), "--seed-file", path("seed"))
        self.wait_for(lambda: os.path.exists(path("socket")))
        self.begin("slurmctld", "-D")
        self.begin("slurmd", "-D")
        self.wait_for(lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%t"], env=self.environment,
                                                       capture_output=True, text=True).stdout)

    def begin(self, *command):
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log))

    def wait_for(self, has_come):
        deadline = time.monotonic() + 60
        while not has_come():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self.daemons):
                with open(self.log.name, encoding="utf-8", errors="replace") as log:
                    raise unittest.SkipTest("Slurm doesn't start here: " + log.read()[-500:])
            time.sleep(0.05)

    def end(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        if self.log:
            self.log.close()

    def run(self, count, *command):
        return subprocess.run(["srun", "-n", str(count), "--overcommit", *command], env=self.environment,
                              capture_output=True, text=True, timeout=mpirun.LIMIT)


def said_by_us(text):
    """The lines of stderr that aren't Slurm's own, as where it waits for a job before."""
    return [line for line in text.splitlines() if not re.match("srun:|slurmstepd", line.strip())]


def ranks_left():
    """Ranks that are still there a while after srun has ended."""
    deadline = time.monotonic() + 5
    while True:
        found = subprocess.run(["pgrep", "-f", "^" + RANKS], capture_output=True, text=True).stdout.split()
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


@unittest.skipUnless(all(shutil.which(name) for name in NEEDED), "there is no Slurm: " + ", ".join(NEEDED))
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="slurm", dir="/tmp")  # sockets want short names
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.begin_all(folder)
        try:
            probe = cls.cluster.run(2, "true")
        except subprocess.TimeoutExpired:
            raise unittest.SkipTest("Slurm ends no step here") from None
        if probe.returncode:
            raise unittest.SkipTest("Slurm runs no step here: " + probe.stderr[-500:])
        os.chdir(folder)  # where records are written

    def test_ranks_find_each_other(self):
        for scene in ("values", "ddp"):
            done = self.cluster.run(4, RANKS, scene)
            self.assertEqual((done.returncode, said_by_us(done.stderr)), (0, []), done.stderr)

    def test_a_rank_that_is_killed_ends_all(self):
        began = time.monotonic()
        done = self.cluster.run(3, RANKS, "killed")
        self.assertEqual(ranks_left(), [])
        self.assertLess(time.monotonic() - began, 10)
        self.assertNotEqual(done.returncode, 0)
        said = said_by_us(done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], r"^ranks: every process must live, got one that has ended, rank 2 \(pid \d+\)")


if __name__ == "__main__":
    unittest.main()

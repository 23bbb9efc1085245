"""Ranks on two hosts, 1 Gbit/s and 10 ms apart: the bits of one host, and an end soon where the cable is cut."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mpirun
import two_hosts

RANKS = os.path.abspath(sys.argv.pop(1))
BITS_PER_SECOND, SECONDS = 1e9, 0.01
LIMIT = 2  # seconds that ranks wait for each other, in ranks.cc
WHY_NOT = two_hosts.why_not() if mpirun.is_there() else "there is no mpirun"

SERVER = """
import socket
with socket.create_server(("%s", 5000)) as server:
    print("up", flush=True)
    other = server.accept()[0]
    while other.recv(1 << 20):
        pass
    other.send(b"x")
""" % two_hosts.ADDRESSES[1]
CLIENT = """
import socket, time
start = time.monotonic()
other = socket.create_connection(("%s", 5000))
met = time.monotonic()
other.sendall(bytes(25_000_000))
other.shutdown(socket.SHUT_WR)
other.recv(1)
print(met - start, time.monotonic() - met)
""" % two_hosts.ADDRESSES[1]


@unittest.skipIf(WHY_NOT, WHY_NOT)
class TwoHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.hosts = two_hosts.TwoHosts(two_hosts.Cable(BITS_PER_SECOND, SECONDS))
        self.addCleanup(self.hosts.close)

    def start(self, scene):
        """What rank N says is in said_N, for mpirun loses it with the cable."""
        script = 'exec "$0" "$1" 2> %s/said_$OMPI_COMM_WORLD_RANK' % os.getcwd()
        command = self.hosts.command(os.getcwd() + "/agent", ["sh", "-c", script, RANKS, scene])
        # No pipes: behind a cable that is cut their other ends stay open.
        with open("mpirun", "w", encoding="utf-8") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=mpirun.environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def said(name):
        try:
            with open(name, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_the_cable_is_as_slow_and_as_long_as_it_says(self):
        first, second = self.hosts.hosts
        with subprocess.Popen(second.within([sys.executable, "-c", SERVER]), stdout=subprocess.PIPE, text=True) as server:
            self.assertEqual(server.stdout.readline(), "up\n")
            done = subprocess.run(first.within([sys.executable, "-c", CLIENT]), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        met, sent = map(float, done.stdout.split())
        self.assertGreater(met, 2 * SECONDS)
        self.assertGreater(sent, 8 * 25_000_000 / BITS_PER_SECOND)

    def test_training_has_the_bits_of_one_host(self):
        process = self.start("ddp")
        code = process.wait(timeout=mpirun.LIMIT)
        self.assertEqual((code, self.said("said_0"), self.said("said_1")), (0, "", ""), self.said("mpirun"))

    def test_all_end_soon_where_the_cable_is_cut(self):
        process = self.start("trains_on")
        deadline = time.monotonic() + mpirun.LIMIT
        while not (os.path.exists("trains_0") and os.path.exists("trains_1")):
            self.assertLess(time.monotonic(), deadline, self.said("said_0") + self.said("said_1"))
            self.assertIsNone(process.poll(), self.said("mpirun"))
            time.sleep(0.01)
        self.hosts.cable.is_cut = True
        deadline = time.monotonic() + 3 * LIMIT
        while not (self.said("said_0").endswith("\n") and self.said("said_1").endswith("\n")):
            self.assertLess(time.monotonic(), deadline, "%r %r" % (self.said("said_0"), self.said("said_1")))
            time.sleep(0.01)
        for rank in 0, 1:
            self.assertRegex(self.said("said_%d" % rank), r"\A\w+ (\d+ of [^:]*|world\.\d+): every rank must come within %g s, got none of rank %d \(pid \d+\): "
                             r"it runs on another machine\n\Z" % (LIMIT, 1 - rank))


if __name__ == "__main__":
    unittest.main()

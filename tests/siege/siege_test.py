"""The siege's short form: fixed seeds, so many cases of each part, and no finding (docs/reliability.md)."""

import os
import subprocess
import sys
import unittest

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:8]]
INTERFACE, PARSERS, PROGRAM = PROGRAMS[0], PROGRAMS[1], PROGRAMS[2:]
SIEGE = "tests/siege/program_siege.py"


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

    def test_program(self):
        self.attack(sys.executable, SIEGE, *PROGRAM, "--seed", 1, "--cases", 24, tried=24)


if __name__ == "__main__":
    unittest.main()

"""The example of an optimizer of one's own: right, and its wrong twin found out."""

import subprocess
import sys
import unittest

EXAMPLE = sys.argv[1]


class CustomOptimizer(unittest.TestCase):
    def test_example(self):
        done = subprocess.run([EXAMPLE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = done.stdout.splitlines()
        for start in "MySgd against SGD's closed forms", "MySgd's conduct", "MySgd's decay":
            self.assertIn(start + ": as it should be", lines)
        self.assertIn("WrongSgd: the optimizer doesn't follow sgd", done.stdout)

"""The model of docs/scaling.md, and that the page has what it computes: scaling_test.py"""

import math
import subprocess
import sys
import unittest

import project
import scaling


class Scaling(unittest.TestCase):
    def test_one_gpu_waits_for_nobody(self):
        self.assertEqual(scaling.longest(0.01, 0.5, 1), 0.01)
        self.assertEqual(scaling.exposed(0.01, 0.6, 1e8, 25e6, 1, 1.0, 1.0), 0)

    def test_what_nothing_hides_is_the_sum(self):
        # No backward: four buckets of 25 MB but for the last's 1 MiB, each 1 ms and 2 * 3/4 of its bytes / 1e9 s.
        self.assertAlmostEqual(scaling.exposed(0.01, 0, 1e8, 25e6, 4, 1e-3, 1e9), 5e-3 + 1.5 * 1e8 / 1e9)
        self.assertAlmostEqual(scaling.exposed(0.01, 0, 1e6, 25e6, 4, 1e-3, 1e9), 1e-3 + 1.5 * 1e6 / 1e9)

    def test_a_long_backward_hides_all_but_the_last_bucket(self):
        self.assertAlmostEqual(scaling.exposed(100, 1, 1e8, 25e6, 4, 1e-3, 1e9), 1e-3 + 1.5 * 2**20 / 1e9)

    def test_the_longest_of_many_is_bounded_by_the_normal_distributions(self):
        self.assertAlmostEqual(scaling.longest(1, 0.02, 8), 1 + 0.02 * math.sqrt(2 * math.log(8)))

    def test_a_fit_finds_what_exchanges_were_made_of(self):
        sizes = 4e3, 256e3, 4e6, 64e6
        latency, bandwidth = scaling.fitted([(size, scaling.all_reduce(size, 2, 3e-5, 5e9)) for size in sizes])
        self.assertAlmostEqual(latency, 3e-5, delta=1e-12)
        self.assertAlmostEqual(bandwidth, 5e9, delta=1)

    def test_the_page_has_what_is_computed(self):
        with open(project.ROOT + "/docs/scaling.md", encoding="utf-8") as page:
            text = page.read()
        for flags, lines in ([], 10), (["--fit"], 7):
            table = subprocess.run([sys.executable, project.ROOT + "/tools/scaling.py"] + flags, stdout=subprocess.PIPE, check=True,
                                   text=True).stdout
            self.assertGreater(len(table.splitlines()), lines)
            self.assertIn(table, text)


if __name__ == "__main__":
    unittest.main()

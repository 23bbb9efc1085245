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
        # No backward: four buckets of 25 MB, each 1 ms and 2 * 3/4 * 25e6 / 1e9 s.
        self.assertAlmostEqual(scaling.exposed(0.01, 0, 1e8, 25e6, 4, 1e-3, 1e9), 4 * (1e-3 + 37.5e-3))

    def test_a_long_backward_hides_all_but_the_last_bucket(self):
        self.assertAlmostEqual(scaling.exposed(10, 1, 1e8, 25e6, 4, 1e-3, 1e9), 1e-3 + 37.5e-3)

    def test_the_longest_of_many_is_bounded_by_the_normal_distributions(self):
        self.assertAlmostEqual(scaling.longest(1, 0.02, 8), 1 + 0.02 * math.sqrt(2 * math.log(8)))

    def test_the_page_has_what_is_computed(self):
        table = subprocess.run([sys.executable, project.ROOT + "/tools/scaling.py"], stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertGreater(len(table.splitlines()), 10)
        with open(project.ROOT + "/docs/scaling.md", encoding="utf-8") as page:
            self.assertIn(table, page.read())


if __name__ == "__main__":
    unittest.main()

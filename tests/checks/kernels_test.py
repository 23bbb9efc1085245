"""No hot CUDA kernel spills, and docs/kernels.md has what the compiler says of them: kernels_test.py CUDA_VERSION [optimized]

With AORTA_WRITE_TABLES it writes the page's table (tools/update_kernels.sh).
"""

import glob
import os
import re
import sys
import tempfile
import unittest

import project
import kernels

VERSION, OPTIMIZED = sys.argv[1], "optimized" in sys.argv[2:]
PAGE = "docs/kernels.md"
START = "<!-- kernels: tools/update_kernels.sh -->\n"
SPILLING = "48 16 20 24 128 _ZN5aorta4cuda13update_kernelIfEEvT_\n"

# How the numbers were made.
MADE_BY = "\nCUDA %s, `-c opt`, sm_90.\n\n" % VERSION


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernels = kernels.read(glob.glob("cuda/_objs/*/*.usage"))
        path = os.path.join(os.environ.get("AORTA_WRITE_TABLES", project.ROOT), PAGE)
        with open(path, encoding="utf-8") as file:
            cls.before, _, cls.table = file.read().partition(START)
        if "AORTA_WRITE_TABLES" in os.environ and OPTIMIZED:
            with open(path, "w", encoding="utf-8") as file:
                cls.table = MADE_BY + kernels.table(cls.kernels)
                file.write(cls.before + START + cls.table)

    def setUp(self):
        if not self.kernels and self._testMethodName.startswith("test_project"):
            self.skipTest("without CUDA no kernel is compiled")

    def test_project_spills_nothing(self):
        self.assertEqual(kernels.spilling(self.kernels), [])

    def test_project_page_names_every_kernel(self):
        rows = [line.split(" | ")[:2] for line in self.table.splitlines() if line.startswith("| ")]
        here = [line.split(" | ")[:2] for line in kernels.table(self.kernels).splitlines() if line.startswith("| ")]
        self.assertEqual(rows, here)

    def skip_unless_it_is_the_pages_build(self):
        if not OPTIMIZED or not self.table.startswith(MADE_BY):
            self.skipTest("the page's numbers are those of -c opt and of one version of CUDA")

    def test_project_page_has_the_compilers_numbers(self):
        self.skip_unless_it_is_the_pages_build()
        self.assertEqual(self.table, MADE_BY + kernels.table(self.kernels))

    def test_project_each_exception_is_one(self):
        self.skip_unless_it_is_the_pages_build()
        spilling = [k.name for k in self.kernels if k.stores + k.loads]
        for pattern in kernels.MAY_SPILL:
            for part in pattern.split("|"):
                self.assertTrue(any(re.search(part, name) for name in spilling), part)

    def test_what_a_usage_says(self):
        with tempfile.TemporaryDirectory() as folder:
            project.write_tree(folder, {"a.usage": SPILLING + "40 0 0 0 0 _ZN5aorta4cuda13update_kernelIdEEvT_\n", "b.usage": ""})
            found = kernels.read([folder + "/a.usage", folder + "/b.usage"])
        self.assertEqual([k.registers for k in kernels.spilling(found)], [48])
        self.assertEqual(kernels.table(found).splitlines()[2:], ["| update_kernel | 2 | 40-48 | 0-16 | 0-44 | 0-128 |"])

    def test_names(self):
        for mangled, name in (("_ZN5aorta4cuda9a2_kernelINS_4HalfELi1EEEvT_", "a2_kernel"),
                              ("_ZN5aorta4cuda26_GLOBAL__N__0_1_a_cu_1234513sort_k_kernelEPf", "sort_k_kernel"), ("_Z4scanPf", "scan")):
            self.assertEqual(kernels.short_name(mangled), name)


if __name__ == "__main__":
    unittest.main()

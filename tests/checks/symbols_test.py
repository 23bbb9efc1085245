"""Kernels compiled for an instruction set define nothing outside its namespace: symbols_test.py PACKAGE...

Reads the archives of the packages' aorta_isa_library targets, which are its data.
"""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

import project
import check_symbols

GOOD = """
namespace aorta::cpu::v4 {
namespace { int helper(int x) { return x + 1; } }
template <class T> struct Table { static inline T rows[4]; virtual ~Table() {} };
inline int shared(int x) { static int calls = helper(x); return ++calls; }
int entry(int x) { static Table<int> table; return shared(x) + table.rows[x & 3]; }
}
"""


def compile_object(folder, source):
    path = os.path.join(folder, "a.o")
    subprocess.run(["g++", "-std=c++20", "-O0", "-x", "c++", "-c", "-o", path, "-"], input=source.encode(), check=True)
    return path


class Symbols(unittest.TestCase):
    def test_project(self):
        for isa in "v2", "v3", "v4":
            archives = [path for package in sys.argv[1:] for path in glob.glob("%s/*_%s*.a" % (package, isa))]
            self.assertTrue(archives, "no archive of %s" % isa)
            problems, seen = check_symbols.check(isa, archives)
            print("%s: %d global symbols in %s" % (isa, seen, " ".join(archives)))
            self.assertEqual(problems, [])
            self.assertGreater(seen, 0)

    def problems(self, source, isa="v4"):
        with tempfile.TemporaryDirectory() as folder:
            return check_symbols.check(isa, [compile_object(folder, source)])[0]

    def test_names_inside_the_namespace(self):
        self.assertEqual(self.problems(GOOD), [])

    def test_the_wrong_namespace(self):
        problems = self.problems(GOOD, isa="v2")
        self.assertTrue(any("aorta::cpu::v4::entry(int)" in line for line in problems), problems)

    def test_a_weak_template_of_the_standard_library(self):
        source = "#include <vector>\nnamespace aorta::cpu::v4 { void f(std::vector<int>& v) { v.push_back(1); } }"
        problems = self.problems(source)
        self.assertTrue(any("got std::vector<int" in line for line in problems), problems)

    def test_an_inline_function_of_the_shared_namespace(self):
        source = "namespace aorta { inline int twice(int x) { return 2 * x; } }\n"
        problems = self.problems(source + "namespace aorta::cpu::v4 { int f(int x) { return twice(x); } }")
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("symbols lie in aorta::cpu::v4, got aorta::twice(int)", problems[0])


if __name__ == "__main__":
    unittest.main()

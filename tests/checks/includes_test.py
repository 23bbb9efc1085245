"""Every file includes the standard headers that it uses, and the checker names those that don't."""

import tempfile
import unittest

import project
import check_includes


class Includes(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check_includes.check(project.ROOT), [])

    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, files)
            return check_includes.check(root)

    def test_good_tree(self):
        self.assertEqual(self.problems({
            "core/a.h": "#pragma once\n#include <vector>\nstd::vector<int> a(std::initializer_list<int>);\n",
            "core/b.h": "#include <aorta/core/a.h>\n#include <string>\n",
            "core/b.cc": "#include <aorta/core/b.h>\nstd::vector<std::string> b{std::move(c)};\n",
            "tests/b_test.cc": '#include "b.h"\nstd::map<int, int> b;\n',
            "tests/b.h": "#include <map>\n",
            "core/quiet.cc": "// std::set\n/* std::map */ auto a = \"std::any\", b = R\"x(\" std::deque)x\", c = '\"';\n",
        }), [])

    def test_a_header_that_is_missing(self):
        for text, want in [
                ("std::vector<int> a;\n", "a std name needs its header, got vector without <vector>"),
                ("auto a = '\"'; std::sort(b); c = '\"';\n", "got sort without <algorithm>"),
                ("#include <vector>\nint a = std::max(1, 2);\n", "got max without <algorithm>"),
                ("double a = std::abs(b);\n", "got abs without <cmath> or <cstdlib>"),
                ("#include <aorta/core/gone.h>\nstd::string a;\n", "got string without <string>")]:
            found = self.problems({"core/a.cc": text})
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith("core/a.cc: "), found)
            self.assertIn(want, found[0])

    def test_a_header_beside_does_not_count(self):
        found = self.problems({"core/a.h": "#include <vector>\n", "core/b.cc": "std::vector<int> b;\n"})
        self.assertEqual(found, ["core/b.cc: a std name needs its header, got vector without <vector>"])

    def test_a_name_that_the_table_has_not(self):
        self.assertEqual(self.problems({"core/a.cc": "std::midpoint(1, 2);\n"}),
                         ["core/a.cc: each std name stands in DECLARES of tools/check_includes.py, got midpoint"])


if __name__ == "__main__":
    unittest.main()

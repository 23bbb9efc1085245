"""Files stay short, the repository small and the one header light; the checker names what isn't."""

import os
import tempfile
import unittest

import project
import check_sizes


class Sizes(unittest.TestCase):
    def assert_good(self, result):
        problems, remarks = result
        print("\n".join(remarks))
        self.assertEqual(problems, [])

    def test_project_file_lengths(self):
        self.assert_good(check_sizes.check_lines(project.ROOT))

    def test_project_bytes(self):
        self.assert_good(check_sizes.check_bytes(project.ROOT))

    def test_project_header_after_the_preprocessor(self):
        self.assert_good(check_sizes.check_preprocessed(project.ROOT))

    def test_project_parameters(self):
        self.assert_good(check_sizes.check_parameters(project.ROOT))

    def test_many_parameters(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {
                "core/a.h": """\
Tensor few(const Tensor& a, int b, int c, std::pair<int, int> d, int e = f(1, 2), Span<A, B> f = {3, 4});
inline void many(const Tensor& a, int b, int c,  // (
                 int d, int e, int f, const std::vector<int>& g);
Tensor conv2d(const Tensor& a, int b, int c, int d, int e, int f, int g);
int x = call(a, b, c, d, e, f, g);
""",
                "core/a.cc": "int x;\nvoid many(int a, int b, int c, int d, int e, int f, int g) {}\n",
                "core/cpu/isa/loop.cc": "void seven(int a, int b, int c, int d, int e, int f, int g) {}\n"
                                        "void ten(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {}\n",
                "tests/core/b.h": "void many(int a, int b, int c, int d, int e, int f, int g);\n"})
            self.assertEqual(check_sizes.check_parameters(root),
                             (["core/a.cc:2: a function has at most 6 parameters, got 7 of many",
                               "core/a.h:2: a function has at most 6 parameters, got 7 of many",
                               "core/cpu/isa/loop.cc:2: a function has at most 9 parameters, got 10 of ten"], []))

    def test_long_files(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {"core/a.cc": "\n" * 601, "core/b.h": "\n" * 301, "core/c.cu": "\n" * 600})
            problems, remarks = check_sizes.check_lines(root)
            self.assertEqual(problems, ["core/a.cc: a file has at most 600 lines, got 601"])
            self.assertEqual(len(remarks), 1)
            self.assertTrue(remarks[0].startswith("core/b.h: "), remarks)

    def test_large_tree(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "weights.npz"), "wb") as file:
                file.truncate(check_sizes.MAX_TREE_BYTES + 1)
            problems, _ = check_sizes.check_bytes(root)
            self.assertEqual(len(problems), 1)
            self.assertTrue(problems[0].startswith("weights.npz: "), problems)

    def test_large_network(self):
        with tempfile.TemporaryDirectory() as root:
            place = os.path.join(root, check_sizes.SHIPPED)
            os.makedirs(os.path.dirname(place))
            for megabytes, found in (3, []), (5, [check_sizes.SHIPPED + ": it has at most 4 MB, got 5.0 MB"]):
                with open(place, "wb") as file:
                    file.truncate(megabytes * 1000 * 1000)
                self.assertEqual(check_sizes.check_bytes(root)[0], found)

    def test_heavy_header(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {"aorta.h": "#include <aorta/core/a.h>\n",
                                      "core/a.h": "int x;\n" + "extern int x;\n" * check_sizes.MAX_PREPROCESSED_LINES})
            problems, _ = check_sizes.check_preprocessed(root)
            self.assertEqual(len(problems), 1)
            self.assertIn(f"aorta.h: it has at most {check_sizes.MAX_PREPROCESSED_LINES} lines", problems[0])


if __name__ == "__main__":
    unittest.main()

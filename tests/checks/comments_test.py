"""Every comment begins with what it is about, and the checker names those that don't."""

import tempfile
import unittest

import project
import check_comments


class Comments(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check_comments.check(project.ROOT), [])

    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, files)
            return check_comments.check(root)

    def test_good_tree(self):
        self.assertEqual(self.problems({
            "core/a.h": "/// The sum of a line.\n/// Of two lines it is the sum of both.\nint a();  // of the CPU\n",
            "core/a.cc": "// Offsets, whose lines are the longer ones.\n// Those lines go first.\nint a;\n",
            "core/b.cc": "int a = 1;  // the first line goes on\n            // Those that follow too.\n",
            "core/c.cc": 'auto a = "// Of a text";  // a text\nint b = \'"\';\n',
            "core/a.py": "// Of Python.\n",
        }), [])

    def test_a_comment_that_begins_with_what_stands_above(self):
        for name in "core/a.h", "core/a.cc", "cuda/a.cu", "cuda/a.cuh":
            for words in "Of a matrix, row by row.", "Those of a file.", "The same of a list.", "The same, typed.":
                for slashes in "//", "///":
                    text = "int a();\n  {0} {1}\n  {0} And more.\nint b();\n".format(slashes, words)
                    self.assertEqual(self.problems({name: text}), [
                        "%s:2: a comment must begin with its subject, not with Of, Those or The same, got \"%s\"" % (
                            name, words)])

    def test_each_comment_counts_by_itself(self):
        for text in ("int a;  // Of the CPU.\n", "auto a = \"//\";  // Of the CPU.\n",
                     "// A remark.\n\n// Of the CPU.\n", "// A remark.\n/// Of the CPU.\n",
                     "int a;  // a remark\n// Of the CPU.\n"):
            found = self.problems({"core/a.cc": text})
            self.assertEqual(len(found), 1, text)
            self.assertIn("core/a.cc:%d: " % text.count("\n"), found[0])


if __name__ == "__main__":
    unittest.main()

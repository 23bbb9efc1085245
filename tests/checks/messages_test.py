"""An error says what it got: `check(ok, op, rule, got...)` and `fail(op, rule, got...)` of the library hand over a value."""

import os
import re
import tempfile
import unittest

import project
import source_tree

ROOMS = ("core", "autograd", "nn", "optim", "distributions", "data", "models", "report", "onnx", "apps", "cuda")
# Arguments before the first that says what was got.
CALLS = {"check": 3, "fail": 2, "fail_for_resources": 2}
CALL = re.compile(r"(?<![\w.>])(?<!// )(%s)\((?!bool|const|std::string)" % "|".join(CALLS))


# A raw string, a string, a character, or whatever else.
TOKEN = re.compile(r'''R"\((?s:.*?)\)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|//.*|(?s:.)''')


def count_arguments(text, start):
    """Of the call whose bracket opens at `start`."""
    count, depth = 1, 0
    for token in TOKEN.finditer(text, start):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0:
            return count
        count += token[0] == "," and depth == 1
    raise AssertionError("a call doesn't end")


def check(root):
    """Calls without a value, as `file:line: call`."""
    problems = []
    for name in source_tree.files(root, source_tree.CODE):
        if name.split("/")[0] not in ROOMS:
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for call in CALL.finditer(text):
            if count_arguments(text, call.end() - 1) == CALLS[call[1]]:
                problems.append("%s:%d: %s" % (name, text.count("\n", 0, call.start()) + 1, call[1]))
    return problems


class Messages(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check(project.ROOT), [])

    def test_finds(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {
                "core/a.cc": 'void f() {\n  check(f({1, 2}), "op", "a, b (c");\n  check(x, "op", "rule", x);\n}\n',
                "nn/b.cc": '  fail("op",\n       "rule");\n  fail("op", "rule", 1);\n  file.fail("a", "b");\n',
                "tests/c.cc": '  fail("op", "rule");\n',
            })
            self.assertEqual(check(root), ["core/a.cc:2: check", "nn/b.cc:1: fail"])


if __name__ == "__main__":
    unittest.main()

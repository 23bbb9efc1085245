"""An error says what it got: `check(ok, op, rule, got...)` and `fail(op, rule, got...)` of the library hand over a value.
A rule says the limit that its condition has: who is told "must be positive, got 1e+10" doesn't know what to do."""

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


# A comparison with a constant that numbers can be above, and the words that a limit is said with.
LIMIT = re.compile(r"<=?\s*(k[A-Z]\w*|int64_t\{1\} <<|0x1p|1e\d|\d{3,}|std::numeric_limits)(?!\w*\s*[*])")
LIMIT_SAID = re.compile(r"\d|k[A-Z]|at most|below|between|within|fit|fewer|beyond|smaller")


def arguments(text, start):
    """Of the call whose bracket opens at `start`."""
    found, depth = [""], 0
    for token in TOKEN.finditer(text, start):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0:
            found[0] = found[0][1:]
            return found
        if token[0] == "," and depth == 1:
            found.append("")
        else:
            found[-1] += token[0]
    raise AssertionError("a call doesn't end")


def check(root):
    """Calls without a value or a limit, as `file:line: call`."""
    problems = []
    for name in source_tree.files(root, source_tree.CODE):
        if name.split("/")[0] not in ROOMS:
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for call in CALL.finditer(text):
            words = arguments(text, call.end() - 1)
            line = "%s:%d: %s" % (name, text.count("\n", 0, call.start()) + 1, call[1])
            if len(words) == CALLS[call[1]]:
                problems.append(line)
            elif call[1] == "check" and LIMIT.search(words[0]) and not LIMIT_SAID.search(words[2]):
                problems.append(line + ", no limit")
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

    def test_finds_limits_that_are_not_said(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {
                "core/a.cc": 'check(x > 0 && x < kMost, "op", "x must be positive", x);\n'
                             'check(x > 0 && x < kMost, "op", "x must be positive and below 1e9", x);\n'
                             'check(x <= 0x1p46,\n "op", "too many", x);\n'
                             'check(x <= 1032 * y, "op", "x must be as long as y", x);\n',
            })
            self.assertEqual(check(root), ["core/a.cc:1: check, no limit", "core/a.cc:3: check, no limit"])


if __name__ == "__main__":
    unittest.main()

"""Each rule of CUDA that the emulated device reports is found by a planted bug, and names the page that it comes from."""

import glob
import os
import re
import unittest

import project

FOLDER = "tests/cuda/emulated"
# Sentences that are no rules: texts of NVIDIA's errors and parts of what was got.
NO_RULES = re.compile(r"^(emulated device|addr2line|%|.*docs\.nvidia\.com)|^(remote process exited|NCCL operation in|a stream of "
                      r"cuda|an event of cuda|another's call of|the block doesn't have)")
ERRORS = re.compile(r'\{cuda\w+, "cuda\w+",\s*"[^"]*"\}')
SHOWN = 22  # characters of a rule that a test looks for


def literals(text):
    """The strings of a source, those that stand side by side as one."""
    text = re.sub(r"^#.*$|^\s*//.*$", "", ERRORS.sub("", text), flags=re.M)
    text = re.sub(r'asm\(.*?\)"?;', "", text, flags=re.S)
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text))


def rules(text):
    """The sentences of a source that say what must hold, without what was got."""
    for literal in literals(text):
        rule = literal.split(", got")[0].strip()
        if rule.count(" ") >= 3 and not literal.startswith((" ", ",")) and not NO_RULES.match(rule):
            yield rule


def pages(text):
    """(constant, page) of the pages that a source names."""
    text = re.sub(r'AORTA_NCCL (")', r'"docs.nvidia.com/deeplearning/nccl/', text)
    return re.findall(r'constexpr const char\* (k\w+) =\s*"(\w+\.nvidia\.com[^"]*|[^"]*/[^"]*)"', text)


def missing(sources, tests):
    """Rules of `sources` (texts by name) whose beginning stands in none of the tests."""
    found = "\n".join(literal for text in tests for literal in literals(text))
    return ["%s: %s" % (name, rule) for name, text in sources.items() for rule in rules(text) if rule[:SHOWN] not in found]


def read(paths):
    result = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            result[os.path.basename(path)] = file.read()
    return result


class EmulatedRules(unittest.TestCase):
    def setUp(self):
        every = read(sorted(glob.glob(os.path.join(project.ROOT, FOLDER, "*.cc"))))
        self.tests = {name: text for name, text in every.items() if name.endswith("_test.cc")}
        self.sources = {name: text for name, text in every.items()
                        if name not in self.tests and not name.endswith("_facts.cc")}

    def test_each_rule_is_planted(self):
        self.assertGreater(sum(len(list(rules(text))) for text in self.sources.values()), 80)
        self.assertEqual(missing(self.sources, self.tests.values()), [])

    def test_a_rule_without_a_bug_is_seen(self):
        source = 'report(name, "a handle is one that "\n    "was made, got " + got, page);'
        self.assertEqual(missing({"a.cc": source}, []), ["a.cc: a handle is one that was made"])
        self.assertEqual(missing({"a.cc": source}, ['EXPECT_TRUE(finds("a handle is one that was made"));']), [])

    def test_pages(self):
        """Each page is one of NVIDIA's, and a rule's. That each rule names one, report() holds where a planted bug breaks it."""
        headers = read(sorted(glob.glob(os.path.join(project.ROOT, FOLDER, "*.h"))))
        texts = {**self.sources, **headers}
        self.assertGreater(sum(len(pages(text)) for text in texts.values()), 30)
        every = "\n".join(texts.values())
        for name, text in texts.items():
            for constant, page in pages(text):
                self.assertTrue(page.startswith("docs.nvidia.com/"), "%s: %s" % (name, page))
                self.assertGreater(len(re.findall(r"\b%s\b" % constant, every)), 1, "%s: %s" % (name, constant))


if __name__ == "__main__":
    unittest.main()

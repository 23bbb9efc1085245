"""Runs the unittest cases of one Python file and tells Bazel of each: python_test.py FILE ARGS...

Writes JUnit XML to $XML_OUTPUT_FILE and takes --test_filter ($TESTBRIDGE_TEST_ONLY) in GoogleTest's form:
wildcards over `Class.test_name`, alternatives between colons, exclusions after a minus; capitals don't matter.
"""

import fnmatch
import importlib.util
import os
import sys
import time
import unittest
import xml.sax.saxutils

_OPEN = '<testsuite name=%s tests="%d" failures="%d">'


def matches(name, pattern):
    name = name.lower()
    wanted, _, unwanted = pattern.lower().partition("-")
    if any(fnmatch.fnmatchcase(name, part) for part in unwanted.split(":") if part):
        return False
    return any(fnmatch.fnmatchcase(name, part) for part in (wanted or "*").split(":"))


def case_name(case):
    return "%s.%s" % (type(case).__name__, case.id().rpartition(".")[2])


def cases_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_of(item)
        else:
            yield item


class Result(unittest.TextTestResult):
    """Remembers each case's outcome: (name, seconds, None or (kind, text))."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.outcomes = {}
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.time()

    def _note(self, test, kind=None, text=""):
        name = case_name(test)
        if kind or name not in self.outcomes:
            self.outcomes[name] = (time.time() - self.started, kind, text)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failure", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "error", self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failure", "%s: %s" % (subtest, err[1]))


def write_xml(path, suite_name, outcomes):
    quote = xml.sax.saxutils.quoteattr
    failed = sum(kind in ("failure", "error") for _, kind, _ in outcomes.values())
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    lines.append(_OPEN % (quote(suite_name), len(outcomes), failed))
    for name, (seconds, kind, text) in outcomes.items():
        class_name, _, method = name.partition(".")
        last_line = (text.strip().splitlines() or [""])[-1]
        inside = "<%s message=%s/>" % (kind, quote(last_line)) if kind else ""
        lines.append('<testcase classname=%s name=%s time="%.3f">%s</testcase>' % (
            quote(class_name), quote(method), seconds, inside))
    lines += ["</testsuite>", "</testsuites>", ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("test_module", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_module"] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    pattern = os.environ.get("TESTBRIDGE_TEST_ONLY", "*")
    chosen = unittest.TestSuite(case for case in cases_of(suite) if matches(case_name(case), pattern))
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2)
    result = runner.run(chosen)
    if "XML_OUTPUT_FILE" in os.environ:
        write_xml(os.environ["XML_OUTPUT_FILE"], os.path.basename(path), result.outcomes)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

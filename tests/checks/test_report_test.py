"""tools/test_report.py counts cases rightly, from build events as Bazel writes them."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import project  # noqa: F401 (sets the path to tools/)
import test_report

GTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" name="AllTests">
<testsuite name="Add" tests="5" failures="1" disabled="1" skipped="1" errors="0">
<testcase name="Good" status="run" result="completed" classname="Add"/>
<testcase name="AlsoGood" status="run" result="completed" classname="Add"/>
<testcase name="Bad" status="run" result="completed" classname="Add"><failure message="a"/><failure message="b"/></testcase>
<testcase name="Skips" status="run" result="skipped" classname="Add"><skipped message="no GPU"/></testcase>
<testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="Add"/>
</testsuite></testsuites>"""
GOOD = '<testsuites><testsuite><testcase name="One" classname="A" status="run"/></testsuite></testsuites>'
CRASHED = ('<testsuites><testsuite name="t" tests="1" failures="0" errors="1"><testcase name="tests/t" status="run">'
           '<error message="exited with error code 139"></error></testcase></testsuite></testsuites>')


def configured(label, test=True):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"} if test else {}}


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.files = 0

    def write(self, text):
        self.files += 1
        path = os.path.join(self.folder.name, "%d file" % self.files)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def result(self, label, status, text, shard=1, attempt=1):
        outputs = [{"name": "test.xml", "uri": "file://" + self.write(text).replace(" ", "%20")}] if text else []
        return {"id": {"testResult": {"label": label, "run": 1, "shard": shard, "attempt": attempt}},
                "testResult": {"status": status, "testActionOutput": outputs}}

    def report(self, *suites):
        """The text and exit status for (name, bazel's status, events) of each suite."""
        arguments = ["%s=%d:%s" % (name, status, self.write("\n".join(json.dumps(event) for event in events)))
                     for name, status, events in suites]
        with contextlib.redirect_stdout(io.StringIO()) as text:
            status = test_report.main(arguments)
        return text.getvalue(), status

    def assert_last(self, report, line, status):
        text, got = report
        self.assertEqual(text.splitlines()[-1], line, text)
        self.assertEqual(got, status)

    def test_cases_are_counted_and_failures_named(self):
        report = self.report(("plain", 3, [configured("//a"), self.result("//a", "FAILED", GTEST)]))
        self.assert_last(report, "2 passed, 1 failed, 2 skipped", 1)
        self.assertIn("FAILED in plain: //a Add.Bad\n", report[0])
        self.assertIn("skipped in plain: //a Add.Skips\n", report[0])

    def test_suites_are_added(self):
        events = [configured("//a"), self.result("//a", "PASSED", GOOD)]
        self.assert_last(self.report(("plain", 0, events), ("asan", 0, events)), "2 passed, 0 failed, 0 skipped", 0)

    def test_shards_are_added_and_only_the_last_attempt_counts(self):
        events = [configured("//a"), self.result("//a", "FAILED", CRASHED, shard=1, attempt=1),
                  self.result("//a", "PASSED", GOOD, shard=1, attempt=2), self.result("//a", "PASSED", GOOD, shard=2)]
        self.assert_last(self.report(("plain", 0, events)), "2 passed, 0 failed, 0 skipped", 0)

    def test_a_crash_is_a_failure(self):
        events = [configured("//a"), self.result("//a", "FAILED", CRASHED)]
        report = self.report(("plain", 3, events))
        self.assert_last(report, "0 passed, 1 failed, 0 skipped", 1)
        self.assertIn("FAILED in plain: //a tests/t: exited with error code 139\n", report[0])

    def test_a_failing_exit_after_good_cases_is_a_failure(self):
        events = [configured("//a"), self.result("//a", "FAILED", GOOD)]
        self.assert_last(self.report(("asan", 3, events)), "1 passed, 1 failed, 0 skipped", 1)

    def test_a_timeout_without_xml_is_a_failure(self):
        report = self.report(("plain", 3, [configured("//a"), self.result("//a", "TIMEOUT", None)]))
        self.assert_last(report, "0 passed, 1 failed, 0 skipped", 1)
        self.assertIn("FAILED in plain: //a timeout", report[0])

    def test_a_test_that_does_not_build_is_one_failure(self):
        events = [configured("//a"), {"id": {"targetCompleted": {"label": "//a"}}, "completed": {}}]
        report = self.report(("plain", 1, events))
        self.assert_last(report, "0 passed, 1 failed, 0 skipped", 1)
        self.assertIn("//a did not build", report[0])

    def test_a_library_that_does_not_build_is_a_failure(self):
        events = [configured("//lib", test=False), {"id": {"targetCompleted": {"label": "//lib"}}, "completed": {}},
                  configured("//a"), self.result("//a", "PASSED", GOOD)]
        self.assert_last(self.report(("plain", 1, events)), "1 passed, 1 failed, 0 skipped", 1)

    def test_a_target_that_cannot_run_here_is_skipped(self):
        events = [configured("//gpu"), {"id": {"targetCompleted": {"label": "//gpu"}}, "aborted": {"reason": "SKIPPED"}},
                  configured("//a"), self.result("//a", "PASSED", GOOD)]
        self.assert_last(self.report(("asan", 0, events)), "1 passed, 0 failed, 1 skipped", 0)

    def test_a_broken_build_file_is_a_failure(self):
        events = [{"id": {"pattern": {"pattern": ["//..."]}}, "aborted": {"reason": "LOADING_FAILURE"}}]
        self.assert_last(self.report(("plain", 1, events)), "0 passed, 1 failed, 0 skipped", 1)

    def test_bazel_itself_failing_is_a_failure(self):
        self.assert_last(self.report(("plain", 37, [])), "0 passed, 1 failed, 0 skipped", 1)

    def test_no_case_at_all_is_no_success(self):
        self.assert_last(self.report(("plain", 0, [])), "0 passed, 0 failed, 0 skipped", 1)


if __name__ == "__main__":
    unittest.main()

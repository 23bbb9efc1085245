"""Counts test cases from what Bazel leaves behind, and names those that failed.

    test_report.py SUITE=STATUS:BUILD_EVENTS.json ... [--broken=WHAT ...]

STATUS is Bazel's exit status. Prints each failed case with its suite, a line a suite, and last the line
`N passed, N failed, N skipped`. A target that crashed, ran out of time, or didn't build counts as one failed
case; one that can't run here (a GPU test without CUDA) as one skipped. Exits 1 when anything failed, and
when there was no case at all.
"""

import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree


class Suite:
    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failures = []  # (target, case)
        self.skips = []

    def add_xml(self, target, text):
        """Adds the cases of one JUnit file."""
        for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
            name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
            error = case.find("error")
            if error is not None:  # Bazel's word for a program that left no report: it crashed
                self.failures.append((target, "%s: %s" % (name, error.get("message") or "error")))
            elif case.find("failure") is not None:
                self.failures.append((target, name))
            elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed"):
                self.skips.append((target, name))
            elif case.get("status") != "notrun":
                self.passed += 1


def read_events(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_output(outputs, name):
    """The text of the test's output file of that name, or None."""
    for output in outputs:
        if output["name"] == name:
            path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
    return None


def read_suite(name, status, events):
    suite = Suite(name)
    results = {}  # (target, run, shard) -> result of the last attempt
    unfinished = {}  # test target -> why it has no result
    broken = {}  # target that is not a test, or what was asked for -> what went wrong
    for event in events:
        key = event["id"]
        if "targetConfigured" in key and "testSize" in event.get("configured", {}):
            unfinished.setdefault(key["targetConfigured"]["label"], "did not build")
        elif "targetCompleted" in key and not event.get("completed", {}).get("success"):
            label = key["targetCompleted"]["label"]
            if event.get("aborted", {}).get("reason") == "SKIPPED":
                if unfinished.pop(label, None):
                    suite.skips.append((label, "can't run in this configuration"))
            elif label not in unfinished:
                broken.setdefault(label, "did not build")
        elif "configuredLabel" in key and "aborted" in event:
            broken.setdefault(key["configuredLabel"]["label"], "can't be analysed")
        elif "pattern" in key and "aborted" in event:
            broken.setdefault(" ".join(key["pattern"]["pattern"]), "can't be loaded")
        elif "testResult" in key:
            result = key["testResult"]
            results[result["label"], result.get("run"), result.get("shard")] = event["testResult"]
    for (label, _, _), result in sorted(results.items(), key=str):
        unfinished.pop(label, None)
        failed_before = len(suite.failures)
        text = read_output(result.get("testActionOutput", []), "test.xml")
        try:
            if text:
                suite.add_xml(label, text)
        except xml.etree.ElementTree.ParseError as error:
            suite.failures.append((label, "left a test.xml that can't be read: %s" % error))
        if result["status"] not in ("PASSED", "FLAKY") and len(suite.failures) == failed_before:
            suite.failures.append((label, result["status"].lower().replace("_", " ")))
    suite.failures += sorted(unfinished.items()) + sorted(broken.items())
    # 0: all passed; 3: tests failed, counted above; 4: no test was asked for.
    if status not in (0, 3, 4) and not suite.failures:
        suite.failures.append(("bazel", "exit status %d" % status))
    return suite


def main(arguments):
    suites = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name == "--broken":
            suite = Suite("set-up")
            suite.failures.append(("test.sh", value))
        else:
            status, _, path = value.partition(":")
            events = read_events(path) if os.path.exists(path) else []
            suite = read_suite(name, int(status), events)
        suites.append(suite)
    print()
    for suite in suites:
        for target, case in suite.skips:
            print("skipped in %s: %s %s" % (suite.name, target, case))
    for suite in suites:
        for target, case in suite.failures:
            print("FAILED in %s: %s %s" % (suite.name, target, case))
    for suite in suites:
        print("%-6s %d passed, %d failed, %d skipped" % (
            suite.name + ":", suite.passed, len(suite.failures), len(suite.skips)))
    failed = sum(len(suite.failures) for suite in suites)
    passed = sum(suite.passed for suite in suites)
    skipped = sum(len(suite.skips) for suite in suites)
    if not passed + failed + skipped:
        print("no test case matches")
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 0 if passed + skipped and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

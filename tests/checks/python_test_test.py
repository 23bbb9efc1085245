"""bazel/python_test.py reports each unittest case to Bazel, and honours --test_filter."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CASES = """
import unittest
class A(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_raises(self): raise ValueError("odd <value>")
    @unittest.skip("no data")
    def test_skipped(self): pass
    def test_sub(self):
        for i in range(2):
            with self.subTest(i=i): self.assertEqual(i, 0)
"""


def run(pattern=None):
    """({case: kind of outcome}, exit status)"""
    with tempfile.TemporaryDirectory() as folder:
        source, report = os.path.join(folder, "a.py"), os.path.join(folder, "out.xml")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CASES)
        environment = dict(os.environ, XML_OUTPUT_FILE=report)
        environment.pop("TESTBRIDGE_TEST_ONLY", None)
        if pattern:
            environment["TESTBRIDGE_TEST_ONLY"] = pattern
        status = subprocess.run([sys.executable, "bazel/python_test.py", source], env=environment,
                                stdout=subprocess.DEVNULL).returncode
        cases = xml.etree.ElementTree.parse(report).iter("testcase")
        return {"%s.%s" % (case.get("classname"), case.get("name")): case[0].tag if len(case) else "passed"
                for case in cases}, status


class PythonTest(unittest.TestCase):
    def test_outcomes(self):
        outcomes, status = run()
        self.assertEqual(outcomes, {"A.test_good": "passed", "A.test_bad": "failure", "A.test_raises": "error",
                                    "A.test_skipped": "skipped", "A.test_sub": "failure"})
        self.assertEqual(status, 1)

    def test_filter(self):
        self.assertEqual(run("*good*:*skip*"), ({"A.test_good": "passed", "A.test_skipped": "skipped"}, 0))
        self.assertEqual(run("*GOOD*:a.Test_skipped")[0], {"A.test_good": "passed", "A.test_skipped": "skipped"})
        self.assertEqual(run("A.*-*bad:*raises:*sub:*skip*"), ({"A.test_good": "passed"}, 0))


if __name__ == "__main__":
    unittest.main()

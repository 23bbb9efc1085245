"""A filter finds the cases of a GoogleTest program whatever their capitals: test_filter_test.py PROGRAM"""

import os
import subprocess
import sys
import unittest

ALL = ["IsaLibrary.VariantsHaveTheirInstructionSets", "IsaLibrary.NeitherErrnoNorFastMath",
       "IsaLibrary.ProductsAreNotContracted"]


def cases(pattern, flag=False):
    """The cases that the program lists; the pattern by its flag or as Bazel's --test_filter."""
    environment = {name: value for name, value in os.environ.items() if name != "TESTBRIDGE_TEST_ONLY"}
    arguments = [os.path.abspath(sys.argv[1]), "--gtest_list_tests"]
    if flag:
        arguments.append("--gtest_filter=" + pattern)
    else:
        environment["TESTBRIDGE_TEST_ONLY"] = pattern
    listed = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


class Filter(unittest.TestCase):
    def test_capitals(self):
        for flag in False, True:
            self.assertEqual(cases("*errno*", flag), [ALL[1]])
            self.assertEqual(cases("isalibrary.VARIANTS*:*contracted", flag), [ALL[0], ALL[2]])
            self.assertEqual(cases("*isalib*-*ERRNO*:*variants?ave*", flag), [ALL[2]])
            self.assertEqual(cases("-*errno*", flag), [ALL[0], ALL[2]])

    def test_as_it_stands(self):
        self.assertEqual(cases("*"), ALL)
        self.assertEqual(cases("*Errno*"), [ALL[1]])
        self.assertEqual(cases("*nothing_of_the_kind*"), [])


if __name__ == "__main__":
    unittest.main()

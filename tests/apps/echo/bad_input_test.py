"""What can be wrong with the input of aorta-echo: a row each, with the exit code and the line on stderr.

    python3 bad_input_test.py AORTA_ECHO BAD_TENSOR BAD_MACHINE.so --markdown   prints docs/echo_errors.md

A row's message is the line on stderr after "error: " (where the program succeeds: a line of what it prints): `*`
stands for anything, DATA for the data folder and RUN for the run's. The rows with a running training resume one that
all rows share, and hold its files against what they were. What fails leaves what the run had saved, or a newer one.
"""

import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_input_case
from bad_input_case import LEFT_OUT, ROWS, Case, SharedData, errors_of, fault_of_lines
import bad_data
import bad_faults
import bad_imports
import bad_names
import bad_runs
import bad_ranks
import bad_streams
import bad_flags

PAGE = "docs/echo_errors.md"
INPUTS = 90  # numbers of the table
FORBIDDEN = ("terminate called", "Sanitizer", "Segmentation", "Traceback", "core dumped", "runtime error:", "libgomp", "filesystem error", "got Success")


def number_of(row):
    return int(re.match(r"\d+", str(row.number))[0])


def pattern_of(message, case):
    text = "".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", message))
    return re.compile(text.replace("DATA", re.escape(case.data_folder)).replace("RUN", re.escape(case.run_folder)))


def judge(row, case, done):
    """What is wrong with how it ended; nothing when all is well."""
    said = "exit code %d\n%s%s" % (done.code, done.err, done.out[-2000:])
    if done.code != row.code:
        return "exit code must be %d, got %s" % (row.code, said)
    if done.raw and row.code != 137:
        return "it must end by itself, got " + said
    for text in FORBIDDEN:
        if text in done.err + done.out:
            return "must not print \"%s\", got %s" % (text, said)
    errors = errors_of(done)
    pattern = pattern_of(row.message, case)
    if row.code in (2, 3, 4, 5, 6) or (row.code == 137 and row.message):
        if fault_of_lines(done):
            return "%s, got %s" % (fault_of_lines(done), said)
        if not pattern.fullmatch(errors[0][len("error: "):]):
            return "the line must be \"%s\", got %s" % (row.message, said)
        case.expect_saved_files()
    else:
        if errors:
            return "there must be no error, got " + said
        if row.message and not any(map(pattern.fullmatch, (done.err + done.out).splitlines())):
            return "a line must be \"%s\", got %s" % (row.message, said)
    return ""


class BadInput(SharedData):
    def run_row(self, row):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            case = Case(folder)
            try:
                wrong = judge(row, case, row.run(case))
            finally:
                case.end()
        if wrong:
            self.fail(wrong)


def add_tests():
    for row in ROWS:
        slug = re.sub(r"\W+", "_", row.what).strip("_")
        setattr(BadInput, "test_%02d%s_%s" % (number_of(row), re.sub(r"\d", "", str(row.number)), slug),
                lambda self, row=row: self.run_row(row))
    for number, (what, reason) in LEFT_OUT.items():
        slug = re.sub(r"\W+", "_", what).strip("_")
        setattr(BadInput, "test_%02d_%s" % (number, slug), lambda self, reason=reason: self.skipTest(reason))


add_tests()
# Where unittest looks.
Faults = bad_faults.Faults
ClosedStreams, LostOutput = bad_streams.ClosedStreams, bad_streams.LostOutput
FullPipes, NamedPipes = bad_streams.FullPipes, bad_streams.NamedPipes


class Table(unittest.TestCase):
    def test_every_input_has_a_row_or_a_reason(self):
        run = {number_of(row) for row in ROWS}
        self.assertEqual(run & set(LEFT_OUT), set())
        self.assertEqual(run | set(LEFT_OUT), set(range(1, INPUTS + 1)))
        self.assertGreaterEqual(len(run), 70)

    def test_the_page_is_the_table(self):
        with open(PAGE, encoding="utf-8") as page:
            self.assertEqual(page.read(), markdown(), PAGE + " comes from this test's --markdown")


def markdown():
    def cell(text):
        return text.replace("|", "\\|").replace("<", "&lt;")
    def code(text):
        return "`` %s ``" % text.replace("|", "\\|") if text else ""
    lines = [bad_input_case.INTRODUCTION]
    lines += ["| number | what | command | exit code | message |", "|---|---|---|---|---|"]
    for row in sorted(ROWS, key=lambda row: (number_of(row), str(row.number))):
        lines.append("| %s | %s | `%s` | %d | %s |" % (row.number, cell(row.what), row.command, row.code,
                                                     code(row.message)))
    lines += ["", "%d of the %d inputs run. Left out:" % (INPUTS - len(LEFT_OUT), INPUTS), ""]
    lines += ["- %d, %s: %s." % (number, what, reason) for number, (what, reason) in sorted(LEFT_OUT.items())]
    return "\n".join(lines) + "\n"


if "--markdown" in sys.argv[1:]:
    print(markdown(), end="")
    sys.exit(0)

"""run.sh of the GPU bundle, around a program that prints what GoogleTest would: gpu_bundle_run_test.py"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

# What each test of the program does, in its order.
TESTS = {
    "A.passes": """
        echo "$AORTA_FIXTURES $AORTA_CUDA_PLUGIN"
        echo '[       OK ] A.passes (3 ms)'""",
    "A.fails": """
        echo 'a.cc:3: Failure'
        echo '[  FAILED  ] A.fails, where GetParam() = 4 (3 ms)'""",
    "A.crashes": "echo 'so far'; kill -SEGV $$",
    "A.hangs": "sleep 100",
    "Rows/A.skips/add": """
        echo 'a.cc:4: Skipped'
        echo 'no GPU: a reason'
        echo
        echo '[  SKIPPED ] Rows/A.skips/add (0 ms)'""",
}

# `bench`: a table that is there, one that isn't CUDA's, one with a row that is wrong, and one that hangs.
BENCH = """
case $1 in
  --list) printf '%s  a table\\n' cuda core $TABLES ;;
  cuda-wrong) echo MISMATCH; exit 1 ;;
  cuda-hangs) sleep 100 ;;
  *) echo "rows of $*" ;;
esac
"""

# Runs the program, and says that it found what ERRORS says.
SANITIZER = """
echo "$*" >>"$(dirname "$0")/calls"
while [[ $1 != */cuda_test ]]; do shift; done
"$@"
[[ -z $ERRORS ]] || echo "========= ERROR SUMMARY: $ERRORS errors"
"""

GPU = "echo 'NVIDIA H100, 580.00, 81559 MiB'\n"

LIST = """
if [[ $* == *--gtest_list_tests* ]]; then
  %s
  exit
fi
for argument; do [[ $argument == --gtest_filter=* ]] && filter=:${argument#*=}:; done
echo "Note: Google Test filter = $filter"
"""


def program(names):
    """A program with these tests, which takes a list and a filter as GoogleTest does."""
    text = LIST % "; ".join(["true"] + ["echo '%s.'; echo '  %s  # GetParam() = 4'" % tuple(name.split(".")) for name in names])
    for name in names:
        does = TESTS.get(name, "echo '[       OK ] %s (3 ms)'" % name)
        text += "if [[ $filter == *:%s:* ]]; then\necho '[ RUN      ] %s'%s\nfi\n" % (name, name, "\n" + does)
    return text + "echo '[  SKIPPED ] 1 test, listed below:'\necho '[  SKIPPED ] Rows/A.skips/add'\n"


class GpuBundleRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.makedirs(self.folder + "/bin")
        shutil.copy("tools/gpu_bundle_run.sh", self.folder + "/run.sh")

    def program(self, name, text):
        path = "%s/%s" % (self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)

    def path(self, **programs):
        """A PATH on which these programs are too."""
        os.makedirs(self.folder + "/path")
        for name, text in programs.items():
            self.program("path/" + name.replace("_", "-"), text)
        return self.folder + "/path:/usr/bin:/bin"

    def run_with(self, names, path="/usr/bin:/bin", part="tests", **env):
        self.program("bin/cuda_test", program(names))
        self.program("bin/bench", BENCH)
        result = subprocess.run(["/bin/bash", self.folder + "/run.sh", *part.split()], env={"PATH": path, **env}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout.splitlines()

    def summary(self, lines):
        """{part: what became of it} and the lines below."""
        rows = lines[lines.index("== summary") + 1:]
        parts = [re.fullmatch(r"(\S+(?: \S+)?) +\d+ s  (.*)", row) for row in rows]
        return {row[1]: row[2] for row in parts if row}, [row for row, part in zip(rows, parts) if not part]

    def test_counts_and_finds_its_files(self):
        status, lines = self.run_with(["A.passes", "Rows/A.skips/add"])
        self.assertEqual(status, 0)
        self.assertIn("%s/fixtures %s/bin/libaorta_cuda.so" % (self.folder, self.folder), lines)
        self.assertEqual(lines[-2:], ["skipped: 1 tests, because: no GPU: a reason", "1 passed, 0 failed, 1 skipped"])
        self.assertNotIn("[  SKIPPED ] Rows/A.skips/add", lines)

    def test_a_failure_shows(self):
        status, lines = self.run_with(["A.passes", "A.fails"])
        self.assertEqual(status, 1)
        self.assertIn("a.cc:3: Failure", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_the_others_go_on_after_a_crash(self):
        for processes in "1", "3":
            status, lines = self.run_with(["A.crashes", "A.passes", "A.fails", "Rows/A.skips/add"], AORTA_GPU_PROCESSES=processes)
            self.assertEqual(status, 1)
            at = lines.index("[ RUN      ] A.crashes")
            self.assertEqual(lines[at + 1:at + 3], ["so far", "The program ended in this test."])
            self.assertEqual(lines[-1], "1 passed, 2 failed, 1 skipped")

    def test_a_test_that_hangs_is_ended(self):
        status, lines = self.run_with(["A.hangs", "A.passes"], AORTA_GPU_PROCESSES="1", AORTA_GPU_LIMIT="1")
        self.assertEqual(status, 1)
        self.assertIn("The program ended in this test.", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_tests_that_did_not_run_fail(self):
        status, lines = self.run_with(["A.passes"], AORTA_GPU_UNDER="false")
        self.assertEqual(status, 1)
        self.assertEqual(lines[-2:], ["1 tests did not run.", "0 passed, 1 failed, 0 skipped"])

    def test_no_test_at_all_fails(self):
        self.assertNotEqual(self.run_with([])[0], 0)

    def test_a_gpu_that_no_test_could_use_fails(self):
        status, lines = self.run_with(["Rows/A.skips/add"], self.path(nvidia_smi=GPU))
        self.assertEqual(status, 1)
        self.assertIn("There is a GPU, and no test could use it.", lines)

    def test_without_arguments_all_parts_run(self):
        path = self.path(nvidia_smi=GPU, compute_sanitizer=SANITIZER)
        status, lines = self.run_with(["A.passes", "A.b"], path, "", TABLES="cuda-copies", ERRORS="0")
        self.assertEqual(status, 0, lines)
        self.assertEqual(self.summary(lines), ({part: "ok" for part in ("tests", "sanitizer", "bench cuda", "bench cuda-copies")},
                                               []))
        for section, line in [("tests", "2 passed, 0 failed, 0 skipped"), ("sanitizer", "1 passed, 0 failed, 0 skipped"),
                              ("sanitizer", "compute-sanitizer: 0 errors in 1 processes"), ("bench cuda", "rows of cuda"),
                              ("bench cuda-copies", "rows of cuda-copies")]:
            after = lines[lines.index("== " + section):]
            end = next(i for i, text in enumerate(after[1:], 1) if text.startswith("== " + section))
            self.assertIn(line, after[:end])

    def test_a_part_that_fails_leaves_the_others(self):
        path = self.path(nvidia_smi=GPU, compute_sanitizer=SANITIZER)
        status, lines = self.run_with(["A.passes", "A.fails"], path, "", TABLES="cuda-wrong cuda-copies", ERRORS="2")
        self.assertEqual(status, 1)
        self.assertEqual(self.summary(lines)[0],
                         {"tests": "FAILED: status 1", "sanitizer": "FAILED: status 1", "bench cuda": "ok",
                          "bench cuda-wrong": "FAILED: status 1", "bench cuda-copies": "ok"})

    def test_a_part_that_hangs_is_ended(self):
        status, lines = self.run_with(["A.passes", "A.hangs"], part="", TABLES="cuda-hangs", AORTA_GPU_PART_LIMIT="6")
        self.assertEqual(status, 1)
        self.assertEqual(self.summary(lines)[0], {"tests": "FAILED: more than 6 s", "sanitizer": "not run", "bench cuda": "ok",
                                                  "bench cuda-hangs": "FAILED: more than 6 s"})
        self.assertIn("1 passed, 1 failed, 0 skipped", lines)
        self.assertEqual(subprocess.run(["pgrep", "-af", self.folder], stdout=subprocess.PIPE, text=True).stdout, "")

    def test_without_a_gpu_what_is_missing_is_said(self):
        status, lines = self.run_with(["Rows/A.skips/add"], self.path(compute_sanitizer=SANITIZER), "")
        self.assertEqual(status, 0, lines)
        self.assertIn("not run: there is no GPU", lines)
        self.assertEqual(self.summary(lines), ({"tests": "ok", "sanitizer": "not run", "bench cuda": "ok"},
                                               ["There was no GPU: what needs one was skipped, and its rows are empty."]))

    def test_without_a_sanitizer_that_is_said(self):
        status, lines = self.run_with(["A.passes"], self.path(nvidia_smi=GPU), "")
        self.assertEqual(status, 0, lines)
        self.assertIn("not run: there is no compute-sanitizer in PATH or beside CUDA's libraries", lines)
        self.assertEqual(self.summary(lines)[0]["sanitizer"], "not run")

    def test_the_sanitizer_runs_every_tenth_test(self):
        names = ["A.t%d" % i for i in range(1, 22)]
        path = self.path(nvidia_smi=GPU, compute_sanitizer=SANITIZER)
        status, lines = self.run_with(names, path, "sanitizer", ERRORS="0", AORTA_GPU_PROCESSES="1")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 0 skipped"), lines)
        with open(self.folder + "/path/calls", encoding="utf-8") as file:
            call, = file.read().splitlines()
        self.assertTrue(call.startswith("--tool memcheck --report-api-errors no "), call)
        self.assertTrue(call.endswith("--gtest_filter=A.t1:A.t11:A.t21"), call)

    def test_a_sanitizer_that_says_nothing_fails(self):
        path = self.path(nvidia_smi=GPU, compute_sanitizer=SANITIZER)
        self.assertEqual(self.run_with(["A.passes"], path, "sanitizer")[0], 1)

    def test_a_table_alone(self):
        self.assertEqual(self.run_with([], part="bench")[1][-1], "rows of cuda")
        status, lines = self.run_with([], part="bench cuda-wrong")
        self.assertEqual((status, lines[-1]), (1, "MISMATCH"))


if __name__ == "__main__":
    unittest.main()

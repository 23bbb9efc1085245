"""run.sh of the GPU bundle, around a program that prints what GoogleTest would: gpu_bundle_run_test.py"""

import os
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
        text += "if [[ $filter == *:%s:* ]]; then\necho '[ RUN      ] %s'%s\nfi\n" % (name, name, "\n" + TESTS[name])
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

    def run_with(self, names, path="/usr/bin:/bin", **env):
        self.program("bin/cuda_test", program(names))
        result = subprocess.run(["/bin/bash", self.folder + "/run.sh"], env={"PATH": path, **env}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout.splitlines()

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
        os.makedirs(self.folder + "/path")
        self.program("path/nvidia-smi", "echo 'NVIDIA H100, 580.00, 81559 MiB'\n")
        status, lines = self.run_with(["Rows/A.skips/add"], self.folder + "/path:/usr/bin:/bin")
        self.assertEqual(status, 1)
        self.assertIn("There is a GPU, and no test could use it.", lines)


if __name__ == "__main__":
    unittest.main()

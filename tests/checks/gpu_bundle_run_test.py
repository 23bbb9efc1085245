"""run.sh of the GPU bundle, around a program that prints what GoogleTest would: gpu_bundle_run_test.py"""

import os
import shutil
import subprocess
import tempfile
import unittest

PASSED = """
echo '[ RUN      ] A.passes'
echo "$AORTA_FIXTURES $AORTA_CUDA_PLUGIN"
echo '[       OK ] A.passes (3 ms)'
"""
FAILED = """
echo '[ RUN      ] A.fails'
echo 'a.cc:3: Failure'
echo '[  FAILED  ] A.fails (3 ms)'
"""
SKIPPED = """
for name in a b; do
  echo "[ RUN      ] A.$name"
  echo 'a.cc:4: Skipped'
  echo 'no GPU: a reason'
  echo
  echo "[  SKIPPED ] A.$name (0 ms)"
done
echo '[  PASSED  ] 0 tests.'
echo '[  SKIPPED ] 2 tests, listed below:'
echo '[  SKIPPED ] A.a'
"""
CRASHED = """
echo '[ RUN      ] A.crashes'
kill -SEGV $$
"""


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

    def run_with(self, text, path="/usr/bin:/bin"):
        self.program("bin/cuda_test", text)
        result = subprocess.run(["/bin/bash", self.folder + "/run.sh"], env={"PATH": path}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout.splitlines()

    def test_counts_and_finds_its_files(self):
        status, lines = self.run_with(PASSED + SKIPPED)
        self.assertEqual(status, 0)
        self.assertIn("%s/fixtures %s/bin/libaorta_cuda.so" % (self.folder, self.folder), lines)
        self.assertEqual(lines[-2:], ["skipped: 2 tests, because: no GPU: a reason", "1 passed, 0 failed, 2 skipped"])
        self.assertNotIn("[  SKIPPED ] A.a", lines)

    def test_a_failure_shows(self):
        status, lines = self.run_with(PASSED + FAILED)
        self.assertEqual(status, 1)
        self.assertIn("a.cc:3: Failure", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_crash_names_its_test(self):
        status, lines = self.run_with(PASSED + CRASHED)
        self.assertNotEqual(status, 0)
        self.assertIn("[ RUN      ] A.crashes", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_no_test_at_all_fails(self):
        self.assertNotEqual(self.run_with("")[0], 0)

    def test_a_gpu_that_no_test_could_use_fails(self):
        os.makedirs(self.folder + "/path")
        self.program("path/nvidia-smi", "echo 'NVIDIA H100, 580.00, 81559 MiB'\n")
        status, lines = self.run_with(SKIPPED, self.folder + "/path:/usr/bin:/bin")
        self.assertEqual(status, 1)
        self.assertIn("There is a GPU, and no test could use it.", lines)


if __name__ == "__main__":
    unittest.main()

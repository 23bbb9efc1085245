"""What onnx::save writes, by onnx.checker and onnxruntime: with AORTA_PEER_PYTHON, where that Python has both."""

import os
import subprocess
import sys
import tempfile
import unittest

PEER = os.environ.get("AORTA_PEER_PYTHON")


def has_onnxruntime():
    return bool(PEER) and subprocess.run([PEER, "-c", "import onnx, onnxruntime"], capture_output=True).returncode == 0


class Onnxruntime(unittest.TestCase):
    @unittest.skipUnless(has_onnxruntime(), "AORTA_PEER_PYTHON names no Python with onnx and onnxruntime")
    def test_every_saved_network(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = subprocess.run([sys.argv[1], "--gtest_filter=*Saved*"], env=dict(os.environ, AORTA_ONNX_SAVED=folder),
                                   capture_output=True, text=True)
            self.assertEqual(saved.returncode, 0, saved.stdout[-2000:])
            compared = subprocess.run([PEER, "tests/onnx/compare_with_onnxruntime.py", folder], capture_output=True, text=True)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        print(compared.stdout.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()

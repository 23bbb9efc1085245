"""The project is formatted, and an unformatted file of each kind is found and can be mended."""

import os
import shutil
import subprocess
import tempfile
import unittest

import project


def run(*arguments):
    return subprocess.run(["bash", os.path.join(project.ROOT, "tools/format.sh"), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Format(unittest.TestCase):
    def test_project(self):
        result = run("--check")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_unformatted_files_are_named_and_mended(self):
        names = ["core/a.h", "core/a.cc", "cuda/a.cu", "cuda/a.cuh"]
        for name in names:
            with tempfile.TemporaryDirectory() as root:
                project.write_tree(root, {name: "int  f( ){return 1;}\n", "core/good.cc": "int g();\n"})
                shutil.copy(os.path.join(project.ROOT, ".clang-format"), root)
                result = run("--check", root)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(name + ":1:", result.stdout)
                self.assertNotIn("good.cc", result.stdout)
                self.assertIn("run tools/format.sh", result.stdout)
                self.assertEqual(run(root).returncode, 0)
                self.assertEqual(run("--check", root).returncode, 0)


if __name__ == "__main__":
    unittest.main()

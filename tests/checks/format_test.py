"""The project is formatted, and an unformatted file of each kind is found and can be mended. Every Python file can be parsed."""

import ast
import os
import shutil
import subprocess
import tempfile
import unittest

import project
import source_tree


def run(*arguments):
    return subprocess.run(["bash", os.path.join(project.ROOT, "tools/format.sh"), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Format(unittest.TestCase):
    def test_project(self):
        result = run("--check")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_python(self):
        # Some run only beside a peer, where one that can't be read would be noticed late.
        files = list(source_tree.files(project.ROOT, [".py"]))
        self.assertGreater(len(files), 100)
        for name in files:
            with open(os.path.join(project.ROOT, name), encoding="utf-8") as file:
                ast.parse(file.read(), name)

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

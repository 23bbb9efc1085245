"""tools/compile_commands.py makes commands that compile, from actions as Bazel describes them."""

import os
import subprocess
import tempfile
import unittest

import project
import compile_commands

VIRTUAL = "bazel-out/k8-fastbuild/bin/core/_virtual_includes/core"


def compile_action(source, *flags):
    return {"mnemonic": "CppCompile", "arguments": [
        "/usr/bin/gcc", "-U_FORTIFY_SOURCE", "-Wall", "-std=c++0x", "-MD", "-MF", "a.d", "-frandom-seed=a.o", "-fPIC",
        "-iquote", ".", "-iquote", "bazel-out/k8-fastbuild/bin", "-I" + VIRTUAL, "-isystem", "external/lib/include",
        "-std=c++20", "-Werror", "-Wduplicated-cond", *flags, "-fno-canonical-system-headers", '-D__DATE__="redacted"',
        "-c", source, "-o", "bazel-out/k8-fastbuild/bin/a.o"]}


class CompileCommands(unittest.TestCase):
    def test_a_file_compiles_with_its_command(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {
                "core/a.h": "constexpr int kAnswer = 42;\n",
                "core/a.cc": "#include <aorta/core/a.h>\n#include <outside.h>\n"
                             "static_assert(kAnswer == OUTSIDE && NUMBER == 1 && __cplusplus >= 202002L);\n",
                "base/external/lib/include/outside.h": "#define OUTSIDE 42\n",
            })
            os.makedirs(os.path.join(root, "build/include"))
            os.symlink("../..", os.path.join(root, "build/include/aorta"))
            actions = {"actions": [compile_action("core/a.cc", "-DNUMBER=1")]}
            entry, = compile_commands.compile_commands(actions, root, os.path.join(root, "base"))
            self.assertEqual((entry["directory"], entry["file"]), (root, "core/a.cc"))
            subprocess.run(entry["arguments"] + ["-fsyntax-only"], cwd=root, check=True)

    def test_one_entry_a_file_of_ours(self):
        actions = {"actions": [compile_action("core/b.cc", "-DAORTA_ISA=v2"), compile_action("core/a.cc"),
                               compile_action("core/b.cc", "-DAORTA_ISA=v3"), compile_action("external/x/c.cc"),
                               compile_action("bazel-out/k8-fastbuild/bin/d.cc"),
                               {"mnemonic": "CppLink", "arguments": ["/usr/bin/gcc", "-o", "a"]}]}
        entries = compile_commands.compile_commands(actions, "/root", "/base")
        self.assertEqual([entry["file"] for entry in entries], ["core/a.cc", "core/b.cc"])
        self.assertIn("-DAORTA_ISA=v2", entries[1]["arguments"])

    def test_nvcc_becomes_clang(self):
        actions = {"actions": [{"mnemonic": "CudaCompile", "arguments": [
            "bazel/nvcc_wrapper.sh", "a.d", "a.unused", "a.hdrs", "a.usage", "/opt/cuda/bin/nvcc", "cuda/a.cu", "-o", "a.o",
            "-std=c++20", "-gencode", "arch=compute_90,code=sm_90", "-I", VIRTUAL, "-isystem", "external/cuda/include"]}]}
        entry, = compile_commands.compile_commands(actions, "/root", "/base")
        self.assertEqual(entry["file"], "cuda/a.cu")
        self.assertEqual(entry["arguments"][:4], ["clang++", "-x", "cuda", "--cuda-path=/opt/cuda"])
        self.assertIn("-isystem/base/external/cuda/include", entry["arguments"])
        self.assertNotIn("-gencode", entry["arguments"])


if __name__ == "__main__":
    unittest.main()

"""tools/compile_cost.py asks the compiler what Bazel would, and adds up by folder."""

import tempfile
import unittest

import project
import compile_cost


def action(source):
    return {"arguments": ["gcc", "-O2", "-MD", "-MF", "a.d", "-iquote", ".", "-c", source, "-o", "out/a.o"]}


class CompileCost(unittest.TestCase):
    def test_commands(self):
        joined = "bazel-out/k8-opt/bin/nn/nn_unity/part0.cc"
        found = list(compile_cost.compiles({"actions": [action("core/b.cc"), action(joined)]}))
        self.assertEqual([source for source, _ in found], [joined, "core/b.cc"])
        self.assertEqual(found[1][1], ["gcc", "-O2", "-iquote", ".", "-c", "core/b.cc"])
        self.assertEqual(list(compile_cost.compiles({})), [])

    def test_nvcc(self):
        found = list(compile_cost.compiles({"actions": [{"arguments": [
            "bazel-out/host/bin/bazel/nvcc_wrapper.sh", "a.d", "a.unused", "a.hdrs", "a.usage", "/cuda/bin/nvcc", "cuda/sort.cu", "-o", "a.o",
            "-x", "cu", "-c", "-objtemp", "-O0"]}]}))
        self.assertEqual(found, [("cuda/sort.cu", ["/cuda/bin/nvcc", "cuda/sort.cu", "-x", "cu", "-c", "-objtemp", "-O0"])])

    def test_folders(self):
        for source, folder in [("bazel-out/k8-opt/bin/nn/nn_unity/part0.cc", "nn"), ("core/cpu/isa/loss.cc", "core/cpu/isa"),
                               ("core/cpu/loss.cc", "core"), ("apps/echo/main.cc", "apps/echo"), ("tools/bench/main.cc", "tools/bench")]:
            self.assertEqual(compile_cost.folder_of(source), folder)

    def test_seconds(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(compile_cost.cpu_seconds(["python3", "-c", "sum(range(3000000))"], folder), 0)


if __name__ == "__main__":
    unittest.main()

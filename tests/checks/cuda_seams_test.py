"""cuda/ runs on a CPU too (tests/cuda/emulated): it meets the compiler's CUDA at launch(), AORTA_SHARED and AORTA_PTX alone."""

import os
import re
import tempfile
import unittest

import project
import source_tree

SEAM = "cuda/launch.cuh"
PTX_SEAM = "cuda/tensor_core.cuh"
RULES = [
    (r"<<<", "a kernel is started by launch()", ()),
    (r"\bcudaLaunch\w*\(", "a kernel is started by launch()", (SEAM,)),
    (r"\b__shared__\b", "shared memory is declared with AORTA_SHARED", (SEAM,)),
    (r"\basm\b", "an instruction is named by AORTA_PTX", (PTX_SEAM,)),
    (r"\.set_kernel\(", "a kernel comes into the op table by set_kernel<op, run>(), which names its errors", ("cuda/rows.h",)),
    (r"^\s*#\s*(?:el)?if", "no code asks which device it is for", (SEAM, PTX_SEAM)),
    (r"(?i)emulat|#\s*include\s*[<\"].*tests/|__CUDACC__|__CUDA_ARCH__|__NVCC__", "no code asks which device it is for", ()),
    (r"\b__launch_bounds__\((?!kThreads(?:, 1)?\)|Tile::kBlock, )", "a kernel has __launch_bounds__(kThreads), as launch() says, or its tile's threads", ()),
]


def check(root):
    """What breaks a rule, as `file:line: rule`."""
    problems = []
    for name in source_tree.files(root, source_tree.CODE):
        if not name.startswith("cuda/"):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for number, line in enumerate(text.split("\n"), 1):
            problems += ["%s:%d: %s" % (name, number, rule) for pattern, rule, may in RULES
                         if name not in may and re.search(pattern, line)]
        for kernel in re.finditer(r"__global__\s+void\s+(?!__launch_bounds__)", text):
            problems.append("%s:%d: %s" % (name, text.count("\n", 0, kernel.start()) + 1, RULES[-1][1]))
    return problems


class CudaSeams(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check(project.ROOT), [])

    def test_the_seam_is_one_condition(self):
        for seam, condition in ((SEAM, "#ifndef AORTA_SHARED"), (PTX_SEAM, "#ifndef AORTA_PTX")):
            with open(os.path.join(project.ROOT, seam), encoding="utf-8") as file:
                self.assertEqual(re.findall(r"^[ \t]*#\s*(?:el)?if.*$", file.read(), re.M), [condition])

    def test_each_rule(self):
        bad = ["kernel<<<1, 2>>>();", "cudaLaunchKernelEx(&config, kernel);", "__shared__ float x[3];",
               "#ifdef AORTA_DOUBLE", "#if SOMETHING", "#elif OTHER", "bool emulated;", "sum_op.set_kernel(DeviceType::cuda, k);", "return __CUDA_ARCH__;",
               "#include <aorta/tests/cuda/emulated/call.h>", "extern __shared__ float x[];", "asm volatile(\"membar.gl;\");", "cudaLaunchCooperativeKernel(k);", "__global__ void __launch_bounds__(128) k() {}",
               "__global__ void\n    k() {}"]
        for line in bad:
            with self.subTest(line), tempfile.TemporaryDirectory() as root:
                project.write_tree(root, {"cuda/a.cu": "// A comment.\n" + line + "\n", "core/a.h": line + "\n"})
                problems = check(root)
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith("cuda/a.cu:2: "), problems)


if __name__ == "__main__":
    unittest.main()

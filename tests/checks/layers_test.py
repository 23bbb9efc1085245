"""Every include of the project points down, and the checker names those that don't."""

import tempfile
import unittest

import project
import check_layers


class Layers(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check_layers.check(project.ROOT), [])

    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, files)
            return check_layers.check(root)

    def assert_one(self, files, start, rule):
        problems = self.problems(files)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(start), problems)
        self.assertIn(rule, problems[0])

    def test_good_tree(self):
        self.assertEqual(self.problems({
            "aorta.h": "#include <aorta/core/tensor.h>\n#include <aorta/nn/linear.h>\n",
            "core/tensor.h": "#include <vector>\n",
            "core/tensor.cc": "#include <aorta/core/tensor.h>\n#include <fmt/core.h>\n#include <Eigen/Core>\n",
            "core/eigen.h": "#include <Eigen/Core>\n",
            "nn/linear.h": "#include <aorta/autograd/backward.h>\n",
            "cuda/relu.cu": "#include <aorta/core/tensor.h>\n#include <cuda_runtime.h>\n",
            "tests/cuda/relu_test.cc": "#include <aorta/cuda/device.h>\n",
            "tests/core/a_test.cc": "#include <gtest/gtest.h>\n#include <aorta/aorta.h>\n#include <dnnl.h>\n",
        }), [])

    def test_include_up(self):
        self.assert_one({"core/a.h": "#pragma once\n#include <aorta/nn/linear.h>\n"},
                        "core/a.h:2: ", "an include points down only")

    def test_include_sideways(self):
        self.assert_one({"optim/sgd.cc": "#include <aorta/nn/module.h>\n"}, "optim/sgd.cc:1: ", "points down only")

    def test_core_includes_nothing_of_the_data(self):
        self.assert_one({"core/io/a.cc": "#  include <aorta/data/workers/ring.h>\n"}, "core/io/a.cc:1: ", "no other room")

    def test_floors_of_core(self):
        good = {"core/a.cc": "core/scalar/philox.h", "core/io/a.cc": "core/tensor.h",
                "core/process/a.cc": "core/io/bytes.h", "core/dispatch/a.cc": "core/tensor.h",
                "core/ops/a.cc": "core/dispatch/op_table.h", "core/cpu/isa/a.cc": "core/ops/convolution.h"}
        self.assertEqual(self.problems({path: "#include <aorta/%s>\n" % to for path, to in good.items()}), [])
        bad = {"core/a.cc": "core/dispatch/op_table.h", "core/io/a.cc": "core/ops/copy.h",
               "core/process/a.cc": "core/dispatch/profiler.h", "core/dispatch/a.cc": "core/ops/creation.h",
               "core/ops/a.cc": "core/cpu/gemm.h", "core/cpu/a.cc": "core/process/limits.h",
               "core/attic/a.cc": "core/tensor.h"}
        for path, to in bad.items():
            self.assert_one({path: "#include <aorta/%s>\n" % to}, path + ":1", "a floor of core includes those below")

    def test_cuda_from_outside(self):
        for path in "core/a.cc", "tools/bench/a.cc", "tests/core/a.cc", "examples/a.cc":
            self.assert_one({path: "#include <aorta/cuda/device.h>\n"}, path, "nothing outside cuda/")

    def test_device_library_in_core(self):
        for header in "cuda_runtime.h", "cublasLt.h", "cudnn.h", "nccl.h":
            self.assert_one({"core/a.cc": "#include <%s>\n" % header}, "core/a.cc:1", "only cuda/ names a device")

    def test_onednn_outside_its_file(self):
        for path in "core/cpu/matmul.cc", "tools/bench/harness.cc", "examples/a.cc", "cuda/a.cc":
            self.assert_one({path: "#include <dnnl.h>\n"}, path, "only tools/bench/peer_onednn.* includes oneDNN")
        self.assertEqual(self.problems({"tools/bench/peer_onednn.cc": "#include <dnnl.hpp>\n"}), [])

    def test_single_source_stays_alone(self):
        self.assert_one({"core/scalar/a.h": "#include <aorta/core/tensor.h>\n"}, "core/scalar/a.h:1", "each other")

    def test_quotes(self):
        self.assert_one({"core/a.cc": '#include "a.h"\n', "core/a.h": ""}, "core/a.cc:1", "<aorta/...>")
        self.assert_one({"tests/a.cc": '#include "core/a.h"\n', "core/a.h": ""}, "tests/a.cc:1", "<aorta/...>")
        self.assertEqual(self.problems({"tests/core/a.cc": '#include "io/a.h"\n', "tests/core/io/a.h": ""}), [])

    def test_whole_library_in_a_room(self):
        self.assert_one({"nn/a.cc": "#include <aorta/aorta.h>\n"}, "nn/a.cc:1", "the whole library")

    def test_private_library_in_a_public_header(self):
        for header, name in [("Eigen/Core", "Eigen"), ("opencv2/core.hpp", "OpenCV"),
                             ("nlohmann/json.hpp", "JSON"), ("fmt/core.h", "fmt"), ("iostream", "iostream")]:
            self.assert_one({
                "aorta.h": "#include <aorta/core/tensor.h>\n",
                "core/tensor.h": "#include <aorta/core/gemm.h>\n",
                "core/gemm.h": "#include <vector>\n#include <%s>\n" % header,
            }, "core/gemm.h:2: a public header exposes no", name)


if __name__ == "__main__":
    unittest.main()

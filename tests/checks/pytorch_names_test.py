"""docs/pytorch.md lists what Aorta has of PyTorch's names, and what is a method of torch.Tensor and an op here is a method."""

import tempfile
import unittest

import project
import pytorch_names

METHODS = """#pragma once
namespace aorta {
class TensorMethods {
 public:
  // A comment with names() in it.
  Tensor ceil() const;
  const Tensor& ceil_() const;
  Tensor sum(const ReduceDims& dims = {}, bool keepdim = false) const;
  Tensor clamp(const Tensor& min) const;
  Tensor clamp(const Tensor& min, const Tensor& max) const;
  Tensor where(const Tensor& condition, const Operand& other) const;
  Tensor view_as(const Tensor& other) const;

 protected:
  TensorMethods() = default;

 private:
  const Tensor& self() const;
};
}  // namespace aorta
"""
FUNCTIONS = """#pragma once
namespace aorta {
/// Up.
Tensor ceil(const Tensor& input);
Tensor ceil_(const Tensor& self);
Tensor sum(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max = {});
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
std::vector<Tensor> where(const Tensor& condition);
Tensor zeros(const Shape& shape, const TensorOptions& options = {});
inline Tensor gelu(const Tensor& input) {
  return input;
}
}  // namespace aorta

namespace aorta::kernel {

Tensor exp(const Tensor& input);

}  // namespace aorta::kernel
"""
TEST = "BOTH(ceil); SAME(sum); SAME(clamp, y); x.where(mask, y); x.view_as(y);"
NAMES = "# of a test\n[torch.Tensor]\nceil ceil_ clamp exp sum view\nview_as where\n"


class Names(unittest.TestCase):
    maxDiff = None

    def test_the_page_is_that_of_the_headers(self):
        page, problems = pytorch_names.page(project.ROOT)
        self.assertEqual(problems, [])
        self.assertEqual(page, pytorch_names.read(project.ROOT, pytorch_names.PAGE), "run tools/pytorch_names.py")

    def test_methods(self):
        self.assertEqual(pytorch_names.check_methods(project.ROOT), [])

    def test_what_is_read(self):
        """No list is short because a pattern has stopped to match."""
        index = pytorch_names.index(project.ROOT)
        self.assertEqual(list(index), list(pytorch_names.MODULES))
        self.assertGreater(len(index["torch.Tensor"]), 600)
        self.assertGreater(len(pytorch_names.methods(project.ROOT, pytorch_names.METHODS[1:])), 280)
        self.assertGreater(len(pytorch_names.free_functions(project.ROOT)), 380)
        for name in ("shape", "backward", "softmax", "add_", "reshape", "register_post_accumulate_grad_hook"):
            self.assertIn(name, pytorch_names.declared(project.ROOT, "torch.Tensor"))
        for module, name in (("torch.nn", "Conv2d"), ("torch.nn", "AdaptiveMaxPool3d"), ("torch.nn.functional", "conv2d"),
                             ("torch.nn.functional", "relu_"), ("torch.optim", "AdamW")):
            self.assertIn(name, pytorch_names.declared(project.ROOT, module))

    def problems(self, methods=METHODS, functions=FUNCTIONS, test=TEST):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {"core/tensor.h": "", "core/tensor_methods.h": methods, "core/ops/a.h": functions,
                                      pytorch_names.TEST: test, pytorch_names.INDEX: NAMES})
            return pytorch_names.check_methods(root)

    def test_a_small_tree(self):
        self.assertEqual(self.problems(), [])

    def test_a_function_that_is_no_method(self):
        self.assertEqual(self.problems(functions=FUNCTIONS.replace("Tensor zeros(", "Tensor exp(const Tensor& input);\nTensor zeros(")),
                         ["core/tensor_methods.h: a function that torch.Tensor has as a method must be one, got exp"])
        self.assertEqual(len(self.problems(methods=METHODS.replace("  const Tensor& ceil_() const;\n", ""))), 1)

    def test_a_method_that_differs(self):
        for is_, was, word in (("bool keepdim = false", "bool keepdim = true", "keepdim = true"),
                               ("bool keepdim = false", "bool keepdim", "got sum with ()"),
                               (", bool keepdim = false", "", "(const ReduceDims&, bool)"),
                               ("const Tensor& ceil_", "Tensor ceil_", "ceil_"),
                               ("  Tensor clamp(const Tensor& min) const;\n", "", "(const Tensor&)"),
                               ("const Operand& other", "const Tensor& other", "(const Tensor&, const Tensor&)")):
            problems = self.problems(methods=METHODS.replace(is_, was))
            self.assertEqual(len(problems), 1, (was, problems))
            self.assertIn(word, problems[0])

    def test_a_method_that_no_test_calls(self):
        self.assertEqual(self.problems(test=TEST.replace("SAME(sum); ", "")),
                         [pytorch_names.TEST + ": every method must be called, got none of sum"])

    def test_programs(self):
        """The fixture of what pytorch/examples uses is read, and a name that Aorta has not is a problem."""
        used = pytorch_names.programs(project.ROOT)
        self.assertGreater(sum(len(names) for names in used.values()), 300)
        self.assertGreater(len({program for uses in used.values() for found in uses.values() for program in found}), 25)
        self.assertIn("dcgan", used["torch.nn"]["ConvTranspose2d"])
        self.assertIn("mnist_hogwild", used["torch.nn.Module"]["share_memory"])
        count, otherwise, left_out, missing = pytorch_names.sort_out_program_names(project.ROOT)
        self.assertEqual(missing, [])
        self.assertGreater(count, 220)
        self.assertEqual(len([n for names in (*otherwise.values(), *left_out.values()) for n in names]) + count,
                         sum(len(names) for names in used.values()))

    def test_a_name_that_a_program_lacks(self):
        index, reading = pytorch_names.PROGRAMS, pytorch_names.read
        more = "[planted]\ntorch.nn: Linear LinearOfTheFuture\ntorch: relu no_op_at_all\n"
        pytorch_names.read = lambda root, path: reading(root, path) + (more if path == index else "")
        self.addCleanup(setattr, pytorch_names, "read", reading)
        self.assertEqual([line.rpartition("got ")[2] for line in pytorch_names.page(project.ROOT)[1]],
                         ["no_op_at_all of torch", "LinearOfTheFuture of torch.nn"])

    def test_reasons_that_are_none(self):
        pytorch_names.OTHERWISE["torch.Tensor"]["relu no_such_name"] = "nothing"
        self.addCleanup(pytorch_names.OTHERWISE["torch.Tensor"].pop, "relu no_such_name")
        problems = pytorch_names.check_reasons(project.ROOT)
        self.assertEqual([line.rpartition("got ")[2] for line in problems], ["no_such_name of torch.Tensor", "relu of torch.Tensor"])


if __name__ == "__main__":
    unittest.main()

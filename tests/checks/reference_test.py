"""Every public name has a comment, aorta.h has every header of users, no op's header declares what kernels are given among
the names of users, the filter gives each declaration its own comment, and Doxygen, where it is, warns of nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import project

sys.path.insert(0, os.path.abspath("tools/reference"))
import headers


class Reference(unittest.TestCase):
    def test_project(self):
        self.assertEqual(headers.check(project.ROOT), [])
        for header in headers.NOT_IN_AORTA_H:
            self.assertTrue(os.path.exists(os.path.join(project.ROOT, header)), header)

    def problems(self, header, ops=""):
        with tempfile.TemporaryDirectory() as root:
            files = {name: "" for name in headers.MORE}
            project.write_tree(root, {**files, "aorta.h": "#include <aorta/core/a.h>\n#include <aorta/core/ops/ceil.h>\n",
                                      "core/a.h": header, "core/ops/ceil.h": ops})
            return headers.check(root)

    def test_documented(self):
        self.assertEqual(self.problems("""#pragma once
// What the file is about.
namespace aorta {

class Later;
enum class Kind : uint8_t;

/// One comment is for both.
Tensor ceil(const Tensor& input);
Tensor ceil_(const Tensor& self);

/// A class.
class A : public Module {
 public:
  explicit A(int size) : size_(size) {}
  int size() const {
    return size_;
  }

 private:
  int size_;
};
constexpr int kMost = 3;  // of them

inline const Tensor& A::tensor() const { return tensor_; }
template <size_t parts>
std::array<Tensor, parts> A::chunk(int64_t dim) const {
  return aorta::chunk<parts>(*this, dim);
}

namespace detail {
int hidden();
}
template <class T>
struct Portable<std::vector<T>> {};

}  // namespace aorta

namespace aorta::kernel {

extern Op<CeilKernel, CeilGradient> ceil_op;

}  // namespace aorta::kernel
"""), [])

    def test_names_without_a_comment(self):
        for declaration in ("Tensor ceil(const Tensor& input);", "struct Options {\n  int a = 0;  // of them\n};",
                            "enum class Kind { a, b };", "using Names = std::vector<std::string>;",
                            "template <class T>\nT twice(T x) {\n  return 2 * x;\n}", "inline constexpr int kMost = 3;"):
            header = "namespace aorta {\n\n/// This one has.\nint one();\n\n%s\n\n}  // namespace aorta\n" % declaration
            problems = self.problems(header)
            self.assertEqual(len(problems), 1, (declaration, problems))
            self.assertTrue(problems[0].startswith("core/a.h:6: a public name must have a comment, got "), problems)

    OF_KERNELS = ("extern Op<CeilKernel, void (*)(Tensor& output,\n                                const Tensor& input)>\n    ceil_op;",
                  "inline constinit PointwiseOp ceil_op;", "struct CeilArgs {\n  const void* input;\n};", "struct CeilPlan {};",
                  "using CeilKernel = void (*)(const CeilArgs& args);", "using CeilGradient = void (*)(Tensor& output);",
                  "struct CeilGradients {\n  Tensor input;\n};")

    def test_what_kernels_are_given_is_not_for_users(self):
        header = "#pragma once\n\nnamespace %s {\n\n/// It has a comment.\n%s\n\n}  // namespace %s\n"
        for declaration in self.OF_KERNELS:
            problems = self.problems("", header % ("aorta", declaration, "aorta"))
            self.assertEqual(len(problems), 1, (declaration, problems))
            self.assertTrue(problems[0].startswith("core/ops/ceil.h:6: what kernels are given must be in aorta::kernel, got "), problems)
            self.assertEqual(self.problems("", header % ("aorta::kernel", declaration, "aorta::kernel")), [])
        self.assertEqual(self.problems("", header % ("aorta", "struct CeilOptions {\n  bool plan;\n};", "aorta")), [])

    def test_a_header_that_users_would_miss(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {**{name: "" for name in headers.MORE}, "aorta.h": "#include <aorta/nn/a.h>\n",
                                      "nn/a.h": "#include <aorta/nn/reached.h>\n", "nn/reached.h": "", "nn/forgotten.h": "",
                                      "nn/module_hooks.h": ""})
            self.assertEqual(headers.check(root), ["nn/forgotten.h:1: aorta.h must include each header of users, got one "
                                                   "that it doesn't reach"])

    def test_an_empty_line_ends_what_a_comment_is_for(self):
        self.assertEqual(len(self.problems("/// This.\nint one();\nint two();\n\nint three();\n")), 1)

    def test_filter(self):
        self.assertEqual(headers.filtered("a.h", """/// Rounds up.
Tensor ceil(const Tensor& input);
Tensor ceil_(const Tensor& self);
struct A {
  int size = 0;  // of it
  ~A();
};
"""), """/// Rounds up.
Tensor ceil(const Tensor& input);
/** Rounds up. */ Tensor ceil_(const Tensor& self);
struct A {
  int size = 0;  ///< of it
  ~A();
};
""")
        self.assertEqual(headers.filtered("a.md", "| `` \"\\x03 * `` |"), "| <code>\"&#92;x03 &#42;</code> |")

    def test_filter_of_pages(self):
        page = "# Echo\n\n## Beat by beat\n\nSee [it](#beat-by-beat), [that](devices.md#a-graph), [all](devices.md).\n\n    [code](#beat)\n"
        self.assertEqual(headers.filtered("/x/docs/echo.md", page),
                         "# Echo\n\n## Beat by beat {#docs-echo-beat-by-beat}\n\nSee [it](#docs-echo-beat-by-beat), "
                         "[that](#docs-devices-a-graph), [all](devices.md).\n\n    [code](#beat)\n")

    @unittest.skipUnless(shutil.which("doxygen"), "Doxygen isn't installed: tools/setup.sh --docs")
    def test_doxygen_warns_of_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([os.path.join(project.ROOT, "tools/reference.sh"), folder], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            self.assertEqual(made.returncode, 0, made.stdout[-3000:])
            self.assertTrue(os.path.exists(os.path.join(folder, "index.html")))


if __name__ == "__main__":
    unittest.main()

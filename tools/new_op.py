#!/usr/bin/env python3
"""Writes the stems of a new op, and the lines by which lists know it: docs/adding_an_op.md says what is left to do.

    tools/new_op.py NAME pointwise     an op of one tensor, element by element
    tools/new_op.py NAME reduction     an op that takes dimensions away
    tools/new_op.py NAME structured    an op of another kind; its stem works along a dimension

The stems compile and copy or add up their input; the files to write are named at the end.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

FUNCTOR = """#pragma once

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// The formula, with what happens at NaN, at infinities and at the ends.
struct NEW_TYPE {
  static constexpr PointwiseInfo info = floating_function("NEW_NAME");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x;
  }
  template <class T>
  AORTA_INLINE T gradient(T g) const {
    return g;
  }
};

}  // namespace aorta::scalar
"""

REDUCER = """#pragma once

#include <aorta/core/scalar/reduce.h>

namespace aorta::scalar {

/// The formula, and what it is of no elements.
struct NEW_TYPE : SumOfTerms<NEW_TYPE> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(x);
  }
  template <class T>
  AORTA_INLINE T finish(const State<T>& state, int64_t) const {
    return static_cast<T>(state);
  }
};

}  // namespace aorta::scalar
"""

REDUCTION = """Tensor NEW_NAME(const Tensor& input, const ReduceDims& over, bool keepdim) {
  const Dims dims = over.resolve("NEW_NAME", input);
  check_floating("NEW_NAME", input.dtype());
  Tensor output = reduce_one(NEW_NAME_op, input, dims, keepdim, scalar::NEW_TYPE{},
                             {compute_dtype(input.dtype()), input.dtype()});
  if (needs_gradient(input)) NEW_NAME_op.gradient()(output, input, dims, keepdim);
  tell_tracer("NEW_NAME", {&output}, {&input}, dims, keepdim);
  return output;
}

"""

REDUCTION_GRADIENT = """void NEW_NAME_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record("NEW_NAME", output, {&input}, [dims, keepdim](Gradients& g) {
    g.input() = with_dims(g.output(), dims, keepdim).expand(g.input_shape());
  });
}

"""

STRUCTURED = {
    "core/ops/NEW_NAME.h": """#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta {

/// The formula along `dim`, with shapes by letter, dtypes, errors and the source.
Tensor NEW_NAME(const Tensor& input, int64_t dim);

}  // namespace aorta

namespace aorta::kernel {

struct NEW_TYPEArgs {
  const void* input;  // dense, the same order in memory as the output
  void* output;
  DType dtype;  // of both
  Lines lines;
};
using NEW_TYPEKernel = void (*)(const NEW_TYPEArgs& args);
using NEW_TYPEGradient = void (*)(Tensor& output, const Tensor& input, int dim);
extern Op<NEW_TYPEKernel, NEW_TYPEGradient> NEW_NAME_op;

}  // namespace aorta::kernel
""",
    "core/ops/NEW_NAME.cc": """#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/NEW_NAME.h>

namespace aorta::kernel {

constinit Op<NEW_TYPEKernel, NEW_TYPEGradient> NEW_NAME_op{"NEW_NAME"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

Tensor NEW_NAME(const Tensor& input, int64_t given_dim) {
  check_defined("NEW_NAME", {{"input", input}});
  check(is_floating(input.dtype()), "NEW_NAME", "dtype must be floating", input.dtype());
  const int dim = wrap_dim("NEW_NAME", given_dim, input.dim());
  const ProfilerRange range("NEW_NAME", {&input});
  const Tensor x = dense(input);
  const Lines lines = lines_of(x, dim);
  Tensor output = empty_lines(x, dim, lines.length, x.dtype());
  if (x.numel() > 0)
    NEW_NAME_op.kernel(x.device())({x.data(), output.data(), x.dtype(), lines});
  if (needs_gradient(input)) NEW_NAME_op.gradient()(output, input, dim);
  tell_tracer("NEW_NAME", {&output}, {&input}, dim);
  return output;
}

}  // namespace aorta
""",
    "core/cpu/NEW_NAME.cc": """#include <aorta/core/ops/NEW_NAME.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// One line, whose elements lie `stride` apart.
template <class T>
void NEW_NAME_line(T* out, const T* in, int64_t stride, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    out[i * stride] = in[i * stride];
  }
}

void NEW_NAME_kernel(const NEW_TYPEArgs& args) {
  const Lines& lines = args.lines;
  const int64_t grain = std::max<int64_t>(32768 / lines.length, 1);
  visit_dtype(args.dtype, [&](auto type) {
    using T = decltype(type);
    parallel_for(0, lines.count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / lines.inner * lines.length * lines.inner + i % lines.inner;
        NEW_NAME_line(static_cast<T*>(args.output) + first, static_cast<const T*>(args.input) + first,
                      lines.inner, lines.length);
      }
    });
  });
}

}  // namespace

void register_NEW_NAME() { NEW_NAME_op.set_kernel(DeviceType::cpu, NEW_NAME_kernel); }

}  // namespace aorta::cpu
""",
    "autograd/functions/NEW_NAME.cc": """#include <aorta/core/ops/NEW_NAME.h>

#include <aorta/autograd/record.h>

namespace aorta::autograd {
namespace {

void NEW_NAME_gradient(Tensor& output, const Tensor& input, int dim) {
  record("NEW_NAME", output, {&input}, [dim]([[maybe_unused]] Gradients& g) {
    g.input() = g.output();
  });
}

}  // namespace

void register_NEW_NAME() { NEW_NAME_op.set_gradient(NEW_NAME_gradient); }

}  // namespace aorta::autograd
""",
    "tests/catalog/NEW_NAME.cc": """#include <aorta/core/ops/NEW_NAME.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

std::vector<Row> NEW_NAME_rows() {
  return {{.op = "NEW_NAME",
           .tolerance = kSums,
           .calls = {{"default", [](const Tensors& x) -> Tensors { return {NEW_NAME(x[0], 1)}; }},
                     {"last", [](const Tensors& x) -> Tensors { return {NEW_NAME(x[0], -1)}; }}},
           .bad = {{[] { NEW_NAME(ones({2}), 1); },
                    "NEW_NAME: dimension out of range, got dim 1 of a 1-d tensor"},
                   {[] { NEW_NAME(ones({2}, {.dtype = i64}), 0); },
                    "NEW_NAME: dtype must be floating, got i64"}},
           .large = [] { return Tensors{numbers({300, 200, 5})}; }}};
}

}  // namespace aorta::catalog
""",
    "tests/fixtures/core_cases/NEW_NAME.py": '''"""NEW_NAME."""

import torch

from . import Maker


def NEW_NAME(x, dim):
    return torch.clone(x)


def make():
    m = Maker()
    for call, dim in (("default", 1), ("last", -1)):
        m.seed("NEW_NAME" + call)
        m.add("NEW_NAME", call, "basic", lambda x, d=dim: NEW_NAME(x, d), m.f(2, 3, 4, 5), scale=True)
        m.add("NEW_NAME", call, "empty", lambda x, d=dim: NEW_NAME(x, d), m.f(2, 0, 3), scale=True)
    return m
''',
}


class Tree:
    """The files of the tree, changed in memory and written together."""

    def __init__(self, name):
        self.name = name
        self.type = "".join(part.capitalize() for part in name.split("_"))
        self.texts = {}

    def fill(self, text):
        return text.replace("NEW_NAME", self.name).replace("NEW_TYPE", self.type)

    def text(self, path):
        if path not in self.texts:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.texts[path] = file.read()
        return self.texts[path]

    def add(self, path, text):
        path = self.fill(path)
        if os.path.exists(os.path.join(ROOT, path)):
            sys.exit(f"new_op: the name must be free, got {path}")
        self.texts[path] = self.fill(text)

    def insert(self, path, before, text, last=False):
        """Inserts text at the first (last) match of the pattern `before`, a line's start or what ends a list."""
        matches = list(re.finditer(before, self.text(path), re.M))
        if not matches:
            sys.exit(f"new_op: {path} must have the line that says where ops are added, got none like {before}")
        place = matches[-1 if last else 0].start()
        self.texts[path] = self.texts[path][:place] + self.fill(text) + self.texts[path][place:]

    def insert_line(self, path, like, line):
        """Inserts a line among those that match `like`, in their order."""
        line = self.fill(line)
        lines = self.text(path).split("\n")
        places = [i for i, old in enumerate(lines) if re.match(like, old)]
        after = [i for i in places if lines[i] < line]
        lines.insert(after[-1] + 1 if after else places[0], line)
        self.texts[path] = "\n".join(lines)

    def write(self):
        for path, text in self.texts.items():
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(text)


def pointwise(tree):
    tree.add("core/scalar/NEW_NAME.h", FUNCTOR)
    tree.insert_line("core/scalar/op_list.h", "#include", "#include <aorta/core/scalar/NEW_NAME.h>")
    tree.insert("core/scalar/op_list.h", r">;\n\nusing BinaryOps", ", NEW_TYPE")
    tree.insert("core/ops/pointwise.h", r"^Tensor isnan\(", "/// The formula.\nTensor NEW_NAME(const Tensor& input);\n"
                "Tensor NEW_NAME_(const Tensor& input);\n")
    tree.insert("core/ops/pointwise.cc", r"^Tensor isnan\(",
                "Tensor NEW_NAME(const Tensor& input) { return unary<scalar::NEW_TYPE>(input); }\n"
                "Tensor NEW_NAME_(const Tensor& self) { return unary<scalar::NEW_TYPE>(self, &self); }\n")
    tree.insert("tests/catalog/activation.cc", r"^}\n\nvoid add_with_parameters",
                '  rows.push_back(unary<NEW_NAME, NEW_NAME_>("NEW_NAME", kUlps8));\n')
    tree.insert("tests/fixtures/core_cases/pointwise.py", r"^}\n\n\ndef split",
                '    "NEW_NAME": (lambda x: x.clone(), REAL, None, False),\n')
    return ["core/scalar/NEW_NAME.h", "tests/catalog/activation.cc", "tests/fixtures/core_cases/pointwise.py"], "pointwise special_values"


def reduction(tree):
    tree.add("core/scalar/NEW_NAME.h", REDUCER)
    tree.insert_line("core/scalar/reduce_list.h", "#include", "#include <aorta/core/scalar/NEW_NAME.h>")
    tree.insert("core/scalar/reduce_list.h", r">;\n\n/// The place", ", NEW_TYPE")
    header, source, gradient = "core/ops/reduction.h", "core/ops/reduction.cc", "autograd/functions/reduction.cc"
    tree.insert(header, r"^$\n}  // namespace aorta$", "\n/// The formula.\nTensor NEW_NAME(const Tensor& input, const ReduceDims& dims = {},"
                " bool keepdim = false);\n")
    tree.insert(header, r"^extern Op<ReduceKernel, VarGradient>", "extern Op<ReduceKernel, ReduceGradient> NEW_NAME_op;\n")
    tree.insert(source, r"^constinit Op<ReduceKernel, VarGradient>", 'constinit Op<ReduceKernel, ReduceGradient> NEW_NAME_op{"NEW_NAME"};\n')
    tree.insert(source, r"\);\n}\n\n}  // namespace aorta::kernel", ", NEW_NAME_op")
    tree.insert(source, r"^}  // namespace aorta$", REDUCTION)
    tree.insert(gradient, r"^}  // namespace\n\nvoid pick_gradient", REDUCTION_GRADIENT)
    tree.insert(gradient, r"^}\n\n}  // namespace aorta::autograd", "  NEW_NAME_op.set_gradient(NEW_NAME_gradient);\n")
    tree.insert("tests/catalog/reduction.cc", r"^}\n\nvoid add_moments",
                '  rows.push_back(over_dims<NEW_NAME>({.op = "NEW_NAME", .tolerance = kSums}));\n')
    tree.insert("tests/fixtures/core_cases/reduction.py", r"\):\n +everywhere\(m, op, \"dim\"",
                ',\n                      ("NEW_NAME", torch.sum, {"scale": True, "integers": False, "bools": False})')
    return ["core/scalar/NEW_NAME.h", gradient, "tests/fixtures/core_cases/reduction.py"], "reduction"


def structured(tree):
    for path, text in STRUCTURED.items():
        tree.add(path, text)
    tree.insert_line("aorta.h", "#include <aorta/core/ops/", "#include <aorta/core/ops/NEW_NAME.h> // IWYU pragma: export")
    for path in ("core/cpu/register.cc", "autograd/functions/register.cc"):
        tree.insert_line(path, r"void register_\w+\(\);", "void register_NEW_NAME();")
        tree.insert_line(path, r"  register_\w+\(\);", "  register_NEW_NAME();")
    tree.insert("tests/op_catalog.h", r"^$\n}  // namespace aorta::catalog", "std::vector<Row> NEW_NAME_rows();\n")
    tree.insert("tests/op_catalog.cc", r"^ +\{random_rows", '           {NEW_NAME_rows(), "NEW_NAME"},\n')
    return list(STRUCTURED), "NEW_NAME"


KINDS = {"pointwise": pointwise, "reduction": reduction, "structured": structured}


def main(arguments):
    if len(arguments) != 2 or arguments[1] not in KINDS:
        sys.exit(__doc__)
    name, kind = arguments
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        sys.exit(f"new_op: the name must be of small letters, digits and single underscores, got {name}")
    tree = Tree(name)
    files, families = KINDS[kind](tree)
    tree.write()
    print("Write:", *(f"  {tree.fill(path)}" for path in files), sep="\n")
    print(f"Then: bash tools/format.sh && tools/update_ops.sh {tree.fill(families)}")


if __name__ == "__main__":
    main(sys.argv[1:])

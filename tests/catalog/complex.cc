#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/tests/catalog/complex.h>

#include <complex>

namespace aorta::catalog {
namespace {

using std::complex_literals::operator""i;

// The operands of calls. They are missed here as by a first op: what the others say is for their
// own rows.
Tensor one(const Tensors& x) { return z(x[0].contiguous()); }
struct Pair {
  explicit Pair(const Tensors& x) {
    check_defined("mul", {{"input", x[0]}, {"other", x[1]}});
    a = z(x[0]);
    b = z(x[1]);
  }
  Tensor a, b;
};

template <Unary f>
Call unary(const char* name) {
  return {name, [](const Tensors& x) { return parts({f(one(x))}); }};
}
template <Binary f>
Call binary(const char* name) {
  return {name, [](const Tensors& x) { return parts({f(Pair(x).a, Pair(x).b)}); }};
}

void add_complex_pointwise(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "complex_unary",
       .tolerance = kParts,
       .calls = {unary<neg>("neg"),          unary<abs>("abs"),
                 unary<square>("square"),    unary<reciprocal>("reciprocal"),
                 unary<sqrt>("sqrt"),        unary<rsqrt>("rsqrt"),
                 unary<exp>("exp"),          unary<exp2>("exp2"),
                 unary<log>("log"),          unary<log2>("log2"),
                 unary<log10>("log10"),      unary<sin>("sin"),
                 unary<cos>("cos"),          unary<tan>("tan"),
                 unary<sinh>("sinh"),        unary<cosh>("cosh"),
                 unary<tanh>("tanh"),        unary<logical_not>("logical_not"),
                 unary<isnan>("isnan"),      unary<isinf>("isinf"),
                 unary<isfinite>("isfinite")},
       .bad = {{[] { floor(zeros({2}, {.dtype = c64})); }, "floor: dtype must be real, got c64"},
               {[] { relu(zeros({2}, {.dtype = c128})); }, "relu: dtype must be real, got c128"},
               {[] { gelu(zeros({2}, {.dtype = c64})); }, "gelu: dtype must be floating, got c64"},
               {[] {
                  neg_(ones({2}).expand({3, 2}));
                },
                "neg_: a tensor whose elements share memory can't be written; clone it "
                "first, got [3,2] with strides [0,1]"}},
       .also = {"abs",   "add",   "atan2",   "copysign", "cos",         "cosh",       "div",
                "eq",    "exp",   "fill_",   "ge",       "gt",          "hypot",      "isfinite",
                "isinf", "isnan", "log",     "log1p",    "logical_and", "logical_or", "maximum",
                "mul",   "neg",   "sigmoid", "sin",      "sinh",        "sqrt",       "square",
                "sub",   "tan",   "tanh",    "to",       "where"}});
  rows.push_back(
      {.op = "complex_binary",
       .tolerance = kParts,
       .calls = {binary<mul>("mul"),
                 binary<div>("div"),
                 binary<pow>("pow"),
                 binary<eq>("eq"),
                 binary<ne>("ne"),
                 binary<logical_and>("logical_and"),
                 {"add", [](const Tensors& x) { return parts({Pair(x).a + Pair(x).b}); }},
                 {"sub", [](const Tensors& x) { return parts({Pair(x).a - Pair(x).b}); }},
                 {"add_alpha",
                  [](const Tensors& x) { return parts({add(Pair(x).a, Pair(x).b, 2.0 - 0.5i)}); }},
                 {"number",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({(a * (2.0 + 1i) + 3) / (b - 1i)});
                  }},
                 {"powers",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({pow(a, 3) + pow(b, -2) + pow(a, 2.5)});
                  }},
                 {"addcmul",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({addcmul(a, a, b, 0.5)});
                  }},
                 {"addcdiv",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({addcdiv(a, a, b, 0.5)});
                  }},
                 {"lerp",
                  [](const Tensors& x) { return parts({lerp(Pair(x).a, Pair(x).b, 0.25)}); }},
                 {"where",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({where(gt(real(a), 0), a, b)});
                  }},
                 {"masked_fill",
                  [](const Tensors& x) {
                    const auto [a, b] = Pair(x);
                    return parts({masked_fill(a, gt(real(b), 0), 1.0 + 2i) + b});
                  }},
                 {"mixed",
                  [](const Tensors& x) {
                    check_defined("mul", {{"input", x[0]}, {"other", x[1]}});
                    const Tensor a = z(x[0]), b = wide(x[1]);
                    return parts({a * b + b / a - a / b});
                  }}},
       .bad = {{[] { lt(zeros({2}, {.dtype = c64}), 1); }, "lt: dtype must be real, got c64"},
               {[] { atan2(zeros({2}, {.dtype = c64}), zeros({2})); },
                "atan2: dtype must be real, got c64"},
               {[] { mul_(zeros({2}), 1i); },
                "mul_: the result's dtype must be castable to that of the tensor written in place, "
                "got c64 into f32"},
               {[] { add(zeros({2}), zeros({2}), 1i); },
                "add: alpha must be real for real operands, got 0+1j for f32"},
               {[] { zeros({2}, {.dtype = c64}).to(f32); },
                "to: a complex tensor can't become a real one; take real(x) or abs(x), got c64 to "
                "f32"},
               {[] { full({2}, 1i, {.dtype = f32}); },
                "full: the value must fit the dtype, got 0+1j for f32"}},
       .also = {"abs",        "add", "atan2",   "cos",   "div", "eq",    "exp",
                "fill_",      "gt",  "hypot",   "isinf", "log", "log1p", "logical_and",
                "logical_or", "lt",  "maximum", "mul",   "ne",  "neg",   "sin",
                "square",     "sub", "to",      "where"},
       .functions = {"mul"}});
}

void add_complex_sums(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "complex_sum",
       .needs_values = true,  // of nonzero
       .tolerance = kParts,
       .calls = {{"sum", [](const Tensors& x) { return parts({sum(one(x), 1)}); }},
                 {"total", [](const Tensors& x) { return parts({sum(one(x))}); }},
                 {"mean", [](const Tensors& x) { return parts({mean(one(x), 0, true)}); }},
                 {"cumsum", [](const Tensors& x) { return parts({cumsum(one(x), 0)}); }},
                 {"norm", [](const Tensors& x) { return parts({norm(one(x), 2, 1)}); }},
                 {"any", [](const Tensors& x) { return parts({any(one(x), 1)}); }},
                 {"all", [](const Tensors& x) { return parts({all(one(x))}); }},
                 {"count_nonzero", [](const Tensors& x) { return parts({count_nonzero(one(x))}); }},
                 {"nonzero", [](const Tensors& x) { return parts({nonzero(one(x))}); }},
                 {"isclose",
                  [](const Tensors& x) { return parts({isclose(one(x), one(x) + 3e-5)}); }}},
       .bad = {{[] { amax(zeros({2}, {.dtype = c64})); }, "amax: dtype must be real, got c64"},
               {[] { prod(zeros({2}, {.dtype = c64})); }, "prod: dtype must be real, got c64"},
               {[] { cumprod(zeros({2}, {.dtype = c64}), 0); },
                "cumprod: dtype must be real, got c64"}},
       .also = {"add",   "all",      "any",  "count_nonzero", "cumsum",     "eq",   "fill_",
                "hypot", "isfinite", "le",   "logical_and",   "logical_or", "mean", "mul",
                "ne",    "nonzero",  "norm", "sub",           "sum",        "to",   "where"}});
}

Tensor scattered(const Tensor& a, const Tensor& b) {
  const Tensor out = a.clone(), index = tensor({2, 0, 2}, {.device = a.device()});
  index_add_(out, 0, index, b.narrow(0, 0, 3));
  return index_copy(out, 0, tensor({1}, {.device = a.device()}), b.narrow(0, 3, 1));
}

Tensor written(const Tensor& a, const Tensor& b) {
  const Tensor out = a * 2;
  out.mul_(b);
  out.slice(0, 1, 3).add_(a.slice(0, 0, 2));
  real(out).mul_(3);
  return out * a;
}

void add_complex_moves(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "complex_move",
       .needs_values = true,  // of masks
       .tolerance = kParts,
       .calls =
           {{"cat",
             [](const Tensors& x) {
               return parts({cat({Pair(x).a, Pair(x).b}, 1)});
             }},
            {"stack",
             [](const Tensors& x) {
               return parts({stack({Pair(x).a, Pair(x).b}, -1)});
             }},
            {"permute",
             [](const Tensors& x) { return parts({Pair(x).a.permute(1, 0) * Pair(x).b.t()}); }},
            {"index_select",
             [](const Tensors& x) {
               const Tensor a = one(x);
               const Tensor index = tensor({2, 0, 2}, {.device = a.device()});
               return parts({index_select(a, 1, index)});
             }},
            {"gather",
             [](const Tensors& x) {
               const Tensor a = one(x);
               const Tensor index = tensor({{1, 0, 3}, {2, 2, 0}}, {.device = a.device()});
               return parts({gather(a, 0, index)});
             }},
            {"index",
             [](const Tensors& x) {
               const Tensor a = one(x);
               const TensorOptions there{.device = a.device()};
               return parts({index(a, {tensor({3, 1}, there), tensor({0, 2}, there)})});
             }},
            {"mask",
             [](const Tensors& x) {
               const Tensor a = one(x);
               const Tensor mask = tensor({true, false, true}, {.device = a.device()});
               return parts({index(a, {Slice{}, mask})});
             }},
            {"scatter", [](const Tensors& x) { return parts({scattered(Pair(x).a, Pair(x).b)}); }},
            {"flip", [](const Tensors& x) { return parts({flip(one(x), {0})}); }},
            {"roll", [](const Tensors& x) { return parts({roll(one(x), 1, 1)}); }},
            {"tril", [](const Tensors& x) { return parts({tril(one(x))}); }},
            {"pad",
             [](const Tensors& x) {
               return parts({pad(one(x), {1, 2})});
             }},
            {"written", [](const Tensors& x) { return parts({written(Pair(x).a, Pair(x).b)}); }},
            {"diagonal",
             [](const Tensors& x) {
               const auto [a, b] = Pair(x);
               return parts({diagonal(a, 1) + diagonal(b, -1).narrow(0, 0, 2)});
             }}},
       .bad = {{[] {
                  const Tensor x = zeros({2}, {.dtype = c64});
                  scatter_reduce(x, 0, tensor({0}), x, ScatterReduce::sum);
                },
                "scatter_reduce: dtype must be real, got c64"}},
       .also = {"add", "fill_", "find_bad_index", "flip", "gather", "index", "mul", "nonzero",
                "pad", "roll", "scatter_", "scatter_add_", "sub", "to", "tril"},
       .functions = {"mul", "of_parts", "by_parts", "index_of_parts", "parts_of", "as_view_of"}});
}

void add_complex_products(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "complex_product",
       .tolerance = kParts,
       .calls =
           {{"matmul", [](const Tensors& x) { return parts({matmul(Pair(x).a, Pair(x).b)}); }},
            {"dot",
             [](const Tensors& x) { return parts({dot(Pair(x).a[0], Pair(x).b.select(1, 0))}); }},
            {"vdot",
             [](const Tensors& x) { return parts({vdot(Pair(x).a[0], Pair(x).b.select(1, 0))}); }},
            {"mv", [](const Tensors& x) { return parts({mv(Pair(x).a, Pair(x).b.select(1, 0))}); }},
            {"linear", [](const Tensors& x) { return parts({linear(Pair(x).a, Pair(x).b.t())}); }},
            {"addmm",
             [](const Tensors& x) {
               const auto [a, b] = Pair(x);
               return parts({addmm(a.narrow(1, 0, 1), a, b, {.beta = 0.5, .alpha = 2.0 - 1i})});
             }},
            {"outer", [](const Tensors& x) { return parts({outer(Pair(x).a[0], Pair(x).b[0])}); }},
            {"bmm",
             [](const Tensors& x) {
               const auto [a, b] = Pair(x);
               return parts({bmm(stack({a, a * 2}), stack({b, b}))});
             }},
            {"einsum",
             [](const Tensors& x) {
               return parts({einsum("ij,jk->ki", {Pair(x).a, Pair(x).b})});
             }}},
       .bad = {{[] {
                  matmul(zeros({2, 2}, {.dtype = c64}), zeros({2, 2}));
                },
                "matmul: the operands must have one dtype, got c64 and f32"}},
       .also = {"add", "fill_", "matmul", "mul", "sub", "to"},
       .functions = {"mul", "vdot"}});
}

void add_complex_makers(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "complex",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) { return parts({complex(wide(x[0]), wide(x[1]))}); }}},
       .bad = {{[] { complex(ones({2}), ones({2}, {.dtype = f64})); },
                "complex: both parts must be f32 or f64, got f32 and f64"},
               {[] { complex(ones({2}), ones({3})); },
                "complex: shapes must broadcast, got [2] and [3]"}},
       .also = {"to"}});
  rows.push_back(
      {.op = "polar",
       .tolerance = kParts,
       .calls = {{"default",
                  [](const Tensors& x) { return parts({polar(wide(x[0]), wide(x[1]))}); }}},
       .bad = {{[] { polar(ones({2}, {.dtype = i64}), ones({2})); },
                "polar: abs and angle must be f32 or f64, got i64 and f32"}},
       .also = {"cos", "mul", "sin", "to"}});
  const auto add = [&](const char* op, Tensors (*run)(const Tensors&),
                       std::vector<std::string> also, std::vector<BadCall> bad = {},
                       std::vector<std::string> functions = {}) {
    rows.push_back({.op = op,
                    .tolerance = kParts,
                    .calls = {{"default", run}},
                    .bad = std::move(bad),
                    .also = std::move(also),
                    .functions = std::move(functions)});
  };
  add("real", [](const Tensors& x) { return parts({real(z(x[0]))}); }, {"to"});
  add("imag", [](const Tensors& x) { return parts({imag(z(x[0]))}); }, {"to"},
      {{[] { imag(ones({2})); }, "imag: dtype must be complex, got f32"}});
  add("conj",
      [](const Tensors& x) {
        return parts({conj(z(x[0])), conj_physical(z(x[0]))});
      },
      {"mul", "to"}, {}, {"conj_physical"});
  add("sgn", [](const Tensors& x) { return parts({sgn(z(x[0]))}); },
      {"div", "eq", "fill_", "hypot", "logical_and", "to", "where"});
  add("isreal", [](const Tensors& x) { return parts({isreal(z(x[0]))}); }, {"eq", "to"}, {},
      {"is_complex"});
  add("view_as_real", [](const Tensors& x) { return parts({view_as_real(z(x[0]))}); }, {"to"},
      {{[] { view_as_real(ones({2})); }, "view_as_real: dtype must be complex, got f32"}});
  add("view_as_complex",
      [](const Tensors& x) { return parts({view_as_complex(dense(wide(x[0])))}); }, {"to"},
      {{[] {
          view_as_complex(ones({2, 3}));
        },
        "view_as_complex: the last dimension must have size 2, got [2,3]"},
       {[] {
          view_as_complex(ones({2, 2}).t());
        },
        "view_as_complex: parts must lie side by side, at even strides and an even offset; use "
        "contiguous, got [1,2] from 0"},
       {[] {
          view_as_complex(ones({2, 2}, {.dtype = i64}));
        },
        "view_as_complex: dtype must be f32 or f64, got i64"}});
  rows.push_back(
      {.op = "angle",
       .tolerance = kParts,
       .calls = {{"default", [](const Tensors& x) { return parts({angle(z(x[0]))}); }},
                 {"real", [](const Tensors& x) -> Tensors { return {angle(wide(x[0]))}; }}},
       .also = {"atan2", "ge", "lt", "mul", "to", "where"}});
}

}  // namespace

std::vector<Row> complex_rows() {
  std::vector<Row> rows;
  add_complex_pointwise(rows);
  add_complex_sums(rows);
  add_complex_moves(rows);
  add_complex_products(rows);
  add_complex_makers(rows);
  return rows;
}

}  // namespace aorta::catalog

#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/stft.h>
#include <aorta/tests/catalog/rows.h>

#include <complex>

// Samples hold complex tensors as their parts (*, 2), and so do results.
namespace aorta::catalog {
namespace {

using std::complex_literals::operator""i;

// Errors go with the largest number of a result.
constexpr Tolerance kParts{.ulps = 4, .ulps_f64 = 4, .sums = 16, .zero_signs = false};

// Parts as a complex tensor; of a dtype that has no complex one, the first of them.
Tensor z(const Tensor& given) {
  if (!given.defined()) return given;
  const Tensor x = given.is_complex()       ? real(given)
                   : is_half(given.dtype()) ? given.to(f32)
                                            : given;
  return is_floating(x.dtype()) ? view_as_complex(x.clone(MemoryFormat::contiguous))
                                : x.select(-1, 0);
}
// At an even offset, which a contiguous one may not have.
Tensor dense(const Tensor& x) { return x.defined() ? x.clone(MemoryFormat::contiguous) : x; }
Tensor wide(const Tensor& x) { return x.defined() && is_half(x.dtype()) ? x.to(f32) : x; }

Tensors parts(const Tensors& results) {
  Tensors real;
  for (const Tensor& result : results)
    real.push_back(result.is_complex() && !keeps_complex ? view_as_real(result) : result);
  return real;
}

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

void add_pointwise(std::vector<Row>& rows) {
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
       .also = {"abs",   "add",   "atan2", "copysign",    "cos",        "cosh",    "div",
                "eq",    "exp",   "fill_", "ge",          "gt",         "hypot",   "isfinite",
                "isinf", "isnan", "log",   "logical_and", "logical_or", "maximum", "mul",
                "neg",   "sin",   "sinh",  "sqrt",        "square",     "sub",     "tan",
                "tanh",  "to",    "where"}});
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
       .also = {"abs",         "add",        "atan2",   "cos",   "div",      "eq",
                "exp",         "fill_",      "gt",      "hypot", "isfinite", "log",
                "logical_and", "logical_or", "maximum", "mul",   "ne",       "neg",
                "sin",         "square",     "sub",     "to",    "where"},
       .functions = {"mul"}});
}

void add_sums(std::vector<Row>& rows) {
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
                  [](const Tensors& x) { return parts({isclose(one(x), one(x) + 1e-9)}); }}},
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

void add_moves(std::vector<Row>& rows) {
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

void add_products(std::vector<Row>& rows) {
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

void add_makers(std::vector<Row>& rows) {
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
  add("conj", [](const Tensors& x) { return parts({conj(z(x[0]))}); }, {"mul", "to"}, {},
      {"conj_physical"});
  add("sgn", [](const Tensors& x) { return parts({sgn(z(x[0]))}); },
      {"div", "eq", "hypot", "logical_and", "to", "where"});
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
       .also = {"atan2", "isnan", "lt", "mul", "to", "where"}});
}

// Names norms for templates.
constexpr const char kBackward[] = "backward", kOrtho[] = "ortho", kForward[] = "forward";

template <const char* norm>
Call both_ways() {
  return {norm, [](const Tensors& x) {
            return parts({fft::ifft(z(x[0]), {}, -1, norm) + fft::fft(z(x[0]), {}, -1, norm) * 2});
          }};
}
template <const char* norm>
Call half_spectrum() {
  return {norm, [](const Tensors& x) { return parts({fft::rfft(wide(x[0]), {}, -1, norm)}); }};
}
template <const char* norm>
Call of_half_spectrum() {
  return {norm, [](const Tensors& x) { return parts({fft::irfft(z(x[0]), {}, -1, norm)}); }};
}
Call plain(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::fft(z(x[0]))}); }};
}
Call plain_real(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::rfft(wide(x[0]))}); }};
}
template <int n>
Call back_to(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::irfft(z(x[0]), n)}); }};
}

void add_transforms(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "fft_c2c",
       .tolerance = kParts,
       .calls = {both_ways<kBackward>(),
                 both_ways<kOrtho>(),
                 both_ways<kForward>(),
                 plain("n_1"),
                 plain("n_2"),
                 plain("n_67"),
                 plain("n_131"),
                 plain("n_30"),
                 {"n",
                  [](const Tensors& x) {
                    return parts({fft::fft(z(x[0]), 3), fft::ifft(z(x[0]), 8)});
                  }},
                 {"dim", [](const Tensors& x) { return parts({fft::fft(z(x[0]), {}, 1)}); }},
                 {"several",
                  [](const Tensors& x) {
                    const Tensor y = z(x[0]);
                    return parts({fft::fft2(y), fft::ifft2(y, {}, {-2, -1}, "ortho"),
                                  fft::fftn(y, {4, 4}), fft::ifftn(y, {}, {0, 2})});
                  }},
                 {"real", [](const Tensors& x) { return parts({fft::fft(wide(x[0]))}); }}},
       .bad = {{[] { fft::fft(ones({2}), 0); },
                "fft: there must be at least 1 number to transform, got 0"},
               {[] { fft::ifft(ones({2}), {}, -1, "none"); },
                "ifft: norm must be backward, ortho or forward, got \"none\""},
               {[] { fft::fft(ones({})); },
                "fft: a 0-d tensor has no dimension to transform, got []"},
               {[] { fft::fft(ones({2}, {.dtype = f16})); },
                "fft: dtype can't be a half type; use f32, got f16"},
               {[] { fft::fft(ones({2}), {}, 1); },
                "fft: dimension out of range, got dim 1 of a 1-d tensor"},
               {[] {
                  fft::fftn(ones({2, 2}), {2}, {0, 1});
                },
                "fftn: s must have a length for each dimension, got [2] for [0,1]"},
               {[] {
                  fft::fft2(ones({2, 2}), {}, {0, 0});
                },
                "fft2: each dimension once, got [0,0]"}},
       .also = {"add", "fill_", "mul", "pad", "to"},
       .functions = {"resized", "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"}});
  rows.push_back(
      {.op = "fft_r2c",
       .tolerance = kParts,
       .calls = {half_spectrum<kBackward>(),
                 half_spectrum<kOrtho>(),
                 half_spectrum<kForward>(),
                 plain_real("n_1"),
                 plain_real("n_2"),
                 plain_real("n_4"),
                 plain_real("n_6"),
                 plain_real("n_16"),
                 plain_real("n_67"),
                 plain_real("n_134"),
                 {"several",
                  [](const Tensors& given) {
                    const Tensor x = wide(given[0]);
                    return parts({fft::rfft2(x), fft::rfftn(x, {8, 3}, {1, 0}), fft::ihfft(x, 6),
                                  fft::ihfft2(x, {}, {-2, -1}, "ortho"), fft::ihfftn(x)});
                  }}},
       .bad = {{[] { fft::rfft(ones({2}, {.dtype = c64})); }, "rfft: input must be real, got c64"},
               {[] { fft::rfftn(ones({})); },
                "rfftn: there must be a dimension to transform, got []"}},
       .also = {"fft_c2c", "mul", "pad"},
       .functions = {"rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"}});
  rows.push_back({.op = "fft_c2r",
                  .tolerance = kParts,
                  .calls = {of_half_spectrum<kBackward>(),
                            of_half_spectrum<kOrtho>(),
                            of_half_spectrum<kForward>(),
                            back_to<1>("n_1"),
                            back_to<2>("n_2"),
                            back_to<4>("n_4"),
                            back_to<6>("n_6"),
                            back_to<16>("n_16"),
                            back_to<67>("n_67"),
                            back_to<134>("n_134"),
                            {"several",
                             [](const Tensors& given) {
                               const Tensor x = z(given[0]);
                               return parts({fft::irfft2(x), fft::irfftn(x, {4, 5}, {0, 1}),
                                             fft::hfft(x, 5), fft::hfft2(x, {}, {-2, -1}, "ortho"),
                                             fft::hfftn(x)});
                             }}},
                  .bad = {{[] { fft::irfft(ones({1}, {.dtype = c64})); },
                           "irfft: there must be at least 1 number to transform, got 0"}},
                  .also = {"fft_c2c", "mul", "pad", "to"},
                  .functions = {"irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn"}});
}

Tensor ones_like_parts(const Tensor& x) {
  return ones({8}, {.dtype = x.defined() ? wide(x).dtype() : f32,
                    .device = x.defined() ? x.device() : Device()});
}
Tensor hann_of(const Tensor& x) {
  return hann_window(8, true,
                     {.dtype = x.defined() ? wide(x).dtype() : f32,
                      .device = x.defined() ? x.device() : Device()});
}

void add_orders(std::vector<Row>& rows) {
  rows.push_back({.op = "fftshift",
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {fft::fftshift(x[0]), fft::fftshift(x[0], {1}),
                                       fft::ifftshift(x[0]), fft::ifftshift(x[0], {1})};
                             }}},
                  .bad = {{[] { fft::fftshift(ones({2}), {1}); },
                           "fftshift: dimension out of range, got dim 1 of a 1-d tensor"}},
                  .also = {"roll"},
                  .functions = {"ifftshift"}});
  rows.push_back({.op = "fftfreq",
                  .tolerance = kParts,
                  .calls = {{"default",
                             [](const Tensors&) -> Tensors {
                               Tensors all;
                               for (const auto& make : {fft::fftfreq, fft::rfftfreq})
                                 for (const int64_t n : {1, 4, 5})
                                   for (const double d : {1.0, 0.25, -2.0})
                                     all.push_back(make(n, d, {.dtype = f64}));
                               return all;
                             }}},
                  .bad = {{[] { fft::fftfreq(0); }, "fftfreq: n must be at least 1, got 0"},
                          {[] { fft::rfftfreq(2, 0); }, "rfftfreq: d can't be 0, got 0"}},
                  .also = {"div", "to"},
                  .functions = {"rfftfreq"}});
}

void add_spectra(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "stft",
       .tolerance = kParts,
       .calls =
           {{"default", [](const Tensors& x) { return parts({stft(wide(x[0]), 8)}); }},
            {"window",
             [](const Tensors& x) {
               return parts({stft(
                   wide(x[0]), 8,
                   {.hop_length = 3, .win_length = 6, .window = wide(x[1]), .normalized = true})});
             }},
            {"plain",
             [](const Tensors& x) -> Tensors {
               return {stft(wide(x[0]), 8,
                            {.hop_length = 3,
                             .win_length = 6,
                             .window = wide(x[1]),
                             .center = false,
                             .onesided = false,
                             .return_complex = false})};
             }},
            {"pad",
             [](const Tensors& x) {
               const Tensor signal = wide(x[0]);
               return parts(
                   {stft(signal.defined() ? signal[0] : signal, 8,
                         {.win_length = 6, .window = wide(x[1]), .pad_mode = PadMode::constant})});
             }},
            {"complex", [](const Tensors& x) { return parts({stft(z(x[0]), 8)}); }}},
       .bad = {{[] {
                  stft(ones({2, 3, 4}), 2);
                },
                "stft: input must be (L) or (B, L), got [2,3,4]"},
               {[] { stft(ones({4}), 8, {.center = false}); },
                "stft: n_fft can't be more than the padded signal has, got 8 for 4"},
               {[] { stft(ones({40}), 8, {.hop_length = 0}); },
                "stft: hop_length must be at least 1, got 0"},
               {[] { stft(ones({40}), 8, {.win_length = 9}); },
                "stft: win_length must be from 1 to n_fft, got 9 for 8"},
               {[] { stft(ones({40}), 8, {.window = ones({5})}); },
                "stft: the window must be (win_length), got [5] for 8"},
               {[] { stft(ones({40}, {.dtype = i64}), 8); },
                "stft: dtype must be f32, f64, c64 or c128, got i64"}},
       .also = {"fft_c2c", "fft_r2c", "fill_", "mul", "pad", "to"}});
  rows.push_back(
      {.op = "istft",
       .tolerance = kParts,
       .calls = {{"default",
                  [](const Tensors& x) {
                    return parts({istft(z(x[0]), 8, {.window = ones_like_parts(x[0])})});
                  }},
                 {"window",
                  [](const Tensors& x) {
                    return parts({istft(z(x[0]), 8,
                                        {.hop_length = 2,
                                         .window = hann_of(x[0]),
                                         .normalized = true,
                                         .length = 10})});
                  }},
                 {"complex",
                  [](const Tensors& x) {
                    return parts({istft(z(x[0]), 8,
                                        {.hop_length = 2,
                                         .window = hann_of(x[0]),
                                         .onesided = false,
                                         .return_complex = true})});
                  }}},
       .bad =
           {{[] {
               istft(ones({5, 4}), 8);
             },
             "istft: dtype must be complex, got f32"},
            {[] {
               istft(zeros({6, 4}, {.dtype = c64}), 8);
             },
             "istft: there must be n_fft / 2 + 1 frequencies, got 6 for 8"},
            {[] {
               istft(zeros({5, 4}, {.dtype = c64}), 8, {.window = hann_window(8), .center = false});
             },
             "istft: the windows must leave no number of the signal out, got 0 as the least sum "
             "of their squares"}},
       .also = {"abs", "add", "amin", "div", "fft_c2c", "fft_c2r", "fill_", "find_bad_index", "mul",
                "scatter_add_", "to"}});
  rows.push_back(
      {.op = "hann_window",
       .tolerance = kParts,
       .calls = {{"default",
                  [](const Tensors&) -> Tensors {
                    Tensors windows;
                    const TensorOptions options{.dtype = f64};
                    for (const auto& make : {+[](int64_t n, bool p, const TensorOptions&o) {
                                               return hann_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return hamming_window(n, p, 0.54, 0.46, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return blackman_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return bartlett_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return kaiser_window(n, p, 12, o);
                                             }})
                      for (const int64_t n : {1, 2, 7, 8})
                        for (const bool periodic : {true, false})
                          windows.push_back(make(n, periodic, options));
                    return windows;
                  }}},
       .bad = {{[] { hann_window(-1); }, "hann_window: window_length can't be negative, got -1"},
               {[] { hamming_window(4, true, 0.54, 0.46, {.dtype = i64}); },
                "hamming_window: dtype must be floating, got i64"},
               {[] { kaiser_window(4, true, -1); },
                "kaiser_window: beta can't be negative, got -1"}},
       .functions = {"hamming_window", "blackman_window", "bartlett_window", "kaiser_window"}});
}

// What depends on neither the eigenvalues' order nor the vectors' phases.
Tensors decomposed(const Tensor& A) {
  const auto [values, vectors] = linalg::eig(A);
  const Tensor exponential =
      linalg::solve(vectors, vectors * exp(values).unsqueeze(-2), /*left=*/false);
  return parts({sum(values * values * values, -1), exponential,
                sum(square(abs(vectors)) * values.unsqueeze(-2), -1)});
}

void add_eig(std::vector<Row>& rows) {
  rows.push_back({.op = "eig",
                  .tolerance = {.sums = 512, .zero_signs = false},
                  .calls = {{"default", [](const Tensors& x) { return decomposed(wide(x[0])); }},
                            {"complex", [](const Tensors& x) { return decomposed(z(x[0])); }},
                            {"values",
                             [](const Tensors& x) {
                               return parts({sum(square(linalg::eigvals(z(x[0]))), -1)});
                             }}},
                  .bad = {{[] {
                             linalg::eig(ones({2, 3}));
                           },
                           "eig: matrices must be square, got [2,3]"},
                          {[] {
                             linalg::eig(ones({2, 2}, {.dtype = i64}));
                           },
                           "eig: dtype must be floating, got i64"},
                          {[] { linalg::eig(eye(2) / 0.0); },
                           "eig: matrices must be finite, got NaN or infinity in matrix 0 of 1"},
                          {[] {
                             linalg::svd(ones({2, 2}, {.dtype = c64}));
                           },
                           "svd: dtype must be floating, got c64"}},
                  .also = {"add", "cos", "eq", "exp", "hypot", "logical_and", "mul", "neg", "sin",
                           "solve", "square", "sub", "sum", "to", "where"},
                  .functions = {"eigvals"},
                  .gradient_tolerance = 1e-9,
                  .cancelling = {"default/larger"}});
}

}  // namespace

std::vector<Row> complex_rows() {
  std::vector<Row> rows;
  add_pointwise(rows);
  add_sums(rows);
  add_moves(rows);
  add_products(rows);
  add_makers(rows);
  add_transforms(rows);
  add_orders(rows);
  add_spectra(rows);
  add_eig(rows);
  return rows;
}

}  // namespace aorta::catalog

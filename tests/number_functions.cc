#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/number_functions.h>

#include <cmath>
#include <set>

namespace aorta {
namespace {

Tensor mask() { return tensor({true, false, true, false}); }
Tensor places() { return tensor({0, 2}); }
Tensor matrix(const Tensor& x) { return x.view({2, 2}); }
Tensor up_to_one(const Tensor& x) { return x.dtype() == boolean ? x : clamp_max(x, 1); }

template <Tensor (*op)(const Operand&, const Operand&)>
Tensor right(const Tensor& x, const Scalar& n) {
  return op(x, n);
}
template <Tensor (*op)(const Operand&, const Operand&)>
Tensor left(const Tensor& x, const Scalar& n) {
  return op(n, x);
}
template <Tensor (*op)(const Tensor&, const Operand&)>
Tensor written(const Tensor& x, const Scalar& n) {
  return op(x, n);
}

// A binary op with the number on either side.
template <Tensor (*op)(const Operand&, const Operand&),
          Tensor (*op_)(const Tensor&, const Operand&)>
void add_binary(Functions& all, const char* name, bool modular = false, DType wide = f64) {
  all.insert({name, {right<op>, written<op_>, modular, wide}});
  all.insert({name, {left<op>, nullptr, modular, wide}});
}

void add_binaries(Functions& all) {
  add_binary<mul, mul_>(all, "mul", true);
  add_binary<div, div_>(all, "div");
  add_binary<floor_divide, floor_divide_>(all, "floor_divide");
  add_binary<fmod, fmod_>(all, "fmod");
  add_binary<remainder, remainder_>(all, "remainder");
  add_binary<minimum, minimum_>(all, "minimum");
  add_binary<maximum, maximum_>(all, "maximum");
  add_binary<atan2, atan2_>(all, "atan2");
  add_binary<hypot, hypot_>(all, "hypot");
  add_binary<xlogy, xlogy_>(all, "xlogy");
  add_binary<igamma, igamma_>(all, "igamma", false, f32);
  add_binary<igammac, igammac_>(all, "igammac", false, f32);
  add_binary<copysign, copysign_>(all, "copysign");
  add_binary<heaviside, heaviside_>(all, "heaviside");
  add_binary<ldexp, ldexp_>(all, "ldexp");
  add_binary<float_power, float_power_>(all, "float_power");
  add_binary<gcd, gcd_>(all, "gcd", true, i64);
  add_binary<lcm, lcm_>(all, "lcm", true, i64);
  add_binary<nextafter, nextafter_>(all, "nextafter", false, f32);
  all.insert({"isin", {[](auto& x, auto& n) { return isin(x, n); }}});
  all.insert({"searchsorted", {[](auto& x, auto& n) { return searchsorted(sort(x).values, n); }}});
  all.insert({"bucketize", {[](auto& x, auto& n) { return bucketize(n, sort(x).values); }}});
  all.insert({"logaddexp", {right<logaddexp>}});
  all.insert({"logaddexp", {left<logaddexp>}});
  all.insert({"logaddexp2", {right<logaddexp2>}});
  all.insert({"logaddexp2", {left<logaddexp2>}});
  add_binary<prelu, prelu_>(all, "prelu");
  add_binary<eq, eq_>(all, "eq");
  add_binary<ne, ne_>(all, "ne");
  add_binary<lt, lt_>(all, "lt");
  add_binary<le, le_>(all, "le");
  add_binary<gt, gt_>(all, "gt");
  add_binary<ge, ge_>(all, "ge");
  add_binary<logical_and, logical_and_>(all, "logical_and");
  add_binary<logical_or, logical_or_>(all, "logical_or");
  add_binary<logical_xor, logical_xor_>(all, "logical_xor");
  add_binary<bitwise_and, bitwise_and_>(all, "bitwise_and", true, i64);
  add_binary<bitwise_or, bitwise_or_>(all, "bitwise_or", true, i64);
  add_binary<bitwise_xor, bitwise_xor_>(all, "bitwise_xor", true, i64);
  add_binary<bitwise_left_shift, bitwise_left_shift_>(all, "bitwise_left_shift", true, i64);
  add_binary<bitwise_right_shift, bitwise_right_shift_>(all, "bitwise_right_shift", false, i64);
}

// Adds the functions of a double: parameters of random numbers, activations, losses, norms.
void add_doubles(Functions& all) {
  using N = const Scalar&;
  using X = const Tensor&;
  const auto add = [&](const char* name, Call call, Call in_place = nullptr) {
    all.insert({name, {call, in_place}});
  };
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, 0, n.to_double()); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, n.to_double(), 0); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, n.to_double(), n.to_double()); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, -n.to_double(), n.to_double()); });
  add("normal", nullptr, [](X x, N n) { return normal_(x, n.to_double(), 1); });
  add("normal", nullptr, [](X x, N n) { return normal_(x, 0, n.to_double()); });
  add("normal", [](X x, N n) { return normal(x, n.to_double()); });
  add("bernoulli", nullptr, [](X x, N n) { return bernoulli_(x, n.to_double()); });
  add("exponential", nullptr, [](X x, N n) { return exponential_(x, n.to_double()); });
  add("cauchy", nullptr, [](X x, N n) { return cauchy_(x, n.to_double(), 1); });
  add("cauchy", nullptr, [](X x, N n) { return cauchy_(x, 0, n.to_double()); });
  add("log_normal", nullptr, [](X x, N n) { return log_normal_(x, n.to_double(), 1); });
  add("log_normal", nullptr, [](X x, N n) { return log_normal_(x, 0, n.to_double()); });
  add("geometric", nullptr, [](X x, N n) { return geometric_(x, n.to_double()); });
  add("normalize", [](X x, N n) { return normalize(x, n.to_double(), 0); });
  add("normalize", [](X x, N n) { return normalize(x, 2, 0, n.to_double()); });
  add("pdist", [](X x, N n) { return pdist(matrix(x), n.to_double()); });
  add("cdist", [](X x, N n) { return cdist(matrix(x), matrix(x) + 1, n.to_double()); });
  add("trapezoid", [](X x, N n) { return trapezoid(x, n.to_double()); });
  add("cumulative_trapezoid", [](X x, N n) { return cumulative_trapezoid(x, n.to_double()); });
  add(
      "renorm", [](X x, N n) { return renorm(matrix(x), n.to_double(), 0, 1); },
      [](X x, N n) { return renorm_(matrix(x), n.to_double(), 0, 1); });
  add(
      "renorm", [](X x, N n) { return renorm(matrix(x), 2, 0, n.to_double()); },
      [](X x, N n) { return renorm_(matrix(x), 2, 0, n.to_double()); });
  add(
      "dropout", [](X x, N n) { return dropout(x, n.to_double()); },
      [](X x, N n) -> Tensor { return dropout_(x, n.to_double()); });
  add("dropout1d", [](X x, N n) { return dropout1d(matrix(x), n.to_double()); });
  add("dropout2d", [](X x, N n) { return dropout2d(x.view({2, 2, 1}), n.to_double()); });
  add("dropout3d", [](X x, N n) { return dropout3d(x.view({2, 2, 1, 1}), n.to_double()); });
  add(
      "hardshrink", [](X x, N n) { return hardshrink(x, n.to_double()); },
      [](X x, N n) { return hardshrink_(x, n.to_double()); });
  add(
      "softshrink", [](X x, N n) { return softshrink(x, n.to_double()); },
      [](X x, N n) { return softshrink_(x, n.to_double()); });
  add(
      "softplus", [](X x, N n) { return softplus(x, n.to_double()); },
      [](X x, N n) { return softplus_(x, n.to_double()); });
  add(
      "softplus", [](X x, N n) { return softplus(x, 1, n.to_double()); },
      [](X x, N n) { return softplus_(x, 1, n.to_double()); });
  add(
      "logit", [](X x, N n) { return logit(x, n.to_double()); },
      [](X x, N n) { return logit_(x, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, 0, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, 0, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, 0, {}, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, 0, {}, n.to_double()); });
  add("isclose", [](X x, N n) { return isclose(x, x, n.to_double(), 0); });
  add("isclose", [](X x, N n) { return isclose(x, x, 0, n.to_double()); });
  add("smooth_l1_loss",
      [](X x, N n) { return smooth_l1_loss(x, x + 1, Reduction::mean, n.to_double()); });
  add("huber_loss", [](X x, N n) { return huber_loss(x, x + 1, Reduction::mean, n.to_double()); });
  add("cosine_similarity", [](X x, N n) { return cosine_similarity(x, x, 0, n.to_double()); });
  add("cosine_embedding_loss", [](X x, N n) {
    const Tensor row = x.unsqueeze(0);
    return cosine_embedding_loss(row, row, ones({1}, {.dtype = x.dtype()}), n.to_double());
  });
  add("norm", [](X x, N n) { return norm(x, n.to_double()); });
  add("vector_norm", [](X x, N n) { return linalg::vector_norm(x, n.to_double()); });
  add("std", [](X x, N n) { return aorta::std(x, {}, n.to_double()); });
  add("stddev", [](X x, N n) { return stddev(x, {}, n.to_double()); });
  add("var", [](X x, N n) { return var(x, {}, n.to_double()); });
  add("layer_norm", [](X x, N n) { return layer_norm(x, {4}, {}, {}, n.to_double()); });
  add("rms_norm", [](X x, N n) { return rms_norm(x, {4}, {}, n.to_double()); });
  add("group_norm", [](X x, N n) { return group_norm(x.unsqueeze(0), 2, {}, {}, n.to_double()); });
}

}  // namespace

const Functions& functions() {
  static const Functions all = [] {
    Functions made = {
        {"pow",
         {[](auto& x, auto& n) { return pow(up_to_one(x), n); },
          [](auto& x, auto& n) { return pow_(up_to_one(x), n); }}},
        {"pow", {[](auto& x, auto& n) { return pow(n, up_to_one(x)); }, nullptr, true}},
        {"add",
         {[](auto& x, auto& n) { return add(x, n); }, [](auto& x, auto& n) { return add_(x, n); },
          true}},
        {"add", {[](auto& x, auto& n) { return add(n, x); }, nullptr, true}},
        {"add",
         {[](auto& x, auto& n) { return add(x, x, n); },
          [](auto& x, auto& n) { return add_(x, x.clone(), n); }, true}},
        {"sub",
         {[](auto& x, auto& n) { return sub(x, n); }, [](auto& x, auto& n) { return sub_(x, n); },
          true}},
        {"sub", {[](auto& x, auto& n) { return sub(n, x); }, nullptr, true}},
        {"sub",
         {[](auto& x, auto& n) { return sub(x, x, n); },
          [](auto& x, auto& n) { return sub_(x, x.clone(), n); }, true}},
        {"quantile", {[](auto& x, auto& n) { return quantile(x, n); }}},
        {"nanquantile", {[](auto& x, auto& n) { return nanquantile(x, n); }}},
        {"histc", {[](auto& x, auto& n) { return histc(x, 4, 0, n); }}},
        {"lerp",
         {[](auto& x, auto& n) { return lerp(x, x + 1, n); },
          [](auto& x, auto& n) { return lerp_(x, x + 1, n); }}},
        {"addcmul",
         {[](auto& x, auto& n) { return addcmul(x, x, x, n); },
          [](auto& x, auto& n) { return addcmul_(x, x.clone(), x.clone(), n); }, true}},
        {"addcdiv",
         {[](auto& x, auto& n) { return addcdiv(x, x, x + 1, n); },
          [](auto& x, auto& n) { return addcdiv_(x, x.clone(), x + 1, n); }}},
        {"leaky_relu",
         {[](auto& x, auto& n) { return leaky_relu(x, n); },
          [](auto& x, auto& n) { return leaky_relu_(x, n); }}},
        {"elu",
         {[](auto& x, auto& n) { return elu(x, n); }, [](auto& x, auto& n) { return elu_(x, n); }}},
        {"celu",
         {[](auto& x, auto& n) { return celu(x, n); },
          [](auto& x, auto& n) { return celu_(x, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, n, n); },
          [](auto& x, auto& n) { return hardtanh_(x, n, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, 2, n); },
          [](auto& x, auto& n) { return hardtanh_(x, 2, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, n, 2); },
          [](auto& x, auto& n) { return hardtanh_(x, n, 2); }}},
        {"threshold",
         {[](auto& x, auto& n) { return threshold(x, n, 2); },
          [](auto& x, auto& n) { return threshold_(x, n, 2); }}},
        {"threshold",
         {[](auto& x, auto& n) { return threshold(x, 2, n); },
          [](auto& x, auto& n) { return threshold_(x, 2, n); }, true}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, n, n); },
          [](auto& x, auto& n) { return clamp_(x, n, n); }}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, 2, n); },
          [](auto& x, auto& n) { return clamp_(x, 2, n); }}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, n, 2); },
          [](auto& x, auto& n) { return clamp_(x, n, 2); }}},
        {"clamp_min",
         {[](auto& x, auto& n) { return clamp_min(x, n); },
          [](auto& x, auto& n) { return clamp_min_(x, n); }}},
        {"clamp_max",
         {[](auto& x, auto& n) { return clamp_max(x, n); },
          [](auto& x, auto& n) { return clamp_max_(x, n); }}},
        {"where", {[](auto& x, auto& n) { return where(mask(), x, n); }, nullptr, true}},
        {"where", {[](auto& x, auto& n) { return where(mask(), n, x); }, nullptr, true}},
        {"masked_fill",
         {[](auto& x, auto& n) { return masked_fill(x, mask(), n); },
          [](auto& x, auto& n) { return masked_fill_(x, mask(), n); }, true}},
        {"pad",
         {[](auto& x, auto& n) {
            return pad(x, {1, 1}, PadMode::constant, n);
          },
          nullptr, true}},
        {"scatter",
         {[](auto& x, auto& n) { return scatter(x, 0, places(), n); },
          [](auto& x, auto& n) -> Tensor { return scatter_(x, 0, places(), n); }, true}},
        {"index_fill",
         {[](auto& x, auto& n) { return index_fill(x, 0, places(), n); },
          [](auto& x, auto& n) -> Tensor { return index_fill_(x, 0, places(), n); }, true}},
        {"index_add",
         {[](auto& x, auto& n) { return index_add(x, 0, places(), x.slice(0, 0, 2), n); },
          [](auto& x, auto& n) -> Tensor {
            return index_add_(x, 0, places(), x.slice(0, 0, 2).clone(), n);
          },
          true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {places()}, n); }, true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {mask()}, n); }, true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {1}, n); }, true}},
        {"fill_diagonal",
         {nullptr, [](auto& x, auto& n) { return fill_diagonal_(matrix(x), n); }, true}},
        {"fill", {nullptr, [](auto& x, auto& n) -> Tensor { return x.fill_(n); }, true}},
        {"full",
         {[](auto& x, auto& n) { return full({2}, n, {.dtype = x.dtype()}); }, nullptr, true}},
        {"full_like", {[](auto& x, auto& n) { return full_like(x, n); }, nullptr, true}},
        {"tensor",
         {[](auto& x, auto& n) { return tensor({{TensorData(n)}}, {.dtype = x.dtype()}); }, nullptr,
          true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(n, n.to_double() + 3, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(0, n, n.to_double() / 2, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(n.to_double() * 0 + 2, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"fftfreq",
         {[](auto& x, auto& n) { return fft::fftfreq(4, n.to_double(), {.dtype = x.dtype()}); }}},
        {"rfftfreq",
         {[](auto& x, auto& n) { return fft::rfftfreq(4, n.to_double(), {.dtype = x.dtype()}); }}},
        {"hamming_window", {[](auto& x, auto& n) {
           return hamming_window(4, true, n.to_double(), 0.46, {.dtype = x.dtype()});
         }}},
        {"kaiser_window", {[](auto& x, auto& n) {
           return kaiser_window(4, true, n.to_double(), {.dtype = x.dtype()});
         }}},
        {"linspace",
         {[](auto& x, auto& n) { return linspace(n, n, 2, {.dtype = x.dtype()}); }, nullptr, true}},
        {"addmm",
         {[](auto& x, auto& n) { return addmm(matrix(x), matrix(x), matrix(x), {.beta = n}); },
          nullptr, true}},
        {"addmm",
         {[](auto& x, auto& n) { return addmm(matrix(x), matrix(x), matrix(x), {.alpha = n}); },
          nullptr, true}},
        {"logspace",
         {[](auto& x, auto& n) { return logspace(n, n, 2, 10, {.dtype = x.dtype()}); }}},
        {"addmv",
         {[](auto& x, auto& n) {
            return addmv(x.narrow(0, 0, 2), matrix(x), matrix(x)[0], {.beta = n});
          },
          nullptr, true}},
        {"addr",
         {[](auto& x, auto& n) {
            return addr(matrix(x), matrix(x)[0], matrix(x)[1], {.alpha = n});
          },
          nullptr, true}},
        {"addbmm",
         {[](auto& x, auto& n) {
            return addbmm(matrix(x), matrix(x).unsqueeze(0), matrix(x).unsqueeze(0), {.beta = n});
          },
          nullptr, true}},
        {"baddbmm",
         {[](auto& x, auto& n) {
            return baddbmm(matrix(x), matrix(x).unsqueeze(0), matrix(x).unsqueeze(0), {.beta = n});
          },
          nullptr, true}},
    };
    add_binaries(made);
    add_doubles(made);
    return made;
  }();
  return all;
}

}  // namespace aorta

#include <aorta/core/ops/einsum.h>

#include <aorta/tests/siege/targets.h>

// The pointwise functions and what is a member of Tensor.
namespace aorta::siege {
namespace {

using T = Tensor;
using Unary = T (*)(const T&);
using Place = std::optional<int64_t>;

void add_unary(std::vector<Target>& targets) {
  using F = Unary;
  const std::pair<const char*, F> list[] = {{"neg", neg},
                                            {"neg_", neg_},
                                            {"abs", abs},
                                            {"abs_", abs_},
                                            {"sign", sign},
                                            {"sign_", sign_},
                                            {"square", square},
                                            {"square_", square_},
                                            {"reciprocal", reciprocal},
                                            {"reciprocal_", reciprocal_},
                                            {"floor", floor},
                                            {"floor_", floor_},
                                            {"ceil", ceil},
                                            {"ceil_", ceil_},
                                            {"round", round},
                                            {"round_", round_},
                                            {"trunc", trunc},
                                            {"trunc_", trunc_},
                                            {"frac", frac},
                                            {"frac_", frac_},
                                            {"sqrt", sqrt},
                                            {"sqrt_", sqrt_},
                                            {"rsqrt", rsqrt},
                                            {"rsqrt_", rsqrt_},
                                            {"exp", exp},
                                            {"exp_", exp_},
                                            {"exp2", exp2},
                                            {"exp2_", exp2_},
                                            {"expm1", expm1},
                                            {"expm1_", expm1_},
                                            {"log", log},
                                            {"log_", log_},
                                            {"log1p", log1p},
                                            {"log1p_", log1p_},
                                            {"log2", log2},
                                            {"log2_", log2_},
                                            {"log10", log10},
                                            {"log10_", log10_},
                                            {"sin", sin},
                                            {"sin_", sin_},
                                            {"cos", cos},
                                            {"cos_", cos_},
                                            {"tan", tan},
                                            {"tan_", tan_},
                                            {"asin", asin},
                                            {"asin_", asin_},
                                            {"acos", acos},
                                            {"acos_", acos_},
                                            {"atan", atan},
                                            {"atan_", atan_},
                                            {"sinh", sinh},
                                            {"sinh_", sinh_},
                                            {"cosh", cosh},
                                            {"cosh_", cosh_},
                                            {"tanh", tanh},
                                            {"tanh_", tanh_},
                                            {"asinh", asinh},
                                            {"asinh_", asinh_},
                                            {"acosh", acosh},
                                            {"acosh_", acosh_},
                                            {"atanh", atanh},
                                            {"atanh_", atanh_},
                                            {"erf", erf},
                                            {"erf_", erf_},
                                            {"erfc", erfc},
                                            {"erfinv", erfinv},
                                            {"erfinv_", erfinv_},
                                            {"lgamma", lgamma},
                                            {"lgamma_", lgamma_},
                                            {"erfcx", erfcx},
                                            {"log_ndtr", log_ndtr},
                                            {"i0", i0},
                                            {"i0_", i0_},
                                            {"i0e", i0e},
                                            {"i1", i1},
                                            {"i1e", i1e},
                                            {"digamma", digamma},
                                            {"digamma_", digamma_},
                                            {"erfc_", erfc_},
                                            {"sigmoid", sigmoid},
                                            {"sigmoid_", sigmoid_},
                                            {"relu", relu},
                                            {"relu_", relu_},
                                            {"relu6", relu6},
                                            {"relu6_", relu6_},
                                            {"selu", selu},
                                            {"selu_", selu_},
                                            {"silu", silu},
                                            {"silu_", silu_},
                                            {"mish", mish},
                                            {"mish_", mish_},
                                            {"logsigmoid", logsigmoid},
                                            {"logsigmoid_", logsigmoid_},
                                            {"softsign", softsign},
                                            {"softsign_", softsign_},
                                            {"hardsigmoid", hardsigmoid},
                                            {"hardsigmoid_", hardsigmoid_},
                                            {"hardswish", hardswish},
                                            {"hardswish_", hardswish_},
                                            {"tanhshrink", tanhshrink},
                                            {"tanhshrink_", tanhshrink_},
                                            {"isnan", isnan},
                                            {"isnan_", isnan_},
                                            {"isinf", isinf},
                                            {"isinf_", isinf_},
                                            {"isfinite", isfinite},
                                            {"isfinite_", isfinite_},
                                            {"isposinf", isposinf},
                                            {"isneginf", isneginf},
                                            {"signbit", signbit},
                                            {"sinc", sinc},
                                            {"sinc_", sinc_},
                                            {"logical_not", logical_not},
                                            {"logical_not_", logical_not_},
                                            {"bitwise_not", bitwise_not},
                                            {"bitwise_not_", bitwise_not_}};
  for (const auto& [name, f] : list) targets.push_back(of(name, f));
}

void add_binary(std::vector<Target>& targets) {
  using F = T (*)(const Operand&, const Operand&);
  const std::pair<const char*, F> list[] = {{"mul", mul},
                                            {"div", div},
                                            {"floor_divide", floor_divide},
                                            {"fmod", fmod},
                                            {"remainder", remainder},
                                            {"pow", pow},
                                            {"minimum", minimum},
                                            {"maximum", maximum},
                                            {"atan2", atan2},
                                            {"hypot", hypot},
                                            {"copysign", copysign},
                                            {"heaviside", heaviside},
                                            {"ldexp", ldexp},
                                            {"igamma", igamma},
                                            {"igammac", igammac},
                                            {"xlogy", xlogy},
                                            {"logaddexp", logaddexp},
                                            {"logaddexp2", logaddexp2},
                                            {"prelu", prelu},
                                            {"eq", eq},
                                            {"ne", ne},
                                            {"lt", lt},
                                            {"le", le},
                                            {"gt", gt},
                                            {"ge", ge},
                                            {"logical_and", logical_and},
                                            {"logical_or", logical_or},
                                            {"logical_xor", logical_xor},
                                            {"bitwise_and", bitwise_and},
                                            {"bitwise_or", bitwise_or},
                                            {"bitwise_xor", bitwise_xor},
                                            {"bitwise_left_shift", bitwise_left_shift},
                                            {"bitwise_right_shift", bitwise_right_shift},
                                            {"gcd", gcd},
                                            {"lcm", lcm},
                                            {"nextafter", nextafter}};
  for (const auto& [name, f] : list) targets.push_back(of(name, f));
}

void add_binary_in_place(std::vector<Target>& targets) {
  using F = T (*)(const T&, const Operand&);
  const std::pair<const char*, F> list[] = {{"mul_", mul_},
                                            {"div_", div_},
                                            {"floor_divide_", floor_divide_},
                                            {"fmod_", fmod_},
                                            {"remainder_", remainder_},
                                            {"pow_", pow_},
                                            {"minimum_", minimum_},
                                            {"maximum_", maximum_},
                                            {"atan2_", atan2_},
                                            {"hypot_", hypot_},
                                            {"copysign_", copysign_},
                                            {"heaviside_", heaviside_},
                                            {"ldexp_", ldexp_},
                                            {"igamma_", igamma_},
                                            {"igammac_", igammac_},
                                            {"xlogy_", xlogy_},
                                            {"prelu_", prelu_},
                                            {"eq_", eq_},
                                            {"ne_", ne_},
                                            {"lt_", lt_},
                                            {"le_", le_},
                                            {"gt_", gt_},
                                            {"ge_", ge_},
                                            {"logical_and_", logical_and_},
                                            {"logical_or_", logical_or_},
                                            {"logical_xor_", logical_xor_},
                                            {"bitwise_and_", bitwise_and_},
                                            {"bitwise_or_", bitwise_or_},
                                            {"bitwise_xor_", bitwise_xor_},
                                            {"bitwise_left_shift_", bitwise_left_shift_},
                                            {"bitwise_right_shift_", bitwise_right_shift_},
                                            {"gcd_", gcd_},
                                            {"lcm_", lcm_},
                                            {"nextafter_", nextafter_}};
  for (const auto& [name, f] : list) targets.push_back(of(name, f));
}

void add_pointwise(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, std::optional<Scalar>, std::optional<Scalar>>("clamp", clamp),
          of<T, const T&, const T&, const T&>("clamp", clamp),
          of<T, const T&, std::optional<Scalar>, std::optional<Scalar>>("clamp_", clamp_),
          of<T, const T&, GeluApproximation>("gelu", gelu),
          of<T, const T&, GeluApproximation>("gelu_", gelu_),
          of<T, const T&, const Scalar&>("leaky_relu", leaky_relu),
          of<T, const T&, const Scalar&>("leaky_relu_", leaky_relu_),
          of<T, const T&, const Scalar&>("elu", elu),
          of<T, const T&, const Scalar&>("elu_", elu_),
          of<T, const T&, const Scalar&>("celu", celu),
          of<T, const T&, const Scalar&>("celu_", celu_),
          of<T, const T&, double, double>("softplus", softplus),
          of<T, const T&, double, double>("softplus_", softplus_),
          of<T, const T&, const Scalar&, const Scalar&>("hardtanh", hardtanh),
          of<T, const T&, const Scalar&, const Scalar&>("hardtanh_", hardtanh_),
          of<T, const T&, const Scalar&, const Scalar&>("threshold", threshold),
          of<T, const T&, const Scalar&, const Scalar&>("threshold_", threshold_),
          of<T, const T&, std::optional<double>>("logit", logit),
          of<T, const T&, std::optional<double>>("logit_", logit_),
          of<T, const T&, double>("hardshrink", hardshrink),
          of<T, const T&, double>("hardshrink_", hardshrink_),
          of<T, const T&, double>("softshrink", softshrink),
          of<T, const T&, double>("softshrink_", softshrink_),
          of<T, const T&, const Scalar&>("clamp_min", clamp_min),
          of<T, const T&, const Scalar&>("clamp_min_", clamp_min_),
          of<T, const T&, const T&>("clamp_min", clamp_min),
          of<T, const T&, const T&>("clamp_min_", clamp_min_),
          of<T, const T&, const Scalar&>("clamp_max", clamp_max),
          of<T, const T&, const Scalar&>("clamp_max_", clamp_max_),
          of<T, const T&, const T&>("clamp_max", clamp_max),
          of<T, const T&, const T&>("clamp_max_", clamp_max_),
          of<T, const Operand&, const Operand&, const Scalar&>("add", add),
          of<T, const T&, const Operand&, const Scalar&>("add_", add_),
          of<T, const Operand&, const Operand&, const Scalar&>("sub", sub),
          of<T, const T&, const Operand&, const Scalar&>("sub_", sub_),
          of<T, const T&, const Operand&, const Operand&>("where", where),
          of<T, const T&, const T&, const Operand&>("lerp", lerp),
          of<T, const T&, const T&, const Operand&>("lerp_", lerp_),
          of<T, const T&, const T&, const T&, const Scalar&>("addcmul", addcmul),
          of<T, const T&, const T&, const T&, const Scalar&>("addcmul_", addcmul_),
          of<T, const T&, const T&, const T&, const Scalar&>("addcdiv", addcdiv),
          of<T, const T&, const T&, const T&, const Scalar&>("addcdiv_", addcdiv_),
          of<T, const T&, const T&, const Operand&>("masked_fill", masked_fill),
          of<T, const T&, const T&, const Operand&>("masked_fill_", masked_fill_),
      });
}

// Members of Tensor that a user calls.
void add_members(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of(
              "Tensor::size", +[](const T& x, int64_t dim) { return full({}, x.size(dim)); }),
          of(
              "Tensor::stride", +[](const T& x, int64_t dim) { return x.stride(dim), x; }),
          of(
              "Tensor::item",
              +[](const T& x) {
                const Scalar value = x.item();
                return full({}, value, {.dtype = x.dtype()});
              }),
          of(
              "Tensor::at", +[](const T& x, const Dims& at) { return full({}, x.at<float>(at)); }),
          of(
              "Tensor::to_vector", +[](const T& x) { return tensor(x.to_vector<double>()); }),
          of(
              "Tensor::to", +[](const T& x, DType dtype) { return x.to(dtype); }),
          of(
              "Tensor::to", +[](const T& x, Device device) { return x.to(device); }),
          of(
              "Tensor::cpu", +[](const T& x) { return x.cpu(); }),
          of(
              "Tensor::cuda", +[](const T& x, int64_t i) { return x.cuda(static_cast<int>(i)); }),
          of(
              "Tensor::contiguous", +[](const T& x, MemoryFormat f) { return x.contiguous(f); }),
          of(
              "Tensor::clone", +[](const T& x, MemoryFormat f) { return x.clone(f); }),
          of(
              "Tensor::share_memory", +[](const T& x) { return x.share_memory(); }),
          of(
              "Tensor::copy_", +[](const T& x, const T& y) { return x.copy_(y); }),
          of(
              "Tensor::fill_", +[](const T& x, const Scalar& value) { return x.fill_(value); }),
          of(
              "Tensor::zero_", +[](const T& x) { return x.zero_(); }),
          of(
              "Tensor::view", +[](const T& x, const Dims& shape) { return x.view(shape); }),
          of(
              "Tensor::t", +[](const T& x) { return x.t(); }),
          of(
              "Tensor::slice", +[](const T& x, int64_t dim, Place start, Place end,
                                   int64_t step) { return x.slice(dim, start, end, step); }),
          of(
              "Tensor::detach", +[](const T& x) { return x.detach(); }),
          of(
              "Tensor::requires_grad_", +[](const T& x, bool b) { return x.requires_grad_(b); }),
          of(
              "Tensor::set_grad", +[](const T& x, const T& y) { return x.set_grad(y), x; }),
          of(
              "Tensor::retain_grad", +[](const T& x) { return x.retain_grad(); }),
          of(
              "Tensor::backward", +[](const T& x, const T& g, std::optional<bool> keep,
                                      bool again) { return x.backward(g, keep, again), x; }),
          of(
              "to_string",
              +[](const T& x) { return full({}, static_cast<int64_t>(to_string(x).size())); }),
          of(
              "einsum",
              +[](int64_t which, const Tensors& x) {
                static constexpr const char* kEquations[] = {
                    "ij,jk->ik", "ii",   "...i,...i",    "i,i",      "ij->ji",
                    "",          "->",   "ij,jk",        "i->ii",    "iJ,J",
                    "ij;jk",     "i,,j", "bij,bjk->bik", "...->...", "ij->k"};
                return einsum(kEquations[static_cast<uint64_t>(which) % std::size(kEquations)], x);
              }),
          of(
              "from_blob",
              +[](const Dims& shape, const Dims& strides) {
                static float numbers[16];
                return from_blob(numbers, shape, strides, {}).shape() == shape ? T() : ones({});
              }),
      });
}

}  // namespace

void add_structured(std::vector<Target>& targets);
void add_composed(std::vector<Target>& targets);
void add_linalg(std::vector<Target>& targets);

std::vector<Target> function_targets() {
  std::vector<Target> targets;
  add_unary(targets);
  add_binary(targets);
  add_binary_in_place(targets);
  add_pointwise(targets);
  add_members(targets);
  add_structured(targets);
  add_composed(targets);
  add_linalg(targets);
  constexpr std::string_view kMember = "Tensor::";
  for (Target& target : targets) {
    if (!target.functions.empty()) continue;
    target.functions = {target.name.substr(target.name.starts_with(kMember) ? kMember.size() : 0)};
  }
  return targets;
}

}  // namespace aorta::siege

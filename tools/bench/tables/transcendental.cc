// Every unary op of f32, on 4 MB, which the caches hold: ns an element on one thread.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Unary {
  const char* name;
  Tensor (*run)(const Tensor& x);
  const char* torch;
  double low, high;  // where the inputs lie
};

constexpr Unary kUnary[] = {
    {"neg", neg, "torch.neg(x)", -4, 4},
    {"abs", abs, "torch.abs(x)", -4, 4},
    {"sign", sign, "torch.sign(x)", -4, 4},
    {"square", square, "torch.square(x)", -4, 4},
    {"reciprocal", reciprocal, "torch.reciprocal(x)", 0.5, 4},
    {"floor", floor, "torch.floor(x)", -4, 4},
    {"ceil", ceil, "torch.ceil(x)", -4, 4},
    {"round", round, "torch.round(x)", -4, 4},
    {"trunc", trunc, "torch.trunc(x)", -4, 4},
    {"frac", frac, "torch.frac(x)", -4, 4},
    {"sqrt", sqrt, "torch.sqrt(x)", 0, 100},
    {"rsqrt", rsqrt, "torch.rsqrt(x)", 0.01, 100},
    {"exp", exp, "torch.exp(x)", -10, 10},
    {"exp2", exp2, "torch.exp2(x)", -10, 10},
    {"expm1", expm1, "torch.expm1(x)", -4, 4},
    {"log", log, "torch.log(x)", 0.01, 100},
    {"log1p", log1p, "torch.log1p(x)", -0.9, 100},
    {"log2", log2, "torch.log2(x)", 0.01, 100},
    {"log10", log10, "torch.log10(x)", 0.01, 100},
    {"sin", sin, "torch.sin(x)", -20, 20},
    {"cos", cos, "torch.cos(x)", -20, 20},
    {"tan", tan, "torch.tan(x)", -1.5, 1.5},
    {"asin", asin, "torch.asin(x)", -1, 1},
    {"acos", acos, "torch.acos(x)", -1, 1},
    {"atan", atan, "torch.atan(x)", -10, 10},
    {"sinh", sinh, "torch.sinh(x)", -4, 4},
    {"cosh", cosh, "torch.cosh(x)", -4, 4},
    {"tanh", tanh, "torch.tanh(x)", -4, 4},
    {"asinh", asinh, "torch.asinh(x)", -10, 10},
    {"acosh", acosh, "torch.acosh(x)", 1, 10},
    {"atanh", atanh, "torch.atanh(x)", -0.9, 0.9},
    {"erf", erf, "torch.erf(x)", -3, 3},
    {"erfc", erfc, "torch.erfc(x)", -3, 3},
    {"erfinv", erfinv, "torch.erfinv(x)", -1, 1},
    {"lgamma", lgamma, "torch.lgamma(x)", 0.01, 30},
    {"digamma", digamma, "torch.digamma(x)", 0.01, 30},
    {"sigmoid", sigmoid, "torch.sigmoid(x)", -10, 10},
    {"logsigmoid", logsigmoid, "F.logsigmoid(x)", -10, 10},
    {"relu", relu, "torch.relu(x)", -4, 4},
    {"relu6", relu6, "F.relu6(x)", -4, 8},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, "F.leaky_relu(x)", -4, 4},
    {"elu", [](const Tensor& x) { return elu(x); }, "F.elu(x)", -4, 4},
    {"celu", [](const Tensor& x) { return celu(x); }, "F.celu(x)", -4, 4},
    {"selu", selu, "F.selu(x)", -4, 4},
    {"gelu (erf)", [](const Tensor& x) { return gelu(x); }, "F.gelu(x)", -4, 4},
    {"gelu (tanh)", [](const Tensor& x) { return gelu(x, GeluApproximation::tanh); },
     "F.gelu(x, approximate='tanh')", -4, 4},
    {"silu", silu, "F.silu(x)", -10, 10},
    {"mish", mish, "F.mish(x)", -10, 10},
    {"softplus", [](const Tensor& x) { return softplus(x); }, "F.softplus(x)", -10, 30},
    {"softsign", softsign, "F.softsign(x)", -4, 4},
    {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, "F.hardtanh(x)", -4, 4},
    {"hardsigmoid", hardsigmoid, "F.hardsigmoid(x)", -4, 4},
    {"hardswish", hardswish, "F.hardswish(x)", -4, 4},
    {"hardshrink", [](const Tensor& x) { return hardshrink(x); }, "F.hardshrink(x)", -4, 4},
    {"softshrink", [](const Tensor& x) { return softshrink(x); }, "F.softshrink(x)", -4, 4},
    {"tanhshrink", tanhshrink, "F.tanhshrink(x)", -4, 4},
    {"threshold", [](const Tensor& x) { return threshold(x, 0.5, 2.0); },
     "F.threshold(x, 0.5, 2.0)", -4, 4},
    {"clamp", [](const Tensor& x) { return clamp(x, -1, 1); }, "torch.clamp(x, -1, 1)", -4, 4},
    {"pow(x, 2.5)", [](const Tensor& x) { return pow(x, 2.5); }, "torch.pow(x, 2.5)", 0.01, 10},
    {"isnan", isnan, "torch.isnan(x)", -4, 4},
    {"isfinite", isfinite, "torch.isfinite(x)", -4, 4},
};

}  // namespace

Rows transcendental_rows(const Plan& plan) {
  Rows rows;
  const int64_t numel = plan.size(1 << 20, 1 << 10);
  for (const Unary& unary : kUnary) {
    rows.push_back({.name = unary.name,
                    .unit = Unit::elements,
                    .work = static_cast<double>(numel),
                    .make = [&unary, numel] {
                      const Tensor x = make({numel}, unary.low, unary.high);
                      const auto run = unary.run;
                      return Case{.ours = aorta_side([=] { return run(x); }),
                                  .peer = torch_side(fmt::format("x = make(({},), {}, {})", numel,
                                                                 unary.low, unary.high),
                                                     unary.torch)};
                    }});
  }
  return rows;
}

}  // namespace aorta::bench

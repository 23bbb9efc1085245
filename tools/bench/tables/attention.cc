// Scaled dot-product attention as networks have it: a character transformer's, an image
// transformer's, and a long one. Operands are parts of one packed projection.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Shape4 {
  const char* name;
  int64_t batch, heads, length, features;
  bool causal;
};

Case attention_case(const Shape4& s, DType dtype, bool backward) {
  const Tensor packed = make({s.batch, s.length, 3, s.heads, s.features}, -2, 2, 1, dtype);
  const Tensor weights = make({s.batch, s.length, s.heads, s.features}, -1, 1, 2, dtype);
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) {
    x.push_back(packed.select(2, i).transpose(1, 2).detach());
    if (backward) x.back().requires_grad_();
  }
  const auto attend = [x, causal = s.causal] {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = causal});
  };
  const std::string setup = fmt::format(
      "packed = make(({}, {}, 3, {}, {}), -2, 2, 1, torch.{}); "
      "g = make(({}, {}, {}, {}), -1, 1, 2, torch.{}).transpose(1, 2); "
      "x = [packed.select(2, i).transpose(1, 2).detach().requires_grad_({}) for i in range(3)]",
      s.batch, s.length, s.heads, s.features, dtype == DType::f32 ? "float32" : "bfloat16", s.batch,
      s.length, s.heads, s.features, dtype == DType::f32 ? "float32" : "bfloat16",
      backward ? "True" : "False");
  const std::string call =
      fmt::format("F.scaled_dot_product_attention(*x, is_causal={})", s.causal ? "True" : "False");
  if (!backward) return {.ours = aorta_side(attend), .reference = torch_side(setup, call)};
  // One of the three gradients is given, the queries'.
  return {
      .ours = aorta_side([attend, x, g = weights.transpose(1, 2)] {
        return autograd::grad({attend()}, {x[0], x[1], x[2]}, {g})[0];
      }),
      .reference = torch_side(
          setup + "; both = torch.enable_grad()(lambda: torch.autograd.grad(" + call + ", x, g))",
          "both()[0]")};
}

}  // namespace

Rows attention_rows(const Plan& plan) {
  const Shape4 shapes[] = {{"12 x 6 heads, 256 long, 64 wide, causal", plan.size(12, 1), 6,
                            plan.size(256, 20), 64, true},
                           {"64 x 3 heads, 65 long, 64 wide", plan.size(64, 1), 3, 65, 64, false},
                           {"8 heads, 2048 long, 64 wide", 1, 8, plan.size(2048, 40), 64, false}};
  Rows rows;
  for (const Shape4& shape : shapes) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const bool backward : {false, true}) {
        for (const int threads : plan.threads) {
          rows.push_back({.name = fmt::format("{}, {}{}", shape.name, to_string(dtype),
                                              backward ? ", and back" : ""),
                          .threads = threads,
                          .target = at_most(dtype == DType::f32 ? 0.7 : 0.8),
                          .tolerance = dtype == DType::f32 ? 1e-4 : 3e-2,
                          .make = [=] { return attention_case(shape, dtype, backward); }});
        }
      }
    }
  }
  return rows;
}

}  // namespace aorta::bench

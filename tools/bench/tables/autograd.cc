// What recording a graph and running it back costs: ops so small that nothing else shows.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>

namespace aorta::bench {
namespace {

// The gradient of the last of `count` adds in a chain.
Tensor chain(const Tensor& parameter, const Tensor& b, int count) {
  Tensor c = parameter + b;
  for (int i = 1; i < count; ++i) c = c + b;
  sum(c).backward();
  const Tensor gradient = parameter.grad();
  parameter.set_grad({});
  return gradient;
}

}  // namespace

Rows autograd_rows(const Plan& plan) {
  Rows rows;
  rows.push_back({.name = "a + b recorded, 8 floats", .target = at_most(0.25), .make = [] {
                    const Tensor p = make({8}, -1, 1, 1).requires_grad_(), b = make({8}, -1, 1, 2);
                    return Case{.ours = aorta_side([=] { return p + b; }),
                                .reference = libtorch_side("add 8 recorded")};
                  }});
  rows.push_back({.name = "a * b recorded, 8 floats", .make = [] {
                    const Tensor p = make({8}, -1, 1, 1).requires_grad_(), b = make({8}, -1, 1, 2);
                    return Case{.ours = aorta_side([=] { return p * b; }),
                                .reference = libtorch_side("mul 8 recorded")};
                  }});
  const int count = static_cast<int>(plan.size(1000, 10));
  rows.push_back({.name = "1,000 chained adds, forward and backward",
                  .target = at_most(0.25),
                  .make = [count] {
                    const Tensor p = make({8}, -1, 1, 1).requires_grad_(), b = make({8}, -1, 1, 2);
                    return Case{.ours = aorta_side([=] { return chain(p, b, count); }),
                                .reference = libtorch_side("chain 8")};
                  }});
  rows.push_back({.name = "784-30-10 with sigmoids, batch 10, forward and backward", .make = [] {
                    const Tensor x = make({10, 784}, 0, 1, 1);
                    const Tensor w1 = make({30, 784}, -0.1, 0.1, 2).requires_grad_();
                    const Tensor w2 = make({10, 30}, -0.1, 0.1, 3).requires_grad_();
                    return Case{.ours = aorta_side([=] {
                                  const Tensor hidden = sigmoid(linear(x, w1));
                                  sum(square(sigmoid(linear(hidden, w2)))).backward();
                                  const Tensor gradient = w2.grad();
                                  w1.set_grad({});
                                  w2.set_grad({});
                                  return gradient;
                                }),
                                .reference = libtorch_side("mlp")};
                  }});
  return rows;
}

}  // namespace aorta::bench

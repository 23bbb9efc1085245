// Optimizer steps: large ones against memory, many small tensors and a small network against
// PyTorch.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <memory>

namespace aorta::bench {
namespace {

struct Rule {
  const char* name;
  double bytes;  // read and written, a parameter
  std::unique_ptr<optim::Optimizer> (*make)(std::vector<Tensor> parameters);
  const char* torch;
};

constexpr Rule kRules[] = {
    {"Adam", 28,
     [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::Adam>(std::move(p), optim::AdamOptions{.lr = 1e-3});
     },
     "torch.optim.Adam(ps, lr=1e-3, fused=True)"},
    {"SGD with momentum", 20,
     [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::SGD>(std::move(p),
                                           optim::SGDOptions{.lr = 1e-3, .momentum = 0.9});
     },
     "torch.optim.SGD(ps, lr=1e-3, momentum=0.9, fused=True)"},
    {"SGD", 12,
     [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::SGD>(std::move(p), optim::SGDOptions{.lr = 1e-3});
     },
     "torch.optim.SGD(ps, lr=1e-3, fused=True)"},
};

// Steps with gradients that stay; its value is the first tensor.
Case step_case(const Rule& rule, const std::vector<Shape>& shapes, const std::string& torch_shapes,
               double bytes) {
  std::vector<Tensor> parameters;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int64_t seed = static_cast<int64_t>(2 * i);
    parameters.push_back(make(shapes[i], -1, 1, seed).requires_grad_());
    parameters.back().set_grad(make(shapes[i], -1, 1, seed + 1));
  }
  const std::shared_ptr<optim::Optimizer> optimizer = rule.make(parameters);
  const Tensor first = parameters[0];
  const std::string setup = fmt::format(
      "shapes = {}; ps = [make(s, -1, 1, 2 * i).requires_grad_() for i, s in enumerate(shapes)]; "
      "[setattr(p, 'grad', make(s, -1, 1, 2 * i + 1)) for i, (p, s) in enumerate(zip(ps, "
      "shapes))]; "
      "optimizer = {}",
      torch_shapes, rule.torch);
  return {.ours = aorta_side([=] {
            optimizer->step();
            return first;
          }),
          .reference = bytes > 0 ? memcpy_side(bytes) : Side{},
          .peer = torch_side(setup, "(optimizer.step(), ps[0])[1]")};
}

}  // namespace

Rows optimizer_rows(const Plan& plan) {
  Rows rows;
  const int64_t count = plan.size(40'000'000, 4000), tensors = plan.size(1000, 10);
  for (const Rule& rule : kRules) {
    for (const int threads : plan.threads) {
      const double bytes = rule.bytes * static_cast<double>(count);
      rows.push_back({.name = fmt::format("{}, one tensor of {}", rule.name, count),
                      .threads = threads,
                      .unit = Unit::bytes,
                      .work = bytes,
                      .target = at_least(0.85),
                      .make = [&rule, count, bytes] {
                        return step_case(rule, {{count}}, fmt::format("[({},)]", count), bytes);
                      }});
      rows.push_back({.name = fmt::format("{}, {} tensors of 1,000", rule.name, tensors),
                      .threads = threads,
                      .make = [&rule, tensors] {
                        return step_case(rule,
                                         std::vector<Shape>(static_cast<size_t>(tensors), {1000}),
                                         fmt::format("[(1000,)] * {}", tensors), 0);
                      }});
      rows.push_back({.name = fmt::format("{}, the 4 tensors of 784-30-10", rule.name),
                      .threads = threads,
                      .make = [&rule] {
                        return step_case(rule, {{30, 784}, {30}, {10, 30}, {10}},
                                         "[(30, 784), (30,), (10, 30), (10,)]", 0);
                      }});
      rows.push_back({.name = fmt::format("{}, 4 tensors of 10", rule.name),
                      .threads = threads,
                      .make = [&rule] {
                        return step_case(rule, std::vector<Shape>(4, {10}), "[(10,)] * 4", 0);
                      }});
    }
  }
  return rows;
}

}  // namespace aorta::bench

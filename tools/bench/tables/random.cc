// Random fills of 4 MB. Generators differ, so what is compared is the mean and the deviation.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Fill {
  const char* name;
  Tensor (*run)(int64_t numel);
  const char* torch;
};

constexpr Fill kFills[] = {
    {"rand", [](int64_t numel) { return rand({numel}); }, "torch.rand(n)"},
    {"randn", [](int64_t numel) { return randn({numel}); }, "torch.randn(n)"},
    {"bernoulli_(0.3)", [](int64_t numel) { return bernoulli_(empty({numel}), 0.3); },
     "torch.empty(n).bernoulli_(0.3)"},
    {"randint(100)", [](int64_t numel) { return randint(100, {numel}); },
     "torch.randint(100, (n,))"},
    {"randperm", [](int64_t numel) { return randperm(numel); }, "torch.randperm(n)"},
};

}  // namespace

Rows random_rows(const Plan& plan) {
  Rows rows;
  const int64_t numel = plan.size(1 << 20, 1 << 14);
  for (const Fill& fill : kFills) {
    for (const int threads : plan.threads) {
      rows.push_back(
          {.name = fill.name,
           .threads = threads,
           .unit = Unit::elements,
           .work = static_cast<double>(numel),
           .tolerance = 0.05,
           .make = [&fill, numel] {
             const auto run = fill.run;
             Side ours = aorta_side([=] { return run(numel); });
             ours.values = [=] { return moments(run(numel)); };
             return Case{.ours = ours,
                         .peer = torch_side(fmt::format("n = {}", numel), fill.torch, "moments")};
           }});
    }
  }
  return rows;
}

}  // namespace aorta::bench

// Rows whose verdicts are known, for the tests of the benchmark itself.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>

namespace aorta::bench {
namespace {

Side named(const char* name, Side side) {
  side.name = name;
  return side;
}

// x + ours against x + theirs.
Row sums(const char* name, double ours, double theirs, Target target) {
  return {.name = name, .target = target, .make = [=] {
            const Tensor x = make({1024}, -1, 1);
            return Case{.ours = aorta_side([=] { return x + ours; }),
                        .reference = named("other", aorta_side([=] { return x + theirs; }))};
          }};
}

// The two sides of this row differ in the last of many elements only.
Row last_element() {
  return {.name = "last element differs", .make = [] {
            const Tensor x = make({1 << 16}, -1, 1), y = x.clone();
            y.slice(0, -1).fill_(7);
            return Case{.ours = aorta_side([=] { return x + 1; }),
                        .reference = named("other", aorta_side([=] { return y + 1; }))};
          }};
}

Row shapes() {
  return {.name = "shape differs", .make = [] {
            const Tensor x = zeros({64}), y = zeros({65});
            return Case{.ours = aorta_side([=] { return x + 1; }),
                        .reference = named("other", aorta_side([=] { return y + 1; }))};
          }};
}

Row torch_normal_row() {
  return {.name = "PyTorch agrees on normal numbers", .make = [=] {
            const Tensor x = make_normal({64, 64}, 0.5, 2, 3);
            return Case{.ours = aorta_side([=] { return x * 2; }),
                        .peer = torch_side("x = make_normal((64, 64), 0.5, 2, 3)", "x * 2")};
          }};
}

Row torch_row(const char* name, const char* expression) {
  return {.name = name, .make = [=] {
            const Tensor x = make({64, 64}, -1, 1, 3);
            return Case{.ours = aorta_side([=] { return x * 2; }),
                        .peer = torch_side("x = make((64, 64), -1, 1, 3)", expression)};
          }};
}

}  // namespace

Rows selftest_rows(const Plan&) {
  constexpr double kHuge = 1e6;
  return {
      sums("reached", 1, 1, at_most(kHuge)),
      sums("missed", 1, 1, at_least(kHuge)),
      sums("differs", 1, 1.001, at_most(kHuge)),
      last_element(),
      shapes(),
      Row{.name = "ours fails",
          .make =
              [] {
                const Tensor x = zeros({2, 3});
                return Case{.ours = aorta_side([=] { return x.reshape({7}); })};
              }},
      torch_row("PyTorch agrees", "x * 2"),
      torch_normal_row(),
      torch_row("PyTorch differs", "x * 2.001"),
      torch_row("PyTorch fails", "no_such_name + x"),
  };
}

}  // namespace aorta::bench

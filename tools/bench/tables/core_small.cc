// Ops so small that the call is what they cost.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>

namespace aorta::bench {

void add_small_rows(Rows& rows, const Plan&) {
  const auto add = [&](const char* name, Target target, auto op, const char* theirs) {
    rows.push_back({.name = name, .target = target, .make = [op, theirs] {
                      const Tensor a = make({8}, -1, 1, 1), b = make({8}, -1, 1, 2);
                      return Case{.ours = aorta_side([=] { return op(a, b); }),
                                  .reference = libtorch_side(theirs)};
                    }});
  };
  add(
      "a + b, 8 floats", at_most(0.2), [](const Tensor& a, const Tensor& b) { return a + b; },
      "add 8");
  add(
      "relu(a), 8 floats", {}, [](const Tensor& a, const Tensor&) { return relu(a); }, "relu 8");
  add(
      "a.slice(0, 2, 6), 8 floats", {},
      [](const Tensor& a, const Tensor&) { return a.slice(0, 2, 6); }, "slice 8");
  add(
      "sum(a), 8 floats", {}, [](const Tensor& a, const Tensor&) { return sum(a); }, "sum 8");
}

}  // namespace aorta::bench

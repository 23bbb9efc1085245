#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/tracer.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace aorta {
namespace {

struct Calls : Tracer {
  void add(TracedCall call) override { calls.push_back(std::move(call)); }
  std::vector<TracedCall> calls;
};

using Names = std::vector<std::string>;

TEST(Tracer, IsToldTheSameWhereGradientsAreRecorded) {
  const auto run = [](bool gradients) {
    const Tensor x = ones({1, 2, 5, 5}).requires_grad_(gradients), w = ones({3, 2, 3, 3});
    Calls told;
    const TracerScope scope(told);
    const Tensor y = cat({conv2d(x, w), conv2d(x, w)}, 1).flatten(1).matmul(ones({54, 2})).relu();
    Names whole;
    for (const TracedCall& call : told.calls) {
      static const std::set<std::string> kWhole{"convolution", "cat", "relu"};
      if (kWhole.count(call.op)) whole.push_back(call.op);
    }
    EXPECT_TRUE(told.calls.back().outputs[0].is_same(y));
    return whole;
  };
  EXPECT_EQ(run(false), (Names{"convolution", "convolution", "cat", "relu"}));
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace aorta

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/scalar/op_list.h>
#include <aorta/core/tracer.h>
#include <gtest/gtest.h>

#include <any>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace aorta {
namespace {

struct Calls : Tracer {
  void add(TracedCall call) override { calls.push_back(std::move(call)); }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const TracedCall& call : calls) list.push_back(call.op);
    return list;
  }
  std::vector<TracedCall> calls;
};

using Names = std::vector<std::string>;

TEST(Tracer, IsToldOfInputsOutputsNumbersAndOptions) {
  const Tensor x = ones({2, 3});
  Calls told;
  Tensor scaled, clamped, total;
  {
    const TracerScope scope(told);
    scaled = 2 * x;
    clamped = x.clamp(-1, 0.5);
    total = sum(x, 1, true);
  }
  EXPECT_EQ(told.names(), (Names{"mul", "clamp", "sum"}));
  const TracedCall& product = told.calls[0];
  EXPECT_TRUE(product.outputs[0].is_same(scaled));
  EXPECT_FALSE(product.inputs[0].defined());
  EXPECT_EQ(product.numbers[0].to_int(), 2);
  EXPECT_TRUE(product.inputs[1].is_same(x));
  const auto* clamp = std::any_cast<scalar::Clamp>(&told.calls[1].options);
  ASSERT_NE(clamp, nullptr);
  EXPECT_EQ(clamp->max.to<double>(), 0.5);
  const auto* reduced = std::any_cast<std::tuple<Dims, bool>>(&told.calls[2].options);
  ASSERT_NE(reduced, nullptr);
  EXPECT_EQ(*reduced, (std::tuple<Dims, bool>({1}, true)));
  EXPECT_TRUE(told.calls[2].outputs[0].is_same(total));
}

TEST(Tracer, IsToldOfWritesAfterThem) {
  const Tensor x = ones({2, 3});
  Calls told;
  const TracerScope scope(told);
  x.narrow(1, 0, 2).fill_(7);
  x.add_(1);
  EXPECT_EQ(told.names(), (Names{"slice", "fill_", "add"}));
  EXPECT_TRUE(told.calls[1].outputs[0].is_same(told.calls[0].outputs[0]));
  EXPECT_TRUE(told.calls[2].outputs[0].is_same(x));
  EXPECT_TRUE(told.calls[2].inputs[0].is_same(x));
}

TEST(Tracer, IsOfOneThreadAndTheInnermostScope) {
  const Tensor x = ones({2});
  Calls outer, inner;
  {
    const TracerScope scope(outer);
    std::thread([&] { x.exp(); }).join();
    {
      const TracerScope again(inner);
      x.sin();
    }
    x.cos();
  }
  x.tan();
  EXPECT_EQ(outer.names(), Names{"cos"});
  EXPECT_EQ(inner.names(), Names{"sin"});
}

}  // namespace
}  // namespace aorta

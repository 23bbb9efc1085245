#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/parallel/data_parallel.h>

#include <gtest/gtest.h>

namespace aorta::nn {
namespace {

// The first part, which has nothing to copy, is long done when the second still copies.
TEST(Replicas, NoPartSeesWhatAnotherWritesIntoABuffer) {
  struct Counts : Module {
    Buffer large{*this, "large", zeros({1 << 24})};
    Buffer calls{*this, "calls", zeros({})};
    Tensor forward(const Tensor& x) const override {
      add_(calls, 1);
      return x + calls;
    }
  } net;
  const DataParallel parallel(net, {"cpu:0", "cpu:1"});
  for (int call = 1; call <= 3; ++call) {
    EXPECT_EQ(parallel(zeros({2})).to_vector<float>(), full({2}, call).to_vector<float>());
    EXPECT_EQ(net.calls.item<float>(), call);
    add_(net.large, 1);  // written, thus copied again
  }
}

}  // namespace
}  // namespace aorta::nn

#include <aorta/cuda/attention_shape.h>

#include <gtest/gtest.h>

#include <limits>

using namespace aorta;
using namespace aorta::cuda;
using kernel::AttentionBackwardArgs;
using kernel::AttentionOperand;

namespace {

// (2, 4, rows, 64) of a packed projection (2, rows, 4, 64).
AttentionOperand operand(int64_t rows) { return {nullptr, rows * 256, 64, 256, 1}; }

AttentionBackwardArgs args() {
  AttentionBackwardArgs a;
  a.dtype = DType::bf16;
  a.batch = 2;
  a.heads = 4;
  a.queries = 100;
  a.keys = 77;
  a.features = a.value_features = 64;
  a.scale = 0.125;
  a.query = a.output = a.gradient = a.query_gradient = operand(a.queries);
  a.key = a.value = a.key_gradient = a.value_gradient = operand(a.keys);
  return a;
}

/// Whether both passes suit cuDNN, of arguments that `change` has changed.
template <class Change>
bool suits(const Change& change) {
  AttentionBackwardArgs a = args();
  change(a);
  const kernel::AttentionKernelArgs& forward = a;
  const bool both = suits_cudnn(a);
  EXPECT_EQ(both, suits_cudnn(forward));
  return both;
}

}  // namespace

// What cuDNN isn't asked for.
TEST(AttentionShape, CudnnIsAskedForWhatSuitsIt) {
  using Args = AttentionBackwardArgs;
  EXPECT_TRUE(suits([](Args&) {}));
  EXPECT_TRUE(suits([](Args& a) { a.is_causal = true; }));
  EXPECT_TRUE(suits([](Args& a) { a.dtype = DType::f16; }));
  EXPECT_FALSE(suits([](Args& a) { a.dtype = DType::f32; }));
  EXPECT_FALSE(suits([](Args& a) { a.dtype = DType::f64; }));
  EXPECT_FALSE(suits([](Args& a) { a.mask.data = &a; }));
  EXPECT_FALSE(suits([](Args& a) { a.dropout.threshold = 1; }));
  EXPECT_FALSE(suits([](Args& a) { a.queries = 1; }));
  EXPECT_FALSE(suits([](Args& a) { a.keys = 1; }));
  EXPECT_FALSE(suits([](Args& a) { a.keys = 0; }));
  EXPECT_FALSE(suits([](Args& a) { a.batch = 0; }));
  for (const double scale : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(suits([&](Args& a) { a.scale = scale; })) << scale;
}

TEST(AttentionShape, HeadsAreOfEightsOfFeatures) {
  for (const auto& [features, good] :
       {std::pair(8, true), {24, true}, {256, true}, {264, false}, {60, false}, {0, false}}) {
    EXPECT_EQ(good, suits([&](AttentionBackwardArgs& a) {
                a.features = features;
                for (AttentionOperand* x : {&a.query, &a.key, &a.query_gradient, &a.key_gradient})
                  *x = {nullptr, 100 * 4 * 264, 264, 4 * 264, 1};
              }))
        << features;
  }
}

TEST(AttentionShape, RowsBeginAtMultiplesOfSixteenBytes) {
  using Args = AttentionBackwardArgs;
  for (AttentionOperand Args::*x :
       {&Args::gradient, &Args::query_gradient, &Args::key_gradient, &Args::value_gradient}) {
    AttentionBackwardArgs a = args();
    (a.*x).row = 257;
    EXPECT_FALSE(suits_cudnn(a));
  }
  EXPECT_FALSE(suits([](Args& a) { a.key.row = 260; }));
  EXPECT_FALSE(suits([](Args& a) { a.key.column = 2; }));
  EXPECT_FALSE(suits([](Args& a) { a.key.head = 0; })) << "grouped queries";
  EXPECT_FALSE(suits([](Args& a) { a.key.data = reinterpret_cast<void*>(8); }));
  EXPECT_TRUE(suits([](Args& a) { a.key.data = reinterpret_cast<void*>(16); }));
  EXPECT_TRUE(suits([](Args& a) {
    a.batch = 1;
    a.key.batch = 3;
  })) << "which nothing is read by";
}

TEST(AttentionShape, SizesThatGridsAndIndicesHold) {
  using Args = AttentionBackwardArgs;
  constexpr int64_t kLimit = int64_t{1} << 31;
  EXPECT_TRUE(suits([](Args& a) { a.query.batch = kLimit - 256 * 100 - 8; }));
  EXPECT_FALSE(suits([](Args& a) { a.query.batch = kLimit; }));
  EXPECT_FALSE(suits([](Args& a) { a.heads = int64_t{1} << 16; }));
  EXPECT_FALSE(suits([](Args& a) { a.batch = int64_t{1} << 16; }));
}

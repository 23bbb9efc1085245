// What cuDNN itself makes of our graphs, without a GPU: it plans for one that is described to it.
#include <aorta/core/backends.h>
#include <aorta/cuda/attention_graph.h>
#include <aorta/cuda/convolution_graph.h>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

using namespace aorta;
using namespace aorta::cuda;
using kernel::ConvDim;

namespace {

/// An H100 as the runtime describes it.
const std::string kH100 =
    R"({"deviceName":"H100","cudaDeviceId":0,"deviceVer":900,"driverVer":13000,)"
    R"("totalGlobalMem":85000000000,"multiProcessorCount":132,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
    R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":2619000,)"
    R"("l2CacheSize":52428800})";

class CudnnGraphs : public testing::Test {
 protected:
  void SetUp() override {
    const std::string& problem = cudnn_library().state.problem;
    if (!problem.empty()) GTEST_SKIP() << problem;
    device_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "test");
    device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<int64_t>(kH100.size()), kH100.data());
    device_->finalize();
  }

  std::unique_ptr<CudnnEngine> engine(const ConvolutionProblem& problem) {
    auto engines =
        find_convolutions(problem, {.handle = nullptr, .device = device_->value()}, "test", 1);
    return engines.empty() ? nullptr : std::move(engines.front());
  }

  std::unique_ptr<CudnnEngine> engine(const AttentionProblem& problem) {
    return find_attention(problem, {.handle = nullptr, .device = device_->value()}, "test");
  }

 private:
  std::optional<CudnnDescriptor> device_;
};

/// A kernel of 3 in each of `spatial` dimensions of 14.
ConvolutionProblem problem_of(ConvResult result, DType dtype, int spatial, int64_t x_channels,
                              int64_t y_channels, int64_t groups) {
  ConvolutionProblem p;
  p.result = result;
  p.args.dtype = dtype;
  p.args.batch = 2;
  p.args.x_channels = x_channels;
  p.args.y_channels = y_channels;
  p.args.groups = groups;
  for (int d = 3 - spatial; d < 3; ++d) p.args.dims[d] = {14, 14, 3, 1, 1, 1};
  return p;
}

/// Where tensors (N, H, rows, columns) lie that come from packed projections (N, rows, H, columns).
kernel::AttentionOperand operand_of(int64_t heads, int64_t rows, int64_t columns) {
  return {nullptr, rows * heads * columns, columns, heads * columns, 1};
}

AttentionProblem problem_of(bool backward, bool is_causal, DType dtype, int64_t length,
                            int64_t features) {
  constexpr int64_t kHeads = 4;
  AttentionProblem p;
  p.backward = backward;
  kernel::AttentionBackwardArgs& a = p.args;
  a.dtype = dtype;
  a.batch = 2;
  a.heads = kHeads;
  a.queries = length;
  a.keys = 2 * length - 1;
  a.features = a.value_features = features;
  a.is_causal = is_causal;
  a.query = a.output = a.gradient = a.query_gradient = operand_of(kHeads, a.queries, features);
  a.key = a.value = a.key_gradient = a.value_gradient = operand_of(kHeads, a.keys, features);
  return p;
}

constexpr ConvResult kResults[] = {ConvResult::y, ConvResult::x, ConvResult::w};
constexpr DType kDtypes[] = {f32, f16, bf16};

std::string text_of(const ConvolutionProblem& p) {
  return "result " + std::to_string(static_cast<int>(p.result)) + " of " + name(p.args.dtype) +
         ", channels " + std::to_string(p.args.x_channels) + " and " +
         std::to_string(p.args.y_channels) + ", groups " + std::to_string(p.args.groups);
}

}  // namespace

TEST_F(CudnnGraphs, EveryConvolutionHasAnEngine) {
  for (const ConvResult result : kResults) {
    for (const DType dtype : kDtypes) {
      for (const int spatial : {1, 2, 3}) {
        for (const bool strict : {false, true}) {
          ConvolutionProblem p = problem_of(result, dtype, spatial, 64, 32, 1);
          p.deterministic = strict;
          p.winograd = !strict;
          EXPECT_NE(engine(p), nullptr) << text_of(p) << ", dimensions " << spatial;
        }
      }
    }
  }
}

// Channels that are no multiple of anything, groups, strides, dilation, rows that differ from
// columns.
TEST_F(CudnnGraphs, OfOddSizesToo) {
  for (const ConvResult result : kResults) {
    for (const DType dtype : kDtypes) {
      EXPECT_NE(engine(problem_of(result, dtype, 2, 3, 5, 1)), nullptr);
      EXPECT_NE(engine(problem_of(result, dtype, 2, 64, 64, 4)), nullptr);
      ConvolutionProblem strided = problem_of(result, dtype, 2, 3, 64, 1);
      strided.args.dims[1] = {224, 112, 7, 2, 3, 1};
      strided.args.dims[2] = {200, 100, 7, 2, 3, 1};
      EXPECT_NE(engine(strided), nullptr) << text_of(strided);
      ConvolutionProblem dilated = problem_of(result, dtype, 2, 256, 256, 1);
      dilated.args.dims[1] = dilated.args.dims[2] = {28, 28, 3, 1, 2, 2};
      EXPECT_NE(engine(dilated), nullptr) << text_of(dilated);
    }
  }
}

// Less aligned tensors than engines would like have one too.
TEST_F(CudnnGraphs, OfAnyAlignment) {
  for (const DType dtype : kDtypes) {
    ConvolutionProblem p = problem_of(ConvResult::y, dtype, 2, 64, 64, 1);
    p.x_alignment = p.w_alignment = item_size(dtype);
    EXPECT_NE(engine(p), nullptr) << text_of(p);
  }
}

// The bias is added in the same graph, to sums in f32.
TEST_F(CudnnGraphs, WithABias) {
  for (const DType dtype : kDtypes) {
    ConvolutionProblem p = problem_of(ConvResult::y, dtype, 2, 64, 64, 1);
    p.bias = true;
    EXPECT_NE(engine(p), nullptr) << text_of(p);
  }
}

// In f32 tensor cores are TF32's, and another engine is chosen where that isn't allowed.
TEST_F(CudnnGraphs, Tf32IsAnotherEngine) {
  ConvolutionProblem p = problem_of(ConvResult::y, f32, 2, 64, 64, 1);
  const std::unique_ptr<CudnnEngine> exact = engine(p);
  p.tf32 = true;
  const std::unique_ptr<CudnnEngine> rounded = engine(p);
  ASSERT_NE(exact, nullptr);
  ASSERT_NE(rounded, nullptr);
  EXPECT_NE(exact->index(), rounded->index());
}

// Engines compile their kernels for a driver, which stands in the way of the real one.
TEST_F(CudnnGraphs, EveryAttentionHasAnEngine) {
  if (!dlopen("tests/cuda/planning_driver/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
    GTEST_SKIP() << dlerror();
  if (cudnn_library().state.version < 91600) GTEST_SKIP() << "cuDNN 9.16 is needed";
  for (const bool backward : {false, true}) {
    for (const bool is_causal : {false, true}) {
      for (const auto& [dtype, length, features] :
           {std::tuple(f16, 256, 64), {bf16, 67, 8}, {f16, 2, 128}, {bf16, 300, 256}}) {
        const AttentionProblem p = problem_of(backward, is_causal, dtype, length, features);
        EXPECT_NE(engine(p), nullptr)
            << name(dtype) << ", backward " << backward << ", causal " << is_causal << ", length "
            << length << ", features " << features;
      }
    }
  }
}

// Which engine is the fastest the clock says, and not the same from run to run.
TEST(CudnnProblem, NothingIsTimedWhereBitsMustStay) {
  alignas(16) char memory[16];
  kernel::ConvolutionArgs args = problem_of(ConvResult::y, f32, 2, 64, 64, 1).args;
  args.x = args.w = args.y = memory;
  const auto is_timed = [&] { return ConvolutionProblem::make(args, ConvResult::y, 16).timed; };
  backends::cudnn::set_benchmark(true);
  EXPECT_TRUE(is_timed());
  backends::cudnn::set_deterministic(true);
  EXPECT_FALSE(is_timed());
  backends::cudnn::set_deterministic(false);
  backends::cudnn::set_benchmark(false);
}

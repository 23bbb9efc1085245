// Convolutions on a GPU against nested loops, by cuDNN and by kernels of our own: of shapes that
// take tiles, for those of the catalogue are too small for them.
#include <aorta/core/backends.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/convolution_loops.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/same_bits.h>

#include <array>
#include <cmath>

using namespace aorta;
using namespace aorta::convolution_loops;
using kernel::ConvDim;

namespace {

using CudaConvolution = gpu_test::OwnKernels;

/// By cuDNN, where it takes them.
using CudnnConvolution = gpu_test::Gpu;

constexpr DType kFloating[] = {f32, f64, f16, bf16};

Problem problem_of(int64_t batch, int64_t x_channels, int64_t y_channels, int64_t groups,
                   const std::vector<ConvDim>& dims) {
  Problem p;
  p.plan.spatial = static_cast<int>(dims.size());
  p.plan.groups = groups;
  p.x = {batch, x_channels};
  p.y = {batch, y_channels};
  p.w = {y_channels, x_channels / groups};
  for (size_t d = 0; d < dims.size(); ++d) {
    ConvDim& dim = p.plan.dims[3 - dims.size() + d];
    dim = dims[d];
    dim.output =
        (dim.input + 2 * dim.padding - (dim.kernel - 1) * dim.dilation - 1) / dim.stride + 1;
    p.x.push_back(dim.input);
    p.y.push_back(dim.output);
    p.w.push_back(dim.kernel);
  }
  return p;
}

// input, output (set above), kernel, stride, padding, dilation
ConvDim dim(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return {input, 0, kernel, stride, padding, dilation};
}

}  // namespace

TEST_F(CudaConvolution, GeometriesEqualNestedLoops) {
  std::mt19937 random(4);
  for (int i = 0; i < 48; ++i) {
    const Problem p = random_problem(random, 1 + i % 3, i % 2 == 0 ? 24 : 6);
    expect_nested_loops(p, kFloating[i / 3 % 4], random, "cuda:0");
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudnnConvolution, GeometriesEqualNestedLoops) {
  std::mt19937 random(14);
  for (int i = 0; i < 48; ++i) {
    const Problem p = random_problem(random, 1 + i % 3, i % 2 == 0 ? 24 : 6);
    expect_nested_loops(p, kFloating[i / 3 % 4], random, "cuda:0");
    if (HasFatalFailure()) return;
  }
}

// Whichever of the advised engines is the fastest.
TEST_F(CudnnConvolution, TimedEnginesEqualNestedLoops) {
  std::mt19937 random(15);
  backends::cudnn::set_benchmark(true);
  for (int i = 0; i < 12; ++i) {
    const Problem p = random_problem(random, 1 + i % 3, 24);
    expect_nested_loops(p, kFloating[i / 3], random, "cuda:0");
    if (HasFatalFailure()) break;
  }
  backends::cudnn::set_benchmark(false);
}

// More than one tile of rows and columns, of each of the three results.
TEST_F(CudaConvolution, ManyTilesEqualNestedLoops) {
  std::mt19937 random(5);
  const Problem problems[] = {
      problem_of(2, 72, 136, 1, {dim(9, 1, 1, 0, 1), dim(8, 1, 1, 0, 1)}),
      problem_of(1, 16, 16, 1, {dim(14, 3, 1, 2, 2), dim(14, 3, 1, 12, 12)}),
      problem_of(1, 24, 48, 2, {dim(13, 3, 2, 1, 1), dim(12, 3, 3, 1, 2)}),
      problem_of(2, 9, 67, 1, {dim(150, 5, 2, 3, 1)}),
      problem_of(1, 3, 16, 1, {dim(16, 7, 2, 3, 1), dim(17, 7, 2, 3, 1)}),
      problem_of(1, 16, 12, 1, {dim(4, 2, 2, 1, 1), dim(5, 3, 1, 1, 2), dim(7, 3, 3, 0, 1)}),
      problem_of(1, 32, 16, 1, {dim(9, 4, 4, 0, 1), dim(9, 2, 5, 1, 3)}),
      problem_of(1, 180, 180, 20, {dim(100, 1, 1, 0, 1)})};  // more tiles than blocks
  int i = 0;
  for (const Problem& p : problems) {
    for (const DType dtype : {kFloating[i % 2], kFloating[2 + i % 2]}) {
      expect_nested_loops(p, dtype, random, "cuda:0");
      if (HasFatalFailure()) return;
    }
    ++i;
  }
}

// Sizes that 32 bits don't count, or that a test's limits say they don't, are no tiles'.
TEST_F(CudaConvolution, SizesPastTheLimitTakeAThreadAResult) {
  std::mt19937 random(12);
  const Problem p = problem_of(1, 16, 16, 1, {dim(200, 3, 1, 1, 1)});
  Profiler profiler;
  expect_nested_loops(p, f32, random, "cuda:0");
  profiler.stop();
  const char* const other = gpu_test::element_limit() / 2 > 200 ? "a thread a result" : "tiles";
  for (const ProfiledRange& range : profiler.ranges()) EXPECT_NE(range.name, other);
}

// So many positions that their sums are taken in slices, by tiles and by threads.
TEST_F(CudaConvolution, WeightGradientsInSlicesEqualNestedLoops) {
  std::mt19937 random(6);
  const std::vector<ConvDim> dims = {dim(1100, 3, 1, 1, 1)};
  const Problem p = problem_of(1, 12, 16, 1, dims), depthwise = problem_of(1, 12, 12, 12, dims);
  for (const DType dtype : {f32, bf16}) {
    expect_nested_loops(p, dtype, random, "cuda:0");
    expect_nested_loops(depthwise, dtype, random, "cuda:0");
    if (HasFatalFailure()) return;
  }
}

// Sums are rounded once, in an order that doesn't change.
TEST_F(CudaConvolution, BitsAreTheSameEveryTime) {
  const Problem p = problem_of(1, 12, 16, 1, {dim(1100, 3, 1, 1, 1)});
  for (const DType dtype : {f32, f16}) {
    const Tensor x = gpu_test::random_values(p.x, dtype, 7, false).cuda();
    const Tensor y = gpu_test::random_values(p.y, dtype, 8, false).cuda();
    const Tensor w = gpu_test::random_values(p.w, dtype, 9, false).cuda();
    const auto results = [&] {
      return std::array{kernel::convolution(x, w, {}, p.plan),
                        kernel::convolution_transpose(y, w, {}, p.plan),
                        kernel::convolution_weight(x, y, p.plan, false)};
    };
    const auto first = results(), second = results();
    const Tensor wanted =
        kernel::convolution(x.cpu().to(f64), w.cpu().to(f64), {}, p.plan).to(dtype);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << i;
    EXPECT_EQ(gpu_test::difference(first[0].cpu(), wanted, gpu_test::tolerance(dtype), 1e-3), "");
  }
}

// With dilation 24 on 14 positions the outer taps read the padding alone: they aren't multiplied,
// or their infinite weights would be seen. Nor are they by cuDNN, which gets the middle tap.
TEST_F(CudaConvolution, TapsInThePaddingAreDropped) {
  std::mt19937 random(10);
  const ConvDim apart = dim(14, 3, 1, 24, 24);
  for (const auto& [groups, cudnn] : {std::pair(1, false), {16, false}, {1, true}, {4, true}}) {
    backends::cudnn::set_enabled(cudnn);
    const Problem p = problem_of(1, 16, 16, groups, {apart, apart});
    const Tensor x = integers(p.x, f32, random), y = integers(p.y, f32, random);
    Tensor w = full(p.w, INFINITY);
    const Tensor middle = integers({p.w[0], p.w[1], 1, 1}, f32, random);
    w.narrow(2, 1, 1).narrow(3, 1, 1).copy_(middle);
    const Problem single =
        problem_of(1, 16, 16, groups, {dim(14, 1, 1, 0, 1), dim(14, 1, 1, 0, 1)});
    EXPECT_TRUE(same_bits(kernel::convolution(x.cuda(), w.cuda(), {}, p.plan),
                          kernel::convolution(x, middle, {}, single.plan)));
    EXPECT_TRUE(same_bits(kernel::convolution_transpose(y.cuda(), w.cuda(), {}, p.plan),
                          kernel::convolution_transpose(y, middle, {}, single.plan)));
    const Tensor gradient = kernel::convolution_weight(x.cuda(), y.cuda(), p.plan, false).cpu();
    EXPECT_TRUE(same_bits(gradient.narrow(2, 1, 1).narrow(3, 1, 1),
                          kernel::convolution_weight(x, y, single.plan, false)));
    for (const float value : gradient.select(2, 0).contiguous().to_vector<float>())
      EXPECT_EQ(value, 0);
  }
}

#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/convolution.h>

#include <aorta/core/cpu/convolution_plan.h>
#include <aorta/core/cpu/winograd.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/convolution_loops.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

namespace aorta {
namespace {

using namespace kernel;
using namespace convolution_loops;

TEST(Convolution, EveryGeometryEqualsNestedLoops) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(random, 1 + i % 3, i % 4 == 0 ? 40 : 4);
    expect_nested_loops(p, std::vector{f32, f64, bf16, f16}[static_cast<size_t>(i / 3 % 4)],
                        random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Padding "same" of an even kernel has one more behind the image than before it.
TEST(Convolution, MorePaddingBehindEqualsNestedLoops) {
  std::mt19937 random(3);
  for (const DType dtype : {f32, f64, bf16})
    for (const int64_t kernel : {2, 4})
      for (int i = 0; i < 24; ++i) {
        Problem p = random_problem(random, 1 + i % 3, i % 4 == 0 ? 40 : 4);
        for (int d = 3 - p.plan.spatial; d < 3; ++d) {
          const int64_t input = d == 2 ? 6 + i % 12 : p.plan.dims[d].input;
          const int64_t dilation = i % 2 == 0 ? 1 : p.plan.dims[d].dilation;
          p.plan.dims[d] = {input, input, kernel, 1, dilation * (kernel - 1) / 2, dilation};
          const int place = d - (3 - p.plan.spatial) + 2;
          p.x[place] = p.y[place] = input;
          p.w[place] = kernel;
        }
        expect_nested_loops(p, dtype, random);
        if (testing::Test::HasFatalFailure()) return;
      }
}

// A kernel of one tap multiplies large images where they lie.
TEST(Convolution, OneTapOfPlanesEqualsNestedLoops) {
  std::mt19937 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 48; ++i) {
    Problem p;
    p.plan.spatial = 1 + i % 3;
    p.x = {between(1, 3), between(1, 40)};
    p.w = {between(1, 40), p.x[1]};
    p.y = {p.x[0], p.w[0]};
    const int64_t least = p.plan.spatial == 1 ? 128 : p.plan.spatial == 2 ? 12 : 6;
    for (int d = 3 - p.plan.spatial; d < 3; ++d) {
      const int64_t size = between(least, least + 5);
      p.plan.dims[d] = {size, size, 1, 1, 0, 1};
      p.x.push_back(size);
      p.w.push_back(1);
      p.y.push_back(size);
    }
    expect_nested_loops(p, std::vector{f32, f64, bf16, f16}[static_cast<size_t>(i / 3 % 4)],
                        random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolution, BitsOfPlanesDoNotDependOnThreads) {
  manual_seed(5);
  const int before = get_num_threads();
  for (const auto& [batch, channels, outputs, size] :
       std::vector<std::array<int64_t, 4>>{{1, 300, 200, 30}, {7, 12, 20, 14}, {3, 512, 400, 28}}) {
    const Tensor x = randn({batch, channels, size, size}), w = randn({outputs, channels, 1, 1});
    const Tensor bias = randn({outputs});
    Tensor first;
    for (const int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const Tensor y = conv2d(x, w, bias);
      EXPECT_TRUE(y.is_contiguous());
      if (threads == 1) first = y;
      EXPECT_TRUE(equal(y, first)) << threads << " threads, " << channels << " channels";
    }
    set_num_threads(before);
    // As where channels are last, within the rounding of sums in another order.
    const Tensor last = conv2d(x.contiguous(MemoryFormat::channels_last), w, bias);
    EXPECT_TRUE(allclose(first, last, {.rtol = 1e-4, .atol = 1e-4})) << channels;
  }
}

// Groups of few channels: up to some registers of results, in each geometry; wide rows, which are
// cut; and depthwise ones, of which most positions read all taps.
TEST(Convolution, ManyNarrowGroupsEqualNestedLoops) {
  std::mt19937 random(5);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 360; ++i) {
    Problem p = random_problem(random, 1 + i % 3, 1);
    const int64_t into = i % 2 == 0 ? 1 : between(1, 9), out = i % 3 == 0 ? 1 : between(1, 9);
    p.plan.groups = between(2, i % 5 == 0 ? 70 : 20);
    p.x[1] = into * p.plan.groups;
    p.w[0] = p.y[1] = out * p.plan.groups;
    p.w[1] = into;
    if (i % 4 == 0) {
      ConvDim& width = p.plan.dims[2];
      width.input = i % 24 == 0 ? between(1040, 1300) : between(12, 40);
      const int64_t reach = (width.kernel - 1) * width.dilation + 1;
      width.output = (width.input + 2 * width.padding - reach) / width.stride + 1;
      p.x[p.x.size() - 1] = width.input;
      p.y[p.y.size() - 1] = width.output;
    }
    expect_nested_loops(p, std::vector{f32, f64, bf16, f16}[static_cast<size_t>(i / 4 % 4)],
                        random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

int64_t products_of(const std::vector<cpu::ConvSegment>& segments) {
  int64_t sum = 0;
  for (const cpu::ConvSegment& s : segments) sum += s.count * static_cast<int64_t>(s.taps.size());
  return sum;
}

TEST(Convolution, PaddingIsNotMultiplied) {
  // 3 taps, dilation 24, 14 positions: the outer taps meet nothing.
  const ConvDim apart{14, 14, 3, 1, 24, 24};
  for (bool transposed : {false, true}) {
    const std::vector<cpu::ConvSegment> segments = cpu::conv_segments(apart, transposed);
    ASSERT_EQ(segments.size(), 1u);
    ASSERT_EQ(segments[0].taps.size(), 1u);
    EXPECT_EQ(segments[0].taps[0].tap, 1);
    EXPECT_EQ(segments[0].count, 14);
    // Dilation 12: the outer ones meet 2 positions each.
    EXPECT_EQ(products_of(cpu::conv_segments({14, 14, 3, 1, 12, 12}, transposed)), 14 + 2 + 2);
  }
  // Any dimension: as many products as taps that meet the image, and each position once.
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const Problem p = random_problem(random, 1, 1);
    const ConvDim& dim = p.plan.dims[2];
    int64_t wanted = 0;
    for (int64_t o = 0; o < dim.output; ++o) {
      for (int64_t j = 0; j < dim.kernel; ++j) {
        const int64_t at = o * dim.stride - dim.padding + j * dim.dilation;
        wanted += at >= 0 && at < dim.input;
      }
    }
    for (bool transposed : {false, true}) {
      const std::vector<cpu::ConvSegment> segments = cpu::conv_segments(dim, transposed);
      EXPECT_EQ(products_of(segments), wanted);
      std::vector<int> seen(static_cast<size_t>(transposed ? dim.input : dim.output));
      for (const cpu::ConvSegment& s : segments) {
        for (int64_t k = 0; k < s.count; ++k) ++seen[static_cast<size_t>(s.first + k * s.step)];
      }
      for (int count : seen) EXPECT_LE(count, 1);
    }
  }
}

struct Winograd {
  explicit Winograd(bool on) : before(winograd_enabled()) { set_winograd(on); }
  ~Winograd() { set_winograd(before); }
  bool before;
};

double relative_error(const Tensor& result, const Tensor& wanted) {
  const Tensor error = result.to(f64) - wanted;
  return std::sqrt(sum(error * error).item<double>() / sum(wanted * wanted).item<double>());
}

ConvolutionPlan square(int64_t size, int64_t padding, int64_t dilation) {
  ConvolutionPlan plan;
  for (int d = 1; d < 3; ++d)
    plan.dims[d] = {size, size + 2 * padding - 2 * dilation, 3, 1, padding, dilation};
  return plan;
}

TEST(Winograd, IsWithinItsErrorOfF64) {
  manual_seed(3);
  for (const auto& [channels, outputs, size, padding, dilation] :
       std::vector<std::array<int64_t, 5>>{{64, 64, 28, 1, 1},
                                           {512, 32, 14, 1, 1},
                                           {32, 512, 14, 2, 2},
                                           {256, 48, 15, 2, 2},
                                           {48, 64, 17, 0, 1},
                                           {64, 80, 13, 2, 1},
                                           {32, 48, 17, 1, 2},
                                           {16, 48, 41, 1, 1},
                                           {80, 16, 28, 1, 1},
                                           {32, 48, 4, 1, 1},
                                           {32, 64, 6, 1, 1},
                                           {64, 32, 7, 1, 1},
                                           {32, 32, 9, 1, 1},
                                           {48, 32, 8, 2, 2},
                                           {32, 48, 12, 2, 2}}) {
    const ConvolutionPlan plan = square(size, padding, dilation);
    const int64_t result = plan.dims[2].output, batch = size < 13 ? 48 : 8;
    const Tensor x = randn({batch, channels, size, size}), w = randn({outputs, channels, 3, 3});
    const Tensor y = randn({batch, outputs, result, result}), bias = randn({outputs});
    SCOPED_TRACE(to_string(x.shape()) + " " + to_string(w.shape()));
    Tensor direct[3], fast[3], wanted[3];
    const auto run = [&](DType dtype, Tensor* results) {
      const Tensor a = x.to(dtype), b = w.to(dtype), c = y.to(dtype);
      results[0] = convolution(a, b, bias.to(dtype), plan);
      results[1] = convolution_transpose(c, b, {}, plan);
      results[2] = convolution_weight(a, c, plan, false);
    };
    run(f64, wanted);
    {
      const Winograd off(false);
      run(f32, direct);
    }
    const Winograd on(true);
    run(f32, fast);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LE(relative_error(fast[i], wanted[i]), 8e-7) << i;
      EXPECT_LE(relative_error(direct[i], wanted[i]), 6e-7) << i;
      EXPECT_FALSE(equal(fast[i], direct[i])) << "the switch does nothing";
    }
  }
}

// A kernel of one frame: each frame of a clip is an image of its own.
TEST(Winograd, TakesTheFramesOfClips) {
  manual_seed(3);
  const Winograd on(true);
  ConvolutionPlan plan = square(17, 1, 1), clip = plan;
  clip.spatial = 3;
  clip.dims[0] = {.input = 5, .output = 5};
  const Tensor w = randn({48, 32, 3, 3}), bias = randn({48});
  const auto frames = [](const Tensor& clips) { return clips.transpose(1, 2).flatten(0, 1); };
  const auto clips = [](const Tensor& images) {
    return images.unflatten(0, {3, 5}).transpose(1, 2);
  };
  const Tensor x = randn({15, 32, 17, 17}), y = randn({15, 48, 17, 17});
  const Tensor results[] = {convolution(clips(x), w.unsqueeze(2), bias, clip),
                            convolution_transpose(clips(y), w.unsqueeze(2), {}, clip)};
  EXPECT_TRUE(equal(frames(results[0]), convolution(x, w, bias, plan)));
  EXPECT_TRUE(equal(frames(results[1]), convolution_transpose(y, w, {}, plan)));
  EXPECT_TRUE(equal(convolution_weight(clips(x), clips(y), clip, false).squeeze(2),
                    convolution_weight(x, y, plan, false)));
}

// A kernel of several frames: those that lie beside the clip are empty.
TEST(Winograd, TakesKernelsOfFrames) {
  manual_seed(3);
  const int before = get_num_threads();
  for (const auto& [kernel, padding, dilation, size] : std::vector<std::array<int64_t, 4>>{
           {3, 1, 1, 5}, {3, 0, 1, 4}, {2, 1, 1, 3}, {3, 2, 2, 5}, {3, 2, 1, 2}}) {
    ConvolutionPlan plan = square(16, 1, 1);
    plan.spatial = 3;
    const int64_t made = size + 2 * padding - (kernel - 1) * dilation;
    plan.dims[0] = {size, made, kernel, 1, padding, dilation};
    const Tensor x = randn({3, 32, size, 16, 16}), y = randn({3, 48, made, 16, 16});
    const Tensor w = randn({48, 32, kernel, 3, 3}), bias = randn({48});
    SCOPED_TRACE(to_string(x.shape()) + " " + to_string(w.shape()));
    const auto run = [&](DType dtype, Tensor* results) {
      const Tensor a = x.to(dtype), b = w.to(dtype), c = y.to(dtype);
      results[0] = convolution(a, b, bias.to(dtype), plan);
      results[1] = convolution_transpose(c, b, {}, plan);
      results[2] = convolution_weight(a, c, plan, false);
    };
    Tensor wanted[3], direct[3], direct_half[3];
    run(f64, wanted);
    {
      const Winograd off(false);
      run(f32, direct);
      run(f16, direct_half);
    }
    const Winograd on(true);
    Tensor first[3];
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      Tensor fast[3], half[3];
      run(f32, fast);
      if (threads == 1) std::copy_n(fast, 3, first);
      run(f16, half);
      for (int i = 0; i < 3; ++i) {
        EXPECT_LE(relative_error(fast[i], wanted[i]), 8e-7) << i;
        EXPECT_TRUE(equal(fast[i], first[i])) << i << " with " << threads << " threads";
        EXPECT_FALSE(equal(fast[i], direct[i])) << "the switch does nothing";
        EXPECT_LE(relative_error(half[i], wanted[i]),
                  1.01 * relative_error(direct_half[i], wanted[i]))
            << i;
      }
    }
    set_num_threads(before);
  }
}

// Half types are rounded once, at the end: what f32's error is, is far below that.
TEST(Winograd, HalfTypesAreRoundedOnce) {
  manual_seed(3);
  for (const DType dtype : {bf16, f16}) {
    for (const auto& [channels, outputs, size, padding] : std::vector<std::array<int64_t, 4>>{
             {64, 48, 28, 1}, {32, 64, 16, 2}, {272, 32, 16, 1}, {16, 32, 28, 1}}) {
      const ConvolutionPlan plan = square(size, padding, padding);
      const Tensor x = randn({4, channels, size, size}).to(dtype);
      const Tensor y = randn({4, outputs, size, size}).to(dtype), bias = randn({outputs}).to(dtype);
      const Tensor wide = randn({outputs, channels + 16, 3, 3}).to(dtype);
      const Tensor part = wide.narrow(1, 16, channels), w = part.contiguous();
      SCOPED_TRACE(to_string(dtype) + " " + to_string(x.shape()) + " " + to_string(w.shape()));
      const auto run = [&](DType type, const Tensor& weight) {
        const Tensor a = x.to(type), b = weight.to(type), c = y.to(type);
        return std::vector<Tensor>{convolution(a, b, bias.to(type), plan),
                                   convolution_transpose(c, b, {}, plan),
                                   convolution_weight(a, c, plan, false)};
      };
      const std::vector<Tensor> wanted = run(f64, w);
      std::vector<Tensor> direct, fast;
      {
        const Winograd off(false);
        direct = run(dtype, w);
      }
      const Winograd on(true);
      fast = run(dtype, w);
      const std::vector<Tensor> of_part = run(dtype, part);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(fast[i].dtype(), dtype);
        EXPECT_LE(relative_error(fast[i], wanted[i]), 1.01 * relative_error(direct[i], wanted[i]))
            << i;
        EXPECT_FALSE(equal(fast[i], direct[i])) << i << ": the switch does nothing";
        EXPECT_LE(relative_error(of_part[i], wanted[i]),
                  1.01 * relative_error(direct[i], wanted[i]))
            << i;
      }
    }
  }
}

TEST(Winograd, TheRuleOnTheShapeIsFixed) {
  ConvolutionArgs args;
  const auto takes = [&](int64_t size, int64_t dilation, int64_t channels, int64_t batch) {
    const ConvolutionPlan plan = square(size, dilation, dilation);
    for (int d = 0; d < 3; ++d) args.dims[d] = plan.dims[d];
    args.x_channels = args.y_channels = channels;
    args.batch = batch;
    return cpu::takes_winograd(args);
  };
  const Winograd on(true);
  EXPECT_TRUE(takes(28, 1, 64, 8));
  EXPECT_TRUE(takes(14, 2, 512, 8));
  EXPECT_TRUE(takes(8, 1, 256, 16));
  EXPECT_TRUE(takes(7, 1, 64, 64));
  EXPECT_TRUE(takes(4, 1, 64, 64));
  EXPECT_FALSE(takes(5, 1, 64, 64)) << "tiles over the edge";
  EXPECT_FALSE(takes(10, 2, 64, 64)) << "tiles over the phases' edges";
  EXPECT_FALSE(takes(28, 4, 64, 8)) << "dilation";
  EXPECT_TRUE(takes(28, 1, 16, 8));
  EXPECT_FALSE(cpu::takes_winograd_gradient(args)) << "rows are faster";
  EXPECT_FALSE(takes(28, 1, 24, 8)) << "channels";
  EXPECT_FALSE(takes(14, 1, 64, 1)) << "few tiles";
  args.dims[0] = {.input = 4, .output = 4};
  EXPECT_TRUE(cpu::takes_winograd(args)) << "frames";
  args.dims[0] = {.input = 4, .output = 4, .kernel = 3, .padding = 1};
  EXPECT_TRUE(cpu::takes_winograd(args)) << "a kernel of several frames";
  args.dims[0] = {.input = 1, .output = 1, .kernel = 3, .padding = 1};
  EXPECT_FALSE(cpu::takes_winograd(args)) << "frames of the kernel that meet none";
  args.dims[0] = {.input = 4, .output = 8, .kernel = 3, .padding = 3};
  EXPECT_FALSE(cpu::takes_winograd(args)) << "frames of the result that meet none";
  args.dtype = f64;
  EXPECT_FALSE(takes(28, 1, 64, 8)) << "dtype";
  args.dtype = bf16;
  EXPECT_FALSE(takes(28, 1, 64, 8)) << "kernels in several pieces";
  args.w_x = 9, args.w_y = 9 * 64, args.w_dims[1] = 3, args.w_dims[2] = 1;
  EXPECT_TRUE(takes(28, 1, 64, 8));
  EXPECT_TRUE(takes(14, 1, 64, 8));
  EXPECT_EQ(takes(6, 1, 64, 64), !cpu::has_bf16()) << "products of bf16 are faster";
  args.w_y = 9 * 256;
  EXPECT_EQ(takes(14, 1, 256, 8), !cpu::has_bf16());
  EXPECT_TRUE(takes(28, 1, 256, 8));
  args.dtype = f32;
  const Winograd off(false);
  EXPECT_FALSE(takes(28, 1, 64, 8));
}

// The bits of the results with so many threads.
TEST(Convolution, BitsDoNotDependOnThreads) {
  manual_seed(4);
  const int before = get_num_threads();
  for (const auto& [channels, outputs, size, dilation, groups] :
       std::vector<std::array<int64_t, 5>>{{64, 96, 20, 1, 1},
                                           {32, 32, 40, 1, 1},
                                           {16, 16, 33, 1, 1},
                                           {16, 48, 40, 1, 1},
                                           {256, 144, 24, 1, 1},
                                           {32, 48, 62, 1, 1},
                                           {32, 64, 19, 2, 1},
                                           {3, 70, 40, 1, 1},
                                           {96, 40, 14, 6, 1},
                                           {96, 96, 17, 1, 3},
                                           {96, 96, 17, 1, 96},
                                           {64, 64, 19, 1, 2},
                                           {36, 72, 17, 2, 18},
                                           {512, 9, 5, 1, 1}}) {
    for (const DType dtype : {f32, bf16}) {
      ConvolutionPlan plan = square(size, dilation, dilation);
      plan.groups = groups;
      const Tensor x = randn({5, channels, size, size}).to(dtype);
      const Tensor w = randn({outputs, channels / groups, 3, 3}).to(dtype);
      const Tensor y = randn({5, outputs, size, size}).to(dtype);
      Tensor first[3];
      for (const int threads : {1, 2, 3, 7, 12}) {
        set_num_threads(threads);
        const Tensor results[] = {convolution(x, w, {}, plan),
                                  convolution_transpose(y, w, {}, plan),
                                  convolution_weight(x, y, plan, false)};
        for (int i = 0; i < 3; ++i) {
          if (threads == 1) first[i] = results[i];
          EXPECT_TRUE(equal(results[i], first[i])) << i << " with " << threads << " threads, "
                                                   << channels << " channels " << name(dtype);
        }
      }
      set_num_threads(before);
    }
  }
}

TEST(Convolution, ChannelsLastIsKept) {
  Tensor x = randn({2, 4, 7, 6}), w = randn({5, 4, 3, 3});
  EXPECT_TRUE(conv2d(x, w).is_contiguous());
  const Tensor last = x.contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(conv2d(last, w).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(conv2d(x, w.contiguous(MemoryFormat::channels_last))
                  .is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(conv_transpose2d(last, w.transpose(0, 1)).is_contiguous(MemoryFormat::channels_last));
  const Tensor volume = randn({2, 3, 4, 5, 6}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(conv3d(volume, randn({2, 3, 2, 2, 2})).is_contiguous(MemoryFormat::channels_last));
}

TEST(Convolution, NumbersByNameAreThoseByPosition) {
  const Tensor x = randn({2, 4, 9, 8}), w = randn({6, 2, 3, 3}), bias = randn({6});
  EXPECT_TRUE(
      equal(conv2d(x, w, bias, {.stride = {2, 1}, .padding = 1, .dilation = 2, .groups = 2}),
            conv2d(x, w, bias, {2, 1}, {1}, {2}, 2)));
  EXPECT_TRUE(equal(conv2d(x, w, {.padding = {1, 1}, .groups = 2}),
                    conv2d(x, w, {}, {1, 1}, {1, 1}, {1, 1}, 2)));
  EXPECT_TRUE(
      equal(conv2d(x, w, {.padding = "same", .groups = 2}), conv2d(x, w, {}, 1, "same", 1, 2)));
  const Tensor line = randn({2, 4, 9}), taps = randn({6, 2, 3});
  EXPECT_TRUE(
      equal(conv1d(line, taps, {.stride = 2, .groups = 2}), conv1d(line, taps, {}, 2, 0, 1, 2)));
  const Tensor back = randn({4, 3, 3, 3});
  EXPECT_TRUE(equal(conv_transpose2d(x, back, {.stride = 2, .padding = 1, .output_padding = 1}),
                    conv_transpose2d(x, back, {}, 2, 1, 1)));
  EXPECT_EQ(conv3d(randn({1, 1, 4, 4, 4}), randn({1, 1, 2, 2, 2}), {.stride = 2}).shape(),
            Shape({1, 1, 2, 2, 2}));
}

TEST(Convolution, AdaptsToStridesAndViews) {
  const Tensor x = randn({9, 8, 4, 2}).permute({3, 2, 1, 0});  // (2, 4, 8, 9)
  const Tensor w = randn({6, 4, 3, 3}).slice(0, 1, 6, 2);
  const Tensor bias = randn({6}).slice(0, 0, 6, 2);
  EXPECT_TRUE(equal(conv2d(x, w, bias), conv2d(x.contiguous(), w.contiguous(), bias.contiguous())));
  const Tensor row = randn({1, 4, 8, 9});
  const Tensor repeated = row.expand({3, 4, 8, 9});
  EXPECT_TRUE(equal(conv2d(repeated, w)[2], conv2d(row, w)[0]));
}

}  // namespace
}  // namespace aorta

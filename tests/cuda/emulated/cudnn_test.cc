// Convolutions by the double of cuDNN, in one program with it: what may compute them, what happens
// when a call fails, and the kernels that take what cuDNN doesn't.
#include <aorta/core/backends.h>
#include <aorta/core/check.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/cuda/cudnn.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

namespace cudnn = backends::cudnn;

class CudaCudnn : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override {
    emulated::inject_nothing();
    cudnn::set_enabled(true);
    cudnn::set_allow_tf32(false);
    cudnn::set_deterministic(false);
    backends::cuda::matmul::set_allow_tf32(false);
    synchronize("cuda:0");
  }
};

/// y, and the gradients of x and w, of a convolution of `channels` channels.
std::array<Tensor, 3> results(int64_t channels, DType dtype, Device device = "cuda:0",
                              int64_t width = 9) {
  kernel::ConvolutionPlan plan;
  plan.dims[1] = {6, 6, 3, 1, 1, 1};
  plan.dims[2] = {width, width, 3, 1, 1, 1};
  Generator generator(3);
  const auto values = [&](const Shape& shape) {
    return rand(shape, {}, &generator).to(dtype).to(device);
  };
  const Tensor x = values({2, channels, 6, width}), w = values({channels, channels, 3, 3});
  const Tensor y = values({2, channels, 6, width});
  return {kernel::convolution(x, w, {}, plan), kernel::convolution_transpose(y, w, {}, plan),
          kernel::convolution_weight(x, y, plan, true)};
}

/// The largest relative error of the first against the second.
double error(const Tensor& got, const Tensor& wanted) {
  return max(abs(got.cpu().to(f64) - wanted.cpu().to(f64)) / abs(wanted.cpu().to(f64)))
      .item<double>();
}

/// What computed the convolutions of `work`.
template <class Work>
std::vector<std::string> names_of_engines(const Work& work) {
  Profiler profiler;
  work();
  profiler.stop();
  std::vector<std::string> names;
  for (const ProfiledRange& range : profiler.ranges()) {
    if (range.name.starts_with("cuDNN") || range.name == "tiles" ||
        range.name == "a thread a result") {
      names.push_back(range.name);
    }
  }
  return names;
}

bool by_cudnn(const std::string& name) { return name.starts_with("cuDNN engine "); }

}  // namespace

TEST_F(CudaCudnn, IsThere) {
  EXPECT_TRUE(cudnn::is_available());
  EXPECT_EQ(cudnn::version(), 91900);
  EXPECT_EQ(cudnn::unavailable_reason(), "");
}

TEST_F(CudaCudnn, IsFoundOrSaysWhyNot) {
  struct Library {
    size_t version;
    const char* lacks;
  };
  static Library fake;
  const auto find = [](size_t version, const char* lacks) {
    fake = {version, lacks};
    const auto address = [](void*, const char* name) -> void* {
      if (fake.lacks && std::string(fake.lacks) == name) return nullptr;
      if (std::string(name) != "cudnnGetVersion") return &fake;
      size_t (*const call)() = [] { return fake.version; };
      return reinterpret_cast<void*>(call);
    };
    return cuda::find_cudnn({"libcudnn.so.9", address, nullptr}).state;
  };
  EXPECT_EQ(find(91002, nullptr).version, 91002);
  EXPECT_EQ(find(91002, nullptr).problem, "");
  EXPECT_EQ(find(8907, nullptr).problem, "cuDNN 8.9.7 is too old: 9.0.0 is needed");
  EXPECT_EQ(find(8907, nullptr).version, 0);
  EXPECT_EQ(find(91002, "cudnnBackendExecute").problem, "libcudnn.so.9 has no cudnnBackendExecute");
}

TEST(CudnnSwitch, IsOffByTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto start = [](const char* value) {
    setenv("AORTA_CUDNN", value, 1);
    std::_Exit(cudnn::enabled() ? 1 : 0);
  };
  EXPECT_EXIT(start("0"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(start(""), testing::ExitedWithCode(1), "");
}

// The profiler says what computed a convolution, and the switch and the rule choose.
TEST_F(CudaCudnn, TheProfilerSaysWhoComputes) {
  for (const std::string& name : names_of_engines([] { results(12, f32); }))
    EXPECT_TRUE(by_cudnn(name)) << name;
  const std::vector<std::string> wide = names_of_engines([] { results(12, f64); });
  EXPECT_EQ(wide, (std::vector<std::string>{"tiles", "tiles", "tiles"}));
  cudnn::set_enabled(false);
  EXPECT_EQ(names_of_engines([] { results(12, f32); }), wide);
  EXPECT_EQ(
      names_of_engines([] { results(3, f32); }),
      (std::vector<std::string>{"a thread a result", "a thread a result", "a thread a result"}));
}

// Now and then the double has no engine for a problem, and an engine that it advised makes no plan:
// each result is right, whoever computes it.
TEST_F(CudaCudnn, WhatItRefusesIsComputedAllTheSame) {
  int theirs = 0, ours = 0;
  for (int64_t width = 3; width < 35; ++width) {
    std::array<Tensor, 3> got;
    for (const std::string& name :
         names_of_engines([&] { got = results(2, f32, "cuda:0", width); }))
      ++(by_cudnn(name) ? theirs : ours);
    const std::array<Tensor, 3> wanted = results(2, f32, "cpu", width);
    for (size_t i = 0; i < 3; ++i) EXPECT_LT(error(got[i], wanted[i]), 2e-6) << width << " " << i;
  }
  EXPECT_GT(theirs, 60);
  EXPECT_GT(ours, 0);
}

// f32 is f32, unless TF32 is allowed, and then it differs by no more than that; halves are summed
// in f32. Engines that would be coarser come first in the double's list.
TEST_F(CudaCudnn, EnginesRoundAsTheyMay) {
  const std::array<Tensor, 3> wanted = results(16, f32, "cpu"), got = results(16, f32);
  cudnn::set_allow_tf32(true);
  const std::array<Tensor, 3> coarse = results(16, f32);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LT(error(got[i], wanted[i]), 2e-6) << i;
    EXPECT_LT(error(coarse[i], wanted[i]), 1e-3) << i;
  }
  EXPECT_GT(std::max({error(coarse[0], wanted[0]), error(coarse[1], wanted[1]),
                      error(coarse[2], wanted[2])}),
            2e-5);
  for (const DType dtype : {f16, bf16}) {
    const std::array<Tensor, 3> exact = results(16, dtype, "cpu"), halves = results(16, dtype);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LT(error(halves[i], exact[i]), dtype == f16 ? 0x1p-10 : 0x1p-7) << i;
  }
}

TEST_F(CudaCudnn, ProductsRoundAsTheyMay) {
  const Tensor a = rand({24, 40}), b = rand({40, 16});
  const Tensor wanted = matmul(a, b);
  EXPECT_LT(error(matmul(a.cuda(), b.cuda()), wanted), 2e-6);
  cudnn::set_allow_tf32(true);  // another switch
  EXPECT_LT(error(matmul(a.cuda(), b.cuda()), wanted), 2e-6);
  backends::cuda::matmul::set_allow_tf32(true);
  const double coarse = error(matmul(a.cuda(), b.cuda()), wanted);
  EXPECT_GT(coarse, 2e-5);
  EXPECT_LT(coarse, 1e-3);
  EXPECT_LT(error(matmul(a.to(f64).cuda(), b.to(f64).cuda()), matmul(a.to(f64), b.to(f64))), 1e-14);
  backends::cuda::matmul::set_allow_tf32(false);
  EXPECT_LT(error(matmul(a.cuda(), b.cuda()), wanted), 2e-6);
}

// Some engines add up in any order, and none of them in deterministic mode.
TEST_F(CudaCudnn, BitsAreTheSameWhereTheyMustBe) {
  const auto differ = [] {
    const std::array<Tensor, 3> first = results(7, f32);
    for (int i = 0; i < 20; ++i) {
      const std::array<Tensor, 3> again = results(7, f32);
      for (size_t j = 0; j < 3; ++j) {
        if (!same_bits(first[j], again[j])) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(differ());
  cudnn::set_deterministic(true);
  EXPECT_FALSE(differ());
}

// The bias is added to the sum in f32, which is rounded once.
TEST_F(CudaCudnn, ABiasIsAddedBeforeTheResultIsRounded) {
  Generator generator(5);
  const Tensor x = rand({1, 16, 5, 5}, {}, &generator).to(bf16);
  const Tensor w = rand({8, 16, 3, 3}, {}, &generator).to(bf16);
  const Tensor bias = (rand({8}, {}, &generator) * 100).to(bf16);
  const Tensor wanted = conv2d(x.to(f32), w.to(f32), bias.to(f32)).to(bf16);
  Tensor got;
  const std::vector<std::string> names =
      names_of_engines([&] { got = conv2d(x.cuda(), w.cuda(), bias.cuda()); });
  ASSERT_EQ(names.size(), 1u);
  EXPECT_TRUE(by_cudnn(names[0]));
  EXPECT_TRUE(same_bits(got, wanted));
}

// Tensors that begin anywhere in their memory, weights of any strides, another device.
TEST_F(CudaCudnn, TensorsOfAnyPlaceAndLayout) {
  const Tensor x = rand({3, 5, 6, 7}), w = rand({4, 5, 3, 3});
  const Tensor wanted = conv2d(x, w, {}, 1, 1).contiguous();
  for (const char* device : {"cuda:0", "cuda:1"}) {
    const Tensor there = x.to(device), weights = w.to(device);
    EXPECT_LT(error(conv2d(there, weights, {}, 1, 1), wanted), 2e-6);
    const Tensor last = there.contiguous(MemoryFormat::channels_last).narrow(0, 1, 2);
    EXPECT_LT(error(conv2d(last, weights, {}, 1, 1), wanted.narrow(0, 1, 2).contiguous()), 2e-6);
    const Tensor turned = w.transpose(2, 3).contiguous().to(device).transpose(2, 3);
    EXPECT_LT(error(conv2d(there, turned, {}, 1, 1), wanted), 2e-6);
  }
}

// Streams of several threads use one handle in turn.
TEST_F(CudaCudnn, EachStreamHasItsWorkspace) {
  DeviceBackend& gpu = backend(DeviceType::cuda);
  const std::array<Tensor, 3> wanted = results(16, f32, "cpu");
  for (const emulated::Mode mode :
       {emulated::Mode::lazy, emulated::Mode::random, emulated::Mode::threads}) {
    emulated::Streams::get().set_mode(mode);
    const Stream streams[] = {gpu.create_stream(0), gpu.create_stream(0)};
    std::vector<std::array<Tensor, 3>> got;
    for (int i = 0; i < 6; ++i) {
      gpu.set_current_stream(streams[i % 2]);
      got.push_back(results(16, f32));
    }
    for (const Stream stream : streams) gpu.synchronize_stream(stream);
    gpu.set_current_stream({Device("cuda:0"), nullptr});
    for (const auto& three : got) {
      for (size_t i = 0; i < 3; ++i) EXPECT_LT(error(three[i], wanted[i]), 2e-6);
    }
    for (const Stream stream : streams) gpu.destroy_stream(stream);
  }
}

// Each call fails in turn: one line that names the op, and the next convolution is right.
TEST_F(CudaCudnn, CallsThatFailNameTheOp) {
  int64_t width = 40;
  int failed = 0;
  for (const char* call :
       {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnSetStream", "cudnnBackendExecute"}) {
    emulated::inject(call, -1, cudaErrorLaunchFailure);
    results(2, f32, "cuda:0", ++width);  // an engine that isn't known yet
    const int calls = emulated::calls_of(call);
    ASSERT_GT(calls, 0) << call;
    for (const int nth : {1, 2, calls / 2, calls}) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      ++width;
      emulated::inject(call, nth, cudaErrorLaunchFailure);
      const std::string text = error_of([&] { results(2, f32, "cuda:0", width); });
      const bool made = nth == 0 || emulated::calls_of(call) >= nth;
      emulated::inject_nothing();
      if (made) {
        ++failed;
        EXPECT_TRUE(text.starts_with("convolution")) << text;
        EXPECT_NE(text.find(": cuDNN must succeed, got CUDNN_STATUS_"), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      }
      const std::array<Tensor, 3> got = results(2, f32, "cuda:0", width);
      const std::array<Tensor, 3> wanted = results(2, f32, "cpu", width);
      for (size_t i = 0; i < 3; ++i) EXPECT_LT(error(got[i], wanted[i]), 2e-6);
    }
  }
  EXPECT_GT(failed, 16);
}

}  // namespace aorta

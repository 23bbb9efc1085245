// What is done with all gradients of a network at once: a few launches for many tensors, and no
// waiting.
#include <aorta/autograd/backward.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/grad_scaler.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/cuda/captured_step.h>

#include <algorithm>
#include <limits>

using namespace aorta;
using namespace aorta::gpu_test;

namespace {

constexpr int kTensors = 200;

class CudaGradients : public Gpu {};

// Sizes are from 1 on, one of them large, and one tensor has its elements apart.
std::vector<Tensor> parameters_on(Device device, DType dtype) {
  std::vector<Tensor> parameters;
  for (int i = 0; i < kTensors; ++i) {
    const int64_t count = i == 7 ? 20011 : 1 + 17 * i % 61;
    Tensor gradient = sin(arange(count, {.dtype = f64}) + i).to(dtype);
    if (i == 9) gradient = gradient.view({1, count}).expand({2, count}).contiguous().t();
    const Tensor p = zeros(gradient.shape(), {.dtype = dtype, .device = device});
    parameters.push_back(p.requires_grad_());
    p.set_grad(
        i == 11 ? gradient.to(device).view({count, 1}).expand({count, 2}).contiguous().select(1, 0)
                : gradient.to(device));
  }
  return parameters;
}

// How often the host waits, and what the device does, by name.
struct Work {
  int64_t waits = 0, pieces = 0;
};
template <class Do>
Work work_of(const Do& something) {
  Profiler profiler;
  something();
  profiler.stop();
  Work work{0, static_cast<int64_t>(profiler.device_ranges().size())};
  for (const ProfiledRange& range : profiler.ranges()) work.waits += range.name.ends_with(" waits");
  return work;
}

TEST_F(CudaGradients, NormsAreTheCpus) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    std::vector<Tensor> here, there;
    for (const Tensor& p : parameters_on("cpu", dtype)) here.push_back(p.grad());
    for (const Tensor& p : parameters_on("cuda", dtype)) there.push_back(p.grad());
    for (const double p : {0.0, 1.0, 2.0, 3.5, double(INFINITY), -double(INFINITY)}) {
      const Tensor got = optim::get_total_norm(there, p), wanted = optim::get_total_norm(here, p);
      EXPECT_TRUE(got.device() == Device("cuda:0"));
      EXPECT_EQ(difference(got.cpu(), wanted, 1e-6, 0), "") << name(dtype) << " " << p;
    }
    there[150].fill_(NAN);
    for (const double p : {2.0, double(INFINITY)})
      EXPECT_TRUE(std::isnan(optim::get_total_norm(there, p).item<double>())) << p;
  }
}

TEST_F(CudaGradients, AreClippedInAFewLaunches) {
  for (const DType dtype : {f32, f64, bf16}) {
    const auto here = parameters_on("cpu", dtype), there = parameters_on("cuda", dtype);
    synchronize("cuda:0");
    const Work by_norm = work_of([&] { optim::clip_grad_norm_(there, 3.0); });
    optim::clip_grad_norm_(here, 3.0);
    EXPECT_EQ(by_norm.waits, 0);
    EXPECT_LT(by_norm.pieces, 24);
    for (int i = 0; i < kTensors; ++i) {
      EXPECT_EQ(difference(there[i].grad().cpu(), here[i].grad(), dtype == bf16 ? 0x1p-7 : 1e-6, 0),
                "")
          << i;
    }
    const Work by_value = work_of([&] { optim::clip_grad_value_(there, 1e-3); });
    EXPECT_EQ(by_value.waits, 0);
    EXPECT_LT(by_value.pieces, 12);
    // A norm that is small enough changes nothing.
    const std::vector<double> before = there[3].grad().to_vector<double>();
    optim::clip_grad_norm_(there, 1e6);
    EXPECT_EQ(there[3].grad().to_vector<double>(), before);
  }
}

// As many tensors as networks of models/ have, and more than a launch takes.
TEST_F(CudaGradients, AStepIsOneLaunchForAllParameters) {
  const auto launches_of = [](const char* name, const auto& something) {
    Profiler profiler;
    something();
    profiler.stop();
    const std::vector<DeviceRange>& ranges = profiler.device_ranges();
    return std::count_if(ranges.begin(), ranges.end(),
                         [&](const DeviceRange& range) { return range.name == name; });
  };
  const auto parameters_of = [](int count, Device device) {
    std::vector<Tensor> parameters;
    for (int i = 0; i < count; ++i) {
      parameters.push_back(full({i % 7, 3}, 1.0 + i, {.device = device}).requires_grad_());
      parameters.back().set_grad(full({i % 7, 3}, 1.0 - i, {.device = device}));
    }
    return parameters;
  };
  for (const auto& [count, launches] : {std::pair{161, 1}, {335, 1}, {700, 2}}) {
    const auto there = parameters_of(count, "cuda"), here = parameters_of(count, "cpu");
    optim::Adam adam(there, {.amsgrad = true}), adam_here(here, {.amsgrad = true});
    optim::SGD sgd(there, {.lr = 0.1}), sgd_here(here, {.lr = 0.1});
    for (int step = 0; step < 2; ++step) {
      EXPECT_EQ(launches_of("update", [&] { adam.step(); }), launches) << count;
      EXPECT_EQ(launches_of("update", [&] { sgd.step(); }), launches) << count;
      adam_here.step();
      sgd_here.step();
    }
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(difference(there[i].detach().cpu(), here[i].detach(), 1e-6, 0), "") << i;
    // A launch more joins the parts.
    EXPECT_EQ(launches_of("total_norm", [&] { optim::clip_grad_norm_(there, 3.0); }), launches + 1)
        << count;
  }
}

TEST_F(CudaGradients, AreUnscaledWithoutWaiting) {
  const auto parameters = parameters_on("cuda", f32), wanted = parameters_on("cpu", f32);
  optim::SGD optimizer(parameters, {.lr = 0.1});
  optim::GradScaler scaler({.init_scale = 64});
  EXPECT_EQ(scaler.scale(ones({}, {.device = "cuda"})).item<float>(), 64);
  synchronize("cuda:0");
  const Work unscaled = work_of([&] {
    scaler.unscale_(optimizer);
    optim::clip_grad_norm_(parameters, 1e6);
  });
  EXPECT_EQ(unscaled.waits, 0);
  EXPECT_LT(unscaled.pieces, 40);
  EXPECT_EQ(difference(parameters[7].grad().cpu(), wanted[7].grad() / 64, 1e-6, 0), "");
  const Work stepped = work_of([&] { EXPECT_TRUE(scaler.step(optimizer)); });
  EXPECT_EQ(stepped.waits, 1);
  EXPECT_EQ(work_of([&] { scaler.update(); }).waits, 0);
  // One infinity among all of them leaves the step out.
  parameters[199].grad().fill_(INFINITY);
  const std::vector<float> before = parameters[0].detach().to_vector<float>();
  EXPECT_FALSE(scaler.step(optimizer));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 32);
  EXPECT_EQ(parameters[0].detach().to_vector<float>(), before);
}

}  // namespace

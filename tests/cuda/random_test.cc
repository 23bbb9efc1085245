// Draws on the device: with one seed the numbers are those of the CPU, and none waits for the
// device, so that a captured step has them.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/distributions.h>
#include <aorta/tests/cuda/captured_step.h>
#include <aorta/tests/error_text.h>

using namespace aorta;
using namespace aorta::gpu_test;

namespace {

class CudaRandom : public Gpu {};

// draw(options, generator) on both devices.
template <class Draw>
void expect_the_cpus(const char* name, const Draw& draw) {
  SCOPED_TRACE(name);
  Generator here(9), there(9);
  const Tensor wanted = draw(TensorOptions{.dtype = f64}, &here);
  const Tensor got = draw(TensorOptions{.dtype = f64, .device = "cuda"}, &there);
  EXPECT_TRUE(got.device() == Device("cuda:0"));
  EXPECT_EQ(difference(got.detach().cpu(), wanted.detach(), 1e-11, 1e-300), "");
  EXPECT_EQ(here.state(), there.state());
}

Tensor weights_on(const TensorOptions& options) {
  Generator generator(3);
  const Tensor weights = rand({5, 300}, {.dtype = f64}, &generator);
  return mul(weights, gt(weights, 0.3)).to(options.device);
}

// Reading parameters waits for them.
class WithoutValidation {
 public:
  WithoutValidation() { distributions::Distribution::set_default_validate_args(false); }
  ~WithoutValidation() { distributions::Distribution::set_default_validate_args(true); }
};

TEST_F(CudaRandom, DrawsAreTheCpus) {
  for (const int64_t n : {1, 40, 3000}) {
    expect_the_cpus("randperm", [&](const TensorOptions& o, Generator* g) {
      return randperm(n, {.device = o.device}, g);
    });
  }
  expect_the_cpus("poisson", [](const TensorOptions& o, Generator* g) {
    return poisson(tensor({0.0, 0.5, 9.5, 10.5, 400.0, 1e6}, o).expand({200, 6}), g);
  });
  expect_the_cpus("bernoulli", [](const TensorOptions& o, Generator* g) {
    return bernoulli(tensor({0.0, 0.25, 0.5, 1.0}, o).expand({99, 4}), g);
  });
  expect_the_cpus("multinomial", [](const TensorOptions& o, Generator* g) {
    return multinomial(weights_on(o), 1000, true, g);
  });
  expect_the_cpus("one of each row", [](const TensorOptions& o, Generator* g) {
    return multinomial(weights_on(o), 1, false, g);
  });
  for (const DType dtype : {f32, f64}) {
    expect_the_cpus("without replacement", [&](const TensorOptions& o, Generator* g) {
      return multinomial(weights_on(o).to(dtype), 150, false, g);
    });
  }
}

TEST_F(CudaRandom, SamplesOfDistributionsAreTheCpus) {
  using namespace distributions;
  expect_the_cpus("gamma", [](const TensorOptions& o, Generator* g) {
    return Gamma(tensor({0.05, 0.8, 1.0, 30.0}, o), tensor(2.0, o)).sample({100}, g);
  });
  expect_the_cpus("beta", [](const TensorOptions& o, Generator* g) {
    return Beta(tensor({0.3, 2.0}, o), tensor(1.5, o)).sample({100}, g);
  });
  expect_the_cpus("dirichlet", [](const TensorOptions& o, Generator* g) {
    return Dirichlet(tensor({0.3, 2.0, 9.0}, o)).sample({100}, g);
  });
  expect_the_cpus("student", [](const TensorOptions& o, Generator* g) {
    return StudentT(tensor(3.0, o), tensor(0.0, o), tensor(1.0, o)).sample({100}, g);
  });
  expect_the_cpus("binomial", [](const TensorOptions& o, Generator* g) {
    return Binomial(tensor({0.0, 7.0, 300.0}, o), {.probs = tensor({{0.1}, {0.9}}, o)})
        .sample({100}, g);
  });
  expect_the_cpus("von mises", [](const TensorOptions& o, Generator* g) {
    return VonMises(tensor(3.0, o), tensor({0.1, 2.0, 1e6}, o)).sample({100}, g);
  });
}

// By the concentration, of samples below it and above, and of an expansion's.
TEST_F(CudaRandom, GradientsOfGammaSamplesAreTheCpus) {
  for (const auto& [which, part] : {std::pair{"slope", 1}, {"bend", 2}}) {
    expect_the_cpus(which, [part = part](const TensorOptions& o, Generator* g) {
      const Tensor a = tensor({0.05, 0.8, 5.0, 300.0, 2e8}, o).requires_grad_();
      const Tensor x = distributions::Gamma(a, tensor(1.0, o)).rsample({20}, g);
      const std::vector<Tensor> outputs{sum(log(x))}, inputs{a};
      const Tensor first = autograd::grad(outputs, inputs, {}, {.create_graph = true})[0];
      if (part == 1) return first;
      const std::vector<Tensor> sums{sum(first)};
      return autograd::grad(sums, inputs)[0];
    });
  }
}

TEST_F(CapturedStep, DrawsOfEveryKind) {
  const WithoutValidation scope;
  expect_the_same_with_graphs([&](bool graphs) {
    auto step = maybe_captured(graphs, [](const Tensor& x) {
      const Tensor a = exp(x).requires_grad_();
      const Tensor gamma = distributions::Gamma(a, ones_like(a)).rsample({3});
      sum(gamma).backward();
      const Tensor weights = a.detach();
      return std::vector<Tensor>{
          gamma,
          a.grad(),
          bernoulli(sigmoid(x)),
          poisson(10 * weights),
          randperm(50, {.device = "cuda"}),
          multinomial(weights, 4, true),
          multinomial(weights, 4),
          distributions::StudentT(weights, x, weights).sample(),
          distributions::Dirichlet(weights).sample(),
          distributions::Categorical({.logits = x}).sample({5}),
          distributions::Binomial(full_like(weights, 40), {.probs = sigmoid(x)}).sample()};
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      for (const Tensor& result : step(numbers({8}, static_cast<uint64_t>(20 + i))))
        results.push_back(result.detach().clone());
    }
    results.push_back(rand({4}, {.device = "cuda"}));
    return results;
  });
}

// Parameters that aren't right are found by the GPU, and said by a later call.
TEST_F(CapturedStep, BadParametersOfDrawsAreSaidLater) {
  const Tensor good = full({6}, 0.5, {.device = "cuda"});
  const auto said_of = [&](const auto& draw, double bad) {
    auto step = capture(draw);
    for (int i = 0; i < 4; ++i) step(good);
    const Tensor wrong = good.clone();
    wrong.narrow(0, 3, 2).fill_(bad);
    step(wrong);
    const std::string text = error_of([] { synchronize("cuda:0"); });
    EXPECT_EQ(error_of([&] { step(good); }), kNoError);
    return text;
  };
  EXPECT_EQ(said_of([](const Tensor& x) { return bernoulli(x); }, 1.5),
            bad_value_text("bernoulli", 3));
  EXPECT_EQ(said_of([](const Tensor& x) { return bernoulli(x); }, NAN),
            bad_value_text("bernoulli", 3));
  EXPECT_EQ(said_of([](const Tensor& x) { return poisson(x); }, -1), bad_value_text("poisson", 3));
  const auto few = [](const Tensor& x) { return multinomial(x, 5); };
  EXPECT_EQ(said_of(few, INFINITY), bad_value_text("multinomial", 3));
  EXPECT_EQ(said_of(few, 0), bad_value_text("multinomial", 0));
}

}  // namespace

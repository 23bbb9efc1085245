#pragma once

#include <aorta/autograd/backward.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/random.h>
#include <aorta/distributions/distributions.h>
#include <aorta/tests/is_near.h>

#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Distributions by the names of tests/fixtures/make_distributions.py, and what PyTorch said of
// them.

namespace aorta::distributions {

using Tensors = std::vector<Tensor>;
using Fixture = std::map<std::string, Tensor>;
using Make = std::function<std::shared_ptr<Distribution>(const Tensors& parameters)>;

/// What makes the distribution of a case from its parameters.
const std::map<std::string, Make>& makers();

/// What can be asked of a distribution, by the fixtures' names, and the answer at `value`, which
/// stands in the fixture by the name that asked_at gives.
const std::set<std::string>& questions();
Tensor ask(const std::string& what, const Distribution& d, const Tensor& value);
inline std::string asked_at(const std::string& what) {
  return what == "icdf" ? "probability" : "value";
}

/// kl_divergence of distributions by the names of their cases, from the parameters of each.
using Compare = std::function<Tensor(const Tensors& p, const Tensors& q)>;
const std::map<std::string, Compare>& pairs();

/// Distributions of two numbers, of other parameters each, that have a cdf.
struct Continuous {
  std::string name;
  std::function<std::shared_ptr<Distribution>(DType dtype)> make;
};
std::vector<Continuous> continuous();
inline constexpr int64_t kSamples = 10000;
/// Whether samples (kSamples, 2) may be of two numbers' distribution, by Kolmogorov and Smirnov's
/// test; the chi-square test says it of whole numbers 0, 1, ...
bool may_be_of(const Distribution& d, const Tensor& samples);
bool may_be_counts_of(const Distribution& d, const Tensor& samples);

/// What ops of random numbers draw, and what distributions of whole numbers do.
struct Drawn {
  std::string name;
  std::function<std::shared_ptr<Distribution>()> make;
  std::function<Tensor(Generator* generator)> draw;  // (kSamples, 2)
  bool counts = false;
};
std::vector<Drawn> drawn();

/// The tensors of each case of a file, which has all numbers in one array and a line a tensor: its
/// name, dtype, how many sizes it has, and these.
inline std::map<std::string, Fixture> read_cases(const std::string& name) {
  const auto file = load("tests/fixtures/distributions/" + name + ".npz");
  const std::vector<uint8_t> letters = file["lines"].to_vector<uint8_t>();
  std::istringstream lines(std::string(letters.begin(), letters.end()));
  std::map<std::string, Fixture> cases;
  std::string key, dtype;
  int64_t start = 0;
  for (int dims = 0; lines >> key >> dtype >> dims;) {
    Shape shape = Shape::filled(dims, 0);
    int64_t count = 1;
    for (int64_t& size : shape) {
      lines >> size;
      count *= size;
    }
    const Tensor numbers = file["numbers"].narrow(0, start, count).reshape(shape);
    const size_t slash = key.find('/');
    cases[key.substr(0, slash)].emplace(
        key.substr(slash + 1), numbers.to(dtype == "int64" ? DType::i64 : DType::f64).clone());
    start += count;
  }
  return cases;
}

/// stem0, stem1, ...: as many as there are, floating ones in a dtype.
inline Tensors numbered(const Fixture& fixture, const std::string& stem, DType dtype = DType::f64) {
  Tensors result;
  for (size_t i = 0; fixture.contains(stem + std::to_string(i)); ++i)
    result.push_back(fixture.at(stem + std::to_string(i)).to(dtype).clone());
  return result;
}

/// True when every element is within `tolerance` (1 + |wanted|); NaN is NaN, and inf inf.
inline testing::AssertionResult near(const Tensor& got, const Tensor& wanted, double tolerance) {
  if (!got.defined()) return testing::AssertionFailure() << "undefined";
  if (got.shape() != wanted.shape()) {
    return testing::AssertionFailure()
           << "shape " << to_string(got.shape()) << " for " << to_string(wanted.shape());
  }
  const std::vector<double> a = got.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_near(a[i], b[i], tolerance * (1 + std::abs(b[i]))))
      return testing::AssertionFailure() << a[i] << " for " << b[i] << " at " << i;
  }
  return testing::AssertionSuccess();
}

/// How near PyTorch's values are: its Bessel functions have 7 digits, roots 6.
inline double tolerance_of_values(const std::string& name) {
  return name == "von_mises" ? 2e-6 : 1e-12;
}
/// How near its gradients are: its trigamma function has 10 digits.
inline double tolerance_of_gradients(const std::string& name) {
  if (name == "von_mises") return 5e-7;
  for (const char* with : {"gamma", "beta", "chi2", "dirichlet", "student", "fisher", "weibull",
                           "kumaraswamy", "negative", "unbroken", "wishart", "lkj"})
    if (name.find(with) != std::string::npos) return 1e-8;
  return 1e-10;
}

/// The gradient of an answer of a case by parameter `i`, or by the value behind the last one; and
/// whether one is PyTorch's, `key` in the fixture.
Tensor gradient_of(const std::string& name, const Fixture& fixture, const std::string& what,
                   size_t i);
testing::AssertionResult is_gradient(const std::string& name, const Fixture& fixture,
                                     const std::string& key, const Tensor& got);
inline std::string gradient_key(const std::string& what, size_t i, size_t parameters) {
  return what + (i == parameters ? "_dvalue" : "_d" + std::to_string(i));
}

/// While it lives parameters and values aren't checked.
struct WithoutChecks {
  WithoutChecks() { Distribution::set_default_validate_args(false); }
  ~WithoutChecks() { Distribution::set_default_validate_args(true); }
};

/// The weights of the fixtures' gradients: cos(1.7 i) + 0.2.
inline Tensor weights_of(const Tensor& like) {
  const Tensor i = arange(like.numel(), {.dtype = like.dtype()});
  return (cos(1.7 * i) + 0.2).reshape(like.shape());
}

}  // namespace aorta::distributions

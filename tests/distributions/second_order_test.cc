// Second derivatives of densities, moments, samples and divergences, against differences of the
// first ones.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tests/distributions/cases.h>

namespace aorta::distributions {
namespace {

// At the ends of their sets parameters can't be moved, and numbers of 2e4 leave no digits to
// differences.
bool can_be_moved(const std::string& name) {
  for (const char* end : {"_ends", "_zero", "_one", "_extremes"})
    if (name.ends_with(end)) return name == "one_hot" || name == "relaxed_one_hot";
  return true;
}

Tensor symmetric(const Tensor& x) { return 0.5 * (x + x.transpose(-2, -1)); }

std::shared_ptr<Distribution> make(const std::string& name, Tensors parameters) {
  if (name.ends_with("_covariance") || name.ends_with("_precision"))
    parameters[1] = symmetric(parameters[1]);
  return makers().at(name)(parameters);
}

const std::map<std::string, Fixture>& values_fixtures() {
  static const auto all = read_cases("values");
  return all;
}

Tensors leaves_of(const std::string& name) {
  Tensors leaves;
  for (const Tensor& p : numbered(values_fixtures().at(name), "p"))
    leaves.push_back(p.clone().requires_grad_());
  return leaves;
}

class SecondOrder : public testing::TestWithParam<std::string> {};

TEST_P(SecondOrder, OfWhatCanBeAsked) {
  const WithoutChecks guard;  // values are moved off their simplex, matrices out of their triangle
  const std::string& name = GetParam();
  const Fixture& fixture = values_fixtures().at(name);
  Tensors inputs = leaves_of(name);
  const size_t count = inputs.size();
  const bool continuous =
      make(name, inputs)->has_rsample() || name.starts_with("mixture") || name == "lkj";
  for (const std::string& what : questions()) {
    if (!fixture.contains(what) || what == "mode") continue;
    SCOPED_TRACE(what);
    const bool by_value = continuous && (what == "log_prob" || what == "cdf" || what == "icdf");
    const Tensor value = fixture.at(asked_at(what));
    inputs.resize(count);
    if (by_value) inputs.push_back(value.clone().requires_grad_());
    const auto answer = [&](const Tensors& of) {
      Tensors parameters(of.begin(), of.begin() + static_cast<int64_t>(count));
      // A binomial's entropy is a sum of as many terms.
      if (name.starts_with("binomial") && what == "entropy") parameters[0] = round(parameters[0]);
      const auto d = make(name, parameters);
      const Tensor at = by_value ? of.back() : value;
      const Tensor got = ask(what, *d, name.starts_with("wishart") ? symmetric(at) : at);
      return where(isfinite(got), got, 0.0);
    };
    if (!answer(inputs).requires_grad()) continue;
    EXPECT_SECOND_GRADIENTS(answer, inputs);
  }
}

std::vector<std::string> names_of_moved() {
  std::vector<std::string> result;
  for (const auto& [name, make] : makers())
    if (can_be_moved(name)) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, SecondOrder, testing::ValuesIn(names_of_moved()),
                         [](const auto& test) { return test.param; });

// With the same random numbers, of distributions whose samples are functions of them: those that
// are made of gamma samples take other numbers where a parameter is moved (see Rsample).
TEST(SecondOrderOfSamples, AreThoseOfTheirFunction) {
  const WithoutChecks guard;
  for (const std::string& name : names_of_moved()) {
    bool of_gammas = false;
    for (const char* with :
         {"gamma", "beta", "chi2", "dirichlet", "student", "fisher", "unbroken", "wishart"})
      of_gammas = of_gammas || name.find(with) != std::string::npos;
    if (of_gammas || !make(name, leaves_of(name))->has_rsample()) continue;
    SCOPED_TRACE(name);
    EXPECT_SECOND_GRADIENTS(
        [&](const Tensors& parameters) {
          Generator generator(11);
          return make(name, parameters)->rsample({2}, &generator);
        },
        leaves_of(name));
  }
}

}  // namespace
}  // namespace aorta::distributions

// The fixtures of distributions, and the tests of samples, tell wrong answers from right ones.
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/changes.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/mutants.h>

#include <algorithm>

namespace aorta::distributions {
namespace {

using mutants::Count;
using mutants::Exception;

const Fixture& fixture_of(const std::string& file, const std::string& name) {
  static std::map<std::string, std::map<std::string, Fixture>> files;
  if (!files.contains(file)) files[file] = read_cases(file);
  return files[file].at(name);
}

using mutants::off;
using mutants::rolled;
bool is_alike(const Tensor& x) { return x.numel() < 2 || near(rolled(x), x, 0); }

/// What `f` gives, or nothing where it throws: then the mutant is caught.
template <class F>
Tensor unless_thrown(const F& f) {
  try {
    return f();
  } catch (const Error&) {
    return {};
  }
}

void count_values(const std::string& name, Count& count, const std::vector<Exception>& exceptions) {
  ++count.rows;
  const WithoutChecks guard;
  const Fixture& fixture = fixture_of("values", name);
  const Tensors parameters = numbered(fixture, "p");
  const auto add = [&](const std::string& mutant, bool caught) {
    count.add(name + ": " + mutant, caught, exceptions);
  };
  const auto differs = [&](const std::string& what, const Tensor& got) {
    return !near(got, fixture.at(what), tolerance_of_values(name));
  };
  const auto d = makers().at(name)(parameters);
  for (const std::string& what : questions()) {
    if (!fixture.contains(what)) continue;
    const Tensor right = ask(what, *d, fixture.at(asked_at(what)));
    add(what + " off", differs(what, name == "von_mises" ? right + 1e-5 : off(right)));
    if (!is_alike(right)) add(what + " rolled", differs(what, rolled(right)));
    for (const std::string& other : questions()) {
      if (other == what || !fixture.contains(other) || near(fixture.at(other), right, 1e-12))
        continue;
      add("runs " + other + " for " + what, differs(what, fixture.at(other)));
    }
    const Tensor at = fixture.at(asked_at(what));
    if ((what == "log_prob" || what == "cdf" || what == "icdf") && !is_alike(at)) {
      add(what + " of values alike",
          differs(what, unless_thrown([&] { return ask(what, *d, mutants::alike(at)); })));
    }
  }
  const auto caught = [&](const Tensors& wrong) {
    for (const std::string& what : questions()) {
      if (!fixture.contains(what)) continue;
      const Tensor got = unless_thrown(
          [&] { return ask(what, *makers().at(name)(wrong), fixture.at(asked_at(what))); });
      if (differs(what, got)) return true;
    }
    return false;
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensors wrong = parameters;
    if (!is_alike(parameters[i])) {
      wrong[i] = mutants::alike(parameters[i]);
      add("parameter " + std::to_string(i) + " alike", caught(wrong));
    }
    for (size_t j = i + 1; j < parameters.size(); ++j) {
      if (parameters[i].shape() != parameters[j].shape()) continue;
      wrong = parameters;
      std::swap(wrong[i], wrong[j]);
      add("parameters " + std::to_string(i) + " and " + std::to_string(j) + " exchanged",
          caught(wrong));
    }
  }
}

/// Wrong forms of a gradient, of which `differs` says whether it isn't the right one.
template <class Differs, class Add>
void count_gradient(const Tensor& right, const Differs& differs, const Add& add) {
  if (near(right, zeros_like(right), 0)) return add("another", differs(right + 0.01));
  add("scaled", differs(1.01 * right));
  add("of the other sign", differs(-right));
  add("zeros", differs(zeros_like(right)));
  if (!is_alike(right)) add("rolled", differs(rolled(right)));
}

void count_gradients(const std::string& name, Count& count,
                     const std::vector<Exception>& exceptions) {
  ++count.rows;
  const Fixture& fixture = fixture_of("values", name);
  const size_t parameters = numbered(fixture, "p").size();
  for (const std::string& what : questions()) {
    for (size_t i = 0; i <= parameters; ++i) {
      const std::string key = gradient_key(what, i, parameters);
      if (!fixture.contains(key)) continue;
      count_gradient(
          gradient_of(name, fixture, what, i),
          [&](const Tensor& wrong) { return !is_gradient(name, fixture, key, wrong); },
          [&](const std::string& mutant, bool caught) {
            count.add(name + ": " + key + " " + mutant, caught, exceptions);
          });
    }
  }
}

void count_divergences(const std::string& name, Count& count,
                       const std::vector<Exception>& exceptions) {
  ++count.rows;
  const WithoutChecks guard;
  const Fixture& fixture = fixture_of("divergences", name);
  const Tensors p = numbered(fixture, "p"), q = numbered(fixture, "q");
  const auto add = [&](const std::string& mutant, bool caught) {
    count.add(name + ": " + mutant, caught, exceptions);
  };
  const auto differs = [&](const Tensor& got) { return !near(got, fixture.at("kl"), 1e-12); };
  const Compare& compare = pairs().at(name);
  const Tensor right = compare(p, q);
  add("off", differs(off(right)));
  if (all(isinf(right)).item<bool>()) return;
  if (!is_alike(right)) add("rolled", differs(rolled(right)));
  if (p.size() == q.size()) add("exchanged", differs(unless_thrown([&] { return compare(q, p); })));
  const auto all_alike = [&](const Tensors& of_p, const Tensors& of_q, bool first) {
    const Tensors& of = first ? of_p : of_q;
    for (size_t i = 0; i < of.size(); ++i) {
      if (is_alike(of[i])) continue;
      Tensors wrong = of;
      wrong[i] = mutants::alike(of[i]);
      add((first ? "p" : "q") + std::to_string(i) + " alike", differs(unless_thrown([&] {
            return first ? compare(wrong, of_q) : compare(of_p, wrong);
          })));
    }
  };
  all_alike(p, q, true);
  all_alike(p, q, false);
  for (const Tensors& group : {p, q})
    for (const Tensor& parameter : group) parameter.requires_grad_();
  const Tensor divergence = compare(p, q);
  if (!divergence.requires_grad()) return;
  sum(weights_of(divergence) * divergence).backward();
  for (const auto& [letter, group] : {std::pair{"dp", p}, std::pair{"dq", q}}) {
    for (size_t i = 0; i < group.size(); ++i) {
      const std::string key = letter + std::to_string(i);
      if (!fixture.contains(key)) continue;
      count_gradient(
          group[i].grad(),
          [&](const Tensor& wrong) {
            return !near(wrong, fixture.at(key), tolerance_of_gradients(name));
          },
          [&](const std::string& mutant, bool caught) { add(key + " " + mutant, caught); });
    }
  }
}

/// Samples (N, 2) of which a test must not say that they may be of the distribution.
template <class Fits>
void count_samples(const std::string& name, const Tensor& x, const Fits& fits, Count& count,
                   const std::vector<Exception>& exceptions) {
  const Tensor middle = median(x, 0).values;
  const auto add = [&](const std::string& mutant, const Tensor& wrong) {
    count.add(name + ": " + mutant, !fits(wrong), exceptions);
  };
  ++count.rows;
  add("of the other parameters", x.flip({1}));
  add("alike", middle.expand(x.shape()).contiguous());
  add("moved", x + 1);
  add("mirrored", 2 * middle - x);
  add("of twice the size", 2 * x);
  add("of half the size", 0.5 * x);
}

void count_samples_of(const Continuous& one, Count& count,
                      const std::vector<Exception>& exceptions) {
  const auto d = one.make(f64);
  Generator generator(8);
  count_samples(
      one.name, d->sample({kSamples}, &generator),
      [&](const Tensor& x) { return may_be_of(*d, x); }, count, exceptions);
}

void count_samples_of(const Drawn& one, Count& count, const std::vector<Exception>& exceptions) {
  const auto d = one.make();
  Generator generator(31);
  count_samples(
      one.name, one.draw(&generator),
      [&](const Tensor& x) { return one.counts ? may_be_counts_of(*d, x) : may_be_of(*d, x); },
      count, exceptions);
}

std::vector<std::string> names_of(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, what] : map) names.push_back(name);
  return names;
}

const std::vector<Exception>& exceptions() {
  static const std::vector<Exception> all = {
      {"the density is the same everywhere", "uniform: log_prob of values alike"},
      {"the number is less than what values may be off",
       "(affine|normal_tails): cdf off|bernoulli_ends: (entropy|log_prob) off|"
       "geometric_one: entropy off"},
      {"it is symmetric",
       "cauchy_cauchy: exchanged|(normal_?|laplace|cauchy_?|randn|randint): mirrored"},
      {"outside all is infinite", "uniform_outside: [pq]1 alike"},
      {"both have the same parameters", "(rand|randn|randint): of the other parameters"}};
  return all;
}

TEST(DistributionMutantsTable, ThePageCountsThem) {
  std::map<std::string, Count> counts;
  for (const std::string& name : names_of(makers())) {
    count_values(name, counts["values"], exceptions());
    count_gradients(name, counts["gradients"], exceptions());
  }
  for (const std::string& name : names_of(pairs()))
    count_divergences(name, counts["divergences"], exceptions());
  const WithoutChecks guard;
  for (const Continuous& one : continuous()) count_samples_of(one, counts["samples"], exceptions());
  for (const Drawn& one : drawn()) count_samples_of(one, counts["samples"], exceptions());
  mutants::expect_counts("distributions", counts, exceptions());
}

}  // namespace
}  // namespace aorta::distributions

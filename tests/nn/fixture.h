#pragma once

#include <aorta/aorta.h>

#include <aorta/tests/is_near.h>
#include <gtest/gtest.h>
#include <cmath>
#include <map>

// What PyTorch computed, by name: see tests/fixtures/make_nn.py.

namespace aorta::nn {

using Fixture = std::map<std::string, Tensor>;

inline Fixture read_fixture(const std::string& name) {
  const NamedTensors all = load("tests/fixtures/nn/" + name + ".npz");
  return {all.begin(), all.end()};
}

/// Picks the tensors of one case, and takes its name off theirs.
inline Fixture part(const Fixture& all, const std::string& prefix) {
  Fixture result;
  for (auto at = all.lower_bound(prefix + "/"); at != all.end(); ++at) {
    if (at->first.compare(0, prefix.size() + 1, prefix + "/") != 0) break;
    result.emplace(at->first.substr(prefix.size() + 1), at->second);
  }
  return result;
}

/// in0, in1, ...: as many as there are.
inline std::vector<Tensor> numbered(const Fixture& fixture, const std::string& stem) {
  std::vector<Tensor> result;
  for (size_t i = 0; fixture.contains(stem + std::to_string(i)); ++i) {
    result.push_back(fixture.at(stem + std::to_string(i)));
  }
  return result;
}

/// True when every element is within `tolerance` (1 + |wanted|).
inline testing::AssertionResult near(const Tensor& got, const Tensor& wanted, double tolerance) {
  if (!got.defined()) return testing::AssertionFailure() << "undefined";
  if (got.shape() != wanted.shape()) {
    return testing::AssertionFailure()
           << "shape " << to_string(got.shape()) << " for " << to_string(wanted.shape());
  }
  const std::vector<double> a = got.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_near(a[i], b[i], tolerance * (1 + std::abs(b[i])))) {
      return testing::AssertionFailure() << a[i] << " for " << b[i] << " at " << i;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace aorta::nn

#include <aorta/autograd/backward.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/empty_checks.h>
#include <aorta/tests/is_near.h>
#include <aorta/tests/op_checks.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace aorta::catalog {
namespace {

// What a call came to.
struct Outcome {
  std::string error;  // empty where it threw nothing
  Tensors tensors;    // results, then gradients of the inputs
};

Outcome outcome_of(const Call& call, const Tensors& inputs) {
  Outcome outcome;
  try {
    outcome.tensors = call.run(inputs);
    Tensor total;
    for (const Tensor& result : outcome.tensors) {
      if (!result.defined() || !result.requires_grad()) continue;
      const Tensor part = sum(result).to(DType::f64);
      total = total.defined() ? total + part : part;
    }
    if (total.defined()) total.backward();
    for (const Tensor& input : inputs)
      if (input.requires_grad()) outcome.tensors.push_back(input.grad());
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

Tensors leaves_on(const Tensors& values, Device device) {
  Tensors leaves;
  for (const Tensor& value : values) {
    leaves.push_back(value.to({.device = device, .copy = true}));
    if (is_floating(value.dtype())) leaves.back().requires_grad_();
  }
  return leaves;
}

// The inputs with nothing along their first or last dimensions: each by itself, and all those that
// have as many there as the first of them.
std::vector<Tensors> emptied(const Tensors& inputs) {
  std::vector<Tensors> result;
  for (const int dim : {0, -1}) {
    Tensors together = inputs;
    int64_t size = -1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dim() == 0) continue;
      if (size < 0) size = inputs[i].size(dim);
      const Tensor nothing = inputs[i].narrow(dim, 0, 0);
      if (inputs[i].size(dim) == size) together[i] = nothing;
      result.push_back(inputs);
      result.back()[i] = nothing;
    }
    result.push_back(together);
  }
  return result;
}

std::vector<double> numbers_of(const Tensor& x) {
  const Tensor all = x.detach().cpu();
  return (all.is_complex() ? view_as_real(all) : all).to_vector<double>();
}

std::string difference(const Outcome& got, const Outcome& wanted) {
  if (got.error != wanted.error) return "\"" + got.error + "\" and not \"" + wanted.error + "\"";
  if (got.tensors.size() != wanted.tensors.size()) return "other results";
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    const Tensor &a = got.tensors[i], &b = wanted.tensors[i];
    if (a.defined() != b.defined()) return "a result is undefined";
    if (!a.defined()) continue;
    if (a.shape() != b.shape() || a.dtype() != b.dtype())
      return to_string(a.shape()) + " and not " + to_string(b.shape());
    if (a.is_meta()) continue;
    const std::vector<double> here = numbers_of(a), there = numbers_of(b);
    for (size_t k = 0; k < here.size(); ++k) {
      if (!is_near(here[k], there[k], 1e-5 * (1 + std::abs(there[k]))))
        return std::to_string(here[k]) + " and not " + std::to_string(there[k]);
    }
  }
  return "";
}

}  // namespace

int check_empty_on(const Row& row, Device device) {
  int count = 0;
  std::set<const Call*> seen;
  for (const Sample& sample : samples(row)) {
    if (!seen.insert(sample.call).second || dtypes_of(sample).empty()) continue;
    SCOPED_TRACE(row.op + "/" + sample.name);
    for (const Tensors& inputs : emptied(inputs_of(sample, dtypes_of(sample)[0], {}))) {
      std::string shapes;
      for (const Tensor& input : inputs) shapes += to_string(input.shape());
      SCOPED_TRACE(shapes);
      const Outcome wanted = outcome_of(*sample.call, leaves_on(inputs, {}));
      const Outcome got = outcome_of(*sample.call, leaves_on(inputs, device));
      // What depends on values is unknown on meta.
      const bool known = device.type != DeviceType::meta ||
                         (wanted.error.empty() && got.error.find("values") == std::string::npos);
      if (known) {
        EXPECT_EQ(difference(got, wanted), "");
      }
      count += wanted.error.empty();
    }
  }
  return count;
}

}  // namespace aorta::catalog

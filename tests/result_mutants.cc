#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/op_checks.h>
#include <aorta/tests/result_mutants.h>

#include <algorithm>

namespace aorta::catalog {
namespace {

bool same_form(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype();
}

// By what an element of this dtype is off, of itself.
double slip(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-9;
    case DType::f32:
      return 1e-4;
    case DType::f16:
      return 0x1p-7;
    default:
      return 0x1p-5;
  }
}

// With the element that is the middle one by its size among those that are finite and not 0, if
// there are such, a little off.
Tensor off(const Tensor& result) {
  const Tensor flat = result.reshape({-1}).clone();
  if (!is_floating(flat.dtype())) {
    const Tensor first = flat.narrow(0, flat.numel() / 2, 1);
    first.copy_(flat.dtype() == boolean ? logical_not(first) : first + 1);
    return flat.view(result.shape());
  }
  const Tensor size = abs(flat.to(f64)), counts = logical_and(isfinite(size), gt(size, 0));
  const int64_t count = count_nonzero(counts).item<int64_t>();
  const Tensor order = argsort(where(counts, size, INFINITY));
  const Tensor element =
      flat.select(0, order.select(0, count / 2 - (count > 1 && count % 2 == 0)).item<int64_t>());
  element.copy_(count == 0 ? zeros_like(element) + 1 : element * (1 + slip(flat.dtype())));
  return flat.view(result.shape());
}

Tensor reversed(const Tensor& result) {
  return flip(result.reshape({-1}), {0}).view(result.shape());
}
Tensor rolled(const Tensor& result) { return roll(result.reshape({-1}), 1).view(result.shape()); }
Tensor alike(const Tensor& input) {
  return input.reshape({-1})
      .narrow(0, 0, 1)
      .expand({input.numel()})
      .contiguous()
      .view(input.shape());
}

// The mutants of one call.
class CallMutants {
 public:
  CallMutants(const Row& row, const Call& call, std::map<std::string, bool>& caught)
      : row_(row), call_(call), caught_(caught) {}

  void of_results(const Sample& sample, DType dtype, bool first) {
    const Tensors results = call_.run(inputs_of(sample, dtype, "cpu"));
    const auto changed = [&](size_t i, const Tensor& result) {
      Tensors others = results;
      others[i] = result;
      return others;
    };
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].numel() == 0) continue;
      const std::string output = "output " + std::to_string(i);
      seen(output + " off in " + name(dtype), sample, dtype, changed(i, off(results[i])));
      if (!first) continue;
      if (results[i].numel() > 1) {
        seen(output + " reversed", sample, dtype, changed(i, reversed(results[i])));
        seen(output + " rolled", sample, dtype, changed(i, rolled(results[i])));
      }
      for (size_t j = 0; j < i; ++j) {
        if (!same_form(results[i], results[j])) continue;
        Tensors others = results;
        std::swap(others[i], others[j]);
        seen("outputs " + std::to_string(j) + " and " + std::to_string(i) + " exchanged", sample,
             dtype, others);
      }
    }
  }

  void of_inputs(const Sample& sample, DType dtype) {
    const Tensors inputs = inputs_of(sample, dtype, "cpu");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].numel() > 1) {
        Tensors others = inputs;
        others[i] = alike(inputs[i]);
        runs("input " + std::to_string(i) + " alike", sample, dtype, call_, others);
      }
      for (size_t j = 0; j < i; ++j) {
        if (!same_form(inputs[i], inputs[j]) || sample.varied[i] != sample.varied[j]) continue;
        Tensors others = inputs;
        std::swap(others[i], others[j]);
        runs("inputs " + std::to_string(j) + " and " + std::to_string(i) + " exchanged", sample,
             dtype, call_, others);
      }
    }
  }

  void of_calls(const Sample& sample, DType dtype) {
    for (const Call& other : row_.calls) {
      if (&other == &call_) continue;
      size_t most = 0;
      for (const Sample& one : samples(row_))
        if (one.call == &other) most = std::max(most, one.inputs.size());
      if (most <= sample.inputs.size())
        runs(std::string("runs ") + other.name, sample, dtype, other,
             inputs_of(sample, dtype, "cpu"));
    }
  }

 private:
  void seen(const std::string& mutant, const Sample& sample, DType dtype, const Tensors& results) {
    caught_[call_.name + (": " + mutant)] |= !difference(row_, sample, results, dtype).empty();
  }
  void runs(const std::string& mutant, const Sample& sample, DType dtype, const Call& call,
            const Tensors& inputs) {
    try {
      seen(mutant, sample, dtype, call.run(inputs));
    } catch (const Error&) {
      caught_[call_.name + (": " + mutant)] = true;
    }
  }

  const Row& row_;
  const Call& call_;
  std::map<std::string, bool>& caught_;
};

}  // namespace

std::map<std::string, bool> result_mutants(const Row& row) {
  std::map<std::string, bool> caught;
  for (const Sample& sample : samples(row)) {
    CallMutants mutants(row, *sample.call, caught);
    bool first = true;
    for (const DType dtype : dtypes_of(sample)) {
      mutants.of_results(sample, dtype, first);
      if (first) {
        mutants.of_inputs(sample, dtype);
        mutants.of_calls(sample, dtype);
      }
      first = false;
    }
  }
  return caught;
}

}  // namespace aorta::catalog

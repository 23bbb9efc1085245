#include <aorta/tests/changes.h>
#include <aorta/tests/op_checks.h>
#include <aorta/tests/result_mutants.h>

#include <algorithm>

namespace aorta::catalog {
namespace {

bool same_form(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype();
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
      seen(output + " off in " + name(dtype), sample, dtype, changed(i, mutants::off(results[i])));
      if (!first) continue;
      if (results[i].numel() > 1) {
        seen(output + " reversed", sample, dtype, changed(i, mutants::reversed(results[i])));
        seen(output + " rolled", sample, dtype, changed(i, mutants::rolled(results[i])));
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
        others[i] = mutants::alike(inputs[i]);
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

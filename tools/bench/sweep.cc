#include <aorta/autograd/backward.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/sweep.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace aorta::bench {
namespace {

using catalog::Call;
using catalog::Sample;
using catalog::Tensors;

// Inputs that grow with a factor.
using Grown = std::function<Tensors(int64_t factor)>;

int64_t most_elements(const Tensors& tensors) {
  int64_t most = 0;
  for (const Tensor& t : tensors) most = std::max(most, t.defined() ? t.numel() : 0);
  return most;
}

int most_dimensions(const Tensors& tensors) {
  int most = 0;
  for (const Tensor& t : tensors) most = std::max(most, t.defined() ? t.dim() : 0);
  return most;
}

// Every dimension that isn't 1, the same one of all inputs by as much, together by the factor.
Grown in_all_dimensions(const Tensors& base) {
  const int ndim = most_dimensions(base);
  return [=](int64_t factor) {
    std::vector<int64_t> times(static_cast<size_t>(ndim), 1);
    for (int left = ndim; left > 0; --left) {
      const double root = std::pow(static_cast<double>(factor), 1.0 / left);
      times[static_cast<size_t>(left - 1)] = std::max<int64_t>(1, std::llround(root));
      factor = std::max<int64_t>(1, divide_up(factor, times[static_cast<size_t>(left - 1)]));
    }
    Tensors result;
    for (const Tensor& x : base) {
      Shape repeats;
      for (int d = 0; d < x.dim(); ++d) {
        repeats.push_back(x.size(d) == 1 ? 1 : times[static_cast<size_t>(ndim - x.dim() + d)]);
      }
      result.push_back(x.dim() ? repeat(x, repeats) : x);
    }
    return result;
  };
}

// A new first dimension of the inputs with the most; the others broadcast.
Grown along_a_new_dimension(const Tensors& base) {
  const int ndim = most_dimensions(base);
  return [=](int64_t factor) {
    Tensors result;
    for (const Tensor& x : base) {
      Shape shape = x.shape();
      if (x.dim() == ndim) shape.insert(0, factor);
      result.push_back(x.expand(shape).contiguous());
    }
    return result;
  };
}

// Every dimension of a size: a batch is as large in all inputs that have it. Nothing where an input
// has two of them, as square matrices have.
Grown of_size(const Tensors& base, int64_t size) {
  for (const Tensor& x : base) {
    if (std::count(x.shape().begin(), x.shape().end(), size) > 1) return nullptr;
  }
  return [=](int64_t factor) {
    Tensors result;
    for (const Tensor& x : base) {
      Shape repeats;
      for (const int64_t n : x.shape()) repeats.push_back(n == size ? factor : 1);
      result.push_back(x.dim() ? repeat(x, repeats) : x);
    }
    return result;
  };
}

std::vector<Grown> ways_to_grow(const Tensors& base, bool takes_more_dimensions) {
  if (takes_more_dimensions) return {in_all_dimensions(base), along_a_new_dimension(base)};
  std::vector<Grown> ways;
  for (const int64_t size : base[0].shape()) {
    ways.push_back(of_size(base, size));
    if (ways.size() == 1) ways.push_back(along_a_new_dimension(base));
  }
  std::erase_if(ways, [](const Grown& grow) { return !grow; });
  return ways;
}

// The largest of inputs and results; 0 where the op refuses them.
int64_t elements_of(const Call& call, const Tensors& inputs) {
  try {
    return std::max(most_elements(inputs), most_elements(call.run(inputs)));
  } catch (const Error&) {
    return 0;
  }
}

// Repeated numbers that differ again, none larger.
Tensors spread(const Sample& sample, const Tensors& inputs) {
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool floating = sample.varied[i] && is_floating(inputs[i].dtype());
    result.push_back(floating ? inputs[i] * make(inputs[i].shape(), 1 - 1.0 / 64, 1) : inputs[i]);
  }
  return result;
}

Tensors in_f32(const Sample& sample, const Tensors& inputs) {
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool floating = sample.varied[i] && is_floating(inputs[i].dtype());
    result.push_back(floating ? inputs[i].to(DType::f32) : inputs[i]);
  }
  return result;
}

bool has_gradient(const Sample& sample) {
  Tensors inputs = in_f32(sample, sample.inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!sample.varied[i] || !is_floating(inputs[i].dtype())) continue;
    if (inputs[i].numel() == 0) return false;
    inputs[i] = inputs[i].clone();
    inputs[i].requires_grad_();
  }
  const Tensors outputs = sample.call->run(inputs);
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

}  // namespace

std::optional<SweepOp> sweep_op(const catalog::Row& row, std::string& why) {
  if (row.derivative != catalog::Derivative::exists) {
    why = "its gradient is zero, or nothing is recorded";
    return {};
  }
  why = row.calls.empty() ? "it has no samples" : "no sample of its calls has a gradient";
  for (const Call& call : row.calls) {
    for (const Sample& sample : catalog::samples(row)) {
      if (sample.call == &call && has_gradient(sample)) return SweepOp{&row, &sample};
    }
  }
  return {};
}

catalog::Tensors sweep_inputs(const SweepOp& op, int64_t elements) {
  const Call& call = *op.sample->call;
  Tensors base = in_f32(*op.sample, op.sample->inputs);
  if (op.row->large && &call == op.row->calls.data()) {
    Tensors large = in_f32(*op.sample, op.row->large());
    if (elements_of(call, large) <= 2 * elements) base = std::move(large);
  }
  const int64_t one = elements_of(call, base);
  if (one >= elements) return base;
  for (const Grown& grow : ways_to_grow(base, op.row->takes_more_dimensions)) {
    constexpr int64_t kFew = 16;  // a size that rounding doesn't hide in any dimension
    const int64_t few = elements_of(call, grow(kFew));
    if (few <= one) continue;
    const double each = static_cast<double>(few - one) / (kFew - 1);
    const double rest = static_cast<double>(one) - each;
    const double factor = std::round((static_cast<double>(elements) - rest) / each);
    return spread(*op.sample, grow(std::max<int64_t>(1, static_cast<int64_t>(factor))));
  }
  return base;
}

}  // namespace aorta::bench

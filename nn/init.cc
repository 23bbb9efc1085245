#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/init.h>

#include <algorithm>
#include <cmath>

namespace aorta::nn::init {
namespace {

// What each function that calls another one begins with.
class Filling {
 public:
  Filling(const char* op, const Tensor& tensor) : called_(op) {
    check_defined(op, {{"tensor", tensor}});
  }

 private:
  CalledOp called_;
  NoGradGuard no_grad_;
};

// Fills a tensor; of a part that a rank has, its place in the full one, which all ranks draw alike.
template <class Fill>
const Tensor& filled(const char* op, const Tensor& tensor, const Fill& fill) {
  const Filling filling(op, tensor);
  const autograd::Shard* const shard = autograd::shard_of(tensor);
  const Tensor whole =
      shard ? empty(shard->full(), {.dtype = tensor.dtype(), .device = tensor.device()}) : tensor;
  fill(whole);
  if (shard) tensor.copy_(shard->part_of(whole));
  return tensor;
}

void check_floating(const char* op, const Tensor& tensor) {
  check(is_floating(tensor.dtype()), op, "dtype must be floating", tensor.dtype());
}

double fan_of(const Tensor& tensor, Fan mode) {
  const Fans fans = calculate_fans(tensor);
  return static_cast<double>(mode == Fan::in ? fans.in : fans.out);
}

double sum_of_fans(const Tensor& tensor) {
  const Fans fans = calculate_fans(tensor);
  return static_cast<double>(fans.in + fans.out);
}

// Standard normals within [low, high], which holds most of them: those outside are drawn again.
Tensor normals_within(double low, double high, const Shape& shape, Generator* generator) {
  constexpr TensorOptions options{.dtype = DType::f64};
  const Tensor values = randn(shape, options, generator);
  double* const value = values.data<double>();
  Tensor spare;
  int64_t next = 0;
  for (int64_t i = 0; i < values.numel(); ++i) {
    while (value[i] < low || value[i] > high) {
      if (!spare.defined() || next == spare.numel()) {
        spare = randn({256}, options, generator);
        next = 0;
      }
      value[i] = spare.data<double>()[next++];
    }
  }
  return values;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The x with normal_cdf(x) = p, by bisection: 60 halvings of an interval that holds it.
double normal_quantile(double p, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

Tensor truncated_normals(const Shape& shape, double mean, double std, double a, double b,
                         Generator* generator) {
  // In the tail where the interval lies, so that probabilities near 1 don't cancel.
  double low = (a - mean) / std, high = (b - mean) / std;
  const bool mirrored = low > 0;
  if (mirrored) {
    std::swap(low, high);
    low = -low;
    high = -high;
  }
  low = std::max(low, -40.0);
  high = std::min(high, 40.0);
  const double p_low = normal_cdf(low), p_high = normal_cdf(high);
  if (p_high - p_low > 0.5) {
    const Tensor values = normals_within(low, high, shape, generator);
    double* const value = values.data<double>();
    for (int64_t i = 0; i < values.numel(); ++i)
      value[i] = std::min(std::max(mean + std * (mirrored ? -value[i] : value[i]), a), b);
    return values;
  }
  const Tensor values = rand(shape, {.dtype = DType::f64}, generator);
  double* const value = values.data<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double x = normal_quantile(p_low + (p_high - p_low) * value[i], low, high);
    value[i] = std::min(std::max(mean + std * (mirrored ? -x : x), a), b);
  }
  return values;
}

}  // namespace

const Tensor& uniform_(const Tensor& tensor, double a, double b, Generator* generator) {
  return filled("uniform_", tensor, [&](const Tensor& whole) {
    check(a <= b, "uniform_", "a must be at most b", a, " and ", b);
    aorta::uniform_(whole, a, b, generator);
  });
}

const Tensor& normal_(const Tensor& tensor, double mean, double std, Generator* generator) {
  return filled("normal_", tensor, [&](const Tensor& whole) {
    check(std >= 0, "normal_", "std must not be negative", std);
    aorta::normal_(whole, mean, std, generator);
  });
}

const Tensor& trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b,
                            Generator* generator) {
  return filled("trunc_normal_", tensor, [&](const Tensor& whole) {
    check_floating("trunc_normal_", whole);
    check(std > 0, "trunc_normal_", "std must be positive", std);
    check(a < b, "trunc_normal_", "a must be below b", a, " and ", b);
    whole.copy_(truncated_normals(whole.shape(), mean, std, a, b, generator));
  });
}

const Tensor& trunc_normal_(const Tensor& tensor, const TruncNormalOptions& o,
                            Generator* generator) {
  return trunc_normal_(tensor, o.mean, o.std, o.a, o.b, generator);
}

const Tensor& constant_(const Tensor& tensor, double value) {
  return filled("constant_", tensor, [&](const Tensor& whole) { whole.fill_(value); });
}

const Tensor& ones_(const Tensor& tensor) {
  const Filling filling("ones_", tensor);
  return constant_(tensor, 1);
}

const Tensor& zeros_(const Tensor& tensor) {
  const Filling filling("zeros_", tensor);
  return constant_(tensor, 0);
}

const Tensor& eye_(const Tensor& tensor) {
  return filled("eye_", tensor, [](const Tensor& whole) {
    check(whole.dim() == 2, "eye_", "the tensor must have 2 dimensions", whole.shape());
    whole.copy_(eye(whole.size(0), whole.size(1), {.dtype = whole.dtype()}));
  });
}

Fans calculate_fans(const Tensor& tensor) {
  const Filling filling("calculate_fans", tensor);
  const autograd::Shard* const shard = autograd::shard_of(tensor);
  const Shape& shape = shard ? shard->full() : tensor.shape();
  check(shape.size() >= 2, "calculate_fans", "fans need a tensor of 2 dimensions or more", shape);
  int64_t kernel = 1;
  for (int d = 2; d < shape.size(); ++d) kernel *= shape[d];
  return {shape[1] * kernel, shape[0] * kernel};
}

double calculate_gain(Nonlinearity nonlinearity, double negative_slope) {
  switch (nonlinearity) {
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid:
      return 1;
    case Nonlinearity::tanh:
      return 5.0 / 3;
    case Nonlinearity::relu:
      return std::sqrt(2.0);
    case Nonlinearity::leaky_relu:
      return std::sqrt(2.0 / (1 + negative_slope * negative_slope));
    case Nonlinearity::selu:
      return 0.75;
  }
  fail("calculate_gain", "the nonlinearity must be one of the list",
       static_cast<int>(nonlinearity));
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain, Generator* generator) {
  const Filling filling("xavier_uniform_", tensor);
  const double bound = gain * std::sqrt(6.0 / sum_of_fans(tensor));
  return init::uniform_(tensor, -bound, bound, generator);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain, Generator* generator) {
  const Filling filling("xavier_normal_", tensor);
  return init::normal_(tensor, 0, gain * std::sqrt(2.0 / sum_of_fans(tensor)), generator);
}

const Tensor& kaiming_uniform_(const Tensor& tensor, const KaimingOptions& options,
                               Generator* generator) {
  const Filling filling("kaiming_uniform_", tensor);
  const double fan = fan_of(tensor, options.mode);
  if (fan == 0) return tensor;
  const double bound = calculate_gain(options.nonlinearity, options.a) * std::sqrt(3.0 / fan);
  return init::uniform_(tensor, -bound, bound, generator);
}

const Tensor& kaiming_normal_(const Tensor& tensor, const KaimingOptions& options,
                              Generator* generator) {
  const Filling filling("kaiming_normal_", tensor);
  const double fan = fan_of(tensor, options.mode);
  if (fan == 0) return tensor;
  const double std = calculate_gain(options.nonlinearity, options.a) / std::sqrt(fan);
  return init::normal_(tensor, 0, std, generator);
}

const Tensor& orthogonal_(const Tensor& tensor, double gain, Generator* generator) {
  return filled("orthogonal_", tensor, [&](const Tensor& whole) {
    check_floating("orthogonal_", whole);
    check(whole.dim() >= 2, "orthogonal_", "the tensor must have 2 dimensions or more",
          whole.shape());
    if (whole.numel() == 0) return;
    const int64_t rows = whole.size(0), columns = whole.numel() / rows;
    const int64_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
    const Tensor normal = randn({tall, narrow}, {.dtype = DType::f64}, generator);
    const linalg::QR parts = linalg::qr(normal);
    // The signs of R's diagonal make the distribution uniform (Mezzadri 2006).
    const Tensor q = parts.Q * sign(diagonal(parts.R)) * gain;
    whole.copy_((rows < columns ? q.transpose(0, 1) : q).reshape(whole.shape()));
  });
}

const Tensor& dirac_(const Tensor& tensor, int64_t groups) {
  return filled("dirac_", tensor, [&](const Tensor& whole) {
    check(whole.dim() >= 3 && whole.dim() <= 5, "dirac_",
          "the tensor must be (O, I, L), (O, I, H, W) or (O, I, D, H, W)", whole.shape());
    check(groups > 0 && whole.size(0) % groups == 0, "dirac_",
          "the outputs must divide into groups", whole.size(0), " by ", groups);
    whole.zero_();
    if (whole.numel() == 0) return;
    const int64_t outputs = whole.size(0) / groups, inputs = whole.size(1);
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t i = 0; i < std::min(outputs, inputs); ++i) {
        Tensor tap = whole.select(0, group * outputs + i).select(0, i);
        while (tap.dim() > 0) tap = tap.select(0, tap.size(0) / 2);
        tap.fill_(1);
      }
    }
  });
}

const Tensor& sparse_(const Tensor& tensor, double sparsity, double std, Generator* generator) {
  return filled("sparse_", tensor, [&](const Tensor& whole) {
    check_floating("sparse_", whole);
    check(whole.dim() == 2, "sparse_", "the tensor must have 2 dimensions", whole.shape());
    check(sparsity >= 0 && sparsity <= 1, "sparse_", "sparsity must be in [0, 1]", sparsity);
    const int64_t rows = whole.size(0);
    const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
    init::normal_(whole, 0, std, generator);
    for (int64_t column = 0; column < whole.size(1); ++column) {
      const Tensor places =
          randperm(rows, {.device = whole.device()}, generator).narrow(0, 0, zeros);
      whole.select(1, column).index_fill_(0, places, 0);
    }
  });
}

}  // namespace aorta::nn::init

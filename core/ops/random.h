#pragma once

#include <aorta/core/body/random.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>

namespace aorta {

// Random fills. `generator` is the default one when null. The numbers depend on the generator's
// state, the shape and the dtype, and not on device, strides or threads.

/// Uniform in [0, 1); floating dtypes.
Tensor rand(const Shape& shape, const TensorOptions& options = {}, Generator* generator = nullptr);
/// Normal with mean 0 and variance 1; floating dtypes.
Tensor randn(const Shape& shape, const TensorOptions& options = {}, Generator* generator = nullptr);
/// Integers in [low, high), i64 unless the options say otherwise.
Tensor randint(int64_t low, int64_t high, const Shape& shape, const TensorOptions& options = {},
               Generator* generator = nullptr);
Tensor randint(int64_t high, const Shape& shape, const TensorOptions& options = {},
               Generator* generator = nullptr);
/// The numbers 0 .. n-1 in random order, i64 unless the options say otherwise.
Tensor randperm(int64_t n, const TensorOptions& options = {}, Generator* generator = nullptr);

/// The result has the shape, dtype and device of `like`, where the options don't say otherwise.
Tensor rand_like(const Tensor& like, const LikeOptions& options = {},
                 Generator* generator = nullptr);
Tensor randn_like(const Tensor& like, const LikeOptions& options = {},
                  Generator* generator = nullptr);
Tensor randint_like(const Tensor& like, int64_t low, int64_t high, const LikeOptions& options = {},
                    Generator* generator = nullptr);
Tensor randint_like(const Tensor& like, int64_t high, const LikeOptions& options = {},
                    Generator* generator = nullptr);

/// In place; each returns its tensor.
Tensor uniform_(const Tensor& input, double low = 0, double high = 1,
                Generator* generator = nullptr);
Tensor normal_(const Tensor& input, double mean = 0, double std = 1,
               Generator* generator = nullptr);
Tensor bernoulli_(const Tensor& input, double p = 0.5, Generator* generator = nullptr);
/// 1 with the probability that each element of `input` gives, else 0; the input's shape and dtype.
Tensor bernoulli(const Tensor& input, Generator* generator = nullptr);

/// Draws `num_samples` indices from each row of weights (not negative, finite, sum > 0): input (W)
/// or (N, W) gives (num_samples) or (N, num_samples) of i64. Without replacement a row needs as
/// many weights above 0 as samples.
Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);

}  // namespace aorta

namespace aorta::kernel {

/// What fills a contiguous tensor: kind and its two parameters. For bernoulli, `probability` (f64,
/// contiguous, on the device) has one element, or one an element of the output.
using body::Distribution;
struct RandomArgs {
  Distribution distribution;
  body::RandomPosition random;
  double a = 0, b = 0;  // low and high, or mean and std
  int64_t low = 0;      // randint
  uint64_t range = 0;
  Tensor probability;  // bernoulli
};
using RandomKernel = void (*)(const Tensor& out, const RandomArgs& args);
/// The gradient is zero for what was overwritten; the entry gets the tensor after the fill.
using RandomGradient = void (*)(const Tensor& out);
extern Op<RandomKernel, RandomGradient> random_op;

}  // namespace aorta::kernel

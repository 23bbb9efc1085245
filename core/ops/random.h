#pragma once

#include <aorta/core/body/distribution.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>

namespace aorta {

// Random fills. `generator` is the default one when null. The numbers depend on the generator's
// state, the shape and the dtype, and not on device, strides or threads.

/// Uniform in [0, 1); floating dtypes, and complex ones, whose parts are.
Tensor rand(const Shape& shape, const TensorOptions& options = {}, Generator* generator = nullptr);
/// Normal with mean 0 and variance 1; floating dtypes, and complex ones, whose parts have variance
/// 1/2 each.
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

/// In place; each returns its tensor. Of a complex tensor, both parts of `uniform_` are in [low,
/// high), and `normal_` has std^2 / 2 as the variance of each, and a real mean.
Tensor uniform_(const Tensor& input, double low = 0, double high = 1,
                Generator* generator = nullptr);
Tensor normal_(const Tensor& input, double mean = 0, double std = 1,
               Generator* generator = nullptr);
Tensor bernoulli_(const Tensor& input, double p = 0.5, Generator* generator = nullptr);
/// Integers from `from` to below `to`; without `to` up to the dtype's largest, of a floating dtype
/// up to the largest below which it holds every integer. Any dtype.
Tensor random_(const Tensor& input);
Tensor random_(const Tensor& input, int64_t to);
Tensor random_(const Tensor& input, int64_t from, std::optional<int64_t> to,
               Generator* generator = nullptr);
/// Density lambd exp(-lambd x) for x > 0; lambd > 0.
Tensor exponential_(const Tensor& input, double lambd = 1, Generator* generator = nullptr);
/// Density sigma / (pi ((x - median)^2 + sigma^2)); sigma > 0.
Tensor cauchy_(const Tensor& input, double median = 0, double sigma = 1,
               Generator* generator = nullptr);
/// exp(x), x normal with mean and std > 0.
Tensor log_normal_(const Tensor& input, double mean = 1, double std = 2,
                   Generator* generator = nullptr);
/// How many trials it takes to the first success, k with probability (1 - p)^(k - 1) p, 0 < p < 1;
/// at most the dtype's largest number. Any dtype but bool.
Tensor geometric_(const Tensor& input, double p, Generator* generator = nullptr);
/// 1 with the probability that each element of `input` gives, else 0; the input's shape and dtype.
/// Errors: a probability outside of [0, 1]. What a GPU finds wrong in values, here and below, is
/// said by a later wait.
Tensor bernoulli(const Tensor& input, Generator* generator = nullptr);

/// Normal numbers, each with the mean and the standard deviation at its place, which broadcast;
/// floating dtypes, promoted. A constant for gradients. Errors: std < 0.
Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator = nullptr);
Tensor normal(const Tensor& mean, double std = 1, Generator* generator = nullptr);
Tensor normal(double mean, const Tensor& std, Generator* generator = nullptr);
Tensor normal(double mean, double std, const Shape& size, const TensorOptions& options = {},
              Generator* generator = nullptr);
/// A number of the Poisson distribution for each element, its rate: products of uniform numbers
/// below a rate of 10 (Knuth 1969), transformed rejection from there on (PTRS, Hoermann 1993). The
/// input's shape and dtype. Errors: a rate below 0.
Tensor poisson(const Tensor& input, Generator* generator = nullptr);

/// Draws `num_samples` indices from each row of weights (not negative, finite, sum > 0): input (W)
/// or (N, W) gives (num_samples) or (N, num_samples) of i64. Without replacement a row needs as
/// many weights above 0 as samples.
Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);

/// Where the default generator stands, for a checkpoint: its GeneratorState as i64 (3).
Tensor get_rng_state();
/// Goes on from there. Errors: "set_rng_state: state must be i64 (3), got f32 [3]".
void set_rng_state(const Tensor& state);

}  // namespace aorta

namespace aorta::kernel {

/// What fills a contiguous tensor: kind and its two parameters (see the bodies). `first` and
/// `second` (f64, contiguous, on the device) are the parameters of each element, where it has its
/// own: bernoulli's, or one for all, and those of samplers, which fill f64.
using body::Distribution;
struct RandomArgs {
  Distribution distribution;
  body::RandomPosition random = {};
  double a = 0, b = 0;  // low and high, mean and std, ...
  int64_t low = 0;      // randint
  uint64_t range = 0;
  Tensor first = {}, second = {};
  const GeneratorState* live = nullptr;  // of a captured step: where `random` is, on the device
};
using RandomKernel = void (*)(const Tensor& out, const RandomArgs& args);
/// The gradient is zero for what was overwritten; the entry gets the tensor after the fill.
using RandomGradient = void (*)(const Tensor& out);
extern Op<RandomKernel, RandomGradient> random_op;

/// A number for each element of its parameters, floating tensors of one shape: of poisson (rate),
/// gamma of rate 1 (concentration), binomial (total, probability) or von_mises around 0
/// (concentration). The first one's dtype. `op` is who draws.
Tensor draw_each(const char* op, Distribution distribution, const Tensor& first,
                 const Tensor& second, Generator* generator);

}  // namespace aorta::kernel

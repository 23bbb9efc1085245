#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/gamma_function.h>
#include <aorta/core/scalar/philox.h>
#include <aorta/core/written.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace aorta::kernel {

constinit Op<RandomKernel, RandomGradient> random_op{"random_"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// Blocks of four words that a fill of so many elements takes, the same on every device.
int64_t blocks_for(Distribution distribution, DType dtype, int64_t count) {
  const bool two = distribution == Distribution::randint ||
                   distribution == Distribution::bernoulli ||
                   distribution == Distribution::geometric || item_size(dtype) == 8;
  return two ? (count + 1) / 2 : (count + 3) / 4;
}

Tensor fill(const char* op, const Tensor& input, RandomArgs args, Generator* generator) {
  check_writable(op, input);
  const ProfilerRange range(op, {&input});
  const bool record = records_write(op, input, needs_gradient(input));
  const int64_t count = input.numel();
  if (count > 0 && !input.is_meta()) {
    Generator& source = generator ? *generator : default_generator();
    const int64_t blocks = blocks_for(args.distribution, input.dtype(), count);
    const GeneratorState at = source.take(blocks);
    args.random = {at.seed, at.stream, at.position};
    args.live = live_draw(source, at, blocks, input.device());
    const Tensor out =
        input.is_contiguous()
            ? input.detach()
            : empty(input.shape(), {.dtype = input.dtype(), .device = input.device()});
    random_op.kernel(input.device())(out, args);
    if (!input.is_contiguous()) input.detach().copy_(out);
  }
  bump_written(input);
  if (record) random_op.gradient()(input);
  tell_tracer(op, {&input}, {});
  return input;
}

Tensor make(const Shape& shape, const TensorOptions& options, DType standard) {
  return empty(shape, {.dtype = options.dtype.value_or(standard), .device = options.device});
}

Tensor make_like(const Tensor& like, const LikeOptions& options) {
  LikeOptions plain = options;
  plain.requires_grad = false;
  return empty_like(like, plain);
}

void check_range(const char* op, int64_t low, int64_t high, DType dtype) {
  check(low < high, op, "low must be less than high", low, " and ", high);
  check(dtype != DType::boolean || (low >= 0 && high <= 2), op, "bounds must fit the dtype", low,
        " and ", high, " for bool");
  check(dtype != DType::u8 || (low >= 0 && high <= 256), op, "bounds must fit the dtype", low,
        " and ", high, " for u8");
  check(dtype != DType::i32 || (low >= INT32_MIN && high <= int64_t{INT32_MAX} + 1), op,
        "bounds must fit the dtype", low, " and ", high, " for i32");
  check(!is_floating(dtype) || (fits(low, dtype) && fits(high - 1, dtype)), op,
        "bounds must fit the dtype", low, " and ", high, " for ", dtype);
}

// How many numbers from 0 on a dtype has without a gap.
int64_t whole_numbers(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return (int64_t{1} << 24) + 1;
    case DType::f64:
      return (int64_t{1} << 53) + 1;
    case DType::f16:
      return (int64_t{1} << 11) + 1;
    case DType::bf16:
      return (int64_t{1} << 8) + 1;
    case DType::i64:
      return INT64_MAX;
    case DType::i32:
      return int64_t{1} << 31;
    case DType::u8:
      return 256;
    case DType::boolean:
      return 2;
    case DType::c64:
    case DType::c128:
      break;
  }
  detail::refuse_complex(dtype);
}

// `range` integers from `low` on.
Tensor fill_range(const char* op, const Tensor& input, int64_t low, uint64_t range,
                  Generator* generator) {
  RandomArgs args{.distribution = Distribution::randint, .random = {}, .probability = {}};
  args.low = low;
  args.range = range;
  return fill(op, input, args, generator);
}

Tensor fill_integers(const char* op, const Tensor& input, int64_t low, int64_t high,
                     Generator* generator) {
  check_range(op, low, high, input.dtype());
  return fill_range(op, input, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low),
                    generator);
}

// A distribution with two numbers as its parameters, of floating dtypes.
Tensor fill_with_numbers(const char* op, Distribution distribution, const Tensor& input, double a,
                         double b, Generator* generator) {
  for (const double parameter : {a, b}) check_fits(op, parameter, input.dtype());
  return fill(op, input,
              {.distribution = distribution, .random = {}, .a = a, .b = b, .probability = {}},
              generator);
}

void check_random_floats(const char* op, const Tensor& input) {
  check_defined(op, {{"input", input}});
  check_floating(op, input.dtype());
}

}  // namespace

Tensor uniform_(const Tensor& input, double low, double high, Generator* generator) {
  check_defined("uniform_", {{"input", input}});
  check_floating("uniform_", input.dtype());
  check(low <= high && std::isfinite(low) && std::isfinite(high), "uniform_",
        "low must be at most high, both finite", low, " and ", high);
  for (const double bound : {low, high}) check_fits("uniform_", bound, input.dtype());
  const double width = high - low;
  check(std::isfinite(width) && fits(width, input.dtype()), "uniform_",
        "high - low must fit the dtype", width, " for ", input.dtype());
  return fill(
      "uniform_", input,
      {.distribution = Distribution::uniform, .random = {}, .a = low, .b = high, .probability = {}},
      generator);
}

Tensor normal_(const Tensor& input, double mean, double std, Generator* generator) {
  check_defined("normal_", {{"input", input}});
  check_floating("normal_", input.dtype());
  check(std >= 0, "normal_", "std can't be negative", std);
  for (const double parameter : {mean, std}) check_fits("normal_", parameter, input.dtype());
  return fill(
      "normal_", input,
      {.distribution = Distribution::normal, .random = {}, .a = mean, .b = std, .probability = {}},
      generator);
}

Tensor random_(const Tensor& input, int64_t from, std::optional<int64_t> to, Generator* generator) {
  check_defined("random_", {{"input", input}});
  check(!input.is_complex(), "random_", "dtype must be real", input.dtype());
  if (to) {
    check(from < *to, "random_", "from must be less than to", from, " and ", *to);
    return fill_integers("random_", input, from, *to, generator);
  }
  const DType dtype = input.dtype();
  const int64_t last = dtype == DType::i64 ? INT64_MAX : whole_numbers(dtype) - 1;
  check(from <= last, "random_", "from must be at most the dtype's largest", from, " for ", dtype);
  if (last < INT64_MAX) check_range("random_", from, last + 1, dtype);
  // All of the 2^64 integers but the last.
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from);
  return fill_range("random_", input, from, range == UINT64_MAX ? range : range + 1, generator);
}
Tensor random_(const Tensor& input, int64_t to) { return random_(input, 0, to); }
Tensor random_(const Tensor& input) { return random_(input, 0, std::nullopt); }

Tensor exponential_(const Tensor& input, double lambd, Generator* generator) {
  check_random_floats("exponential_", input);
  check(lambd > 0, "exponential_", "lambd must be positive", lambd);
  return fill_with_numbers("exponential_", Distribution::exponential, input, lambd, 0, generator);
}

Tensor cauchy_(const Tensor& input, double median, double sigma, Generator* generator) {
  check_random_floats("cauchy_", input);
  check(sigma > 0, "cauchy_", "sigma must be positive", sigma);
  return fill_with_numbers("cauchy_", Distribution::cauchy, input, median, sigma, generator);
}

Tensor log_normal_(const Tensor& input, double mean, double std, Generator* generator) {
  check_random_floats("log_normal_", input);
  check(std > 0, "log_normal_", "std must be positive", std);
  return fill_with_numbers("log_normal_", Distribution::log_normal, input, mean, std, generator);
}

Tensor geometric_(const Tensor& input, double p, Generator* generator) {
  check_defined("geometric_", {{"input", input}});
  const CalledOp called("geometric_");
  check(input.dtype() != DType::boolean, "geometric_", "dtype must be a number, not bool",
        input.dtype());
  check(p > 0 && p < 1, "geometric_", "p must lie in (0, 1)", p);
  RandomArgs args{.distribution = Distribution::geometric, .random = {}, .probability = {}};
  args.a = -std::log1p(-p);
  visit_dtype(input.dtype(), [&](auto type) { args.b = detail::largest<decltype(type)>; });
  if (input.dtype() == DType::i64) args.b = 0x1p63 - 0x1p10;  // the largest that is a double
  return fill("geometric_", input, args, generator);
}

Tensor bernoulli_(const Tensor& input, double p, Generator* generator) {
  check_defined("bernoulli_", {{"input", input}});
  check(p >= 0 && p <= 1, "bernoulli_", "p must lie in [0, 1]", p);
  RandomArgs args{.distribution = Distribution::bernoulli, .random = {}, .probability = {}};
  args.probability = full({1}, p, {.dtype = DType::f64, .device = input.device()});
  return fill("bernoulli_", input, args, generator);
}

Tensor bernoulli(const Tensor& input, Generator* generator) {
  const CalledOp called("bernoulli");
  check_defined("bernoulli", {{"input", input}});
  check_floating("bernoulli", input.dtype());
  const Tensor p = input.detach().to(DType::f64).contiguous();
  for (double value : p.to_vector<double>()) {
    check(value >= 0 && value <= 1, "bernoulli", "probabilities must lie in [0, 1]", value);
  }
  const Tensor out = empty_like(input);
  RandomArgs args{.distribution = Distribution::bernoulli, .random = {}, .probability = p};
  return fill("bernoulli", out, args, generator);
}

namespace {

// A GPU isn't asked, for that would wait for it.
void check_not_negative(const char* op, const char* rule, const Tensor& x) {
  if (!x.device().is_cpu()) return;
  const Tensor negative = masked_select(x.detach(), lt(x.detach(), 0));
  check(negative.numel() == 0, op, rule, negative.numel() > 0 ? negative[0].item() : Scalar(0));
}

Tensor draw_normal(const Operand& mean, const Operand& std, Generator* generator) {
  const Tensor& a = mean.tensor ? *mean.tensor : *std.tensor;
  const Tensor& b = std.tensor ? *std.tensor : a;
  const DType dtype = promote(a.dtype(), b.dtype());
  check_floating("normal", dtype);
  check(a.device() == b.device(), "normal", "tensors must be on one device", a.device(), " and ",
        b.device());
  const Shape shape = broadcast_shapes("normal", a.shape(), b.shape());
  const Tensor drawn = randn(shape, {.dtype = dtype, .device = a.device()}, generator);
  mul_(drawn, std.tensor ? Operand(b.detach()) : std);
  return add_(drawn, mean.tensor ? Operand(a.detach()) : mean);
}

double draw_poisson(double rate, Generator& generator) {
  const auto uniform = [&] { return std::max(generator.next_uniform(), 0x1p-54); };
  if (!std::isfinite(rate) || rate <= 0) return rate;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double product = uniform(), count = 0;
    for (; product > least; ++count) product *= uniform();
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform() - 0.5, v = uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= sure) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <=
        k * std::log(rate) - rate - scalar::lgamma(k + 1))
      return k;
  }
}

}  // namespace

Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator) {
  const CalledOp called("normal");
  check_defined("normal", {{"mean", mean}, {"std", std}});
  check_not_negative("normal", "std can't be negative", std);
  return draw_normal(mean, std, generator);
}

Tensor normal(const Tensor& mean, double std, Generator* generator) {
  const CalledOp called("normal");
  check_defined("normal", {{"mean", mean}});
  check(std >= 0, "normal", "std can't be negative", std);
  return draw_normal(mean, std, generator);
}

Tensor normal(double mean, const Tensor& std, Generator* generator) {
  const CalledOp called("normal");
  check_defined("normal", {{"std", std}});
  check_not_negative("normal", "std can't be negative", std);
  return draw_normal(mean, std, generator);
}

Tensor normal(double mean, double std, const Shape& size, const TensorOptions& options,
              Generator* generator) {
  const CalledOp called("normal");
  check_floating("normal", options.dtype.value_or(DType::f32));
  return detail::with_requires_grad(normal_(make(size, options, DType::f32), mean, std, generator),
                                    options.requires_grad);
}

Tensor poisson(const Tensor& input, Generator* generator) {
  const CalledOp called("poisson");
  check_defined("poisson", {{"input", input}});
  check_floating("poisson", input.dtype());
  if (input.is_meta()) return empty_like(input);
  check_not_negative("poisson", "rates can't be negative", input);
  const Tensor rates =
      input.detach().to(ToOptions{.dtype = DType::f64, .device = Device()}).contiguous();
  const Tensor counts = empty(rates.shape(), {.dtype = DType::f64});
  Generator& source = generator ? *generator : default_generator();
  for (int64_t i = 0; i < rates.numel(); ++i)
    counts.data<double>()[i] = draw_poisson(rates.data<double>()[i], source);
  return counts.to(ToOptions{.dtype = input.dtype(), .device = input.device()});
}

Tensor rand(const Shape& shape, const TensorOptions& options, Generator* generator) {
  const CalledOp called("rand");
  check_floating("rand", options.dtype.value_or(DType::f32));
  return detail::with_requires_grad(uniform_(make(shape, options, DType::f32), 0, 1, generator),
                                    options.requires_grad);
}

Tensor randn(const Shape& shape, const TensorOptions& options, Generator* generator) {
  const CalledOp called("randn");
  check_floating("randn", options.dtype.value_or(DType::f32));
  return detail::with_requires_grad(normal_(make(shape, options, DType::f32), 0, 1, generator),
                                    options.requires_grad);
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, const TensorOptions& options,
               Generator* generator) {
  const CalledOp called("randint");
  return detail::with_requires_grad(
      fill_integers("randint", make(shape, options, DType::i64), low, high, generator),
      options.requires_grad);
}

Tensor randint(int64_t high, const Shape& shape, const TensorOptions& options,
               Generator* generator) {
  const CalledOp called("randint");
  return randint(0, high, shape, options, generator);
}

Tensor rand_like(const Tensor& like, const LikeOptions& options, Generator* generator) {
  const CalledOp called("rand_like");
  check_defined("rand_like", {{"like", like}});
  const Tensor made = make_like(like, options);
  check_floating("rand_like", made.dtype());
  return detail::with_requires_grad(uniform_(made, 0, 1, generator), options.requires_grad);
}

Tensor randn_like(const Tensor& like, const LikeOptions& options, Generator* generator) {
  const CalledOp called("randn_like");
  check_defined("randn_like", {{"like", like}});
  const Tensor made = make_like(like, options);
  check_floating("randn_like", made.dtype());
  return detail::with_requires_grad(normal_(made, 0, 1, generator), options.requires_grad);
}

Tensor randint_like(const Tensor& like, int64_t low, int64_t high, const LikeOptions& options,
                    Generator* generator) {
  const CalledOp called("randint_like");
  check_defined("randint_like", {{"like", like}});
  return detail::with_requires_grad(
      fill_integers("randint_like", make_like(like, options), low, high, generator),
      options.requires_grad);
}

Tensor randint_like(const Tensor& like, int64_t high, const LikeOptions& options,
                    Generator* generator) {
  const CalledOp called("randint_like");
  check_defined("randint_like", {{"like", like}});
  return randint_like(like, 0, high, options, generator);
}

Tensor randperm(int64_t n, const TensorOptions& options, Generator* generator) {
  const CalledOp called("randperm");
  check(n >= 0, "randperm", "n can't be negative", n);
  const DType dtype = options.dtype.value_or(DType::i64);
  check(n <= whole_numbers(dtype), "randperm", "the dtype must hold every number below n", n,
        " as ", dtype);
  // Fisher and Yates, from the end; each step has a draw of 63 bits of its own.
  const Tensor order = arange(n);
  const Tensor draws = empty({std::min<int64_t>(n, 1 << 14)}, {.dtype = DType::i64});
  int64_t* const at = order.data<int64_t>();
  const int64_t* const draw = draws.data<int64_t>();
  for (int64_t end = n, begin; end > 0; end = begin) {
    fill_integers("randperm", draws, 0, INT64_MAX, generator);
    begin = std::max<int64_t>(end - draws.numel(), 0);
    for (int64_t i = end - 1; i >= begin; --i) {
      const auto bits = static_cast<uint64_t>(draw[i - begin]) << 1;
      const uint64_t j =
          scalar::uniform_below(static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits),
                                static_cast<uint64_t>(i) + 1);
      std::swap(at[i], at[j]);
    }
  }
  return detail::with_requires_grad(order.to(ToOptions{.dtype = dtype, .device = options.device}),
                                    options.requires_grad);
}

namespace {

// How often a draw that isn't replaced is made again where it was drawn before.
constexpr int64_t kTries = 16;

// Without replacement, few of many are drawn by the weights' running sums too.
bool is_by_sums(int64_t count, int64_t samples, bool replacement) {
  return replacement || samples == 1 || samples * (kTries + 1) < count;
}
// Random numbers of a row.
int64_t numbers_of_row(int64_t count, int64_t samples, bool replacement) {
  if (replacement || samples == 1) return samples;
  return is_by_sums(count, samples, replacement) ? samples * (kTries + 1) : count;
}

// Draws from one row of weights.
void draw_row(const double* weights, int64_t count, int64_t samples, bool replacement,
              const GeneratorState& at, int64_t* out) {
  double total = 0;
  int64_t positive = 0;
  for (int64_t i = 0; i < count; ++i) {
    check(weights[i] >= 0 && std::isfinite(weights[i]), "multinomial",
          "weights must be finite and not negative", weights[i]);
    total += weights[i];
    positive += weights[i] > 0;
  }
  check(total > 0, "multinomial", "the sum of the weights must be positive", total);
  check(replacement || positive >= samples, "multinomial",
        "without replacement there must be as many weights above 0 as samples", positive, " for ",
        samples);
  const auto uniform = [&](int64_t i) {
    const scalar::PhiloxWords w =
        scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(i));
    return scalar::uniform_double(w.word[0], w.word[1]);
  };
  if (is_by_sums(count, samples, replacement)) {
    std::vector<double> cumulative(static_cast<size_t>(count));
    std::partial_sum(weights, weights + count, cumulative.begin());
    const auto draw = [&](int64_t i) {
      const double target = uniform(i) * cumulative.back();
      const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), target);
      return std::min<int64_t>(place - cumulative.begin(), count - 1);
    };
    if (replacement || samples == 1) {
      for (int64_t s = 0; s < samples; ++s) out[s] = draw(s);
      return;
    }
    std::vector<bool> drawn(static_cast<size_t>(count));
    for (int64_t s = 0; s < samples; ++s) {
      int64_t i = s * (kTries + 1), place = draw(i);
      for (const int64_t last = i + kTries - 1; drawn[static_cast<size_t>(place)] && i < last;)
        place = draw(++i);
      // Most of the weight is drawn: it is left out from here on.
      if (drawn[static_cast<size_t>(place)]) {
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) {
          const auto here = static_cast<size_t>(k);
          cumulative[here] = sum += drawn[here] ? 0 : weights[k];
        }
        place = draw(++i);
      }
      drawn[static_cast<size_t>(place)] = true;
      out[s] = place;
    }
    return;
  }
  // The first of exponential clocks whose rates are the weights (Efraimidis and Spirakis 2006).
  std::vector<std::pair<double, int64_t>> clocks;
  for (int64_t i = 0; i < count; ++i) {
    if (weights[i] > 0) clocks.emplace_back(-std::log1p(-uniform(i)) / weights[i], i);
  }
  std::partial_sort(clocks.begin(), clocks.begin() + samples, clocks.end());
  for (int64_t s = 0; s < samples; ++s) out[s] = clocks[static_cast<size_t>(s)].second;
}

}  // namespace

Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement,
                   Generator* generator) {
  const CalledOp called("multinomial");
  check_defined("multinomial", {{"input", input}});
  check_floating("multinomial", input.dtype());
  check(input.dim() == 1 || input.dim() == 2, "multinomial", "1 or 2 dimensions", input.shape());
  check(num_samples > 0, "multinomial", "num_samples must be positive", num_samples);
  const int64_t count = input.size(-1);
  const int64_t rows = input.dim() == 2 ? input.size(0) : 1;
  check(count > 0, "multinomial", "there must be weights", input.shape());
  check(replacement || num_samples <= count, "multinomial",
        "without replacement there can't be more samples than weights", num_samples, " of ", count);
  Shape shape = input.shape();
  shape.back() = num_samples;
  if (input.is_meta()) return empty(shape, {.dtype = DType::i64, .device = input.device()});
  const Tensor weights =
      input.detach().to(ToOptions{.dtype = DType::f64, .device = Device()}).contiguous();
  const Tensor result = empty(shape, {.dtype = DType::i64});
  const int64_t blocks = numbers_of_row(count, num_samples, replacement);
  Generator& source = generator ? *generator : default_generator();
  const GeneratorState first = source.take(rows * blocks);
  constexpr int64_t kGrain = 32768;
  parallel_for(0, rows, std::max<int64_t>(kGrain / count, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      GeneratorState at = first;
      at.position += static_cast<uint64_t>(row * blocks);
      draw_row(weights.data<double>() + row * count, count, num_samples, replacement, at,
               result.data<int64_t>() + row * num_samples);
    }
  });
  return result.to(input.device());
}

Tensor get_rng_state() {
  const GeneratorState state = default_generator().state();
  const Tensor words = empty({3}, {.dtype = DType::i64});
  const uint64_t values[] = {state.seed, state.stream, state.position};
  std::memcpy(words.data<int64_t>(), values, sizeof values);
  return words;
}

void set_rng_state(const Tensor& state) {
  const CalledOp called("set_rng_state");
  check_defined("set_rng_state", {{"state", state}});
  check(state.dtype() == DType::i64 && state.shape() == Shape{3}, "set_rng_state",
        "state must be i64 (3)", state.dtype(), " ", state.shape());
  const std::vector<int64_t> words = state.to_vector<int64_t>();
  const auto word = [&](size_t i) { return static_cast<uint64_t>(words[i]); };
  default_generator().restore({word(0), word(1), word(2)});
}

}  // namespace aorta

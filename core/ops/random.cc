#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/written.h>

#include <cmath>
#include <cstring>
#include <numbers>

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
  const CalledOp called(op);
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
  RandomArgs args{.distribution = Distribution::randint};
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
  return fill(op, input, {.distribution = distribution, .a = a, .b = b}, generator);
}

void check_uniform_or_normal(const char* op, DType dtype) {
  check(is_floating(dtype) || is_complex(dtype), op, "dtype must be floating or complex", dtype);
}

void check_random_floats(const char* op, const Tensor& input) {
  check_defined(op, {{"input", input}});
  check_floating(op, input.dtype());
}

}  // namespace

Tensor uniform_(const Tensor& input, double low, double high, Generator* generator) {
  check_defined("uniform_", {{"input", input}});
  if (input.is_complex()) {
    uniform_(view_as_real(input), low, high, generator);
    return input;
  }
  check_uniform_or_normal("uniform_", input.dtype());
  check(low <= high && std::isfinite(low) && std::isfinite(high), "uniform_",
        "low must be at most high, both finite", low, " and ", high);
  for (const double bound : {low, high}) check_fits("uniform_", bound, input.dtype());
  const double width = high - low;
  check(std::isfinite(width) && fits(width, input.dtype()), "uniform_",
        "high - low must fit the dtype", width, " for ", input.dtype());
  return fill("uniform_", input, {.distribution = Distribution::uniform, .a = low, .b = high},
              generator);
}

Tensor normal_(const Tensor& input, double mean, double std, Generator* generator) {
  check_defined("normal_", {{"input", input}});
  check_uniform_or_normal("normal_", input.dtype());
  check(std >= 0, "normal_", "std can't be negative", std);
  if (input.is_complex()) {
    normal_(view_as_real(input), 0, std * std::numbers::sqrt2 / 2, generator);
    return mean == 0 ? input : add_(input, mean);
  }
  for (const double parameter : {mean, std}) check_fits("normal_", parameter, input.dtype());
  return fill("normal_", input, {.distribution = Distribution::normal, .a = mean, .b = std},
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
  RandomArgs args{.distribution = Distribution::geometric};
  args.a = -std::log1p(-p);
  visit_dtype(input.dtype(), [&](auto type) { args.b = detail::largest<decltype(type)>; });
  if (input.dtype() == DType::i64) args.b = 0x1p63 - 0x1p10;  // the largest that is a double
  return fill("geometric_", input, args, generator);
}

Tensor bernoulli_(const Tensor& input, double p, Generator* generator) {
  check_defined("bernoulli_", {{"input", input}});
  check(p >= 0 && p <= 1, "bernoulli_", "p must lie in [0, 1]", p);
  RandomArgs args{.distribution = Distribution::bernoulli};
  args.first = full({1}, p, {.dtype = DType::f64, .device = input.device()});
  return fill("bernoulli_", input, args, generator);
}

namespace {

// No element of x may be one of bad(x). A device answers later, with an error at a wait.
template <class Bad, class... More>
void check_none(const char* op, const char* rule, const Tensor& of, const Bad& bad,
                const More&... more) {
  const Tensor x = of.detach();
  const Tensor wrong = bad(x);
  if (wrong.numel() == 0 || (x.device().is_cpu() && !any(wrong).item<bool>())) return;
  const auto find_bad = find_bad_index_op.kernel(x.device());
  const int64_t place = find_bad(wrong.to(DType::i64).contiguous(), 0, 1, nullptr);
  if (place >= 0) fail(op, rule, x.reshape({-1}).select(0, place).item(), more...);
}

Tensor is_negative(const Tensor& x) { return lt(x, 0); }

}  // namespace

Tensor bernoulli(const Tensor& input, Generator* generator) {
  const CalledOp called("bernoulli");
  check_defined("bernoulli", {{"input", input}});
  check_floating("bernoulli", input.dtype());
  const Tensor p = input.detach().to(DType::f64).contiguous();
  check_none("bernoulli", "probabilities must lie in [0, 1]", p,
             [](const Tensor& x) { return logical_not(logical_and(ge(x, 0), le(x, 1))); });
  RandomArgs args{.distribution = Distribution::bernoulli};
  args.first = p;
  return fill("bernoulli", empty_like(input), args, generator);
}

namespace {

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

}  // namespace

Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator) {
  const CalledOp called("normal");
  check_defined("normal", {{"mean", mean}, {"std", std}});
  check_none("normal", "std can't be negative", std, is_negative);
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
  check_none("normal", "std can't be negative", std, is_negative);
  return draw_normal(mean, std, generator);
}

Tensor normal(double mean, double std, const Shape& size, const TensorOptions& options,
              Generator* generator) {
  const CalledOp called("normal");
  check_uniform_or_normal("normal", options.dtype.value_or(DType::f32));
  return detail::with_requires_grad(normal_(make(size, options, DType::f32), mean, std, generator),
                                    options.requires_grad);
}

Tensor poisson(const Tensor& input, Generator* generator) {
  const CalledOp called("poisson");
  check_defined("poisson", {{"input", input}});
  check_floating("poisson", input.dtype());
  check_none("poisson", "rates can't be negative", input, is_negative);
  return draw_each("poisson", Distribution::poisson, input, {}, generator);
}

Tensor kernel::draw_each(const char* op, Distribution distribution, const Tensor& first,
                         const Tensor& second, Generator* generator) {
  RandomArgs args{.distribution = distribution};
  args.first = first.detach().to(DType::f64).contiguous();
  if (second.defined()) args.second = second.detach().to(DType::f64).contiguous();
  return fill(op, empty(first.shape(), {.dtype = DType::f64, .device = first.device()}), args,
              generator)
      .to(first.dtype());
}

Tensor rand(const Shape& shape, const TensorOptions& options, Generator* generator) {
  const CalledOp called("rand");
  check_uniform_or_normal("rand", options.dtype.value_or(DType::f32));
  return detail::with_requires_grad(uniform_(make(shape, options, DType::f32), 0, 1, generator),
                                    options.requires_grad);
}

Tensor randn(const Shape& shape, const TensorOptions& options, Generator* generator) {
  const CalledOp called("randn");
  check_uniform_or_normal("randn", options.dtype.value_or(DType::f32));
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
  check_uniform_or_normal("rand_like", made.dtype());
  return detail::with_requires_grad(uniform_(made, 0, 1, generator), options.requires_grad);
}

Tensor randn_like(const Tensor& like, const LikeOptions& options, Generator* generator) {
  const CalledOp called("randn_like");
  check_defined("randn_like", {{"like", like}});
  const Tensor made = make_like(like, options);
  check_uniform_or_normal("randn_like", made.dtype());
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
  // By random keys of 63 bits: two of a million are equal once in eighteen million times.
  const Tensor keys = make({n}, {.device = options.device}, DType::i64);
  const Tensor order = argsort(fill_integers("randperm", keys, 0, INT64_MAX, generator));
  return detail::with_requires_grad(order.to(dtype), options.requires_grad);
}

namespace {

// Draws by the running sums of each row (N, W) of weights.
Tensor draw_by_sums(const Tensor& weights, int64_t samples, Generator* generator) {
  const int64_t count = weights.size(1);
  Tensor sums = cumsum(weights, 1);
  // A device that adds in another order may round a sum below the one before it: they never fall,
  // nor rise by a weight of 0.
  if (!sums.device().is_cpu()) sums = cummax(where(gt(weights, 0), sums, 0), 1).values;
  const Tensor targets = rand({weights.size(0), samples},
                              {.dtype = DType::f64, .device = weights.device()}, generator);
  targets.mul_(sums.narrow(1, count - 1, 1));
  return clamp_max(searchsorted(sums, targets, true), count - 1);
}

// The first of exponential clocks whose rates are the weights (Efraimidis and Spirakis 2006).
Tensor draw_by_clocks(const Tensor& weights, int64_t samples, Generator* generator) {
  const Tensor clocks = exponential_(empty_like(weights), 1, generator);
  clocks.div_(where(gt(weights, 0), weights, NAN));  // NaN comes last
  return topk(clocks, samples, {.largest = false}).indices;
}

// What weights (N, W) must be to draw as many different ones.
void check_weights(const Tensor& weights, int64_t different) {
  check_none("multinomial", "weights must be finite and not negative", weights,
             [](const Tensor& x) { return logical_not(logical_and(ge(x, 0), lt(x, INFINITY))); });
  const Tensor positive = count_nonzero(weights, {1});
  const auto are_few = [&](const Tensor& counts) { return lt(counts, different); };
  if (different == 1)
    check_none("multinomial", "the sum of the weights must be positive", positive, are_few);
  else
    check_none("multinomial",
               "without replacement there must be as many weights above 0 as samples", positive,
               are_few, " for ", different);
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
  check(count > 0, "multinomial", "there must be weights", input.shape());
  check(replacement || num_samples <= count, "multinomial",
        "without replacement there can't be more samples than weights", num_samples, " of ", count);
  const int64_t rows = input.dim() == 2 ? input.size(0) : 1;
  // Sums are taken in f64, clocks in the weights' own dtype or f32.
  const bool by_sums = replacement || num_samples == 1;
  const DType dtype = by_sums || input.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor weights = input.detach().to(dtype).contiguous().view({rows, count});
  check_weights(weights, replacement ? 1 : num_samples);
  const Tensor drawn = by_sums ? draw_by_sums(weights, num_samples, generator)
                               : draw_by_clocks(weights, num_samples, generator);
  return input.dim() == 2 ? drawn : drawn.view({num_samples});
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

#include <aorta/core/half.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tools/bench/sides.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>

namespace aorta::bench {
namespace {

double hash_to_unit(int64_t index) {
  uint32_t h = static_cast<uint32_t>(index) * 2654435761u;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  return (h >> 8) * 0x1p-24;
}

double unit(int64_t i, int64_t seed) { return hash_to_unit(i + 1000003 * seed); }

// Element i, in row-major order, is value(i).
template <class F>
Tensor filled(const Shape& shape, DType dtype, const F& value) {
  const Tensor values = empty(shape);
  float* data = values.data<float>();
  parallel_for(0, values.numel(), 1 << 16, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) data[i] = static_cast<float>(value(i));
  });
  return values.to(dtype);
}

// The elements in row-major order.
std::vector<double> elements(const Tensor& result) { return result.to_vector<double>(); }

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The number of elements of all results, and what else `describe` says of each.
std::vector<double> of_each(const std::vector<Tensor>& results,
                            std::vector<double> (*describe)(const Tensor&)) {
  const bool floating = std::any_of(results.begin(), results.end(),
                                    [](const Tensor& t) { return is_floating(t.dtype()); });
  std::vector<double> values = {0};
  for (const Tensor& result : results) {
    if (is_floating(result.dtype()) != floating) continue;
    const std::vector<double> one = describe(result);
    values[0] += one[0];
    values.insert(values.end(), one.begin() + 1, one.end());
  }
  return values;
}

struct CopyBuffers {
  explicit CopyBuffers(int64_t size)
      : source(empty({size}, {.dtype = DType::u8})),
        destination(empty({size}, {.dtype = DType::u8})) {
    std::memset(source.data(), 1, static_cast<size_t>(size));
    std::memset(destination.data(), 2, static_cast<size_t>(size));
  }
  Tensor source, destination;
};

// Each thread copies one piece, however many pieces another would have time for.
void copy_on_threads(const CopyBuffers& buffers, int threads) {
  const int64_t size = buffers.source.numel();
  const int64_t piece = divide_up(size, threads);
  parallel_for(0, size, piece, [&](int64_t first, int64_t last) {
    std::memcpy(buffers.destination.data<uint8_t>() + first, buffers.source.data<uint8_t>() + first,
                static_cast<size_t>(last - first));
  });
}

}  // namespace

Tensor make(const Shape& shape, double low, double high, int64_t seed, DType dtype) {
  return filled(shape, dtype, [=](int64_t i) { return low + (high - low) * unit(i, seed); });
}

Tensor make_normal(const Shape& shape, double mean, double deviation, int64_t seed, DType dtype) {
  return filled(shape, dtype, [=](int64_t i) {
    const double radius = std::sqrt(-2 * std::log1p(-unit(i, seed)));
    return mean + deviation * radius * std::cos(2 * std::numbers::pi * unit(i, seed + 64));
  });
}

std::vector<double> sample(const Tensor& result) {
  const std::vector<double> all = elements(result);
  std::vector<double> values = {static_cast<double>(all.size())};
  if (all.empty()) return values;
  values.push_back(mean_of(all));
  for (size_t k = 0; k < 16; ++k) values.push_back(all[k * (all.size() - 1) / 15]);
  return values;
}

std::vector<double> moments(const Tensor& result) {
  const std::vector<double> all = elements(result);
  const double mean = mean_of(all);
  double squares = 0;
  for (const double value : all) squares += (value - mean) * (value - mean);
  return {static_cast<double>(all.size()), mean,
          std::sqrt(squares / static_cast<double>(all.size()))};
}

std::vector<double> samples(const std::vector<Tensor>& results) { return of_each(results, sample); }

std::vector<double> all_moments(const std::vector<Tensor>& results) {
  return of_each(results, moments);
}

Side memcpy_side(double bytes) {
  const int64_t size = std::min<int64_t>(64 << 20, static_cast<int64_t>(bytes) / 2);
  const auto buffers = std::make_shared<CopyBuffers>(std::max<int64_t>(size, 1));
  const double scale = bytes / (2.0 * static_cast<double>(buffers->source.numel()));
  const int threads = get_num_threads();
  return {.name = "memcpy", .run = [=](int64_t repetitions) {
            const double start = seconds_now();
            for (int64_t i = 0; i < repetitions; ++i) copy_on_threads(*buffers, threads);
            return (seconds_now() - start) * scale;
          }};
}

}  // namespace aorta::bench

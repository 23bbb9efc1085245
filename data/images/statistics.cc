#include <aorta/core/check.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/images/statistics.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

namespace aorta::data {
namespace {

// The sums of some values, added up as Chan, Golub and LeVeque 1983 do, for squares cancel.
struct Sums {
  double count = 0, mean = 0;
  double about = 0;  // squared distances from the mean

  void add(const Sums& more) {
    const double all = count + more.count, step = more.mean - mean;
    about += more.about + step * step * (count * more.count / all);
    mean += step * (more.count / all);
    count = all;
  }
};

// (A, C, B), row-major: the sums of channel c.
template <class T>
void add(const T* data, int64_t a, int64_t channels, int64_t b, std::vector<Sums>& sums) {
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t c = 0; c < channels; ++c, data += b) {
      double sum = 0, about = 0;
      for (int64_t k = 0; k < b; ++k) sum += static_cast<double>(data[k]);
      const double mean = sum / static_cast<double>(b);
      for (int64_t k = 0; k < b; ++k) {
        const double apart = static_cast<double>(data[k]) - mean;
        about += apart * apart;
      }
      sums[static_cast<size_t>(c)].add({static_cast<double>(b), mean, about});
    }
  }
}

// Sums the values of a sample, channel by channel.
std::vector<Sums> sums_of(const Tensor& sample, int64_t channel_dim) {
  check(sample.numel() > 0, "mean_and_std", "samples must have elements", sample.shape());
  const Tensor values = sample.contiguous();
  check(values.dtype() == u8 || values.dtype() == f32, "mean_and_std", "tensor must be u8 or f32",
        values.dtype());
  const int64_t dim = wrap_dim("mean_and_std", channel_dim, values.dim());
  int64_t a = 1, b = 1;
  for (int64_t d = 0; d < dim; ++d) a *= values.size(d);
  for (int64_t d = dim + 1; d < values.dim(); ++d) b *= values.size(d);
  std::vector<Sums> sums(static_cast<size_t>(values.size(dim)));
  if (values.dtype() == u8)
    add(values.data<uint8_t>(), a, values.size(dim), b, sums);
  else
    add(values.data<float>(), a, values.size(dim), b, sums);
  return sums;
}

}  // namespace

ChannelStatistics mean_and_std(const Dataset& dataset, const Text& name,
                               const StatisticsOptions& options) {
  check(options.samples >= 0, "mean_and_std", "samples must not be negative", options.samples);
  check(dataset.size() > 0, "mean_and_std", "the dataset must have samples", "none");
  const int64_t size = dataset.size();
  const int64_t count = options.samples == 0 ? size : std::min(options.samples, size);
  std::vector<int64_t> order;
  try {
    order.resize(static_cast<size_t>(size));
  } catch (const std::bad_alloc&) {
    fail_for_resources("mean_and_std", "there must be memory for the order of the samples", size,
                       " samples");
  }
  std::iota(order.begin(), order.end(), 0);
  Generator random(options.seed);
  if (count < size)
    for (int64_t i = 0; i < count; ++i)
      std::swap(order[static_cast<size_t>(i)],
                order[static_cast<size_t>(i + random.next_below(size - i))]);
  std::vector<std::vector<Sums>> found(static_cast<size_t>(count));
  parallel_for(0, count, options.parallel ? 1 : count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = order[static_cast<size_t>(i)];
      Generator own(options.seed, static_cast<uint64_t>(index) + 1);
      found[static_cast<size_t>(i)] =
          sums_of(dataset.sample(index, own)[name], options.channel_dim);
    }
  });
  std::vector<Sums> sums = found[0];
  for (int64_t i = 1; i < count; ++i) {
    const std::vector<Sums>& more = found[static_cast<size_t>(i)];
    check(more.size() == sums.size(), "mean_and_std", "samples must have the same channels",
          more.size(), " after ", sums.size());
    for (size_t c = 0; c < sums.size(); ++c) sums[c].add(more[c]);
  }
  ChannelStatistics result;
  for (const Sums& all : sums) {
    result.mean.push_back(static_cast<float>(all.mean));
    result.std.push_back(static_cast<float>(std::sqrt(all.about / all.count)));
  }
  return result;
}

}  // namespace aorta::data

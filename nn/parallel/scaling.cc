#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/nn/parallel/scaling.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace aorta::nn {
namespace {

constexpr double kLastBucket = 1 << 20;  // bytes, at most

// The shortest of a few on this rank; a GPU's are done when a value is read.
double all_reduce_seconds(Communicator& group, int64_t elements, Device device) {
  const Tensor tensor = zeros({elements}, {.device = device});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4; ++i) {
    group.barrier();
    const double start = seconds_now();
    group.all_reduce(tensor);
    tensor.narrow(0, 0, 1).item<double>();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

}  // namespace

RankSpeed measure_rank_speed(Communicator& group, Device device) {
  constexpr int64_t kElements = 1 << 18;
  const double ranks = group.size();
  const Tensor seconds = tensor(std::vector<double>{all_reduce_seconds(group, 1, device),
                                                    all_reduce_seconds(group, kElements, device)});
  group.all_reduce(seconds, ReduceOp::max);
  const double latency = seconds.at<double>({0});
  const double sent = 2 * (ranks - 1) / ranks * kElements * sizeof(float);
  return {latency, sent / std::max(seconds.at<double>({1}) - latency, 1e-9)};
}

double exposed_seconds(const RankedStep& step) {
  if (step.ranks == 1) return 0;
  const double ranks = step.ranks, bytes = step.gradient_bytes;
  const double last = std::min({kLastBucket, step.bucket_bytes, bytes});
  const double count = std::ceil((bytes - last) / step.bucket_bytes);
  const double backward = step.backward_share * step.compute_seconds;
  const auto seconds = [&](double sent) {
    return step.speed.latency + 2 * (ranks - 1) / ranks * sent / step.speed.bandwidth;
  };
  double done = 0;  // since backward began
  for (double i = 1; i <= count; ++i) {
    const double made = (bytes - last) * i / count;
    done = std::max(done, backward * made / bytes) + seconds((bytes - last) / count);
  }
  return std::max(done, backward) + seconds(last) - backward;
}

double predicted_speedup(const RankedStep& step) {
  return step.ranks * step.compute_seconds / (step.compute_seconds + exposed_seconds(step));
}

}  // namespace aorta::nn

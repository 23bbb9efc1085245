#include <aorta/core/check.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tools/bench/harness.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

namespace aorta::bench {
namespace {

constexpr double kMoved = 0.1;    // a control that moves by more than this drops its round
constexpr double kHurry = 8;      // a hurried row has one round where a run takes so many blocks
constexpr int kFewestRounds = 3;  // with fewer left, all count and the row is called noisy

// A fixed computation, on as many threads as the row has.
double time_fma(int threads) {
  const auto chain = [] {
    volatile double seed = 1;
    double x = seed;
    for (int i = 0; i < 400'000; ++i) x = x * 0.999 + 0.001;
    seed = x;
  };
  const double start = seconds_now();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(chain);
  chain();
  for (std::thread& other : others) other.join();
  return seconds_now() - start;
}

// A fixed copy, larger than a core's own caches.
double time_copy() {
  static std::vector<char> source(16 << 20, 1), destination(16 << 20, 2);
  const double start = seconds_now();
  std::memcpy(destination.data(), source.data(), source.size());
  volatile char sink = destination[destination.size() / 2];
  static_cast<void>(sink);
  return seconds_now() - start;
}

struct Controls {
  std::vector<double> fma, copy;  // before each round, and after the last
  void take(int threads) {
    fma.push_back(time_fma(threads));
    copy.push_back(time_copy());
  }
};

// Marks the rounds before or after which a control moved.
void drop_moved(const std::vector<double>& control, std::vector<bool>& dropped) {
  const double usual = median(control);
  for (size_t i = 0; i < control.size(); ++i) {
    if (std::abs(control[i] / usual - 1) <= kMoved) continue;
    if (i < dropped.size()) dropped[i] = true;
    if (i > 0) dropped[i - 1] = true;
  }
}

int64_t calibrate(const Side& side, double block_seconds, double first) {
  double one = first;
  for (int64_t n = 1; one * static_cast<double>(n) < std::min(block_seconds, 0.01);) {
    n = std::max(n + 1, std::min(n * 10, static_cast<int64_t>(0.012 / std::max(one, 1e-9))));
    one = side.run(n) / static_cast<double>(n);
    if (n > 100'000'000) break;
  }
  return std::max<int64_t>(1, std::llround(block_seconds / std::max(one, 1e-9)));
}

struct Runner {
  const Side& side;
  Timing& timing;

  void block() const {
    if (timing.repetitions > 1) side.run(timing.repetitions / 8 + 1);  // warm again
    timing.blocks.push_back(side.run(timing.repetitions) / static_cast<double>(timing.repetitions));
  }
};

// Both blocks of each round that counts.
std::vector<double> counted(const Timing& timing, const std::vector<bool>& dropped) {
  std::vector<double> blocks;
  for (size_t round = 0; round < dropped.size(); ++round) {
    if (dropped[round]) continue;
    blocks.push_back(timing.blocks[2 * round]);
    blocks.push_back(timing.blocks[2 * round + 1]);
  }
  return blocks;
}

Ratio ratio(const std::vector<double>& ours, const std::vector<double>& theirs) {
  const size_t rounds = ours.size() / 2;
  std::vector<double> by_round;
  for (size_t i = 0; i < rounds; ++i) {
    by_round.push_back((ours[2 * i] + ours[2 * i + 1]) / (theirs[2 * i] + theirs[2 * i + 1]));
  }
  std::mt19937 random(1);
  std::uniform_int_distribution<size_t> pick(0, rounds - 1);
  std::vector<double> resampled;
  for (int k = 0; k < 400; ++k) {
    std::vector<double> a, b;
    for (size_t i = 0; i < rounds; ++i) {
      const size_t round = pick(random);
      a.insert(a.end(), {ours[2 * round], ours[2 * round + 1]});
      b.insert(b.end(), {theirs[2 * round], theirs[2 * round + 1]});
    }
    resampled.push_back(median(a) / median(b));
  }
  std::sort(resampled.begin(), resampled.end());
  return {.of_medians = median(ours) / median(theirs),
          .by_round = median(by_round),
          .low = resampled[resampled.size() / 40],
          .high = resampled[resampled.size() - 1 - resampled.size() / 40]};
}

Verdict judge(const Target& target, double time_ratio) {
  if (target.value <= 0) return Verdict::none;
  const bool reached = target.kind == Target::Kind::time ? time_ratio <= target.value
                                                         : 1 / time_ratio >= target.value;
  return reached ? Verdict::ok : Verdict::miss;
}

// Runs another side for the first time, and compares what it computed with `ours`. Returns where
// they differ; empty when they agree. A side that fails is missing from there on.
std::string first_run(Side& side, Timing& timing, const std::vector<double>& ours,
                      double tolerance) {
  try {
    timing.first = side.run(1);
    if (ours.empty() || !side.values) return {};
    const std::string where = difference(ours, side.values(), tolerance);
    return where.empty() ? where : fmt::format("{}: {}", side.name, where);
  } catch (const Error& error) {
    timing.missing = fmt::format("{}: {}", side.name, error.what());
    side.run = nullptr;
    return {};
  }
}

Result measure_once(const Row& row, const Settings& settings) {
  set_num_threads(row.threads);
  Result result;
  Case sides;
  std::vector<double> values;
  result.verdict = Verdict::mismatch;
  try {
    sides = row.make();
    result.ours.name = sides.ours.name;
    if (!sides.ours.run) {
      result.ours.missing = sides.ours.missing;
      result.verdict = Verdict::none;
      return result;
    }
    result.ours.first = sides.ours.run(1);
    if (sides.ours.values) values = sides.ours.values();
  } catch (const Error& error) {
    result.note = fmt::format("Aorta: {}", error.what());
    return result;
  }
  std::vector<Runner> runners = {{sides.ours, result.ours}};
  for (const auto& [side, timing] :
       {std::pair(&sides.reference, &result.reference), std::pair(&sides.peer, &result.peer)}) {
    timing->name = side->name;
    timing->missing = side->missing;
    if (!side->run) continue;
    result.note = first_run(*side, *timing, values, row.tolerance);
    if (!result.note.empty()) return result;
    if (side->run) runners.push_back({*side, *timing});
  }
  result.verdict = Verdict::none;

  int rounds = row.rounds ? row.rounds : settings.rounds;
  const double block_seconds = settings.seconds / (2 * rounds);
  double once = 0;
  for (const Runner& runner : runners) {
    const double warm = is_count(row.unit) ? runner.timing.first : runner.side.run(1);
    once += warm;
    runner.timing.repetitions = calibrate(runner.side, block_seconds, warm);
  }
  if (row.hurried && once > kHurry * block_seconds) rounds = 1;
  Controls controls;
  controls.take(row.threads);
  for (int round = 0; round < rounds; ++round) {
    for (auto runner = runners.begin(); runner != runners.end(); ++runner) runner->block();
    for (auto runner = runners.rbegin(); runner != runners.rend(); ++runner) runner->block();
    controls.take(row.threads);
  }
  result.dropped.assign(static_cast<size_t>(rounds), false);
  drop_moved(controls.fma, result.dropped);
  drop_moved(controls.copy, result.dropped);
  const auto moved = std::count(result.dropped.begin(), result.dropped.end(), true);
  if (rounds >= kFewestRounds && rounds - moved < kFewestRounds) {
    result.note = fmt::format("noisy: {} of {} rounds moved, all count", moved, rounds);
  }
  if (rounds - moved < kFewestRounds) result.dropped.assign(static_cast<size_t>(rounds), false);

  for (const Runner& runner : runners) {
    runner.timing.median = median(counted(runner.timing, result.dropped));
  }
  const std::vector<double> ours = counted(result.ours, result.dropped);
  if (sides.reference.run) {
    result.to_reference = ratio(ours, counted(result.reference, result.dropped));
    result.verdict = judge(row.target, result.to_reference.of_medians);
  }
  if (sides.peer.run) result.to_peer = ratio(ours, counted(result.peer, result.dropped));
  return result;
}

}  // namespace

double median(std::vector<double> values) {
  check(!values.empty(), "median", "at least one value");
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string difference(const std::vector<double>& a, const std::vector<double>& b,
                       double tolerance) {
  if (a.size() != b.size()) return fmt::format("{} values against {}", a.size(), b.size());
  double squares = 0;
  size_t finite = 0;
  for (size_t i = 1; i < b.size(); ++i) {  // the first is the number of elements
    if (!std::isfinite(b[i])) continue;
    squares += b[i] * b[i];
    ++finite;
  }
  const double scale = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double bound = i == 0 ? 0 : tolerance * (std::abs(b[i]) + scale);
    if (!std::isfinite(b[i]) || !(std::abs(a[i] - b[i]) <= bound)) {
      return fmt::format("value {}: {:.9g} against {:.9g}", i, a[i], b[i]);
    }
  }
  return {};
}

Result measure(const Row& row, const Settings& settings) {
  Result result = measure_once(row, settings);
  if (settings.again_above > 0 && result.to_peer.of_medians > settings.again_above) {
    result = measure_once(row, {.seconds = 4 * settings.seconds, .rounds = settings.rounds});
  }
  return result;
}

}  // namespace aorta::bench

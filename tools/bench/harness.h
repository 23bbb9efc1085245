#pragma once

#include <aorta/core/clock.h>
#include <aorta/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

// How two programs are compared: in turn within one run, A-B-B-A, in blocks of calibrated
// repetitions; docs/benchmarks.md says why.

namespace aorta::bench {

/// One program of a comparison.
struct Side {
  std::string name;  // "Aorta", "PyTorch", "memcpy"
  /// Does the work `repetitions` times and returns the seconds it took; empty: not here.
  std::function<double(int64_t repetitions)> run = {};
  /// What the work computed, as sample() says; empty: nothing to compare.
  std::function<std::vector<double>()> values = {};
  /// Why there is no `run`; empty for a side that the row doesn't have.
  std::string missing = {};
};

/// The sides of a row. Its inputs live as long as it does.
struct Case {
  Side ours;
  /// What the target is about: a floor, or the peer.
  Side reference = {};
  /// A peer beside the reference, for information.
  Side peer = {};
};

/// What a row has to reach against its reference: at most `value` times its time, or at least
/// `value` of its speed.
struct Target {
  enum class Kind : uint8_t { none, time, speed } kind = Kind::none;
  double value = 0;
};
inline Target at_most(double times) { return {Target::Kind::time, times}; }
/// at_least(0) shows the share and asks for none.
inline Target at_least(double share) { return {Target::Kind::speed, share}; }

/// What is printed beside a time: `Row::work` bytes, operations or elements a run. From `lines` on
/// the measured value is a count, of bytes for `memory`, and no time.
enum class Unit : uint8_t { seconds, bytes, flops, elements, lines, memory, percent };
constexpr bool is_count(Unit unit) { return unit >= Unit::lines; }

struct Row {
  std::string name;
  int threads = 1;
  Unit unit = Unit::seconds;
  double work = 0;
  Target target = {};
  /// How far values of two sides may lie apart; see `difference`.
  double tolerance = 1e-5;
  /// Makes the inputs, and the sides on them. The number of threads is set before.
  std::function<Case()> make;
  /// Rounds of A-B-B-A; 0: what the settings say.
  int rounds = 0;
  /// One round where a single run of every side takes far longer than a block.
  bool hurried = false;
};

struct Settings {
  /// How long each side of a row is measured, in all its rounds together.
  double seconds = 2;
  int rounds = 11;
  /// Rows whose ratio to the peer is above are measured once more, four times as long, and that
  /// counts; 0: none.
  double again_above = 0;
};

/// One side's measurement; times in seconds a run.
struct Timing {
  std::string name, missing;
  double first = 0;  // the first run: cold caches, memory not yet there
  int64_t repetitions = 0;
  std::vector<double> blocks;  // two a round, in order; those of dropped rounds too
  double median = 0;           // over the rounds that count
};

/// Our time over theirs.
struct Ratio {
  double of_medians = 0;
  double by_round = 0;       // the median of each round's ratio
  double low = 0, high = 0;  // 95 % interval of of_medians (bootstrap over rounds)
};

enum class Verdict : uint8_t { none, ok, miss, mismatch };

struct Result {
  Timing ours, reference, peer;
  Ratio to_reference, to_peer;
  Verdict verdict = Verdict::none;
  std::string note;           // where values differ; that the machine was noisy
  std::vector<bool> dropped;  // by round
};

/// Checks that the sides computed the same, then measures them. Rounds in which a fixed
/// computation or a fixed copy took more than 10 % longer or shorter than usual don't count.
Result measure(const Row& row, const Settings& settings);

/// Where a and b, two sides' values, differ by more than tolerance * (|b| + root mean square of b),
/// in words; empty where they agree.
std::string difference(const std::vector<double>& a, const std::vector<double>& b,
                       double tolerance);

/// The median; the mean of the middle two of an even number.
double median(std::vector<double> values);

}  // namespace aorta::bench

#include <aorta/optim/wolfe.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace aorta::optim::wolfe {
namespace {

constexpr double kDecrease = 1e-4;  // c1
constexpr double kCurvature = 0.9;  // c2
constexpr double kLeastGrowth = 0.01, kMostGrowth = 10;
constexpr double kMargin = 0.1;  // of a bracket

// The minimum, within the bounds, of the cubic with these losses and slopes (equation 3.59); their
// middle where it has none.
double interpolate(const Trial& a, const Trial& b, double smallest, double largest) {
  const auto& [left, right] = a.t <= b.t ? std::tie(a, b) : std::tie(b, a);
  const double d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t);
  const double square = d1 * d1 - left.slope * right.slope;
  const double d2 = std::sqrt(square);
  const double t = right.t - (right.t - left.t) *
                                 ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  if (!left.is_finite() || !right.is_finite() || !std::isfinite(t)) return (smallest + largest) / 2;
  return std::min(std::max(t, smallest), largest);
}

}  // namespace

Trial search(const std::function<Trial(double t)>& evaluate, const Trial& start, double first,
             int64_t limit, double size, double tolerance) {
  int64_t trials = 0;  // after the first
  const auto at = [&](double t) {
    Trial trial = evaluate(t);
    if (!trial.is_finite()) trial.loss = INFINITY;
    return trial;
  };
  const auto too_high = [&](const Trial& trial) {
    return trial.loss > start.loss + kDecrease * trial.t * start.slope;
  };
  const auto flat = [&](const Trial& trial) {
    return std::fabs(trial.slope) <= -kCurvature * start.slope;
  };

  // Further and further, until a minimum lies between the last two.
  Trial before = start, now = at(first);
  for (; trials < limit; ++trials) {
    if (too_high(now) || (trials > 1 && now.loss >= before.loss)) break;
    if (flat(now)) return now;
    if (now.slope >= 0) break;
    const double next =
        interpolate(before, now, now.t + kLeastGrowth * (now.t - before.t), kMostGrowth * now.t);
    before = std::exchange(now, Trial{});
    now = at(next);
  }
  if (trials >= limit) return start.loss <= now.loss ? start : now;

  // Closer and closer: `low` is the end with the lower loss.
  std::array<Trial, 2> ends = {before, now};
  const auto lower = [&] { return ends[0].loss <= ends[1].loss ? size_t{0} : size_t{1}; };
  size_t low = lower();
  bool was_near_end = false;
  for (; trials < limit; ++trials) {
    const auto [left, right] = std::minmax({ends[0].t, ends[1].t});
    if ((right - left) * size < tolerance) break;
    double t = interpolate(ends[0], ends[1], left, right);
    // A trial near an end tells little: the second of two in a row, or one at the end itself, is
    // moved into the bracket.
    const double margin = kMargin * (right - left);
    const bool near_end = std::min(right - t, t - left) < margin;
    const bool moved = near_end && (was_near_end || t >= right || t <= left);
    if (moved) t = std::fabs(t - right) < std::fabs(t - left) ? right - margin : left + margin;
    was_near_end = near_end && !moved;
    if (!(left < t && t < right)) break;  // there is no number between them

    now = at(t);
    if (too_high(now) || now.loss >= ends[low].loss) {
      ends[1 - low] = now;
      low = lower();
      continue;
    }
    if (flat(now)) return now;
    if (now.slope * (ends[1 - low].t - ends[low].t) >= 0) ends[1 - low] = ends[low];
    ends[low] = now;
  }
  return ends[low];
}

}  // namespace aorta::optim::wolfe

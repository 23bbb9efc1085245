#include <aorta/core/process/limits.h>
#include <aorta/data/stall_account.h>

#include <fmt/format.h>

#include <algorithm>

namespace aorta::data {
namespace {

// Below this share of the epoch, waiting isn't worth a change.
constexpr double kSmallShare = 0.05;

}  // namespace

std::string StallAccount::verdict() const {
  if (batches == 0 || total <= 0) return "nothing was loaded";
  const double share = (wait + copy) / total;
  if (share <= kSmallShare)
    return fmt::format("compute-bound: loading takes {:.1f} % of the epoch", 100 * share);
  if (copy > wait)
    return fmt::format("copy-bound: moving batches takes {:.0f} % of the epoch",
                       100 * copy / total);
  const std::pair<const char*, double> stages[] = {{"opening files", open},
                                                   {"reading", read},
                                                   {"decoding", decode},
                                                   {"transforming", transform},
                                                   {"work that the dataset doesn't name", other}};
  const auto* largest =
      std::max_element(std::begin(stages), std::end(stages),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const double reading = open + read + decode + transform + other;
  const double part = reading > 0 ? 100 * largest->second / reading : 0;
  const int cpus = available_cpus();
  return fmt::format(
      "loading-bound: the program waits {:.0f} % of the epoch, mostly for {} ({:.0f} % of the "
      "workers' time); {} workers on {} CPUs",
      100 * wait / total, largest->first, part, workers, cpus);
}

std::string StallAccount::table() const {
  std::string text;
  const auto line = [&](const char* name, double seconds) {
    text += fmt::format("{:<10} {:10.3f} s\n", name, seconds);
  };
  line("open", open);
  line("read", read);
  line("decode", decode);
  line("transform", transform);
  line("other", other);
  line("wait", wait);
  line("copy", copy);
  line("compute", compute);
  line("total", total);
  return text + verdict() + "\n";
}

}  // namespace aorta::data

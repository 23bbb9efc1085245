#include <aorta/tools/bench/sweep.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace aorta::bench {
namespace {

constexpr double kSlower = 1.05;  // two threads beside one
constexpr size_t kWorst = 30;

// "OP DIRECTION", "DTYPE", "ELEMENTS" of a row's name.
std::vector<std::string> parts_of(const Row& row) {
  std::vector<std::string> parts;
  for (size_t first = 0; first <= row.name.size();) {
    const size_t comma = std::min(row.name.find(", ", first), row.name.size());
    parts.push_back(row.name.substr(first, comma - first));
    first = comma + 2;
  }
  return parts;
}

std::string label_of(const Row& row) {
  return fmt::format("{}, {} threads", row.name, row.threads);
}

bool has_ratio(const Result& result) { return result.to_peer.of_medians > 0; }

// "median 0.31x, <= 1.0x 97.2 %, > 1.2x 0.4 %, worst 3.10x of 512".
std::string distribution(std::vector<double> ratios) {
  if (ratios.empty()) return "nothing to compare";
  std::sort(ratios.begin(), ratios.end());
  const double count = static_cast<double>(ratios.size());
  const auto share = [&](double limit) {
    const auto end = std::upper_bound(ratios.begin(), ratios.end(), limit);
    return 100 * static_cast<double>(end - ratios.begin()) / count;
  };
  return fmt::format("median {:.2f}x, <= 1.0x {:5.1f} %, > 1.2x {:4.1f} %, worst {:.2f}x, of {}",
                     median(ratios), share(1), 100 - share(1.2), ratios.back(), ratios.size());
}

std::string split(const std::vector<Row>& rows, const std::vector<Result>& results,
                  const std::function<std::string(const Row&)>& key) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> groups;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!has_ratio(results[i])) continue;
    const auto [group, is_new] = groups.try_emplace(key(rows[i]));
    if (is_new) order.push_back(group->first);
    group->second.push_back(results[i].to_peer.of_medians);
  }
  std::string text;
  for (const std::string& name : order) {
    text += fmt::format("{:<18} {}\n", name, distribution(groups[name]));
  }
  return text;
}

std::string worst(const std::vector<Row>& rows, const std::vector<Result>& results) {
  std::vector<size_t> order;
  for (size_t i = 0; i < results.size(); ++i) {
    if (has_ratio(results[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return results[a].to_peer.of_medians > results[b].to_peer.of_medians;
  });
  order.resize(std::min(order.size(), kWorst));
  std::string text = fmt::format("\nThe {} worst:\n", order.size());
  for (const size_t i : order) {
    text += fmt::format("{:>7.2f}x  {}\n", results[i].to_peer.of_medians, label_of(rows[i]));
  }
  return text;
}

// Rows of more threads beside the first row of their name.
std::string slower_on_more(const std::vector<Row>& rows, const std::vector<Result>& results) {
  std::map<std::string, size_t> first;
  std::vector<std::pair<double, std::string>> slower;
  size_t pairs = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ours.median <= 0) continue;
    const auto [other, is_new] = first.try_emplace(rows[i].name, i);
    if (is_new) continue;
    ++pairs;
    const double times = results[i].ours.median / results[other->second].ours.median;
    if (times > kSlower) slower.emplace_back(times, label_of(rows[i]));
  }
  std::sort(slower.rbegin(), slower.rend());
  std::string text =
      fmt::format("\nSlower than on {} thread{} by more than 5 %: {} of {}\n", rows[0].threads,
                  rows[0].threads == 1 ? "" : "s", slower.size(), pairs);
  slower.resize(std::min(slower.size(), kWorst));
  for (const auto& [times, name] : slower) text += fmt::format("{:>7.2f}x  {}\n", times, name);
  return pairs ? text : "";
}

// Where a side is missing or two differ, by reason.
std::string exceptions(const std::vector<Row>& rows, const std::vector<Result>& results) {
  std::string text;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].verdict == Verdict::mismatch) {
      text += fmt::format("MISMATCH: {}: {}\n", label_of(rows[i]), results[i].note);
    }
  }
  std::map<std::string, std::vector<std::string>> missing;
  for (size_t i = 0; i < results.size(); ++i) {
    for (const std::string& why : {results[i].ours.missing, results[i].peer.missing}) {
      if (!why.empty() && rows[i].threads == rows[0].threads) missing[why].push_back(rows[i].name);
    }
  }
  for (const auto& [why, names] : missing) {
    text += fmt::format("Not compared ({}; {}): {}\n", why, names.size(), fmt::join(names, "; "));
  }
  return text.empty() ? text : "\n" + text;
}

std::string cell_of(const Result& result) {
  if (result.verdict == Verdict::mismatch) return "MISMATCH";
  return has_ratio(result) ? fmt::format("{:.2f}", result.to_peer.of_medians) : "-";
}

}  // namespace

std::string sweep_line(const std::vector<Row>& rows, const std::vector<Result>& results) {
  const size_t end = results.size();
  const std::string line = parts_of(rows[end - 1])[0];
  if (end < rows.size() && parts_of(rows[end])[0] == line) return "";
  size_t first = end - 1;
  while (first > 0 && parts_of(rows[first - 1])[0] == line) --first;
  std::string text = fmt::format("{:<38}", line), part;
  for (size_t i = first; i < end; ++i) {
    const std::vector<std::string> parts = parts_of(rows[i]);
    const std::string next = parts[1] + " " + parts[2];
    text += next == part ? "/" : fmt::format("  {} ", next);
    text += cell_of(results[i]);
    part = next;
  }
  return text + "\n";
}

std::string sweep_summary(const std::vector<Row>& rows, const std::vector<Result>& results) {
  std::string text =
      "\nAorta's time over PyTorch's: in each line, one number of threads / the next.\n\n";
  text += split(rows, results, [](const Row&) { return std::string("all"); });
  text += split(rows, results, [](const Row& row) {
    const std::string line = parts_of(row)[0];
    return line.substr(line.rfind(' ') + 1);
  });
  text += split(rows, results, [](const Row& row) { return parts_of(row)[1]; });
  text += split(rows, results, [](const Row& row) { return parts_of(row)[2] + " elements"; });
  text +=
      split(rows, results, [](const Row& row) { return fmt::format("{} threads", row.threads); });
  return text + worst(rows, results) + slower_on_more(rows, results) + exceptions(rows, results);
}

}  // namespace aorta::bench

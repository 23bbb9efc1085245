#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/data/csv.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

namespace aorta::echo {
namespace {

constexpr int64_t kShown = 8;  // collectives of a group

/// A collective of one rank; times are seconds of the Unix clock.
struct RankCall {
  std::string call, module;
  double entered = 0;
  double left = 0;  // 0: not yet
};
/// The calls of a group: by a call's number what each rank called.
using Calls = std::map<int64_t, std::map<int, RankCall>>;

struct Records {
  std::set<int> ranks;
  std::map<std::string, Calls> groups;
  double end = 0;  // when the last of all was entered or left
};

void read_rank(const std::string& path, int rank, Records& records) {
  data::CsvReader rows(path);
  const int group = rows.column("group"), number = rows.column("number"),
            call = rows.column("call"), module = rows.column("module"),
            entered = rows.column("entered"), left = rows.column("left");
  records.ranks.insert(rank);
  while (rows.next()) {
    RankCall one{.call = std::string(rows.text(call)),
                 .module = std::string(rows.text(module)),
                 .entered = rows.number(entered),
                 .left = rows.text(left).empty() ? 0 : rows.number(left)};
    records.end = std::max({records.end, one.entered, one.left});
    records.groups[std::string(rows.text(group))][rows.integer(number)][rank] = std::move(one);
  }
}

Records read_records(const std::string& folder) {
  Records records;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string(), start = "rank_", end = ".csv";
    if (!name.starts_with(start) || !name.ends_with(end)) continue;
    int rank = 0;
    std::from_chars(name.data() + start.size(), name.data() + name.size(), rank);
    read_rank(folder + "/" + name, rank, records);
  }
  if (records.ranks.empty())
    throw Failure(ExitCode::environment,
                  folder +
                      ": there must be records of ranks, as a run of several processes leaves "
                      "when it fails, got none");
  return records;
}

/// When a rank entered it, before the end of all, and how long it took.
std::string cell(const std::map<int, RankCall>& calls, int rank, double end) {
  const auto found = calls.find(rank);
  if (found == calls.end()) return "-";
  const RankCall& call = found->second;
  if (call.left == 0) return fmt::format("-{:.3f} s, not left", end - call.entered);
  return fmt::format("-{:.3f} s, {:.1f} ms", end - call.entered, 1e3 * (call.left - call.entered));
}

/// What is amiss with one collective: who hasn't joined it, called another one, or hasn't left it.
void say_what_is_amiss(const std::string& group, const Calls& calls, int64_t number,
                       const Records& records) {
  const std::map<int, RankCall>& here = calls.at(number);
  const auto& [first, call] = *here.begin();
  const std::string of = fmt::format("{} of {}{}{}", call.call, group,
                                     call.module.empty() ? "" : ", in ", call.module);
  for (const int rank : records.ranks) {
    const auto found = here.find(rank);
    if (found != here.end()) {
      if (found->second.call != call.call)
        fmt::print("rank {} called {} where rank {} called {}\n", rank, found->second.call, first,
                   of);
      continue;
    }
    std::string last = "it made no call there";
    for (const auto& [before, ranks] : calls)
      if (ranks.contains(rank)) last = "its last there: " + ranks.at(rank).call;
    fmt::print("rank {} had not joined {}, which rank {} entered {:.1f} s before the end; {}\n",
               rank, of, first, records.end - call.entered, last);
  }
  if (here.size() < records.ranks.size()) return;
  std::string inside;
  for (const auto& [rank, one] : here)
    if (one.left == 0) inside += fmt::format("{}{}", inside.empty() ? "" : ", ", rank);
  if (!inside.empty()) fmt::print("all had joined {}, and ranks {} had not left it\n", of, inside);
}

}  // namespace

void show_ranks(const std::string& run) {
  const Records records = with_code(ExitCode::data, [&] { return read_records(run + "/ranks"); });
  for (const auto& [group, calls] : records.groups) {
    fmt::print("{}, entered before the end, and for how long\n{:<44}", group, "collective");
    for (const int rank : records.ranks) fmt::print(" {:>22}", fmt::format("rank {}", rank));
    fmt::print("\n");
    const int64_t newest = calls.rbegin()->first;
    for (const auto& [number, ranks] : calls) {
      if (number <= newest - kShown) continue;
      fmt::print("{:<44}", ranks.begin()->second.call);
      for (const int rank : records.ranks) fmt::print(" {:>22}", cell(ranks, rank, records.end));
      fmt::print("\n");
    }
    say_what_is_amiss(group, calls, newest, records);
  }
}

}  // namespace aorta::echo

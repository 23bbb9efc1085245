#include <aorta/core/cpu/isa.h>
#include <aorta/core/process/limits.h>
#include <aorta/core/version.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/report.h>
#include <aorta/tools/bench/sides.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

namespace aorta::bench {
namespace {

using nlohmann::ordered_json;

std::string isa_name() {
  const char* names[] = {"v2", "v3", "v4"};
  return fmt::format("x86-64-{}{}", names[static_cast<int>(cpu::isa())],
                     cpu::has_bf16() ? " with bf16" : "");
}

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&seconds));
  return text;
}

std::string time_text(double seconds) {
  const struct {
    double size;
    const char* name;
  } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  for (const auto& unit : units) {
    const double value = seconds / unit.size;
    if (value < 1 && unit.size > 1e-9) continue;
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit.name);
  }
  return {};
}

// "8.43 ms 24 GB/s", by the row's unit.
std::string cell(const Row& row, double seconds) {
  switch (row.unit) {
    case Unit::seconds:
      return time_text(seconds);
    case Unit::bytes:
      return fmt::format("{} {:.1f} GB/s", time_text(seconds), row.work / seconds / 1e9);
    case Unit::flops:
      return fmt::format("{} {:.1f} GF/s", time_text(seconds), row.work / seconds / 1e9);
    case Unit::elements:
      return fmt::format("{:.3f} ns/element", seconds * 1e9 / row.work);
    case Unit::lines:
      return fmt::format("{:.0f} lines", seconds);
    case Unit::memory:
      return fmt::format("{:.1f} MB", seconds / 1e6);
    case Unit::percent:
      return fmt::format("{:.1f} %", seconds);
  }
  return {};
}

std::string timing_cell(const Row& row, const Timing& timing) {
  return timing.median > 0 ? cell(row, timing.median) : timing.missing.empty() ? "" : "-";
}

std::string ratio_cell(const Ratio& ratio, Target::Kind kind) {
  if (ratio.of_medians <= 0) return "";
  if (kind == Target::Kind::speed) return fmt::format("{:.0f} %", 100 / ratio.of_medians);
  return fmt::format("{:.2f}x", ratio.of_medians);
}

std::string target_cell(const Target& target) {
  if (target.value <= 0) return "";
  if (target.kind == Target::Kind::time) return fmt::format("<= {:g}x", target.value);
  if (target.kind == Target::Kind::speed) return fmt::format(">= {:g} %", 100 * target.value);
  return "";
}

const char* verdict_name(Verdict verdict) {
  const char* names[] = {"", "ok", "MISS", "MISMATCH"};
  return names[static_cast<int>(verdict)];
}

constexpr const char* kColumns =
    "{:<40} {:>7}  {:<21} {:<21} {:>6}  {:<13} {:<21} {:>6} {:>8}  {:<8}  {}";

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

ordered_json to_json(const Timing& timing, const Ratio* ratio) {
  ordered_json side = {{"name", timing.name}};
  if (!timing.missing.empty()) side["missing"] = timing.missing;
  if (timing.median <= 0) return side;
  side["median"] = timing.median;
  side["first"] = timing.first;
  side["repetitions"] = timing.repetitions;
  if (ratio) {
    side["ratio"] = {{"of_medians", ratio->of_medians},
                     {"by_round", ratio->by_round},
                     {"low", ratio->low},
                     {"high", ratio->high}};
  }
  side["blocks"] = timing.blocks;
  return side;
}

ordered_json to_json(const Row& row, const Result& result) {
  const char* units[] = {"seconds", "bytes", "flops", "elements", "lines", "memory", "percent"};
  ordered_json json = {{"name", row.name},
                       {"threads", row.threads},
                       {"unit", units[static_cast<int>(row.unit)]},
                       {"work", row.work},
                       {"target", target_cell(row.target)},
                       {"verdict", verdict_name(result.verdict)},
                       {"note", result.note},
                       {"dropped", result.dropped}};
  json["ours"] = to_json(result.ours, nullptr);
  if (!result.reference.name.empty()) {
    json["reference"] = to_json(result.reference, &result.to_reference);
  }
  if (!result.peer.name.empty()) json["peer"] = to_json(result.peer, &result.to_peer);
  // The cells as printed, so that a report need not know how.
  json["cells"] = {timing_cell(row, result.ours),
                   timing_cell(row, result.peer),
                   ratio_cell(result.to_peer, Target::Kind::none),
                   result.reference.name,
                   timing_cell(row, result.reference),
                   ratio_cell(result.to_reference, row.target.kind),
                   target_cell(row.target),
                   verdict_name(result.verdict)};
  return json;
}

}  // namespace

Machine describe_machine(const Settings& settings) {
  Machine machine = {.date = today(),
                     .cpu = cpu_name(),
                     .isa = isa_name(),
                     .aorta = version(),
                     .onednn = onednn_version(),
                     .torch = torch_version(),
                     .compiler = "g++ " __VERSION__,
                     .seconds = settings.seconds};
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) machine.cpus = CPU_COUNT(&set);
  getloadavg(&machine.load, 1);
  return machine;
}

std::string header(const std::string& table, const Machine& machine, bool columns) {
  std::string text = fmt::format(
      "{}: {}; {}, {} CPUs, {}; load {:.2f}\n"
      "Aorta {}, oneDNN {}, PyTorch {}; {}; {:g} s a side\n\n",
      table, machine.date, machine.cpu, machine.cpus, machine.isa, machine.load, machine.aorta,
      machine.onednn, machine.torch, machine.compiler, machine.seconds);
  if (!columns) return text;
  return text + trimmed(fmt::format(fmt::runtime(kColumns), "row", "threads", "Aorta", "PyTorch",
                                    "ratio", "reference", "", "ratio", "target", "", ""));
}

std::string line(const Row& row, const Result& result) {
  const ordered_json json = to_json(row, result);
  std::vector<std::string> cells;
  for (const auto& value : json["cells"]) cells.push_back(value.get<std::string>());
  return trimmed(fmt::format(fmt::runtime(kColumns), row.name, row.threads, cells[0], cells[1],
                             cells[2], cells[3], cells[4], cells[5], cells[6], cells[7],
                             result.note));
}

std::string footer(const std::vector<Row>& rows, const std::vector<Result>& results) {
  std::vector<std::string> reasons;
  int64_t dropped = 0, rounds = 0, missed = 0, wrong = 0;
  for (const Result& result : results) {
    for (const Timing* timing : {&result.ours, &result.reference, &result.peer}) {
      if (timing->missing.empty()) continue;
      if (std::find(reasons.begin(), reasons.end(), timing->missing) == reasons.end()) {
        reasons.push_back(timing->missing);
      }
    }
    dropped += std::count(result.dropped.begin(), result.dropped.end(), true);
    rounds += static_cast<int64_t>(result.dropped.size());
    missed += result.verdict == Verdict::miss;
    wrong += result.verdict == Verdict::mismatch;
  }
  std::string text = fmt::format(
      "\n{} rows, {} MISS, {} MISMATCH; {} of {} rounds dropped because the machine's speed "
      "moved.\n"
      "Ratios are Aorta's time over the other's (x), or Aorta's share of its speed (%).\n",
      rows.size(), missed, wrong, dropped, rounds);
  for (const std::string& reason : reasons) text += fmt::format("Empty cells: {}.\n", reason);
  return text;
}

std::string to_json(const std::string& table, const Machine& machine, const std::vector<Row>& rows,
                    const std::vector<Result>& results) {
  ordered_json json = {{"table", table},
                       {"date", machine.date},
                       {"cpu", machine.cpu},
                       {"cpus", machine.cpus},
                       {"isa", machine.isa},
                       {"load", machine.load},
                       {"aorta", machine.aorta},
                       {"onednn", machine.onednn},
                       {"pytorch", machine.torch},
                       {"compiler", machine.compiler},
                       {"seconds_a_side", machine.seconds}};
  json["rows"] = ordered_json::array();
  for (size_t i = 0; i < results.size(); ++i) json["rows"].push_back(to_json(rows[i], results[i]));
  return json.dump(1) + "\n";
}

}  // namespace aorta::bench

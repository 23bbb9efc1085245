// bench TABLE [--json FILE] [--filter TEXT] [--threads 1,2] [--seconds S] [--tiny]
// Measures a table of speed against floors and peers, a row a line; docs/benchmarks.md tells how.
#include <aorta/core/check.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/init.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/report.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>

namespace {

using namespace aorta;
using namespace aorta::bench;

constexpr const char* kUsage =
    "usage: bench TABLE [OPTION]...      bench --list names the tables\n"
    "  --json FILE      writes every row too, with the time of each block\n"
    "  --filter TEXT    only rows whose names hold TEXT\n"
    "  --threads 1,2    the numbers of threads (default: 1 and all CPUs)\n"
    "  --seconds S      how long each side of a row is measured (default: 2; sweep: 0.06)\n"
    "  --tiny           small inputs, a round each, to see that every row runs\n"
    "AORTA_PEER_PYTHON names an interpreter with PyTorch; without it its columns are empty.\n";

struct Arguments {
  const Table* table = nullptr;
  std::string json, filter;
  Plan plan;
  std::optional<double> seconds;
  std::vector<std::string> rest;  // for a table of another kind
  bool list = false, help = false;
};

template <class T>
T number(const std::string& text, const char* what, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        "bench", fmt::format("{} is a number from {} to {}", what, least, most), "'", text, "'");
  return value;
}

std::vector<int> thread_counts(const std::string& text) {
  std::vector<int> counts;
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    counts.push_back(number(text.substr(first, comma - first), "--threads", 1, 1024));
    first = comma + 1;
  }
  return counts;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.plan.threads = {1};
  if (get_num_threads() > 1) arguments.plan.threads.push_back(get_num_threads());
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] {
      check(i + 1 < argc, "bench", option + " needs a value");
      return std::string(argv[++i]);
    };
    if (option == "--list") {
      arguments.list = true;
    } else if (option == "--help" || option == "-h") {
      arguments.help = true;
    } else if (option == "--json") {
      arguments.json = value();
    } else if (option == "--filter") {
      arguments.filter = value();
    } else if (option == "--threads") {
      arguments.plan.threads = thread_counts(value());
    } else if (option == "--seconds") {
      arguments.seconds = number(value(), "--seconds", 0.001, 3600.0);
    } else if (option == "--tiny") {
      arguments.plan.tiny = true;
    } else {
      check(option[0] != '-' && !arguments.table, "bench",
            "one table and known options (see --help)", "'", option, "'");
      for (const Table& table : tables()) {
        if (option == table.name) arguments.table = &table;
      }
      check(arguments.table, "bench", "a table that --list names", "'", option, "'");
      if (arguments.table->run) {
        arguments.rest.assign(argv + i + 1, argv + argc);
        break;
      }
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  std::vector<Row> rows = arguments.table->rows(arguments.plan);
  std::erase_if(
      rows, [&](const Row& row) { return row.name.find(arguments.filter) == std::string::npos; });
  check(!rows.empty(), "bench", "a filter that leaves rows", "'", arguments.filter, "'");
  std::ofstream json;
  if (!arguments.json.empty()) {
    json.open(from_callers_folder(arguments.json));
    check(json.good(), "bench", "a file that can be written", arguments.json);
  }
  const Table& table = *arguments.table;
  Settings settings = table.settings;
  settings.seconds = arguments.seconds.value_or(settings.seconds);
  if (arguments.plan.tiny) settings.rounds = 1;
  const Machine machine = describe_machine(settings);
  std::fputs(header(table.name, machine, !table.line).c_str(), stdout);
  std::fflush(stdout);
  std::vector<Result> results;
  for (const Row& row : rows) {
    results.push_back(measure(row, settings));
    std::fputs((table.line ? table.line(rows, results) : line(row, results.back())).c_str(),
               stdout);
    std::fflush(stdout);
  }
  std::fputs((table.summary ? table.summary : footer)(rows, results).c_str(), stdout);
  if (json.is_open()) {
    json << to_json(table.name, machine, rows, results);
    json.close();
    check(json.good(), "bench", "a file that can be written", arguments.json);
  }
  return std::any_of(results.begin(), results.end(),
                     [](const Result& result) { return result.verdict == Verdict::mismatch; });
}

}  // namespace

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  try {
    const Arguments arguments = parse(argc, argv);
    if (arguments.list) {
      for (const Table& table : tables()) std::printf("%-15s %s\n", table.name, table.about);
      return 0;
    }
    if (arguments.help || !arguments.table) {
      std::fputs(kUsage, arguments.help ? stdout : stderr);
      return arguments.help ? 0 : 2;
    }
    if (arguments.table->run) return arguments.table->run(arguments.rest);
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

// The command line of `bench disk`.
#include <aorta/core/check.h>
#include <aorta/tools/bench/disk.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/report.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace aorta::bench {
namespace {

constexpr const char* kUsage =
    "usage: bench disk [FOLDER] [OPTION]...\n"
    "  FOLDER         where a file is made to read from; it goes away (default: here)\n"
    "  --size MB      how large it is (default: 1024)\n"
    "  --seconds S    how long each cell is measured (default: 1)\n"
    "  --blocks 4,16  the sizes of reads in KB (default: 4,16,64,256,1024)\n"
    "  --depths 1,2   how many reads are under way at once (default: 1,2,4,8,16,32)\n"
    "  --svg FOLDER   writes disk_{random,sequential}_{iops,mbs}.svg there\n"
    "Reads pass the page cache by (O_DIRECT): what is measured is the disk.\n";

template <class T>
T number(std::string_view text, const std::string& option, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        "disk", fmt::format("{} is a number from {} to {}", option, least, most), "'", text, "'");
  return value;
}

template <class T>
std::vector<T> numbers(std::string_view text, const std::string& option, T least, T most) {
  std::vector<T> values;
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    values.push_back(number(text.substr(first, comma - first), option, least, most));
    first = comma + 1;
  }
  return values;
}

}  // namespace

int run_disk(const std::vector<std::string>& arguments) {
  DiskPlan plan;
  std::string svg;
  bool folder = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&] {
      check(i + 1 < arguments.size(), "disk", option + " needs a value");
      return arguments[++i];
    };
    if (option == "--help" || option == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (option == "--size") {
      plan.file_bytes = number<int64_t>(value(), option, 1, 1 << 20) << 20;
    } else if (option == "--seconds") {
      plan.seconds = number(value(), option, 0.001, 3600.0);
    } else if (option == "--blocks") {
      plan.block_bytes = numbers<int64_t>(value(), option, 4, 1 << 20);
      for (int64_t& block : plan.block_bytes) block <<= 10;
    } else if (option == "--depths") {
      plan.depths = numbers(value(), option, 1, 1024);
    } else if (option == "--svg") {
      svg = from_callers_folder(value());
    } else {
      check(!option.starts_with("-") && !folder, "disk",
            "one folder and known options (see --help)", "'", option, "'");
      plan.folder = option;
      folder = true;
    }
  }
  check_plan(plan);
  plan.folder = from_callers_folder(plan.folder);
  const Machine machine = describe_machine({});
  const std::string head = fmt::format(
      "disk: {}; {}, {} CPUs, load {:.2f}\na file of {} MB in {}, {:g} s a cell: reads a second, "
      "MB/s\n",
      machine.date, machine.cpu, machine.cpus, machine.load, plan.file_bytes >> 20, plan.folder,
      plan.seconds);
  std::fputs(head.c_str(), stdout);
  const DiskFile file(plan.folder, plan.file_bytes);
  std::vector<DiskCell> cells;
  for (const bool random : {true, false}) {
    for (const int64_t block : plan.block_bytes)
      for (const int depth : plan.depths)
        cells.push_back(measure_disk(file, random, block, depth, plan.seconds));
    std::fputs(("\n" + disk_table(plan, cells, random)).c_str(), stdout);
    std::fflush(stdout);
  }
  if (!svg.empty())
    for (const std::string& path : save_disk_plots(plan, cells, svg))
      std::fputs(("wrote " + path + "\n").c_str(), stdout);
  return 0;
}

}  // namespace aorta::bench

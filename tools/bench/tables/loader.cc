// The tables of the data loader: `bench loader`, `bench loader-sweep`, `bench loader-workers`.
#include <aorta/core/check.h>
#include <aorta/core/process/limits.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/loader.h>
#include <aorta/report/plot.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/report.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace aorta::bench {
namespace {

using data::DataLoader;
using data::DataLoaderOptions;

struct Arguments {
  std::string folder, svg;
  int64_t samples = 0;
  int rounds = 3;
};

Arguments parse(const std::vector<std::string>& arguments, const char* usage, int64_t samples) {
  Arguments result;
  result.samples = samples;
  if (const char* folder = std::getenv("AORTA_ECHO")) result.folder = folder;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&] {
      check(i + 1 < arguments.size(), "bench", option + " needs a value");
      return arguments[++i];
    };
    const auto number = [&] {
      const std::string text = value();
      int64_t parsed = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      check(error == std::errc() && end == text.data() + text.size() && parsed > 0, "bench",
            option + " is a number from 1", "'", text, "'");
      return parsed;
    };
    if (option == "--help" || option == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (option == "--svg") {
      result.svg = from_callers_folder(value());
    } else if (option == "--samples") {
      result.samples = number();
    } else if (option == "--rounds") {
      result.rounds = static_cast<int>(number());
    } else {
      check(!option.starts_with("-"), "bench", "known options (see --help)", "'", option, "'");
      result.folder = from_callers_folder(option);
    }
  }
  return result;
}

std::shared_ptr<const data::Echo> echo(const std::string& folder) {
  check(!folder.empty(), "bench", "a folder of EchoNet's layout, as an argument or in AORTA_ECHO",
        "none");
  return data::make_dataset<data::Echo>(folder,
                                        data::EchoOptions::segmentation(data::EchoSplit::all));
}

DataLoaderOptions options(int64_t dataset_size, int64_t samples, int workers, int64_t batch) {
  DataLoaderOptions options;
  options.batch_size = batch;
  options.sampler = std::make_shared<data::RandomSampler>(
      dataset_size, data::RandomSamplerOptions{.num_samples = samples});
  options.num_workers = workers;
  options.seed = 1;
  return options;
}

struct Speed {
  double samples_per_second = 0, first_batch = 0;
};

Speed our_speed(const std::shared_ptr<const data::Echo>& dataset, int64_t samples, int workers) {
  DataLoader loader(dataset, options(dataset->size(), samples, workers, 20));
  Speed speed;
  int64_t count = 0;
  const double start = seconds_now();
  for (const data::Batch& batch : loader) {
    if (count == 0) speed.first_batch = seconds_now() - start;
    count += batch["LargeFrame"].size(0);
  }
  speed.samples_per_second = static_cast<double>(count) / seconds_now() - start;
  return speed;
}

double our_wait_share(const std::shared_ptr<const data::Echo>& dataset, int64_t samples,
                      int workers) {
  DataLoader loader(dataset, options(dataset->size(), samples, workers, 20));
  for (const data::Batch& batch : loader) {
    check(batch["LargeFrame"].defined(), "bench", "a batch must have frames");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const data::StallAccount account = loader.stall_account();
  return account.wait / account.total;
}

// Names of files, as a folder's listing.
class Names : public data::Dataset {
 public:
  explicit Names(int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      names_.push_back(fmt::format("/data/videos/0X{}_of_a_patient.avi", i * 7919));
  }
  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  std::vector<data::TensorSpec> specs() const override { return {{"length", i64, {}}}; }
  void read(int64_t index, data::Sample& sample, Generator&) const override {
    const std::string copy = names_[static_cast<size_t>(index)];
    sample["length"].fill_(static_cast<int64_t>(copy.size()));
  }

 private:
  std::vector<std::string> names_;
};

double pss_mib(int pid) {
  double total = 0;
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string word; file >> word;)
    if (double kib = 0; word == "Pss:" && file >> kib) total += kib / 1024;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (int child = 0; children >> child;) total += pss_mib(child);
  return total;
}

double our_growth(int epochs, int workers, int64_t names) {
  DataLoaderOptions chosen = options(names, names / 50, workers, 500);
  chosen.persistent_workers = true;
  DataLoader loader(data::make_dataset<Names>(names), chosen);
  double after_two = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const data::Batch& batch : loader) batch["length"].size(0);
    if (epoch == 1) after_two = pss_mib(static_cast<int>(getpid()));
  }
  return pss_mib(static_cast<int>(getpid())) - after_two;
}

// The two figures of peer_loader.py; none where there is no PyTorch.
std::optional<std::pair<double, double>> peer(const std::vector<std::string>& arguments) {
  const char* python = std::getenv("AORTA_PEER_PYTHON");
  if (!python) return {};
  std::vector<std::string> command{python, "-W", "ignore", bench_file("peer_loader.py")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::istringstream text(run_program(command));
  std::pair<double, double> figures;
  check(bool(text >> figures.first >> figures.second), "bench", "a peer must say two numbers",
        text.str());
  return figures;
}

std::string cell(double value, int digits) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}

void print_row(const std::string& name, double ours, double videos, double library, int digits,
               bool higher_is_better) {
  const auto ratio = [&](double peer) {
    return std::isnan(peer) || (!higher_is_better && ours <= 0)
               ? "-"
               : fmt::format("{:.2f}x", higher_is_better ? ours / peer : peer / ours);
  };
  std::fputs(fmt::format("{:<44} {:>10} {:>12} {:>9} {:>12} {:>9}\n", name, cell(ours, digits),
                         cell(videos, digits), ratio(videos), cell(library, digits), ratio(library))
                 .c_str(),
             stdout);
  std::fflush(stdout);
}

constexpr const char* kLoaderUsage =
    "usage: bench loader [FOLDER] [--samples N] [--rounds R]\n"
    "  FOLDER       EchoNet's layout (default: $AORTA_ECHO)\n"
    "  --samples N  of ours a round (default: 20000; PyTorch with EchoNet's reading has a 100th)\n"
    "  --rounds R   rounds, in each of which every side has its turn (default: 3)\n"
    "AORTA_PEER_PYTHON names an interpreter with PyTorch and OpenCV; without it its columns are "
    "empty.\n";

}  // namespace

int run_loader(const std::vector<std::string>& arguments) {
  const Arguments parsed = parse(arguments, kLoaderUsage, 20'000);
  const auto dataset = echo(parsed.folder);
  const Machine machine = describe_machine({});
  const std::string library = bench_file("libecho_reader.so");
  std::fputs(
      fmt::format("loader: {}; {}, {} CPUs, load {:.2f}; aorta {}, torch {}\n{} samples in "
                  "{}, batches of 20, {} rounds\n\n{:<44} {:>10} {:>12} {:>9} {:>12} {:>9}\n",
                  machine.date, machine.cpu, machine.cpus, machine.load, machine.aorta,
                  machine.torch, dataset->size(), parsed.folder, parsed.rounds, "", "Aorta",
                  "EchoNet", "better", "decoder", "better")
          .c_str(),
      stdout);
  const auto text = [](int64_t value) { return std::to_string(value); };
  const double none = std::nan("");
  for (const int workers : {0, 1, 2}) {
    std::vector<double> rates[3], firsts[3];
    for (int round = 0; round < parsed.rounds; ++round) {
      const Speed ours = our_speed(dataset, parsed.samples, workers);
      rates[0].push_back(ours.samples_per_second);
      firsts[0].push_back(1e3 * ours.first_batch);
      const auto videos =
          peer({"videos", parsed.folder, text(std::max<int64_t>(parsed.samples / 100, 40)),
                text(workers), "20"});
      rates[1].push_back(videos ? videos->first : none);
      firsts[1].push_back(videos ? 1e3 * videos->second : none);
      const auto same =
          peer({"library", parsed.folder, text(parsed.samples), text(workers), "20", library});
      rates[2].push_back(same ? same->first : none);
      firsts[2].push_back(same ? 1e3 * same->second : none);
    }
    print_row(fmt::format("samples a second, {} workers", workers), median(rates[0]),
              median(rates[1]), median(rates[2]), 0, true);
    print_row(fmt::format("first batch, {} workers (ms)", workers), median(firsts[0]),
              median(firsts[1]), median(firsts[2]), 1, false);
  }
  std::vector<double> waits[2];
  for (int round = 0; round < parsed.rounds; ++round) {
    waits[0].push_back(100 * our_wait_share(dataset, parsed.samples / 2, 1));
    const auto same = peer({"wait", parsed.folder, text(parsed.samples / 2), "1", "20", library});
    waits[1].push_back(same ? 100 * same->first : none);
  }
  print_row("waiting beside 5 ms a batch, 1 worker (%)", median(waits[0]), none, median(waits[1]),
            2, false);
  const auto grown = peer({"memory", parsed.folder, "50", "2", "1000000"});
  print_row("memory, epochs 3 to 50, 10^6 names (MiB)", our_growth(50, 2, 1'000'000), none,
            grown ? grown->first : none, 1, false);
  std::fputs(
      "\nEchoNet: PyTorch's DataLoader with EchoNet-Dynamic's reading of whole videos.\n"
      "decoder: PyTorch's DataLoader with Aorta's reading of a sample as a C function.\n",
      stdout);
  return 0;
}

namespace {

// A sample that takes its time: a read (asleep) and a transform (at work), whose lengths are a
// function of its number.
class Slow : public data::Dataset {
 public:
  explicit Slow(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::vector<data::TensorSpec> specs() const override { return {{"index", i64, {}}}; }

  // 18 to 600 ms, as many short ones as long ones on a logarithmic scale.
  static double read_seconds(int64_t index) { return 0.018 * std::pow(600. / 18, unit(2 * index)); }
  static double transform_seconds(int64_t index) { return 0.013 + 0.014 * unit(2 * index + 1); }

  void read(int64_t index, data::Sample& sample, Generator&) const override {
    {
      const data::StageScope scope(data::Stage::read);
      std::this_thread::sleep_for(std::chrono::duration<double>(read_seconds(index)));
    }
    const data::StageScope scope(data::Stage::transform);
    const double start = seconds_now();
    while (seconds_now() - start < transform_seconds(index)) {
    }
    sample["index"].fill_(index);
  }

 private:
  static double unit(int64_t i) { return Generator(7, static_cast<uint64_t>(i)).next_uniform(); }
  int64_t size_;
};

constexpr const char* kSweepUsage =
    "usage: bench loader-sweep [--samples N] [--svg FOLDER]\n"
    "  --samples N   of an epoch (default: 192)\n"
    "  --svg FOLDER  writes loader_sweep.svg there\n"
    "Epochs of 0 to 8 workers, batches of 32; a sample is read in 18 to 600 ms (asleep) and "
    "transformed in 13 to 27 ms (at work).\n";

constexpr const char* kWorkersUsage =
    "usage: bench loader-workers [FOLDER] [--samples N] [--rounds R] [--svg FOLDER]\n"
    "  FOLDER        EchoNet's layout (default: $AORTA_ECHO)\n"
    "  --samples N   of an epoch (default: 20000)\n"
    "  --svg FOLDER  writes loader_workers.svg there\n"
    "Epochs of 0 to 4 workers, with pageable and with page-locked batches.\n";

}  // namespace

int run_loader_sweep(const std::vector<std::string>& arguments) {
  const Arguments parsed = parse(arguments, kSweepUsage, 192);
  double load = 0, compute = 0;
  for (int64_t i = 0; i < parsed.samples; ++i) {
    load += Slow::read_seconds(i);
    compute += Slow::transform_seconds(i);
  }
  const int cpus = available_cpus();
  std::fputs(
      fmt::format("loader-sweep: {} samples, batches of 32; load {:.2f} s, compute {:.2f} s; "
                  "{} CPUs\n\n{:>7} {:>10} {:>10} {:>10} {:>10}\n",
                  parsed.samples, load, compute, cpus, "workers", "ideal s", "floor s", "actual s",
                  "overhead s")
          .c_str(),
      stdout);
  std::vector<double> count, ideals, actuals;
  for (int workers = 0; workers <= 8; ++workers) {
    DataLoader loader(data::make_dataset<Slow>(parsed.samples),
                      {.batch_size = 32, .num_workers = workers});
    const double start = seconds_now();
    int64_t seen = 0;
    for (const data::Batch& batch : loader) seen += batch["index"].size(0);
    const double actual = seconds_now() - start;
    check(seen == parsed.samples, "bench", "an epoch must be whole", seen);
    const int hands = std::max(workers, 1);
    const double ideal = (load + compute) / hands;
    const double floor = std::max(ideal, compute / std::min(hands, cpus));
    std::fputs(fmt::format("{:>7} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", workers, ideal, floor,
                           actual, actual - ideal)
                   .c_str(),
               stdout);
    std::fflush(stdout);
    count.push_back(workers);
    ideals.push_back(ideal);
    actuals.push_back(actual);
  }
  std::fputs(
      "\nideal: (load + compute) / workers; floor: no less than the work on the CPUs there "
      "are.\n",
      stdout);
  if (!parsed.svg.empty()) {
    const std::string path = parsed.svg + "/loader_sweep.svg";
    report::Plot plot({.title = "Time of an epoch by workers",
                       .x = {"workers"},
                       .y = {"time (s)", report::Scale::linear, 0.}});
    plot.line("actual", count, actuals).line("ideal", count, ideals).save(path);
    std::fputs(("wrote " + path + "\n").c_str(), stdout);
  }
  return 0;
}

int run_loader_workers(const std::vector<std::string>& arguments) {
  const Arguments parsed = parse(arguments, kWorkersUsage, 20'000);
  const auto dataset = echo(parsed.folder);
  const bool gpu = cuda::is_available();
  std::fputs(fmt::format(
                 "loader-workers: {} samples an epoch of {}, batches of 20, {} rounds; s an "
                 "epoch\n\n{:>7} {:>12} {:>12}\n",
                 parsed.samples, parsed.folder, parsed.rounds, "workers", "pageable", "page-locked")
                 .c_str(),
             stdout);
  std::vector<double> count, plain, pinned;
  for (int workers = 0; workers <= 4; ++workers) {
    std::vector<double> times[2];
    for (int round = 0; round < parsed.rounds; ++round)
      for (const bool pin : {false, true}) {
        if (pin && !gpu) continue;
        DataLoaderOptions chosen = options(dataset->size(), parsed.samples, workers, 20);
        chosen.pin_memory = pin;
        DataLoader loader(dataset, chosen);
        const double start = seconds_now();
        for (const data::Batch& batch : loader) batch["LargeFrame"].size(0);
        times[pin].push_back(seconds_now() - start);
      }
    count.push_back(workers);
    plain.push_back(median(times[0]));
    pinned.push_back(gpu ? median(times[1]) : std::nan(""));
    std::fputs(
        fmt::format("{:>7} {:>12.3f} {:>12}\n", workers, plain.back(), cell(pinned.back(), 3))
            .c_str(),
        stdout);
    std::fflush(stdout);
  }
  if (!gpu) std::fputs("\npage-locked: there is no GPU.\n", stdout);
  if (!parsed.svg.empty()) {
    const std::string path = parsed.svg + "/loader_workers.svg";
    report::Plot plot({.title = "Time of an epoch by workers",
                       .x = {"workers"},
                       .y = {"time (s)", report::Scale::linear, 0.}});
    plot.line("pageable", count, plain);
    if (gpu) plot.line("page-locked", count, pinned);
    plot.save(path);
    std::fputs(("wrote " + path + "\n").c_str(), stdout);
  }
  return 0;
}

}  // namespace aorta::bench

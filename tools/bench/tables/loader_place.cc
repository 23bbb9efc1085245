// `bench loader-place`: what it costs that a worker's samples are guarded.
#include <aorta/core/check.h>
#include <aorta/core/process/shared_memory.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/workers/reading_place.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace aorta::bench {
namespace {

constexpr int64_t kSlots = 8, kBatch = 20;

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Slots as a loader's ring has them, and what reads into them.
class Reader {
 public:
  explicit Reader(const data::Echo& echo)
      : echo_(echo), specs_(data::checked_specs(echo.specs())), place_(specs_) {
    int64_t bytes = 0;
    for (const data::TensorSpec& spec : *specs_) {
      starts_.push_back(bytes);
      const int64_t tensor = spec.shape.numel() * item_size(spec.dtype);
      bytes += (kSlots * kBatch * tensor + 63) / 64 * 64;
    }
    storage_ = storage_on(SharedMemory::create("bench", bytes));
  }

  // CPU seconds of all slots' samples.
  double fill(bool guarded) {
    double seconds = 0;
    for (int64_t i = 0; i < kSlots * kBatch; ++i) {
      std::vector<Tensor> places;
      for (size_t t = 0; t < specs_->size(); ++t) {
        const data::TensorSpec& spec = (*specs_)[t];
        places.emplace_back(storage_, spec.dtype, spec.shape, contiguous_strides(spec.shape),
                            starts_[t] / item_size(spec.dtype) + i * spec.shape.numel());
      }
      const double start = thread_seconds();
      data::Sample sample(specs_, guarded ? place_.take(places) : places);
      echo_.read(7 * i % echo_.size(), sample, random_);
      if (guarded) {
        place_.check_edges();
        place_.give(sample);
      }
      seconds += thread_seconds() - start;
    }
    return seconds;
  }

 private:
  const data::Echo& echo_;
  data::TensorSpecs specs_;
  data::ReadingPlace place_;
  Ref<Storage> storage_;
  std::vector<int64_t> starts_;
  Generator random_{1};
};

}  // namespace

int run_loader_place(const std::vector<std::string>& arguments) {
  const char* named = std::getenv("AORTA_ECHO");
  check(arguments.size() == 1 || (arguments.empty() && named), "bench",
        "usage is `loader-place [FOLDER]`, or AORTA_ECHO names the folder", arguments.size(),
        " arguments");
  const std::string folder = arguments.empty() ? named : from_callers_folder(arguments[0]);
  std::fputs(fmt::format("loader-place: CPU us a sample of two frames and two masks, median of 60 "
                         "rounds of {}\n\n{:>7} {:>12} {:>12} {:>8}\n",
                         kSlots * kBatch, "dtype", "in the batch", "guarded", "more %")
                 .c_str(),
             stdout);
  for (const DType dtype : {u8, f32}) {
    data::EchoOptions options = data::EchoOptions::segmentation(data::EchoSplit::all);
    options.dtype = dtype;
    const data::Echo echo(folder, options);
    Reader reader(echo);
    std::vector<double> plain, guarded;
    for (int round = 0; round < 60; ++round) {
      plain.push_back(reader.fill(false));
      guarded.push_back(reader.fill(true));
    }
    const double a = median(plain), b = median(guarded), samples = kSlots * kBatch;
    std::fputs(fmt::format("{:>7} {:>12.1f} {:>12.1f} {:>8.1f}\n", to_string(dtype),
                           1e6 * a / samples, 1e6 * b / samples, 100 * (b / a - 1))
                   .c_str(),
               stdout);
  }
  std::fputs(
      "\nguarded: as a worker reads, where nothing that is written beside a tensor harms another "
      "sample.\n",
      stdout);
  return 0;
}

}  // namespace aorta::bench

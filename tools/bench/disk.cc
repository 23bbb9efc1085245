#include <aorta/core/check.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/core/random.h>
#include <aorta/tools/bench/disk.h>
#include <aorta/tools/bench/harness.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include <aorta/report/plot.h>

namespace aorta::bench {
namespace {

constexpr int64_t kAlignment = 4096;
constexpr int64_t kChunk = 1 << 20;  // what is written at once

std::string error_text(int error) {
  const char* symbol = strerrorname_np(error);
  const char* description = strerrordesc_np(error);
  return fmt::format("{} ({})", symbol ? symbol : "errno", description ? description : "unknown");
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer aligned_buffer(int64_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, static_cast<size_t>(bytes));
  check(memory != nullptr, "disk", "there must be memory for a block", bytes, " bytes");
  return Buffer(static_cast<std::byte*>(memory));
}

}  // namespace

DiskFile::DiskFile(const std::string& folder, int64_t bytes) : bytes_(bytes) {
  const std::string path = fmt::format("{}/.aorta-bench-disk.{}", folder, getpid());
  const io::FileSystem& system = io::file_system();
  descriptor_ = system.open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
  const int error = errno;
  // An open that fails may have made the file, too.
  if (descriptor_ >= 0 || error != EEXIST) system.unlink(path.c_str());
  if (descriptor_ < 0)
    fail("disk",
         error == EINVAL ? "the file system must let O_DIRECT pass the page cache by"
                         : "a file must be made in the folder",
         folder, ": ", error_text(error));
  try {
    fill(folder);
  } catch (...) {
    system.close(descriptor_);
    throw;
  }
}

DiskFile::~DiskFile() { io::file_system().close(descriptor_); }

void DiskFile::fill(const std::string& folder) const {
  const Buffer chunk = aligned_buffer(kChunk);
  Generator random(1);
  for (int64_t i = 0; i < kChunk; i += 4) {
    const uint32_t word = random.next_u32();
    std::memcpy(chunk.get() + i, &word, sizeof word);
  }
  const auto require = [&](bool ok) {
    if (ok) return;
    const int error = errno;
    fail("disk",
         error == EINVAL
             ? std::string("the file system must let O_DIRECT pass the page cache by")
             : fmt::format("there must be room for a file of {} MB in the folder", bytes_ >> 20),
         folder, ": ", error_text(error));
  };
  for (int64_t written = 0; written < bytes_;) {
    // No two chunks alike: disks may compress, or keep equal blocks once.
    std::memcpy(chunk.get(), &written, sizeof written);
    const auto size = static_cast<size_t>(std::min(kChunk, bytes_ - written));
    const ssize_t count = io::file_system().write(descriptor_, chunk.get(), size);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    require(count > 0);
    // O_DIRECT takes no part of a block; a short write is a disk that is full.
    if (count % kAlignment != 0) errno = ENOSPC;
    require(count % kAlignment == 0);
    written += count;
  }
  require(io::file_system().fsync(descriptor_) == 0);
}

DiskCell measure_disk(const DiskFile& file, bool random, int64_t block_bytes, int depth,
                      double seconds) {
  const int64_t blocks = file.bytes() / block_bytes;
  std::atomic<int64_t> next = 0, reads = 0;
  std::atomic<bool> stop = false;
  std::atomic<int> error = 0;
  const auto work = [&](int thread) {
    const Buffer block = aligned_buffer(block_bytes);
    Generator places(7, static_cast<uint64_t>(thread));
    int64_t done = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const int64_t place = random ? places.next_below(blocks)
                                   : next.fetch_add(1, std::memory_order_relaxed) % blocks;
      const ssize_t count = pread(file.descriptor(), block.get(), static_cast<size_t>(block_bytes),
                                  place * block_bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count != block_bytes) {
        error = count < 0 ? errno : EIO;
        break;
      }
      ++done;
    }
    reads += done;
  };
  std::vector<std::thread> threads;
  const double start = seconds_now();
  for (int i = 0; i < depth; ++i) threads.emplace_back(work, i);
  while (seconds_now() - start < seconds && error == 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.01, seconds)));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double elapsed = seconds_now() - start;
  check(error == 0, "disk", "a block must be readable", error_text(error));
  return {random, block_bytes, depth, reads, elapsed};
}

void check_plan(const DiskPlan& plan) {
  check(!plan.block_bytes.empty() && !plan.depths.empty(), "disk",
        "there must be block sizes and depths", "none");
  for (const int64_t block : plan.block_bytes)
    check(block >= kAlignment && block % kAlignment == 0 && block <= plan.file_bytes &&
              plan.file_bytes % block == 0,
          "disk", "a block must be a multiple of 4096 bytes that divides the file's size", block,
          " for ", plan.file_bytes);
  for (const int depth : plan.depths)
    check(depth >= 1 && depth <= 1024, "disk", "a depth must be from 1 to 1024", depth);
}

namespace {

std::string size_text(int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MB", bytes >> 20) : fmt::format("{} KB", bytes >> 10);
}

std::string count_text(double count) {
  return count < 9999.5 ? fmt::format("{:.0f}", count) : fmt::format("{:.1f}k", count / 1e3);
}

const DiskCell* find(const std::vector<DiskCell>& cells, bool random, int64_t block, int depth) {
  for (const DiskCell& cell : cells)
    if (cell.random == random && cell.block_bytes == block && cell.depth == depth) return &cell;
  return nullptr;
}

}  // namespace

std::string disk_table(const DiskPlan& plan, const std::vector<DiskCell>& cells, bool random) {
  std::string text = fmt::format("{:<12}", random ? "random" : "sequential");
  for (const int depth : plan.depths) text += fmt::format("{:>21}", fmt::format("depth {}", depth));
  text += "\n";
  for (const int64_t block : plan.block_bytes) {
    text += fmt::format("{:>8}    ", size_text(block));
    for (const int depth : plan.depths) {
      const DiskCell* cell = find(cells, random, block, depth);
      text += fmt::format("{:>21}", cell ? fmt::format("{} {:7.1f} MB/s", count_text(cell->iops()),
                                                       cell->bytes_per_second() / 1e6)
                                         : "");
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> save_disk_plots(const DiskPlan& plan, const std::vector<DiskCell>& cells,
                                         const std::string& folder) {
  std::vector<std::string> files;
  for (const bool random : {true, false}) {
    for (const bool bytes : {false, true}) {
      const char* pattern = random ? "random" : "sequential";
      report::Plot plot({.title = fmt::format("Direct reads, {}", pattern),
                         .x = {"block size (KB)", report::Scale::log},
                         .y = {bytes ? "MB/s" : "reads a second", report::Scale::log}});
      for (const int depth : plan.depths) {
        std::vector<double> x, y;
        for (const int64_t block : plan.block_bytes) {
          const DiskCell* cell = find(cells, random, block, depth);
          if (!cell || cell->reads == 0) continue;
          x.push_back(static_cast<double>(block) / 1024);
          y.push_back(bytes ? cell->bytes_per_second() / 1e6 : cell->iops());
        }
        plot.line(fmt::format("depth {}", depth), x, y);
      }
      files.push_back(fmt::format("{}/disk_{}_{}.svg", folder, pattern, bytes ? "mbs" : "iops"));
      plot.save(files.back());
    }
  }
  return files;
}

}  // namespace aorta::bench

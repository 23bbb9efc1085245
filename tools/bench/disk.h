#pragma once

#include <cstdint>
#include <string>
#include <vector>

// How many reads a disk serves: random and sequential, by their size and by how many are under way
// at once. The page cache is passed by (O_DIRECT), so what is measured is the disk.

namespace aorta::bench {

struct DiskPlan {
  std::string folder = ".";
  int64_t file_bytes = int64_t{1} << 30;
  double seconds = 1;  // for each cell
  std::vector<int64_t> block_bytes = {4096, 16384, 65536, 262144, 1048576};
  std::vector<int> depths = {1, 2, 4, 8, 16, 32};  // reads under way at once
};

/// What was measured with one pattern, size and depth.
struct DiskCell {
  bool random = false;
  int64_t block_bytes = 0;
  int depth = 0;
  int64_t reads = 0;
  double seconds = 0;
  double iops() const { return static_cast<double>(reads) / seconds; }
  double bytes_per_second() const { return iops() * static_cast<double>(block_bytes); }
};

/// A file of random bytes that nobody else can open: it has no name any more, so that nothing is
/// left behind, however the program ends.
class DiskFile {
 public:
  /// Errors: a folder that isn't there, can't be written or has no room; a file system that refuses
  /// O_DIRECT: `disk: the file system must let O_DIRECT pass the page cache by, got FOLDER: EINVAL
  /// (Invalid argument)`.
  DiskFile(const std::string& folder, int64_t bytes);
  ~DiskFile();
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  int descriptor() const { return descriptor_; }
  int64_t bytes() const { return bytes_; }

 private:
  void fill(const std::string& folder) const;

  int descriptor_ = -1;
  int64_t bytes_;
};

/// Reads blocks for that long with `depth` threads, each of which has one read under way. Random:
/// each at a place of its own choice; sequential: one after another, shared out among the threads.
DiskCell measure_disk(const DiskFile& file, bool random, int64_t block_bytes, int depth,
                      double seconds);

/// Throws unless the sizes are sound: blocks multiples of 4096 that divide the file's size.
void check_plan(const DiskPlan& plan);

/// All cells of a pattern as text: a line a block size, a column a depth.
std::string disk_table(const DiskPlan& plan, const std::vector<DiskCell>& cells, bool random);
/// Pictures: operations and bytes a second by block size, a curve a depth. The files' names.
std::vector<std::string> save_disk_plots(const DiskPlan& plan, const std::vector<DiskCell>& cells,
                                         const std::string& folder);

/// `bench disk [FOLDER] [OPTION]...`; the exit status.
int run_disk(const std::vector<std::string>& arguments);

}  // namespace aorta::bench

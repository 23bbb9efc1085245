#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/stages.h>
#include <aorta/data/video/opencv_plugin.h>
#include <aorta/data/video/plugin.h>
#include <aorta/data/video/video_backend.h>

#include <mutex>
#include <vector>

namespace aorta::data {
namespace {

using Table = aorta_opencv_video;

// The problem where it can't be had.
std::string load(const Table*& table) {
  void* entry = nullptr;
  const std::string problem = find_plugin("libaorta_opencv.so", "AORTA_OPENCV_PLUGIN",
                                          "aorta_opencv_video_table", entry);
  if (!problem.empty()) return problem;
  const Table* found = reinterpret_cast<const Table* (*)()>(entry)();
  if (found->version != kOpencvVideoVersion)
    return "libaorta_opencv.so is of another version of Aorta";
  table = found;
  return "";
}

const Table& table_for(const std::string& path) {
  static std::once_flag once;
  static const Table* table = nullptr;
  static std::string problem;
  std::call_once(once, [] { problem = load(table); });
  if (!table) fail(path, "a video that isn't Motion JPEG in AVI needs libaorta_opencv.so", problem);
  return *table;
}

class OpencvBackend : public VideoReader::Backend {
 public:
  explicit OpencvBackend(const std::string& file) : table_(table_for(file)) {
    path = file;
    open();
    if (height > 0 && width > 0) return;
    table_.close(video_);
    fail(path, "video must have a positive width and height", height, " x ", width);
  }
  ~OpencvBackend() override {
    if (video_) table_.close(video_);
  }

  int64_t frame_count() override {
    if (count_ < 0)
      while (move_on()) {
      }
    return count_;
  }

  void read(int64_t index, const ImagePlace& place) override {
    const StageScope scope(Stage::decode);
    const auto exists = [&](bool known) {
      check(known, path, "frame must be 0 to the number of frames - 1", index, " of ", count_);
    };
    exists(count_ < 0 || index < count_);
    if (!video_ || at_end_ || index < next_ - 1) open();
    while (next_ <= index) exists(move_on());
    const size_t size = static_cast<size_t>(height * width * place.channels);
    pixels_.resize(size);
    char error[512] = "";
    if (table_.pixels(video_, static_cast<int>(place.channels), pixels_.data(), error,
                      sizeof error) != 1)
      fail(path, "frame must be readable", error, ", frame ", index);
    const uint8_t* from = pixels_.data();
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < place.channels; ++c)
          place.data[c * place.channel_stride + y * place.row_stride + x * place.pixel_stride] =
              *from++;
  }

 private:
  // At the start, before the first frame.
  void open() {
    if (video_) table_.close(video_);
    char error[512] = "";
    video_ = table_.open(path.c_str(), &fps, &height, &width, error, sizeof error);
    next_ = 0;
    at_end_ = false;
    if (!video_) fail(path, "video must be readable", error);
  }

  bool move_on() {
    char error[512] = "";
    const int moved = table_.next(video_, error, sizeof error);
    if (moved < 0) fail(path, "frame must be readable", error, ", frame ", next_);
    if (moved == 0) {
      count_ = next_;
      at_end_ = true;
      return false;
    }
    ++next_;
    return true;
  }

  const Table& table_;
  void* video_ = nullptr;
  int64_t next_ = 0;     // the frame that follows the present one
  int64_t count_ = -1;   // -1 until the end was seen
  bool at_end_ = false;  // behind the last frame, where there is none to decode
  std::vector<uint8_t> pixels_;
};

}  // namespace

std::unique_ptr<VideoReader::Backend> open_by_opencv(const std::string& path) {
  return std::make_unique<OpencvBackend>(path);
}

}  // namespace aorta::data

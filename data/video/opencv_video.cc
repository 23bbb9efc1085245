#include <aorta/core/check.h>
#include <aorta/core/plugin.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/stages.h>
#include <aorta/data/video/mp4_writer.h>
#include <aorta/data/video/opencv_plugin.h>
#include <aorta/data/video/video_backend.h>
#include <vector>

namespace aorta::data {
namespace {

using Table = aorta_opencv_video;

// The problem where it can't be had.
std::string load(const Table*& table) {
  const detail::PluginEntry plugin =
      detail::load_plugin("libaorta_opencv.so", "AORTA_OPENCV_PLUGIN", "aorta_opencv_video_table");
  if (!plugin.function) return plugin.problem;
  const Table* found = reinterpret_cast<const Table* (*)()>(plugin.function)();
  if (found->version != kOpencvVideoVersion)
    return "libaorta_opencv.so is of another version of Aorta";
  table = found;
  return "";
}

struct Loaded {
  const Table* table = nullptr;
  std::string problem = load(table);
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

const Table& table_for(const std::string& path) {
  if (!loaded().table)
    fail(path, "a video that isn't Motion JPEG in AVI needs libaorta_opencv.so", loaded().problem);
  return *loaded().table;
}

// Throws for what the plugin said.
template <class... Place>
[[noreturn]] void fail_by_plugin(const std::string& path, const char* rule, const char* error,
                                 const Place&... place) {
  const std::string_view said = error;
  if (said == kOpencvHasNoMemory || said == kOpencvHasNoThread || said == kOpencvHasNoDescriptors)
    fail_for_resources(path, rule, error, place...);
  fail(path, rule, error, place...);
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
      fail_by_plugin(path, "frame must be readable", error, ", frame ", index);
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
    if (!video_) fail_by_plugin(path, "video must be readable", error);
  }

  bool move_on() {
    char error[512] = "";
    const int moved = table_.next(video_, error, sizeof error);
    if (moved < 0) fail_by_plugin(path, "frame must be readable", error, ", frame ", next_);
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

std::string mp4_problem() { return loaded().problem; }

Mp4Writer::Mp4Writer(std::string path, int64_t height, int64_t width, double fps)
    : path_(std::move(path)), height_(height + height % 2), width_(width + width % 2) {
  check(height >= 2 && width >= 2 && height_ <= 16384 && width_ <= 16384, path_,
        "MP4 video must be 2 to 16384 pixels wide and high", height, " x ", width);
  check(fps >= 0.1 && fps <= 1000, path_, "fps must be 0.1 to 1000", fps);
  const Table& table = table_for(path_);
  pixels_.assign(static_cast<size_t>(3 * height_ * width_), 0);
  file_.emplace(path_);
  char error[512] = "";
  writer_ = table.create(file_->temporary().c_str(), fps, height_, width_, error, sizeof error);
  if (!writer_) fail_by_plugin(path_, "video must be writable", error);
}

Mp4Writer::~Mp4Writer() { discard(); }

void Mp4Writer::discard() {
  if (writer_) table_for(path_).discard(writer_);
  writer_ = nullptr;
}

void Mp4Writer::add(const ImagePlace& image) {
  check(writer_ != nullptr, path_, "nothing can be written after close", "a frame");
  // Rows of red, green and blue, as they are in most images that were drawn.
  const bool as_wanted = image.channels == 3 && image.channel_stride == 1 &&
                         image.pixel_stride == 3 && image.row_stride == 3 * image.width &&
                         image.height == height_ && image.width == width_;
  for (int64_t y = 0; y < image.height && !as_wanted; ++y)
    for (int64_t x = 0; x < image.width; ++x)
      for (int64_t c = 0; c < 3; ++c)
        pixels_[static_cast<size_t>((y * width_ + x) * 3 + c)] =
            image.data[(image.channels == 1 ? 0 : c) * image.channel_stride + y * image.row_stride +
                       x * image.pixel_stride];
  char error[512] = "";
  if (table_for(path_).add(writer_, as_wanted ? image.data : pixels_.data(), error, sizeof error) !=
      1)
    fail_by_plugin(path_, "frame must be writable", error);
}

void Mp4Writer::close() {
  check(writer_ != nullptr, path_, "nothing can be written after close", "another close");
  char error[512] = "";
  if (table_for(path_).finish(writer_, error, sizeof error) != 1)
    fail_by_plugin(path_, "video must be writable", error);
  discard();
  file_->commit();
}

}  // namespace aorta::data

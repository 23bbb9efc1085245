#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/images/image_place.h>
#include <aorta/data/stages.h>
#include <aorta/data/video/avi_format.h>
#include <aorta/data/video/avi_writer.h>
#include <aorta/data/video/dicom.h>
#include <aorta/data/video/mp4_writer.h>
#include <aorta/data/video/video_backend.h>

#include <algorithm>

namespace aorta::data {
namespace {

// Motion JPEG in AVI.
class AviBackend : public VideoReader::Backend {
 public:
  AviBackend(std::shared_ptr<const ByteSource> file, AviIndex avi)
      : file_(std::move(file)), avi_(std::move(avi)) {
    path = file_->name();
    fps = avi_.fps;
    height = avi_.height;
    width = avi_.width;
  }

  int64_t frame_count() override { return static_cast<int64_t>(avi_.frames.size()); }

  void read(int64_t index, const ImagePlace& place) override {
    const auto bytes = [&] {
      const StageScope scope(Stage::read);
      return read_avi_frame(*file_, avi_, index, buffer_);
    }();
    const StageScope scope(Stage::decode);
    try {
      decode_jpeg(path, bytes, place);
    } catch (const ResourceError&) {
      throw;
    } catch (const Error& error) {
      throw Error(std::string(error.what()) + ", frame " + std::to_string(index) + " at byte " +
                  std::to_string(avi_.frames[static_cast<size_t>(index)].offset));
    }
  }

 private:
  std::shared_ptr<const ByteSource> file_;
  AviIndex avi_;
  std::vector<std::byte> buffer_;
};

std::unique_ptr<VideoReader::Backend> open_video(const std::string& path) {
  const StageScope scope(Stage::open);
  auto file = ByteSource::open(path);
  check(file->size() > 0, path, "a video must not be empty", "0 bytes");
  if (is_dicom(*file)) return open_dicom(path);
  std::string kind;
  if (is_avi(*file)) {
    AviIndex avi = parse_avi(*file);
    if (avi.codec == "MJPG") return std::make_unique<AviBackend>(std::move(file), std::move(avi));
    kind = "an AVI file of codec " + io::quote(avi.codec);
  } else {
    std::byte start[8];
    const size_t size = file->read(0, start);
    kind = "a file that starts with " + io::quote(io::as_text({start, size}));
  }
  try {
    return open_by_opencv(path);
  } catch (const ResourceError&) {
    throw;
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + " (" + kind + ")");
  }
}

}  // namespace

VideoReader::VideoReader(const Text& path, ImageMode mode) : VideoReader(open_video(path), mode) {}

VideoReader::VideoReader(std::unique_ptr<Backend> backend, ImageMode mode)
    : backend_(std::move(backend)), channels_(mode == ImageMode::gray ? 1 : 3) {
  // Before anybody makes room for a frame.
  constexpr int64_t kMostPixels = int64_t{1} << 27;
  check(height() <= kMostPixels / std::max<int64_t>(width(), 1), path(),
        "frames must have at most 2^27 pixels", height(), " x ", width());
}
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;
VideoReader::~VideoReader() = default;

const std::string& VideoReader::path() const { return backend_->path; }
int64_t VideoReader::frame_count() const { return backend_->frame_count(); }
double VideoReader::fps() const { return backend_->fps; }
int64_t VideoReader::height() const { return backend_->height; }
int64_t VideoReader::width() const { return backend_->width; }
int64_t VideoReader::channels() const { return channels_; }

void VideoReader::read_into(int64_t index, const Tensor& place) const {
  const ImagePlace pixels = image_place("read_video", place);
  check(pixels.height == height() && pixels.width == width(), path(),
        "a frame's place must have the video's size", place.shape(), " for ", height(), " x ",
        width());
  check(index >= 0, path(), "frame must be 0 to the number of frames - 1", index);
  backend_->read(index, pixels);
  place.bump_version();
}

Tensor VideoReader::read(int64_t index) const {
  const Tensor frame = empty({channels_, height(), width()}, {.dtype = u8});
  read_into(index, frame);
  return frame;
}

Tensor VideoReader::read(int64_t first, int64_t count, int64_t step) const {
  check(count >= 0, path(), "count of frames must not be negative", count);
  check(step >= 1, path(), "step between frames must be positive", step);
  // Before memory is taken for them; OpenCV's formats tell when they're read.
  if (count > 1 || first < 0) {
    const int64_t frames = frame_count();
    check(first >= 0 && first < frames && (count - 1) <= (frames - 1 - first) / step, path(),
          "frames must be 0 to the number of frames - 1", count, " from ", first, " in steps of ",
          step, " of ", frames);
  }
  const Tensor frames = empty({count, channels_, height(), width()}, {.dtype = u8});
  for (int64_t i = 0; i < count; ++i) read_into(first + i * step, frames[i]);
  return frames;
}

struct VideoWriter::State {
  std::string path;
  VideoWriterOptions options;
  std::unique_ptr<AviWriter> avi;  // from the first frame on, one of the two
  std::unique_ptr<Mp4Writer> mp4;
  int64_t height = 0;
  int64_t width = 0;
  bool closed = false;
};

VideoWriter::VideoWriter(const Text& path, const VideoWriterOptions& options)
    : state_(std::make_unique<State>()) {
  check(path.ends_with(".avi") || path.ends_with(".mp4"), path,
        "a video to write must be called .avi or .mp4", io::quote(path));
  check(options.quality >= 1 && options.quality <= 100, path, "quality must be 1 to 100",
        options.quality);
  state_->path = path;
  state_->options = options;
}
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;
VideoWriter::~VideoWriter() = default;

void VideoWriter::write(const Tensor& frames) {
  check_defined("write_video", {{"frames", frames}});
  write(std::span<const Tensor>(frames.dim() == 4 ? frames.unbind() : std::vector{frames}));
}

void VideoWriter::write(std::span<const Tensor> frames) {
  constexpr size_t kAtOnce = 32;  // images of JPEG that are compressed side by side
  for (; frames.size() > kAtOnce; frames = frames.subspan(kAtOnce)) write(frames.first(kAtOnce));
  State& state = *state_;
  std::vector<ImagePlace> images;
  for (const Tensor& frame : frames) images.push_back(image_place("write_video", frame));
  check(!state.closed, state.path, "nothing can be written after close", "a frame");
  if (images.empty()) return;
  const ImagePlace& image = images[0];
  if (!state.avi && !state.mp4) {
    if (state.path.ends_with(".mp4"))
      state.mp4 =
          std::make_unique<Mp4Writer>(state.path, image.height, image.width, state.options.fps);
    else
      state.avi =
          std::make_unique<AviWriter>(state.path, image.height, image.width, state.options.fps);
    state.height = image.height;
    state.width = image.width;
  }
  for (size_t i = 0; i < images.size(); ++i) {
    check(images[i].height == state.height && images[i].width == state.width, state.path,
          "frames must be of one size", frames[i].shape(), " after ", state.height, " x ",
          state.width);
  }
  if (state.mp4) {
    for (const ImagePlace& each : images) state.mp4->add(each);
    return;
  }
  std::vector<std::vector<std::byte>> bytes(images.size());
  parallel_for(0, std::ssize(images), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      encode_jpeg(images[i], state.options.quality, bytes[i]);
  });
  for (const std::vector<std::byte>& each : bytes) state.avi->add(each);
}

void VideoWriter::close() {
  State& state = *state_;
  if (state.closed) return;
  check(state.avi || state.mp4, state.path, "a video must have frames", "none");
  if (state.mp4)
    state.mp4->close();
  else
    state.avi->close();
  state.avi.reset();
  state.mp4.reset();
  state.closed = true;
}

void write_video(const Text& path, const Tensor& frames, const VideoWriterOptions& options) {
  VideoWriter writer(path, options);
  writer.write(frames);
  writer.close();
}

}  // namespace aorta::data

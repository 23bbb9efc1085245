#include <aorta/data/video/opencv_plugin.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

// The library that links OpenCV, so that no other does.
namespace {

void put(const char* text, char* error, size_t error_size) {
  if (error_size == 0) return;
  std::strncpy(error, text, error_size - 1);
  error[error_size - 1] = '\0';
}

// While one lives OpenCV writes nothing to stderr: the caller says what is wrong.
class Silence {
 public:
  Silence() {
    const std::lock_guard lock(mutex_);
    if (living_++ == 0)
      before_ = cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    const std::lock_guard lock(mutex_);
    if (--living_ == 0) cv::utils::logging::setLogLevel(before_);
  }

 private:
  static inline std::mutex mutex_;
  static inline int living_ = 0;
  static inline cv::utils::logging::LogLevel before_;
};

// Nothing that OpenCV throws may pass the border of the library.
template <class Body>
int guarded(char* error, size_t error_size, const Body& body) {
  try {
    const Silence silence;
    return body();
  } catch (const std::bad_alloc&) {
    put(aorta::data::kOpencvHasNoMemory, error, error_size);
  } catch (const cv::Exception& problem) {
    const bool memory = problem.code == cv::Error::StsNoMem;
    put(memory ? aorta::data::kOpencvHasNoMemory : problem.err.c_str(), error, error_size);
  } catch (const std::exception& problem) {
    put(problem.what(), error, error_size);
  } catch (...) {
    put("an unknown exception", error, error_size);
  }
  return -1;
}

// Held while stderr is another file, and while the process forks, so that no child begins with that
// one.
std::mutex g_stderr;

// x264 writes to stderr when it finds no memory, whatever log level it was given, and tells nobody
// else. While this lives, stderr is a file in memory; what others wrote there follows at its end.
class X264Lines {
 public:
  X264Lines() : kept_(memfd_create("aorta stderr", MFD_CLOEXEC)), before_(dup(STDERR_FILENO)) {
    if (kept_ >= 0 && before_ >= 0) dup2(kept_, STDERR_FILENO);
  }
  X264Lines(const X264Lines&) = delete;
  X264Lines& operator=(const X264Lines&) = delete;
  ~X264Lines() { end(); }

  // Stderr is itself again; whether there was no memory.
  bool end() {
    bool no_memory = false;
    if (kept_ >= 0 && before_ >= 0) {
      dup2(before_, STDERR_FILENO);
      try {
        no_memory = pass_on();
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    }
    for (int* file : {&kept_, &before_}) {
      if (*file >= 0) close(*file);
      *file = -1;
    }
    return no_memory;
  }

 private:
  // Writes what others wrote; whether x264 had no memory.
  bool pass_on() const {
    bool no_memory = false;
    std::string text;
    char part[4096];
    for (ssize_t size;
         (size = pread(kept_, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
      text.append(part, static_cast<size_t>(size));
    for (size_t line = 0, next; line < text.size(); line = next) {
      next = std::min(text.find('\n', line), text.size() - 1) + 1;
      const std::string_view words(text.data() + line, next - line);
      if (!words.starts_with("x264 ["))
        (void)!write(STDERR_FILENO, words.data(), words.size());
      else
        no_memory |= words.find("malloc") != std::string_view::npos;
    }
    return no_memory;
  }

  const std::lock_guard<std::mutex> alone_{g_stderr};
  int kept_, before_;  // -1 where there is none
};

bool can_start_a_thread() {
  pthread_t thread;
  const auto nothing = [](void*) -> void* { return nullptr; };
  return pthread_create(&thread, nullptr, nothing, nullptr) == 0 &&
         pthread_join(thread, nullptr) == 0;
}

// Why a file wasn't opened: OpenCV doesn't say. The last call that failed does, and codecs start
// threads.
const char* reason(const char* unless_known) {
  if (errno == EMFILE || errno == ENFILE) return aorta::data::kOpencvHasNoDescriptors;
  return can_start_a_thread() ? unless_known : aorta::data::kOpencvHasNoThread;
}

void* open_video(const char* path, double* fps, int64_t* height, int64_t* width, char* error,
                 size_t error_size) {
  cv::VideoCapture* result = nullptr;
  guarded(error, error_size, [&] {
    errno = 0;
    auto capture = std::make_unique<cv::VideoCapture>(std::string(path), cv::CAP_FFMPEG);
    if (!capture->isOpened()) {
      put(reason("OpenCV can't open it"), error, error_size);
      return -1;
    }
    *fps = capture->get(cv::CAP_PROP_FPS);
    *height = static_cast<int64_t>(capture->get(cv::CAP_PROP_FRAME_HEIGHT));
    *width = static_cast<int64_t>(capture->get(cv::CAP_PROP_FRAME_WIDTH));
    result = capture.release();
    return 0;
  });
  return result;
}

void close_video(void* video) { delete static_cast<cv::VideoCapture*>(video); }

int next_frame(void* video, char* error, size_t error_size) {
  return guarded(error, error_size,
                 [&] { return static_cast<cv::VideoCapture*>(video)->grab() ? 1 : 0; });
}

int read_pixels(void* video, int channels, uint8_t* out, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    auto& capture = *static_cast<cv::VideoCapture*>(video);
    const int height = static_cast<int>(capture.get(cv::CAP_PROP_FRAME_HEIGHT));
    const int width = static_cast<int>(capture.get(cv::CAP_PROP_FRAME_WIDTH));
    cv::Mat frame;
    if (!capture.retrieve(frame) || frame.rows != height || frame.cols != width ||
        frame.depth() != CV_8U || (frame.channels() != 1 && frame.channels() != 3)) {
      put("OpenCV can't decode the frame", error, error_size);
      return -1;
    }
    cv::Mat place(height, width, CV_8UC(channels), out);
    if (frame.channels() == channels && channels == 1)
      frame.copyTo(place);
    else
      cv::cvtColor(frame, place,
                   frame.channels() == 1 ? cv::COLOR_GRAY2RGB
                   : channels == 1       ? cv::COLOR_BGR2GRAY
                                         : cv::COLOR_BGR2RGB);
    return 1;
  });
}

// What a call of FFmpeg's says; it returns negative numbers for errors.
void check_call(int result) {
  if (result >= 0) return;
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result == AVERROR(EMFILE) || result == AVERROR(ENFILE))
    throw std::runtime_error(aorta::data::kOpencvHasNoDescriptors);
  char text[AV_ERROR_MAX_STRING_SIZE];
  av_strerror(result, text, sizeof text);
  throw std::runtime_error(text);
}

template <class T>
T* there(T* made) {
  if (!made) throw std::bad_alloc();
  return made;
}

// H.264 in MP4, by FFmpeg and x264. OpenCV's own writer takes the preset "medium" alone, with which
// the film of an overlay costs more than the network that found its masks.
class Writer {
 public:
  Writer(const char* path, double fps, int height, int width)
      : frame_(there(av_frame_alloc())), packet_(there(av_packet_alloc())) {
    const AVCodec* const codec = avcodec_find_encoder_by_name("libx264");
    if (!codec) throw std::runtime_error("FFmpeg has no libx264");
    encoder_.reset(there(avcodec_alloc_context3(codec)));
    encoder_->width = width;
    encoder_->height = height;
    encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder_->color_range = AVCOL_RANGE_MPEG;  // what cvtColor makes
    encoder_->colorspace = AVCOL_SPC_SMPTE170M;
    encoder_->framerate = av_d2q(fps, 1001000);
    encoder_->time_base = av_inv_q(encoder_->framerate);
    encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;  // MP4 has one
    encoder_->thread_count = 1;                      // the frames are painted by the others
    check_call(av_opt_set(encoder_->priv_data, "preset", "ultrafast", 0));
    check_call(avcodec_open2(encoder_.get(), codec, nullptr));

    AVFormatContext* file = nullptr;
    check_call(avformat_alloc_output_context2(&file, nullptr, "mp4", nullptr));
    file_.reset(file);
    stream_ = there(avformat_new_stream(file, nullptr));
    stream_->time_base = encoder_->time_base;
    check_call(avcodec_parameters_from_context(stream_->codecpar, encoder_.get()));
    check_call(avio_open(&file->pb, (std::string("file:") + path).c_str(), AVIO_FLAG_WRITE));
    check_call(avformat_write_header(file, nullptr));

    frame_->format = AV_PIX_FMT_YUV420P;
    frame_->width = width;
    frame_->height = height;
  }

  // Rows of red, green and blue.
  void add(const uint8_t* pixels) {
    const int height = frame_->height, width = frame_->width;
    const cv::Mat rgb(height, width, CV_8UC3, const_cast<uint8_t*>(pixels));
    cv::cvtColor(rgb, planes_, cv::COLOR_RGB2YUV_I420);
    frame_->data[0] = planes_.data;
    frame_->data[1] = planes_.data + height * width;
    frame_->data[2] = planes_.data + height * width / 4 * 5;
    frame_->linesize[0] = width;
    frame_->linesize[1] = frame_->linesize[2] = width / 2;
    frame_->pts = frames_++;
    encode(frame_.get());
  }

  void finish() {
    encode(nullptr);
    check_call(av_write_trailer(file_.get()));
    avio_flush(file_->pb);
    check_call(file_->pb->error);
    check_call(avio_closep(&file_->pb));
  }

 private:
  struct Free {
    void operator()(AVFormatContext* file) const {
      avio_closep(&file->pb);
      avformat_free_context(file);
    }
    void operator()(AVCodecContext* encoder) const { avcodec_free_context(&encoder); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };

  // A null frame is the end.
  void encode(const AVFrame* frame) {
    check_call(avcodec_send_frame(encoder_.get(), frame));
    for (int result;
         (result = avcodec_receive_packet(encoder_.get(), packet_.get())) != AVERROR(EAGAIN) &&
         result != AVERROR_EOF;) {
      check_call(result);
      packet_->stream_index = stream_->index;
      packet_->duration = 1;
      av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
      check_call(av_interleaved_write_frame(file_.get(), packet_.get()));
    }
  }

  std::unique_ptr<AVFrame, Free> frame_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> encoder_;
  std::unique_ptr<AVFormatContext, Free> file_;
  AVStream* stream_ = nullptr;  // the file's
  cv::Mat planes_;
  int64_t frames_ = 0;
};

// What writes, with x264's lines kept from stderr.
template <class Body>
int guarded_writing(char* error, size_t error_size, const Body& body) {
  return guarded(error, error_size, [&] {
    X264Lines lines;
    try {
      body();
    } catch (const std::runtime_error&) {
      if (lines.end()) throw std::bad_alloc();
      throw;
    }
    if (lines.end()) throw std::bad_alloc();
    return 1;
  });
}

void* create_video(const char* path, double fps, int64_t height, int64_t width, char* error,
                   size_t error_size) {
  Writer* result = nullptr;
  guarded_writing(error, error_size, [&] {
    result = new Writer(path, fps, static_cast<int>(height), static_cast<int>(width));
  });
  return result;
}

int add_frame(void* writer, const uint8_t* pixels, char* error, size_t error_size) {
  return guarded_writing(error, error_size, [&] { static_cast<Writer*>(writer)->add(pixels); });
}

int finish_video(void* writer, char* error, size_t error_size) {
  return guarded_writing(error, error_size, [&] { static_cast<Writer*>(writer)->finish(); });
}

void close_writer(void* writer) { delete static_cast<Writer*>(writer); }

constexpr aorta_opencv_video kTable{aorta::data::kOpencvVideoVersion,
                                    open_video,
                                    close_video,
                                    next_frame,
                                    read_pixels,
                                    create_video,
                                    add_frame,
                                    finish_video,
                                    close_writer};

}  // namespace

extern "C" const aorta_opencv_video* aorta_opencv_video_table() {
  // FFmpeg writes nothing to stderr either, unless somebody has asked for it.
  setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);
  av_log_set_level(std::atoi(std::getenv("OPENCV_FFMPEG_LOGLEVEL")));
  static const int once =
      pthread_atfork([] { g_stderr.lock(); }, [] { g_stderr.unlock(); }, [] { g_stderr.unlock(); });
  (void)once;
  // Threads of its own would not outlive a fork, and a worker is one thread.
  cv::setNumThreads(0);
  return &kTable;
}

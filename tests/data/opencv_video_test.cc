// Video files against OpenCV: its reader, its writer, and the plugin that reads other formats by
// it.
#include <aorta/core/ops/creation.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/loader.h>
#include <aorta/data/video/video.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed =
    setenv("AORTA_OPENCV_PLUGIN", "data/libaorta_opencv.so", 0);
#endif

// (H, W, 3) blue, green, red, as a tensor (3, H, W) red, green, blue.
Tensor from_bgr(const cv::Mat& image) {
  const Tensor result = empty({3, image.rows, image.cols}, {.dtype = u8});
  for (int y = 0; y < image.rows; ++y)
    for (int x = 0; x < image.cols; ++x)
      for (int c = 0; c < 3; ++c) result.at<uint8_t>({c, y, x}) = image.at<cv::Vec3b>(y, x)[2 - c];
  return result;
}

cv::Mat to_bgr(const Tensor& image) {
  cv::Mat result(static_cast<int>(image.size(1)), static_cast<int>(image.size(2)), CV_8UC3);
  for (int y = 0; y < result.rows; ++y)
    for (int x = 0; x < result.cols; ++x)
      for (int c = 0; c < 3; ++c) result.at<cv::Vec3b>(y, x)[2 - c] = image.at<uint8_t>({c, y, x});
  return result;
}

// Every frame that OpenCV reads, by its own reader of Motion JPEG or by the one it chooses.
std::vector<Tensor> opencvs_frames(const std::string& path, int reader = cv::CAP_OPENCV_MJPEG) {
  cv::VideoCapture video(path, reader);
  EXPECT_TRUE(video.isOpened()) << path;
  std::vector<Tensor> frames;
  for (cv::Mat frame; video.read(frame);) frames.push_back(from_bgr(frame));
  return frames;
}

void write_by_opencv(const std::string& path, const char* codec, int reader, int count,
                     cv::Size size) {
  cv::VideoWriter writer(path, reader,
                         cv::VideoWriter::fourcc(codec[0], codec[1], codec[2], codec[3]), 50, size);
  ASSERT_TRUE(writer.isOpened()) << path;
  for (int i = 0; i < count; ++i) writer.write(to_bgr(test_picture(size.height, size.width, i)));
}

void expect_opencvs_pixels(const std::string& path) {
  const auto expected = opencvs_frames(path);
  ASSERT_GT(expected.size(), 0u);
  const VideoReader video(path);
  ASSERT_EQ(video.frame_count(), static_cast<int64_t>(expected.size()));
  for (size_t i = expected.size(); i-- > 0;)
    ASSERT_EQ(video.read(static_cast<int64_t>(i)).to_vector<uint8_t>(),
              expected[i].to_vector<uint8_t>())
        << path << ", frame " << i;
}

TEST(OpencvVideo, OurPixelsAreThoseOfItsMotionJpegReader) {
  const TestFolder folder;
  write_by_opencv(folder.file("a.avi"), "MJPG", cv::CAP_OPENCV_MJPEG, 12, {48, 34});
  write_by_opencv(folder.file("b.avi"), "MJPG", cv::CAP_FFMPEG, 12, {48, 34});
  expect_opencvs_pixels(folder.file("a.avi"));
  expect_opencvs_pixels(folder.file("b.avi"));
}

TEST(OpencvVideo, OurPixelsOfRealVideos) {
  const char* folder = std::getenv("AORTA_ECHO");
  if (folder == nullptr)
    GTEST_SKIP() << "AORTA_ECHO must name a folder of EchoNet-Dynamic's layout";
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(folder) / "Videos")) {
    expect_opencvs_pixels(entry.path());
    if (++files == 20) break;
  }
  EXPECT_GT(files, 0);
}

TEST(OpencvVideo, ReadsWhatWeWrite) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  VideoWriter writer(path, {.fps = 30});
  for (int i = 0; i < 10; ++i) writer.write(test_picture(50, 66, i));
  writer.close();
  expect_opencvs_pixels(path);
  for (const int reader : {cv::CAP_OPENCV_MJPEG, cv::CAP_FFMPEG}) {
    cv::VideoCapture video(path, reader);
    ASSERT_TRUE(video.isOpened());
    EXPECT_EQ(video.get(cv::CAP_PROP_FRAME_COUNT), 10);
    EXPECT_EQ(video.get(cv::CAP_PROP_FPS), 30);
    // Players seek: frame 7, from its index.
    video.set(cv::CAP_PROP_POS_FRAMES, 7);
    cv::Mat frame;
    ASSERT_TRUE(video.read(frame));
    EXPECT_LT(mean_difference(from_bgr(frame), test_picture(50, 66, 7)), 5);
    EXPECT_GT(mean_difference(from_bgr(frame), test_picture(50, 66, 6)), 10);
  }
  EXPECT_EQ(opencvs_frames(path, cv::CAP_FFMPEG).size(), 10u);
}

// H.264 in MP4, which OpenCV reads back; an odd size gets a row and a column more.
TEST(OpencvVideo, WritesWhatBrowsersPlay) {
  const TestFolder folder;
  const std::string path = folder.file("a.mp4");
  ASSERT_EQ(mp4_problem(), "");
  {
    VideoWriter writer(path, {.fps = 25});
    for (int i = 0; i < 12; ++i) writer.write(test_picture(97, 131, i));
    EXPECT_FALSE(std::filesystem::exists(path));
    writer.close();
  }
  cv::VideoCapture video(path, cv::CAP_FFMPEG);
  ASSERT_TRUE(video.isOpened());
  EXPECT_EQ(video.get(cv::CAP_PROP_FPS), 25);
  const int codec = static_cast<int>(video.get(cv::CAP_PROP_FOURCC));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&codec), 4), "avc1");
  const VideoReader reader(path);
  ASSERT_EQ(reader.frame_count(), 12);
  EXPECT_EQ(reader.height(), 98);
  EXPECT_EQ(reader.width(), 132);
  for (int i = 0; i < 12; ++i)
    EXPECT_LT(mean_difference(reader.read(i).narrow(1, 0, 97).narrow(2, 0, 131).contiguous(),
                              test_picture(97, 131, i)),
              9)
        << i;
  // Nothing is left of one that isn't closed.
  { VideoWriter(folder.file("b.mp4")).write(test_picture(16, 16)); }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1);
}

// x264 writes a line to stderr where it gets no memory, which isn't ours; what others write stays.
TEST(OpencvVideo, SaysThatThereIsNoMemoryToWriteIn) {
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  const TestFolder folder;
  ASSERT_EQ(mp4_problem(), "");
  int refused = 0, written = 0;
  // From too little for an encoder to enough.
  const Tensor picture = zeros({3, 2160, 3840}, {.dtype = u8});
  for (const rlim_t megabytes : {4, 64, 128, 256, 4096}) {
    const std::string path = folder.file(std::to_string(megabytes) + ".mp4");
    const std::string lines = folder.file("stderr");
    const int status = forked([&] {
      const int file = open(lines.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      dup2(file, STDERR_FILENO);
      rlim_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (megabytes << 20);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_AS, &limit);
      try {
        VideoWriter writer(path, {.fps = 25});
        for (int i = 0; i < 6; ++i) {
          writer.write(picture);
          if (i == 3) std::fputs("a line of the program\n", stderr);
        }
        writer.close();
      } catch (const ResourceError& error) {
        const std::string what = error.what();
        const bool clear = what == path + ": video must be writable, got no more memory" ||
                           what == path + ": frame must be writable, got no more memory" ||
                           what.rfind(path + ": each frame must be writable", 0) == 0;
        EXPECT_TRUE(clear) << what;
        return clear ? 3 : 1;
      }
      return 0;
    });
    EXPECT_TRUE(status == 0 || status == 3) << megabytes;
    (status == 0 ? written : refused) += 1;
    const std::string said = read_text(lines);
    EXPECT_TRUE(said == "a line of the program\n" || (said.empty() && status == 3)) << said;
    EXPECT_EQ(std::filesystem::exists(path), status == 0) << megabytes;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(written, 0);
#else
  GTEST_SKIP() << "the address sanitizer has no limit of memory";
#endif
}

// A film that the disk has no room for is one line and leaves no file.
TEST(OpencvVideo, SaysThatThereIsNoRoomToWriteIn) {
  const TestFolder folder;
  ASSERT_EQ(mp4_problem(), "");
  for (const rlim_t kilobytes : {0, 1, 40}) {
    const std::string path = folder.file("a.mp4");
    const int status = forked([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{kilobytes << 10, kilobytes << 10};
      setrlimit(RLIMIT_FSIZE, &limit);
      try {
        VideoWriter writer(path, {.fps = 25});
        for (int i = 0; i < 40; ++i) writer.write(test_picture(240, 320, i));
        writer.close();
      } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_TRUE(what == path + ": video must be writable, got File too large" ||
                    what == path + ": frame must be writable, got File too large")
            << what;
        return 3;
      }
      return 0;
    });
    EXPECT_EQ(status, 3) << kilobytes;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << kilobytes;
  }
}

// A frame that was dropped is an empty chunk: OpenCV shows the one before again, and so do we.
TEST(OpencvVideo, RepeatsDroppedFramesAsItDoes) {
  const TestFolder folder;
  write_video(folder.file("a.avi"), test_picture(32, 32).unsqueeze(0).expand({5, 3, 32, 32}));
  VideoWriter writer(folder.file("a.avi"));
  for (int i = 0; i < 5; ++i) writer.write(test_picture(32, 32, i));
  writer.close();
  std::string text = read_text(folder.file("a.avi"));
  // The chunk of frame 2 becomes an empty one and one of junk; the index says 0 bytes.
  const size_t movi = text.find("movi"), index = text.find("idx1");
  const auto number = [&](size_t place) {
    uint32_t value;
    std::memcpy(&value, text.data() + place, 4);
    return value;
  };
  const size_t entry = index + 8 + 2 * 16;
  const size_t chunk = movi + number(entry + 8);
  const uint32_t size = number(chunk + 4);
  text.replace(entry + 12, 4, std::string(4, '\0'));
  text.replace(chunk + 4, 4, std::string(4, '\0'));
  text.replace(chunk + 8, 4, "JUNK");
  const uint32_t junk = size - 8;
  std::memcpy(text.data() + chunk + 12, &junk, 4);
  const std::string path = folder.write("b.avi", text);
  expect_opencvs_pixels(path);
  const VideoReader video(path);
  EXPECT_EQ(video.read(2).to_vector<int>(), video.read(1).to_vector<int>());
  EXPECT_NE(video.read(3).to_vector<int>(), video.read(1).to_vector<int>());
}

TEST(OpencvVideo, OtherFormatsAreReadExactlyByThePlugin) {
  const TestFolder folder;
  struct Format {
    const char* file;
    const char* codec;
  };
  int formats = 0;
  for (const Format format : {Format{"a.mp4", "mp4v"}, {"b.avi", "XVID"}, {"c.avi", "FFV1"}}) {
    SCOPED_TRACE(format.codec);
    const std::string path = folder.file(format.file);
    write_by_opencv(path, format.codec, cv::CAP_FFMPEG, 30, {64, 48});
    const auto expected = opencvs_frames(path, cv::CAP_ANY);
    ASSERT_EQ(expected.size(), 30u);
    const VideoReader video(path);
    EXPECT_EQ(video.height(), 48);
    EXPECT_EQ(video.width(), 64);
    EXPECT_EQ(video.fps(), 50);
    // In any order, the end before it is known.
    for (const int64_t i : {0, 3, 4, 17, 17, 5, 29, 0, 28})
      ASSERT_EQ(video.read(i).to_vector<uint8_t>(),
                expected[static_cast<size_t>(i)].to_vector<uint8_t>())
          << i;
    EXPECT_EQ(video.frame_count(), 30);
    EXPECT_EQ(error_of([&] { video.read(30); }),
              path + ": frame must be 0 to the number of frames - 1, got 30 of 30");
    EXPECT_EQ(video.read(10, 3, 5)[2].to_vector<uint8_t>(), expected[20].to_vector<uint8_t>());
    // The last one, from behind the end.
    const VideoReader counted(path);
    EXPECT_EQ(counted.frame_count(), 30);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(counted.read(29).to_vector<uint8_t>(), expected[29].to_vector<uint8_t>());
    EXPECT_EQ(counted.frame_count(), 30);
    cv::Mat gray;
    cv::cvtColor(to_bgr(expected[7]), gray, cv::COLOR_BGR2GRAY);
    EXPECT_EQ(VideoReader(path, ImageMode::gray).read(7).to_vector<uint8_t>(),
              std::vector<uint8_t>(gray.begin<uint8_t>(), gray.end<uint8_t>()));
    ++formats;
  }
  EXPECT_EQ(formats, 3);
}

TEST(OpencvVideo, ReadsTheOnlyFrameOfAFileThatGoesAway) {
  const TestFolder folder;
  const std::string path = folder.file("a.mp4");
  write_by_opencv(path, "mp4v", cv::CAP_FFMPEG, 1, {64, 48});
  const auto expected = opencvs_frames(path, cv::CAP_ANY);
  ASSERT_EQ(expected.size(), 1u);
  const VideoReader video(path);
  EXPECT_EQ(video.frame_count(), 1);
  EXPECT_EQ(video.read(0).to_vector<uint8_t>(), expected[0].to_vector<uint8_t>());
  const VideoReader other(path);
  EXPECT_EQ(other.frame_count(), 1);
  ASSERT_EQ(unlink(path.c_str()), 0);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of([&] { other.read(0); }).rfind(path + ": video must be readable, got", 0),
              0u);
}

TEST(OpencvVideo, SaysWhatItCantRead) {
  const TestFolder folder;
  const std::string path = folder.write("a.mp4", "no video at all");
  EXPECT_EQ(error_of([&] { VideoReader{path}; }),
            path +
                ": video must be readable, got OpenCV can't open it (a file that starts with "
                "\"no video\")");
  const std::string empty = folder.write("b.mp4", "");
  EXPECT_EQ(error_of([&] { VideoReader{empty}; }),
            empty + ": a video must not be empty, got 0 bytes");
  // Motion JPEG under a name that nobody knows.
  write_video(folder.file("c.avi"), test_picture(16, 16).unsqueeze(0));
  std::string bytes = read_text(folder.file("c.avi"));
  for (size_t place; (place = bytes.find("MJPG")) != std::string::npos;)
    bytes.replace(place, 4, "QZQZ");
  const std::string unknown = folder.write("c.avi", bytes);
  EXPECT_EQ(error_of([&] { VideoReader{unknown}; }),
            unknown +
                ": video must be readable, got OpenCV can't open it (an AVI file of codec "
                "\"QZQZ\")");
}

// The frames of one file, each read by OpenCV.
class Frames : public Dataset {
 public:
  Frames(const std::string& path, int64_t count) : path_(path), count_(count) {}
  int64_t size() const override { return count_; }
  std::vector<TensorSpec> specs() const override { return {{"frame", u8, {3, 34, 48}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override {
    VideoReader(path_).read_into(index, sample["frame"]);
  }

 private:
  std::string path_;
  int64_t count_;
};

TEST(OpencvVideo, ReadsInWorkersOfAProgramThatHasUsedItsThreads) {
  const TestFolder folder;
  const std::string path = folder.file("a.mp4");
  write_by_opencv(path, "mp4v", cv::CAP_FFMPEG, 8, {48, 34});
  cv::Mat large(2000, 2000, CV_8UC3, cv::Scalar(1, 2, 3)), small;
  cv::resize(large, small, {1000, 1000});  // on all of OpenCV's threads
  const auto frames = std::make_shared<Frames>(path, 8);
  DataLoader alone(frames, {.batch_size = 4});
  DataLoader loader(
      frames,
      {.batch_size = 4, .num_workers = 2, .timeout = 60, .start_method = StartMethod::fork});
  auto expected = alone.begin();
  for (const auto& batch : loader) {
    EXPECT_EQ(batch["frame"].to_vector<uint8_t>(), (*expected)["frame"].to_vector<uint8_t>());
    ++expected;
  }
  EXPECT_TRUE(expected == alone.end());
}

}  // namespace
}  // namespace aorta::data

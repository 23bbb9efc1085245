#include <aorta/core/ops/join.h>
#include <aorta/core/ops/view.h>
#include <aorta/data/video/video.h>

#include <cstdlib>

#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

Tensor pictures(int count, int64_t height, int64_t width, int64_t channels = 3) {
  std::vector<Tensor> frames;
  for (int i = 0; i < count; ++i)
    frames.push_back(test_picture(height, width, i, channels).unsqueeze(0));
  return cat(frames);
}

std::string text_of(const Tensor& file) {
  return {static_cast<const char*>(file.data()), static_cast<size_t>(file.numel())};
}

TEST(VideoReader, ReadsFramesByNumber) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  const Tensor frames = pictures(9, 35, 46);
  write_video(path, frames, {.fps = 25, .quality = 100});
  const VideoReader video(path);
  EXPECT_EQ(video.path(), path);
  EXPECT_EQ(video.frame_count(), 9);
  EXPECT_EQ(video.fps(), 25);
  EXPECT_EQ(video.height(), 35);
  EXPECT_EQ(video.width(), 46);
  EXPECT_EQ(video.channels(), 3);
  for (const int64_t i : {5, 0, 8, 3}) {
    const Tensor frame = video.read(i);
    EXPECT_EQ(frame.shape(), (Shape{3, 35, 46}));
    EXPECT_LT(mean_difference(frame, frames[i]), 4);
    EXPECT_GT(mean_difference(frame, frames[(i + 4) % 9]), 10);
  }
  const Tensor clip = video.read(1, 4, 2);
  EXPECT_EQ(clip.shape(), (Shape{4, 3, 35, 46}));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(clip[i].to_vector<int>(), video.read(1 + 2 * i).to_vector<int>());
  EXPECT_EQ(video.read(0, 0).shape(), (Shape{0, 3, 35, 46}));
  // EchoNet's order, channels before time, without a copy.
  const Tensor clips = zeros({3, 9, 35, 46}, {.dtype = u8});
  for (int64_t i = 0; i < 9; ++i) video.read_into(i, clips.select(1, i));
  EXPECT_EQ(clips.transpose(0, 1).to_vector<int>(), video.read(0, 9).to_vector<int>());
  const VideoReader gray(path, ImageMode::gray);
  EXPECT_EQ(gray.read(2, 2).shape(), (Shape{2, 1, 35, 46}));
}

TEST(VideoReader, SaysWhatIsWrong) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  write_video(path, pictures(3, 16, 24));
  const VideoReader video(path);
  const auto error = [&](const auto& f) { return error_of(f); };
  EXPECT_EQ(error([&] { video.read(3); }),
            path + ": frame must be 0 to the number of frames - 1, got 3 of 3");
  EXPECT_EQ(error([&] { video.read(-1); }),
            path + ": frame must be 0 to the number of frames - 1, got -1");
  EXPECT_EQ(
      error([&] { video.read(1, 2, 2); }),
      path + ": frames must be 0 to the number of frames - 1, got 2 from 1 in steps of 2 of 3");
  EXPECT_EQ(error([&] { video.read(0, 1000000000000); }),
            path +
                ": frames must be 0 to the number of frames - 1, got 1000000000000 from 0 in "
                "steps of 1 of 3");
  EXPECT_EQ(error([&] { video.read(0, 1, 0); }),
            path + ": step between frames must be positive, got 0");
  EXPECT_EQ(error([&] {
              video.read_into(0, empty({3, 24, 16}, {.dtype = u8}));
            }),
            path + ": a frame's place must have the video's size, got [3,24,16] for 16 x 24");
  EXPECT_EQ(
      error([&] { VideoReader(folder.file("no.avi")); }),
      folder.file("no.avi") + ": file must be readable, got ENOENT (No such file or directory)");
  // A frame whose pixels are damaged is named, and the others are still read.
  std::string text = read_text(path);
  const size_t second = text.find("00dc", text.find("movi") + 12);
  text.replace(second + 8, 2, "xx");
  const VideoReader damaged(folder.write("b.avi", text));
  EXPECT_TRUE(
      error([&] {
        damaged.read(1);
      }).starts_with(folder.file("b.avi") + ": JPEG image must start with the bytes ff d8, got "));
  EXPECT_TRUE(
      error([&] { damaged.read(1); }).ends_with(", frame 1 at byte " + std::to_string(second)));
  EXPECT_EQ(damaged.read(2).to_vector<int>(), video.read(2).to_vector<int>());
}

TEST(VideoReader, NeedsThePluginForOtherFormats) {
  const TestFolder folder;
  const std::string path = folder.write("a.mp4", "no video at all");
  ASSERT_EQ(setenv("AORTA_OPENCV_PLUGIN", "none", 1), 0);
  EXPECT_EQ(error_of([&] { VideoReader{path}; }),
            path +
                ": a video that isn't Motion JPEG in AVI needs libaorta_opencv.so, got "
                "AORTA_OPENCV_PLUGIN=none switches it off (a file that starts with \"no video\")");
  unsetenv("AORTA_OPENCV_PLUGIN");
}

TEST(VideoWriter, WritesFrameByFrame) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  const Tensor frames = pictures(40, 16, 24);
  write_video(path, frames, {.quality = 90});
  const std::string whole = read_text(path);
  VideoWriter writer(path, {.quality = 90});
  writer.write(frames[0]);
  writer.write(frames.slice(0, 1));
  EXPECT_EQ(error_of([&] { writer.write(test_picture(16, 23)); }),
            path + ": frames must be of one size, got [3,16,23] after 16 x 24");
  writer.close();
  writer.close();
  EXPECT_EQ(read_text(path), whole);
  EXPECT_EQ(error_of([&] { writer.write(frames); }),
            path + ": nothing can be written after close, got a frame");
  // Each frame is the image that encode_jpeg makes.
  EXPECT_NE(whole.find(text_of(encode_jpeg(frames[2], 90))), std::string::npos);
}

TEST(VideoWriter, WritesGray) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  const Tensor frames = pictures(3, 16, 24, 1);
  write_video(path, frames, {.quality = 100});
  const VideoReader video(path);
  EXPECT_EQ(video.read(0).shape(), (Shape{3, 16, 24}));
  EXPECT_LT(mean_difference(VideoReader(path, ImageMode::gray).read(1), frames[1]), 1);
}

TEST(VideoWriter, SaysWhatIsWrong) {
  const TestFolder folder;
  EXPECT_EQ(error_of([] { VideoWriter("a.mov"); }),
            "a.mov: a video to write must be called .avi or .mp4, got \"a.mov\"");
  const std::string path = folder.file("a.avi");
  EXPECT_EQ(error_of([&] { VideoWriter(path, {.quality = 101}); }),
            path + ": quality must be 1 to 100, got 101");
  EXPECT_EQ(error_of([&] { VideoWriter(path).close(); }),
            path + ": a video must have frames, got none");
  EXPECT_EQ(error_of([&] {
              VideoWriter(path).write(empty({2, 3, 4}));
            }),
            "write_video: image must be u8 (C, H, W) on the CPU, C = 1 or 3, got f32 [2,3,4] on "
            "cpu");
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

}  // namespace
}  // namespace aorta::data

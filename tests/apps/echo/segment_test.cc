#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/data/csv.h>

#include <aorta/tests/apps/echo/hearts.h>

#include <algorithm>

namespace aorta::echo {
namespace {

TEST(FrameView, KeepsCirclesRound) {
  const int64_t height = 90, width = 200, side = 64;
  const FrameView view(height, width, side);
  Tensor frame = zeros({3, height, width}, {.dtype = u8});
  Tensor mask = zeros({height, width}, {.dtype = u8});
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      if (std::hypot(static_cast<double>(x) - 120, static_cast<double>(y) - 50) <= 30) {
        mask.at<uint8_t>({y, x}) = 1;
        for (int64_t c = 0; c < 3; ++c) frame.at<uint8_t>({c, y, x}) = 255;
      }
  const Tensor square = view.shrink(frame);
  EXPECT_EQ(square.shape(), Shape({3, side, side}));
  const Tensor found = (square[0] >= 128).to(u8);
  const Disks disks = measure_disks(found);
  EXPECT_NEAR(disks.area, std::numbers::pi * 30 * 30 * side * side / (width * width), 8);
  EXPECT_NEAR(disks.length, 60. * side / width, 1);
  EXPECT_NEAR((view.frame_x(disks.apex.x) + view.frame_x(disks.base.x)) / 2, 120, 1);
  EXPECT_NEAR((view.frame_y(disks.apex.y) + view.frame_y(disks.base.y)) / 2, 50, 1);
  const Tensor grown = view.grow(found);
  EXPECT_EQ(grown.shape(), mask.shape());
  const double both = sum(grown * mask).item<double>();
  EXPECT_GT(2 * both / (sum(grown).item<double>() + sum(mask).item<double>()), 0.97);
}

TEST(FrameView, LeavesFramesOfItsSizeAlone) {
  const FrameView view(112, 112, 112);
  Generator random(2);
  const Tensor frame = randint(0, 256, {3, 112, 112}, {}, &random).to(u8);
  EXPECT_EQ(view.shrink(frame).to_vector<int>(), frame.to_vector<int>());
  const Tensor mask = randint(0, 2, {112, 112}, {}, &random).to(u8);
  EXPECT_EQ(view.grow(mask).to_vector<int>(), mask.to_vector<int>());
  EXPECT_EQ(view.frame_x(17), 17);
}

TEST(MaskList, GivesBackWhatWasAdded) {
  Generator random(3);
  MaskList list;
  std::vector<Tensor> masks;
  for (int i = 0; i < 5; ++i) {
    masks.push_back(randint(0, 2, {7, 9}, {}, &random).to(u8));
    list.add(masks.back());
  }
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(list[i].to_vector<int>(), masks[static_cast<size_t>(i)].to_vector<int>());
  EXPECT_EQ(error_of([&] { list[5]; }),
            "mask_list: index must be 0 to the number of masks - 1, got 5 of 5");
  EXPECT_NE(error_of([&] {
              list.add(zeros({9, 7}, {.dtype = u8}));
            }).find("of one shape"),
            std::string::npos);
}

TEST(Segment, FindsBeatsAndTheirEjectionFractions) {
  const TestFolder folder;
  const Heart heart;
  data::write_video(folder.file("heart.avi"), heart.video());
  const data::VideoReader video(folder.file("heart.avi"));
  std::vector<int64_t> done;
  const VideoSegmentation found =
      segment_video(brightness_segmenter(), video,
                    {.batch_size = 32, .progress = [&](int64_t now, int64_t count) {
                       EXPECT_EQ(count, 100);
                       done.push_back(now);
                     }});
  EXPECT_EQ(done, (std::vector<int64_t>{32, 64, 96, 100}));
  EXPECT_EQ(found.name, "heart");
  ASSERT_EQ(found.areas.size(), 100u);
  ASSERT_EQ(found.masks.size(), 100);
  for (int64_t t = 0; t < 100; ++t) {
    const double area = found.areas[static_cast<size_t>(t)];
    EXPECT_NEAR(area / heart.area(static_cast<double>(t)), 1, 0.02) << t;
    EXPECT_EQ(sum(found.masks[t]).item<double>(), area);
  }
  ASSERT_EQ(found.beats.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(found.beats[static_cast<size_t>(i)].diastole, 8 + 40 * i, 1);
    EXPECT_NEAR(found.beats[static_cast<size_t>(i)].systole, 28 + 40 * i, 1);
    EXPECT_NEAR(found.beat_efs[static_cast<size_t>(i)], heart.ef(), 2);
  }
  EXPECT_NEAR(found.ef, (found.beat_efs[0] + found.beat_efs[1]) / 2, 1e-12);
  EXPECT_TRUE(to_string(found).starts_with("2 beats, EF 4")) << to_string(found);
}

// A turned, moved or scaled heart has the same ejection fraction.
TEST(Segment, MeasuresBeatsInOtherViews) {
  const TestFolder folder;
  const Heart heart;
  data::write_video(folder.file("heart.avi"), heart.video());
  const data::VideoReader video(folder.file("heart.avi"));
  const VideoSegmentation plain = segment_video(brightness_segmenter(), video),
                          found = segment_video(brightness_segmenter(), video, {.tta = 4});
  ASSERT_EQ(plain.views.size(), 2u);
  ASSERT_EQ(found.views.size(), 2u);
  for (size_t beat = 0; beat < 2; ++beat) {
    ASSERT_EQ(plain.views[beat].size(), 1u);
    ASSERT_EQ(found.views[beat].size(), 5u);
    EXPECT_NEAR(found.beat_efs[beat], plain.beat_efs[beat], 1e-9);
    EXPECT_EQ(plain.views[beat][0], plain.beat_efs[beat]);
    for (const double ef : found.views[beat]) EXPECT_NEAR(ef, heart.ef(), 2.5);
    EXPECT_NE(found.views[beat][1], found.views[beat][2]);
  }
  EXPECT_LE(found.ef_range.low, found.ef);
  EXPECT_GE(found.ef_range.high, found.ef);
  EXPECT_LT(found.ef_range.low, found.ef_range.high);
  EXPECT_NE(to_string(found).find(" to "), std::string::npos) << to_string(found);
}

// The network sees 112 x 112; areas are those of the video's own pixels.
TEST(Segment, TakesVideosOfAnySize) {
  const TestFolder folder;
  const Heart heart{.height = 240,
                    .width = 320,
                    .frames = 45,
                    .x = 200,
                    .y = 130,
                    .long_half = 90,
                    .short_half = 50,
                    .angle = 0.4};
  data::write_video(folder.file("large.avi"), heart.video());
  const VideoSegmentation found =
      segment_video(brightness_segmenter(), data::VideoReader(folder.file("large.avi")));
  EXPECT_EQ(found.side, 112);
  ASSERT_EQ(found.beats.size(), 1u);
  EXPECT_NEAR(found.ef, heart.ef(), 3);
  for (int64_t t = 0; t < 45; ++t)
    EXPECT_NEAR(found.areas[static_cast<size_t>(t)] / heart.area(static_cast<double>(t)), 1, 0.03);
  const Chord& axis = found.axes[8];
  EXPECT_NEAR((axis.x1 + axis.x2) / 2, 200, 3);
  EXPECT_NEAR((axis.y1 + axis.y2) / 2, 130, 3);
  EXPECT_NEAR(axis.length(), 180, 6);
  // As the segmenter saw its own.
  Segmenter coarse = brightness_segmenter();
  coarse.side = 64;
  EXPECT_EQ(segment_video(coarse, data::VideoReader(folder.file("large.avi"))).side, 64);
  // As it is, when asked.
  EXPECT_EQ(segment_video(brightness_segmenter(), data::VideoReader(folder.file("large.avi")),
                          {.side = 0})
                .side,
            320);
}

// A network that says ventricle everywhere, even beside the picture.
TEST(Segment, LooksAtThePictureAlone) {
  const TestFolder folder;
  data::write_video(folder.file("narrow.avi"), full({2, 3, 112, 28}, 20, {.dtype = u8}));
  const VideoSegmentation found =
      segment_video(brightness_segmenter(-1), data::VideoReader(folder.file("narrow.avi")));
  EXPECT_EQ(found.areas[0], 112 * 28);
  EXPECT_EQ(sum(found.masks[0]).item<int64_t>(), 112 * 28);
  EXPECT_NEAR(found.volumes[0], std::numbers::pi / 4 * 27.4 * 27.4 * 111.4, 1);
  EXPECT_NEAR(found.axes[0].x1, 13.5, 1e-6);
}

TEST(Segment, OfAVideoWithoutAHeartFindsNone) {
  const TestFolder folder;
  data::write_video(folder.file("dark.avi"), full({3, 3, 64, 48}, 20, {.dtype = u8}));
  const data::VideoReader video(folder.file("dark.avi"));
  const VideoSegmentation found = segment_video(brightness_segmenter(), video);
  EXPECT_EQ(to_string(found), "no heart beat found");
  EXPECT_TRUE(std::isnan(found.ef));
  write_overlay(folder.file("out.avi"), found, video);
  EXPECT_EQ(data::VideoReader(folder.file("out.avi")).frame_count(), 3);
  size_plot(found).save(folder.file("out.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder.file("out.svg")));
}

TEST(Overlay, TintsTheInsideAndDrawsTheEdge) {
  const Tensor frame = full({3, 5, 5}, 100, {.dtype = u8});
  const Tensor mask = zeros({5, 5}, {.dtype = u8});
  mask.narrow(0, 1, 3).narrow(1, 1, 3).fill_(1);
  const Tensor out = tinted(frame, mask, {200, 0, 100}, 0.5);
  for (int64_t y = 0; y < 5; ++y)
    for (int64_t x = 0; x < 5; ++x) {
      const bool inside = x > 0 && y > 0 && x < 4 && y < 4, middle = x == 2 && y == 2;
      EXPECT_EQ(int{out.at<uint8_t>({0, y, x})}, middle ? 150 : inside ? 200 : 100);
      EXPECT_EQ(int{out.at<uint8_t>({1, y, x})}, middle ? 50 : inside ? 0 : 100);
      EXPECT_EQ(int{out.at<uint8_t>({2, y, x})}, 100);
    }
  EXPECT_NE(error_of([&] { tinted(frame, frame); }).find("must be u8 (3, H, W) and (H, W)"),
            std::string::npos);
}

// Two panels of 3 x 112 pixels: the frame as it is, and the frame with the mask.
TEST(Overlay, ShowsTheFrameAndItsSegmentation) {
  const TestFolder folder;
  const Heart heart{.frames = 60};
  data::write_video(folder.file("heart.avi"), heart.video());
  const data::VideoReader video(folder.file("heart.avi"));
  const VideoSegmentation found = segment_video(brightness_segmenter(), video);
  write_overlay(folder.file("out.avi"), found, video, {8, 28});
  const data::VideoReader overlay(folder.file("out.avi"));
  EXPECT_EQ(overlay.frame_count(), 60);
  EXPECT_EQ(overlay.fps(), 50);
  EXPECT_EQ(overlay.width() % 2 + overlay.height() % 2, 0);
  const OverlayPainter painter(found, {8, 28});
  const Tensor first = painter.paint(video.read(14), 14),
               second = painter.paint(video.read(40), 40);
  ASSERT_EQ(first.shape(), Shape({3, overlay.height(), overlay.width()}));
  const int64_t side = 336, top = 34, left = 16, right = left + side + 12;
  const Tensor original = first.narrow(1, top, side).narrow(2, left, side);
  const Tensor same = original.slice(1, 1, {}, 3).slice(2, 1, {}, 3);  // the middles of 3 x 3
  EXPECT_LT(amax(abs(same.to(i32) - video.read(14).to(i32))).item<int>(), 2);
  const Tensor marked = first.narrow(1, top, side).narrow(2, right, side);
  const double changed =
      sum(amax(abs(marked.to(i32) - original.to(i32)), {0}) > 8).item<double>() / 9;
  EXPECT_NEAR(changed / found.areas[14], 1, 0.05);
  // The curve differs by where the cursor is.
  const int64_t below = top + side;
  EXPECT_GT(sum(first.narrow(1, below, 150) != second.narrow(1, below, 150)).item<int>(), 200);
  // The video holds these pictures.
  EXPECT_LT(mean(abs(overlay.read(14).to(f32) - first.to(f32))).item<double>(), 3);
  EXPECT_NE(error_of([&] { painter.paint(video.read(0), 60); }).find("got 60 of 60"),
            std::string::npos);
}

// A narrow video's panels stand in the middle of their halves; a long name is cut.
TEST(Overlay, LeavesRoomForWords) {
  const TestFolder folder;
  const std::string path = folder.file(std::string(80, 'n') + ".avi");
  data::write_video(path, Heart{.height = 100,
                                .width = 30,
                                .frames = 2,
                                .x = 15,
                                .y = 50,
                                .long_half = 20,
                                .short_half = 8}
                              .video());
  const data::VideoReader video(path);
  const VideoSegmentation found = segment_video(brightness_segmenter(), video);
  const Tensor picture = OverlayPainter(found).paint(video.read(0), 0);
  EXPECT_EQ(picture.size(2), 560);
  // 3 x 30 pixels in a half of 258: from 16 + 84 on, and from 286 + 84 on.
  const auto brightest = [&](int64_t from, int64_t count) {
    return amax(picture.narrow(1, 34, 300).narrow(2, from, count).to(i32)).item<int>();
  };
  EXPECT_LT(brightest(0, 100), 60);
  EXPECT_GT(brightest(100, 90), 180);
  EXPECT_LT(brightest(190, 180), 60);
  EXPECT_GT(brightest(370, 90), 180);
  // Between the name and what stands right of the middle there is a gap.
  EXPECT_LT(amax(picture.narrow(1, 0, 33).narrow(2, 266, 18).to(i32)).item<int>(), 60);
}

TEST(Segment, OfASplitWritesEchoNetsTables) {
  const TestFolder folder, out;
  write_hearts(folder, {{.frames = 60}, {.frames = 45, .shrunk = 0.7}});
  std::vector<int64_t> done;
  const auto found = segment_split(
      brightness_segmenter(), {.data_dir = folder.str(),
                               .output = out.str(),
                               .progress = [&](int64_t now, int64_t) { done.push_back(now); }});
  // Each video is heard of while it is segmented and while its overlay is written.
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(std::count(done.begin(), done.end(), 0), 60 / 20);
  EXPECT_GT(std::count(done.begin(), done.end(), 1), 45 / 20);
  EXPECT_EQ(done.back(), 2);
  ASSERT_EQ(found.size(), 2u);
  const std::string text = read_text(out.file("size.csv"));
  EXPECT_TRUE(text.starts_with("Filename,Frame,Size,HumanLarge,HumanSmall,ComputerSmall\n"));
  const data::CsvTable table = data::read_csv(out.file("size.csv"));
  ASSERT_EQ(table.rows(), 105);
  for (int64_t row = 0; row < 105; ++row) {
    const int64_t frame = row < 60 ? row : row - 60;
    EXPECT_EQ(table.text(row, 0), row < 60 ? "heart0.avi" : "heart1.avi");
    EXPECT_EQ(table.integer(row, 1), frame);
    EXPECT_EQ(table.number(row, 2), found[row < 60 ? 0 : 1].areas[static_cast<size_t>(frame)]);
    EXPECT_EQ(table.integer(row, 3), frame == 8);
    EXPECT_EQ(table.integer(row, 4), frame == 28);
    if (table.integer(row, 5) == 1) {
      EXPECT_NEAR(static_cast<double>(frame), 28, 1);
    }
  }
  for (const char* name : {"videos/heart0.avi", "videos/heart1.avi", "size/heart0.svg"})
    EXPECT_TRUE(std::filesystem::exists(out.file(name))) << name;
}

struct SegmentCommand : testing::Test {
  SegmentCommand() {
    manual_seed(5);
    make_segmenter("unet_small", {30, 30, 30}, {50, 50, 50})
        .state()
        .save(folder.file("best.safetensors"));
    data::write_video(folder.file("a.avi"), Heart{.frames = 3}.video());
    options = {.run_or_weights = folder.str(),
               .videos = {folder.file("a.avi")},
               .output = folder.file("out"),
               .device = "cpu",
               .batch_size = 2};
  }
  ExitCode code_of(const std::string& text) const {
    try {
      segment(options);
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(text), std::string::npos) << failure.what();
      return failure.code();
    }
    return ExitCode::done;
  }
  TestFolder folder;
  SegmentOptions options;
};

TEST_F(SegmentCommand, WritesAVideoATableAndAPlot) {
  segment(options);
  const data::CsvTable table = data::read_csv(folder.file("out/size/a.csv"));
  ASSERT_EQ(table.rows(), 3);
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"frame", "area", "is_diastole", "is_systole",
                                                       "volume", "volume_ml"}));
  EXPECT_EQ(data::VideoReader(folder.file("out/a_segmented.avi")).frame_count(), 3);
  EXPECT_TRUE(std::filesystem::exists(folder.file("out/size/a.svg")));
  EXPECT_EQ(read_text(folder.file("out/ef/a.csv")),
            "beat,diastole,systole,ef,low,high\nall,,,,,\n");
  EXPECT_EQ(code_of("is there already; --overwrite replaces it"), ExitCode::storage);
  options.overwrite = true;
  EXPECT_EQ(code_of(""), ExitCode::done);
}

TEST_F(SegmentCommand, SaysWhatIsWrongBeforeItBegins) {
  SegmentOptions good = options;
  options.videos = {};
  EXPECT_EQ(code_of("there must be a video"), ExitCode::usage);
  options = good;
  options.videos.push_back(folder.file("none.avi"));
  EXPECT_EQ(code_of("none.avi"), ExitCode::data);
  folder.write("zip.avi", "PK\3\4 something that is no video");
  options.videos.back() = folder.file("zip.avi");
  EXPECT_EQ(code_of("zip.avi"), ExitCode::data);
  std::filesystem::create_directories(folder.path / "b");
  std::filesystem::copy_file(folder.path / "a.avi", folder.path / "b/a.avi");
  options.videos.back() = folder.file("b/a.avi");
  EXPECT_EQ(code_of("names of videos must differ"), ExitCode::usage);
  options = good;
  options.run_or_weights = folder.file("a.avi");
  EXPECT_EQ(code_of("a.avi"), ExitCode::data);
  options = good;
  options.device = "tpu";
  EXPECT_EQ(code_of("tpu"), ExitCode::usage);
  options = good;
  options.batch_size = 0;
  EXPECT_EQ(code_of("--batch_size: must be positive, got 0"), ExitCode::usage);
  options = good;
  options.tta = -1;
  EXPECT_EQ(code_of("--tta: must not be negative, got -1"), ExitCode::usage);
  options = good;
  options.run_or_weights = "";  // nothing lies beside a test
  EXPECT_EQ(code_of("left_ventricle.safetensors"), ExitCode::environment);
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  options = good;
  options.output = folder.file("a.avi");
  EXPECT_EQ(code_of("a folder must be there"), ExitCode::environment);
}

}  // namespace
}  // namespace aorta::echo

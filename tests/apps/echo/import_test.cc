// Sectors that are found in scanners' pictures, and data sets that are made of them.
#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/import/import.h>
#include <aorta/apps/echo/import/sources.h>
#include <aorta/apps/echo/import/study.h>
#include <aorta/apps/echo/synth/synth.h>

#include <aorta/tests/apps/echo/hearts.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace aorta::echo {
namespace {

constexpr int64_t kLarge = 2;  // a scanner's pixels to one of the synthetic hearts'

/// A synthetic heart in a larger picture, its pixels enlarged; with text around it and an ECG
/// below.
struct ScannerPicture {
  int64_t height = 290, width = 350, top = 26, left = 60, frames = 12;
  SyntheticVideo heart;
  explicit ScannerPicture(uint64_t seed) : heart(synthetic_video(seed, 0, 12, 10)) {}

  // Where the sector is.
  bool sees(int64_t y, int64_t x) const {
    const int64_t row = y - top, column = x - left;
    return row >= 0 && column >= 0 && row < kLarge * 112 && column < kLarge * 112 &&
           heart.sector.at<uint8_t>({row / kLarge, column / kLarge}) != 0;
  }

  Tensor frame(int64_t i) const {
    const Tensor frame = zeros({3, height, width}, {.dtype = u8});
    const Tensor grey = heart.frames[i % heart.frames.size(0)][0];
    const int64_t plane = height * width;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const bool letters = (y < 20 && x < 200 && (x * 7 + y * 3) % 5 < 2) ||
                             (y > height - 90 && x < 60 && (x * 3 + y * 11) % 7 < 3);
        const int64_t trace = height - 14 - ((x + 9 * i) % 80 < 5 ? 8 : 0);
        const bool ecg = y == trace || y == trace + 1;
        if (!sees(y, x) && !letters && !ecg) continue;
        const uint8_t seen =
            sees(y, x) ? grey.at<uint8_t>({(y - top) / kLarge, (x - left) / kLarge}) : 240;
        uint8_t* pixel = frame.data<uint8_t>() + y * width + x;
        for (int64_t c = 0; c < 3; ++c)
          pixel[c * plane] = !sees(y, x) && ecg ? (c == 1 ? 220 : 20) : seen;
      }
    return frame;
  }
  void write(const std::string& path) const {
    data::VideoWriter writer(path, {.fps = 40});
    for (int64_t i = 0; i < frames; ++i) writer.write(frame(i));
    writer.close();
  }
};

TEST(Sector, IsFoundInAScannersPicture) {
  const TestFolder folder;
  constexpr int kPictures = 24;
  int like = 0, tips = 0, bottoms = 0;
  for (int seed = 1; seed <= kPictures; ++seed) {
    const ScannerPicture picture(static_cast<uint64_t>(seed));
    picture.write(folder.file("a.avi"));
    const data::VideoReader video(folder.file("a.avi"), data::ImageMode::gray);
    const std::optional<Sector> sector = find_sector(video);
    ASSERT_TRUE(sector.has_value());
    int64_t both = 0, either = 0, words = 0, first = picture.height, end = 0;
    for (int64_t y = 0; y < picture.height; ++y)
      for (int64_t x = 0; x < picture.width; ++x) {
        const bool found = sector->mask.at<uint8_t>({y, x}) != 0, seen = picture.sees(y, x);
        both += found && seen;
        either += found || seen;
        words += found && (y < 20 || y >= picture.height - 20);
        if (seen) first = std::min(first, y), end = y + 1;
      }
    EXPECT_EQ(words, 0) << seed;
    like += static_cast<double>(both) / static_cast<double>(either) > 0.8;
    // The beams come from a tip that lies up to 14 pixels above the first that are seen.
    const Box& box = sector->box;
    tips += box.top >= first - 14 && box.top <= first + 4;
    bottoms += std::abs(box.top + box.height - end) <= 4;
  }
  // The others show dark hearts, of whose sector little is lit.
  EXPECT_GE(like, kPictures - 2);
  EXPECT_GE(tips, kPictures - 2);
  EXPECT_GE(bottoms, kPictures - 2);
}

TEST(Sector, OfAStillPictureIsWhatIsLit) {
  const TestFolder folder;
  Tensor frame = zeros({3, 60, 80}, {.dtype = u8});
  frame.narrow(1, 10, 40).narrow(2, 20, 30).fill_(90);
  data::write_video(folder.file("still.avi"), frame.unsqueeze(0).expand({4, 3, 60, 80}));
  const std::optional<Sector> sector =
      find_sector(data::VideoReader(folder.file("still.avi"), data::ImageMode::gray));
  ASSERT_TRUE(sector.has_value());
  EXPECT_NEAR(sector->box.top, 10, 1);
  EXPECT_NEAR(sector->box.left, 20, 1);
  EXPECT_NEAR(sector->box.height, 40, 2);
  EXPECT_NEAR(sector->box.width, 30, 2);
  data::write_video(folder.file("dark.avi"), zeros({4, 3, 60, 80}, {.dtype = u8}));
  EXPECT_EQ(error_of([&] { open_study(folder.file("dark.avi")); }),
            folder.file("dark.avi") +
                ": there must be a sector, where pixels change or are lit, got none");
}

// Keys' kernel at the four distances of a doubling, for a = -0.75.
TEST(CubicResized, HasTheKernelsWeights) {
  const Tensor line = full({1, 1, 7}, 100, {.dtype = u8});
  line.at<uint8_t>({0, 0, 3}) = 228;  // 100 + 128 w
  const Tensor twice = cubic_resized(line, 1, 14);
  const double weights[] = {-0.03515625, 0.26171875, 0.87890625, -0.10546875};
  const auto at = [&](int64_t x) { return int{twice.at<uint8_t>({0, 0, x})}; };
  EXPECT_EQ(at(3), std::lround(100 + 128 * weights[0]));
  EXPECT_EQ(at(4), std::lround(100 + 128 * weights[3]));
  EXPECT_EQ(at(5), std::lround(100 + 128 * weights[1]));
  EXPECT_EQ(at(6), std::lround(100 + 128 * weights[2]));
  EXPECT_EQ(at(7), std::lround(100 + 128 * weights[2]));
  EXPECT_EQ(at(10), std::lround(100 + 128 * weights[0]));
  EXPECT_EQ(at(0), 100);
  // Straight slopes give what lies on them, whatever the size.
  const Tensor slope = empty({1, 40, 60}, {.dtype = u8});
  for (int64_t y = 0; y < 40; ++y)
    for (int64_t x = 0; x < 60; ++x)
      slope.at<uint8_t>({0, y, x}) = static_cast<uint8_t>(2 * x + 3 * y);
  const Tensor smaller = cubic_resized(slope, 20, 30);
  for (int64_t y = 1; y < 19; ++y)
    for (int64_t x = 1; x < 29; ++x)
      EXPECT_NEAR(int{smaller.at<uint8_t>({0, y, x})}, 2 * (2 * x + 0.5) + 3 * (2 * y + 0.5), 0.51);
}

TEST(Study, IsTheSectorAlone) {
  const TestFolder folder;
  const ScannerPicture picture(1);
  picture.write(folder.file("a.avi"));
  const Study study = open_study(folder.file("a.avi"));
  EXPECT_EQ(study.video.height(), study.crop.height);
  EXPECT_EQ(study.video.width(), study.crop.height);
  EXPECT_EQ(study.video.fps(), 40);
  EXPECT_EQ(study.millimetres, 0);
  EXPECT_LT(study.coloured, 0.01);
  const Tensor frame = study.video.read(7), original = picture.frame(7);
  double difference = 0;
  int64_t seen = 0;
  for (int64_t y = 0; y < frame.size(1); ++y)
    for (int64_t x = 0; x < frame.size(2); ++x) {
      const int64_t row = study.crop.top + y, column = study.crop.left + x;
      const int pixel = frame.at<uint8_t>({0, y, x});
      if (picture.sees(row, column)) {
        difference += std::abs(pixel - original.at<uint8_t>({0, row, column}));
        ++seen;
      } else if (row < 30 || row > picture.height - 20) {
        ASSERT_EQ(pixel, 0);  // text and ECG
      }
    }
  EXPECT_LT(difference / static_cast<double>(seen), 4);  // JPEG's
  // A video of EchoNet's size is as it is.
  data::write_video(folder.file("echonet.avi"), Heart{.frames = 3}.video());
  const Study same = open_study(folder.file("echonet.avi"));
  EXPECT_EQ(same.video.read(2).to_vector<uint8_t>(),
            data::VideoReader(folder.file("echonet.avi")).read(2).to_vector<uint8_t>());
}

struct ImportCommand : testing::Test {
  ImportCommand() {
    std::filesystem::create_directories(folder.path / "in/b");
    static const ScannerPicture picture(1);
    picture.write(folder.file("in/one.avi"));
    data::write_video(folder.file("in/b/two.avi"), Heart{.frames = 5}.video());
    folder.write("in/readme.txt", "no video");
    options = {.sources = {folder.file("in")}, .output = folder.file("out"), .quiet = true};
  }
  ExitCode code_of(const std::string& text) const {
    try {
      import_videos(options);
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(text), std::string::npos) << failure.what();
      return failure.code();
    }
    return ExitCode::done;
  }
  TestFolder folder;
  ImportOptions options;
};

TEST_F(ImportCommand, MakesADataSet) {
  folder.write("told.csv", "FileName,EF,Split\none,61.5,val\nb/two.avi,,TEST\nthree,50,\n");
  options.table = folder.file("told.csv");
  options.key = folder.file("key.csv");
  EXPECT_EQ(code_of(""), ExitCode::done);
  const data::CsvTable list = data::read_csv(folder.file("out/FileList.csv"));
  ASSERT_EQ(list.rows(), 2);  // b/two.avi, one.avi
  EXPECT_EQ(list.text(0, list.column("Split")), "TEST");
  EXPECT_EQ(list.text(0, list.column("EF")), "");
  EXPECT_EQ(list.text(1, list.column("EF")), "61.5");
  EXPECT_EQ(list.text(1, list.column("Split")), "VAL");
  EXPECT_EQ(list.number(1, list.column("FPS")), 40);
  EXPECT_EQ(list.number(1, list.column("NumberOfFrames")), 12);
  const data::CsvTable key = data::read_csv(folder.file("key.csv"));
  EXPECT_EQ(key.text(1, 0), folder.file("in/one.avi"));
  const std::string name(key.text(1, 1));
  EXPECT_EQ(name.substr(0, 2) + std::to_string(name.size()), "0X18");
  const data::VideoReader video(folder.file("out/Videos/" + name + ".avi"));
  EXPECT_EQ(video.height(), 112);
  EXPECT_EQ(video.fps(), 40);
  // The data set opens as EchoNet's does.
  data::EchoOptions clips;
  clips.split = data::EchoSplit::val;
  clips.length = 4;
  clips.require_traces = false;
  EXPECT_EQ(data::Echo(folder.file("out"), clips).size(), 1);
}

TEST_F(ImportCommand, ReplacesOnlyWhatAnImportWrote) {
  EXPECT_EQ(code_of(""), ExitCode::done);
  EXPECT_EQ(code_of("output must be new or empty"), ExitCode::storage);
  options.overwrite = true;
  EXPECT_EQ(code_of(""), ExitCode::done);
  folder.write("out/VolumeTracings.csv", "somebody's work");
  EXPECT_EQ(code_of("--overwrite replaces data sets only"), ExitCode::storage);
  EXPECT_TRUE(std::filesystem::exists(folder.file("out/VolumeTracings.csv")));
}

TEST_F(ImportCommand, SaysWhatItCantTakeAndTakesTheRest) {
  folder.write("in/c.avi", "RIFF....AVI no more");
  EXPECT_EQ(code_of("c.avi: "), ExitCode::data);
  EXPECT_EQ(data::read_csv(folder.file("out/FileList.csv")).rows(), 2);
  options.output = folder.file("other");
  options.sources = {folder.file("in/c.avi")};
  EXPECT_EQ(code_of("c.avi: AVI "), ExitCode::data);
  EXPECT_FALSE(std::filesystem::exists(folder.file("other")));
  options.output = folder.file("twice");
  options.sources = {folder.file("in/b/two.avi"), folder.file("in/b/two.avi")};
  EXPECT_EQ(code_of("files must differ"), ExitCode::data);
  options.output = folder.file("other");
  options.sources = {folder.file("none.avi")};
  EXPECT_EQ(code_of("none.avi: a file or folder must be there"), ExitCode::data);
  options.split = "thirds";
  EXPECT_EQ(code_of("--split: must be hash, train, val or test, got \"thirds\""), ExitCode::usage);
}

TEST_F(ImportCommand, FaultsOfTheTableHaveALine) {
  options.table = folder.file("told.csv");
  const auto fault = [&](const std::string& text, const std::string& message) {
    folder.write("told.csv", text);
    EXPECT_EQ(code_of(message), ExitCode::data);
    EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  };
  fault("Name,EF\n", "told.csv:1: a column must be called \"FileName\"");
  fault("FileName,EF\none,500\n", "told.csv:2: EF must be 0 to 100, got \"500\"");
  fault("FileName,EF\none,high\n", "told.csv:2: EF must be a finite number, got \"high\"");
  fault("FileName,Split\none,DEV\n", "told.csv:2: Split must be TRAIN, VAL or TEST, got \"DEV\"");
  fault("FileName,EF\none,50\none,60\n", "told.csv:3: names must differ, got \"one\" twice");
}

TEST(ImportSources, AHashIsFnv1a) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);  // published by Fowler, Noll and Vo
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8u);
  const TestFolder folder;
  folder.write("f", "foobar");
  EXPECT_EQ(hash_of_file(folder.file("f")), hash_of("foobar"));
}

}  // namespace
}  // namespace aorta::echo

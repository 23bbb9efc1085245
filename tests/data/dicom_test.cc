// DICOM files that DCMTK writes, of every transfer syntax and colour that is read.
#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>
#include <aorta/data/video/dicom.h>
#include <aorta/data/video/video.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <aorta/tests/data/dicom_files.h>
#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed = setenv("AORTA_DICOM_PLUGIN", "data/libaorta_dicom.so", 0);
#endif

constexpr int64_t kFrames = 5, kHeight = 50, kWidth = 100;

// u8 (T, H, W, C).
Tensor pictures(int64_t channels) {
  const Tensor all = empty({kFrames, kHeight, kWidth, channels}, {.dtype = u8});
  for (int64_t i = 0; i < kFrames; ++i)
    all[i].copy_(test_picture(kHeight, kWidth, static_cast<int>(i), channels).permute({1, 2, 0}));
  // All values are used, for DCMTK's encoder of JPEG spreads those that are.
  all.data<uint8_t>()[0] = 0;
  all.data<uint8_t>()[all.numel() - 1] = 255;
  return all;
}

// Frame i as red, green and blue of what red, green and blue were written.
Tensor frame_of(const Tensor& rgb, int64_t i) {
  return rgb[i].permute({2, 0, 1}).expand({3, kHeight, kWidth}).contiguous();
}

// Every frame, read back and forth.
void expect_frames(const std::string& path, const Tensor& rgb, double tolerance) {
  const VideoReader video(path);
  ASSERT_EQ(video.frame_count(), kFrames);
  ASSERT_EQ(video.height(), kHeight);
  ASSERT_EQ(video.width(), kWidth);
  for (const int64_t i : {0, 1, 2, 3, 4, 2, 0, 3}) {
    if (tolerance == 0)
      ASSERT_EQ(video.read(i).to_vector<uint8_t>(), frame_of(rgb, i).to_vector<uint8_t>())
          << path << ", frame " << i;
    else
      ASSERT_LT(mean_difference(video.read(i), frame_of(rgb, i)), tolerance)
          << path << ", frame " << i;
  }
}

template <class F>
Tensor mapped(const Tensor& samples, const F& change) {
  std::vector<int64_t> values = samples.to_vector<int64_t>();
  for (int64_t& value : values) value = change(value);
  return tensor(values).view(samples.shape()).to(samples.dtype());
}

// Luma and chroma as JFIF defines them.
Tensor ybr_of(const Tensor& rgb) {
  const Tensor result = empty(rgb.shape(), {.dtype = u8});
  const uint8_t* from = rgb.data<uint8_t>();
  uint8_t* to = result.data<uint8_t>();
  for (int64_t i = 0; i < rgb.numel(); i += 3) {
    const double r = from[i], g = from[i + 1], b = from[i + 2];
    const double y = 0.299 * r + 0.587 * g + 0.114 * b;
    to[i] = static_cast<uint8_t>(std::lround(y));
    to[i + 1] = static_cast<uint8_t>(std::lround((b - y) / 1.772 + 128));
    to[i + 2] = static_cast<uint8_t>(std::lround((r - y) / 1.402 + 128));
  }
  return result;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

TEST(Dicom, LosslessSyntaxesGiveTheSamePixels) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  for (const char* syntax : {"implicit", "explicit", "big endian", "rle", "jpeg lossless",
                             "jpeg lossless sv1", "jpeg-ls"}) {
    SCOPED_TRACE(syntax);
    for (const int64_t channels : {1, 3}) {
      const Tensor samples = pictures(channels);
      write_dicom(path, samples,
                  {.syntax = syntax, .colours = channels == 1 ? "MONOCHROME2" : "RGB"});
      expect_frames(path, samples, 0);
    }
  }
}

TEST(Dicom, LossySyntaxesGiveNearlyTheSamePixels) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  for (const char* syntax : {"jpeg", "jpeg extended"}) {
    SCOPED_TRACE(syntax);
    write_dicom(path, pictures(1), {.syntax = syntax, .colours = "MONOCHROME2"});
    expect_frames(path, pictures(1), 2);
    write_dicom(path, pictures(3), {.syntax = syntax});  // as YBR_FULL_422
    expect_frames(path, pictures(3), 6);
  }
}

TEST(Dicom, PlanesAndPixels) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  for (const char* syntax : {"explicit", "rle"}) {
    SCOPED_TRACE(syntax);
    write_dicom(path, pictures(3), {.syntax = syntax, .by_plane = true});
    expect_frames(path, pictures(3), 0);
  }
}

TEST(Dicom, GreyOfEitherDirectionAndOfSixteenBits) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  write_dicom(path, mapped(pictures(1), [](int64_t v) { return 255 - v; }),
              {.colours = "MONOCHROME1"});
  expect_frames(path, pictures(1), 0);
  for (const char* syntax : {"explicit", "big endian", "rle", "jpeg lossless sv1"}) {
    SCOPED_TRACE(syntax);
    write_dicom(
        path, mapped(pictures(1).to(i32), [](int64_t v) { return 16 * v + 5; }),
        {.syntax = syntax, .colours = "MONOCHROME2", .bits_allocated = 16, .bits_stored = 12});
    expect_frames(path, pictures(1), 0);
  }
}

TEST(Dicom, PalettesAreLookedUp) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  const Tensor indices = pictures(1);
  const Tensor rgb = empty({kFrames, kHeight, kWidth, 3}, {.dtype = u8});
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int index = indices.data<uint8_t>()[i];
    uint8_t* pixel = rgb.data<uint8_t>() + 3 * i;
    pixel[0] = static_cast<uint8_t>(index);
    pixel[1] = static_cast<uint8_t>(255 - index);
    pixel[2] = static_cast<uint8_t>(255 - index / 2);
  }
  for (const char* syntax : {"implicit", "explicit", "big endian", "rle"}) {
    SCOPED_TRACE(syntax);
    write_dicom(path, indices, {.syntax = syntax, .colours = "PALETTE COLOR"});
    expect_frames(path, rgb, 0);
  }
}

TEST(Dicom, LumaAndChroma) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  const Tensor rgb = pictures(3), ybr = ybr_of(rgb);
  for (const char* syntax : {"explicit", "rle"}) {
    SCOPED_TRACE(syntax);
    write_dicom(path, ybr, {.syntax = syntax, .colours = "YBR_FULL"});
    expect_frames(path, rgb, 1);
  }
  // Pairs of pixels that share their chroma.
  const Tensor pairs = empty({kFrames, kHeight, kWidth / 2, 4}, {.dtype = u8});
  const Tensor shared = empty(rgb.shape(), {.dtype = u8});
  for (int64_t i = 0; i < pairs.numel() / 4; ++i) {
    const uint8_t* from = ybr.data<uint8_t>() + 6 * i;
    uint8_t* pair = pairs.data<uint8_t>() + 4 * i;
    pair[0] = from[0];
    pair[1] = from[3];
    pair[2] = from[1];
    pair[3] = from[2];
  }
  write_dicom(path, pairs, {.colours = "YBR_FULL_422"});
  expect_frames(path, rgb, 8);
  const VideoReader grey(path, ImageMode::gray);
  const Tensor luma = ybr.select(3, 0);
  EXPECT_LT(mean_difference(grey.read(2)[0], luma[2]), 1);
}

TEST(Dicom, FactsOfTheFile) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  write_dicom(path, pictures(1),
              {.colours = "MONOCHROME2", .attributes = {{"FrameTime", "20"}}, .with_region = true});
  EXPECT_EQ(VideoReader(path).fps(), 50);
  const DicomFacts facts = read_dicom_facts(path);
  EXPECT_EQ(facts.modality, "US");
  ASSERT_EQ(facts.regions.size(), 2u);
  EXPECT_FALSE(facts.regions[0].is_picture);
  const UltrasoundRegion& picture = facts.regions[1];
  EXPECT_TRUE(picture.is_picture);
  EXPECT_EQ(picture.left, 10);
  EXPECT_EQ(picture.top, 5);
  EXPECT_EQ(picture.width, 80);
  EXPECT_EQ(picture.height, 40);
  EXPECT_DOUBLE_EQ(picture.x_millimetres, 0.5);
  EXPECT_DOUBLE_EQ(picture.y_millimetres, 0.4);
  std::vector<std::string> names;
  for (const DicomAttribute& attribute : facts.attributes) names.push_back(attribute.name);
  for (const char* name : {"MediaStorageSOPInstanceUID", "PatientName", "PatientID", "PixelData"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_EQ(facts.attributes[names.size() - 1].tag, 0x7fe00010u);
}

TEST(Dicom, TheSamePatientIsKnownAgain) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  const auto patient = [&](std::vector<std::pair<std::string, std::string>> attributes) {
    write_dicom(path, pictures(1), {.colours = "MONOCHROME2", .attributes = attributes});
    return read_dicom_facts(path).patient;
  };
  const uint64_t jane = patient({{"PatientID", "1"}});
  EXPECT_NE(jane, 0u);
  EXPECT_EQ(patient({{"PatientID", "1"}, {"PatientName", "Doe^J"}, {"StudyDate", "20200101"}}),
            jane);
  EXPECT_NE(patient({{"PatientID", "2"}}), jane);
  EXPECT_NE(patient({{"PatientID", ""}}), 0u);  // then her name tells
  EXPECT_EQ(patient({{"PatientID", ""}, {"PatientName", ""}}), 0u);
}

TEST(Dicom, FramesASecond) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  const auto rate = [&](std::vector<std::pair<std::string, std::string>> attributes) {
    write_dicom(path, pictures(1), {.colours = "MONOCHROME2", .attributes = attributes});
    return VideoReader(path).fps();
  };
  EXPECT_EQ(rate({}), 0);
  EXPECT_DOUBLE_EQ(rate({{"FrameTime", "33.3"}, {"CineRate", "50"}}), 1000 / 33.3);
  EXPECT_DOUBLE_EQ(rate({{"FrameTimeVector", "0\\10\\30\\20\\20"}}), 50);
  EXPECT_EQ(rate({{"CineRate", "61"}}), 61);
  EXPECT_EQ(rate({{"FrameTime", "0"}, {"RecommendedDisplayFrameRate", "30"}}), 30);
}

TEST(Dicom, SaysWhatItCantRead) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  const auto problem = [&](const DicomSpec& spec, const Tensor& samples) {
    write_dicom(path, samples, spec);
    return error_of([&] { VideoReader{path}; });
  };
  const std::string text = problem({.colours = "R\x01\xff"}, pictures(1));
  EXPECT_TRUE(text.ends_with(", got \"R??\"")) << text;  // on a terminal nothing is hidden
  EXPECT_EQ(problem({.colours = "HSV"}, pictures(1)),
            path +
                ": DICOM file must be readable, got PhotometricInterpretation must be MONOCHROME1, "
                "MONOCHROME2, PALETTE COLOR, RGB, YBR_FULL or YBR_FULL_422, got \"HSV\"");
  EXPECT_EQ(
      problem({.colours = "MONOCHROME2", .attributes = {{"NumberOfFrames", "6"}}}, pictures(1)),
      path + ": DICOM file must be readable, got pixels must be 30000 bytes, got 25000");
  EXPECT_EQ(
      problem({.syntax = "rle", .colours = "MONOCHROME2", .attributes = {{"NumberOfFrames", "0"}}},
              pictures(1)),
      path + ": DICOM file must be readable, got NumberOfFrames must be positive, got \"0\"");
  EXPECT_EQ(
      problem({.syntax = "deflated", .colours = "MONOCHROME2"}, pictures(1)),
      path +
          ": DICOM file must be readable, got transfer syntax must be uncompressed, RLE, JPEG "
          "or JPEG-LS, got Deflated Explicit VR Little Endian");
  write_dicom(path, pictures(1), {.colours = "MONOCHROME2"});
  const VideoReader video(path);
  EXPECT_EQ(error_of([&] { video.read(5); }),
            path + ": frame must be 0 to the number of frames - 1, got 5 of 5");
}

// Sequences in sequences, as deep as a file could nest them.
TEST(Dicom, DeepNestingIsRefusedOrRead) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm");
  write_dicom(path, pictures(1), {.syntax = "implicit", .colours = "MONOCHROME2"});
  const std::vector<char> whole = bytes_of(path);
  // SequenceOfUltrasoundRegions and an item, both of undefined length.
  const std::string level("\x18\x00\x11\x60\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff", 16);
  for (const int64_t depth : {100, 20000, 200000}) {
    std::vector<char> nested = whole;
    for (int64_t i = 0; i < depth; ++i) nested.insert(nested.end(), level.begin(), level.end());
    write_bytes(path, nested);
    const std::string error = error_of([&] { VideoReader{path}; });
    EXPECT_EQ(error.find(path + ": DICOM file must be readable, got "), 0u) << error;
    const bool counted = error.ends_with("at most 20000 items, got 200000");
    EXPECT_EQ(counted, depth > 20000) << error;
  }
}

// Whatever is cut off or changed: pixels, or an error that names the file.
TEST(Dicom, DamagedFilesAreErrors) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm"), damaged = folder.file("b.dcm");
  Generator random(5);
  int errors = 0;
  const auto read = [&] {
    try {
      const VideoReader video(damaged);
      for (int64_t i = 0; i < std::min<int64_t>(video.frame_count(), 8); ++i) video.read(i);
      read_dicom_facts(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(damaged), 0u) << error.what();
      ++errors;
    }
  };
  for (const char* syntax :
       {"implicit", "explicit", "rle", "jpeg", "jpeg lossless sv1", "jpeg-ls"}) {
    SCOPED_TRACE(syntax);
    write_dicom(path, pictures(3), {.syntax = syntax, .with_region = true});
    const std::vector<char> whole = bytes_of(path);
    const auto size = static_cast<int64_t>(whole.size());
    for (int i = 0; i < 25; ++i) {
      write_bytes(damaged, {whole.begin(), whole.begin() + 132 + random.next_below(size - 132)});
      const int before = errors;
      read();
      EXPECT_EQ(errors, before + 1) << "a file that is cut off";
    }
    for (int i = 0; i < 50; ++i) {
      std::vector<char> changed = whole;
      const int64_t place = random.next_below(i % 2 == 0 ? std::min<int64_t>(size, 1500) : size);
      for (int64_t k = place; k < std::min(place + 1 + i % 4, size); ++k)
        if (k < 128 || k >= 132)
          changed[static_cast<size_t>(k)] = static_cast<char>(random.next_below(256));
      write_bytes(damaged, changed);
      read();
    }
  }
  EXPECT_GT(errors, 200);
}

// DCMTK reads where a damaged header tells it to.
TEST(Dicom, RleSegmentsLieInTheirFragment) {
  const TestFolder folder;
  const std::string path = folder.file("a.dcm"), damaged = folder.file("b.dcm");
  write_dicom(path, pictures(3), {.syntax = "rle"});
  const std::vector<char> whole = bytes_of(path);
  const size_t item =
      std::string(whole.begin(), whole.end()).rfind(std::string("\xfe\xff\x00\xe0", 4));
  ASSERT_NE(item, std::string::npos);
  const size_t fragment = item + 8;  // the last frame's
  const auto text_with = [&](size_t place, int value) {
    std::vector<char> changed = whole;
    changed[fragment + place] = static_cast<char>(value);
    write_bytes(damaged, changed);
    return error_of([&] { VideoReader(damaged).read(kFrames - 1); });
  };
  for (const size_t place : {0, 1, 3, 5, 6, 7, 10, 11, 14, 15})  // the count, and three places
    for (const int value : {0x7f, 0x80, 0xff}) {
      const std::string text = text_with(place, value);
      EXPECT_NE(text.find("RLE must have 3 whole segments, got a fragment of "), text.npos)
          << place << " " << value << ": " << text;
      EXPECT_NE(text.find(" bytes that has not, frame 4"), text.npos) << text;
    }
  // A run of 128 at a segment's end asks for what is no longer there.
  for (size_t back = 1; back < 40; ++back) text_with(whole.size() - fragment - back, 0x7f);
}

}  // namespace
}  // namespace aorta::data

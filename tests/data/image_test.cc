#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/data/images/image.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// Files and their pixels as Pillow has them; tests/fixtures/make_images.py says which.
const std::map<std::string, Tensor>& fixtures() {
  static const std::map<std::string, Tensor> all = [] {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : load("tests/fixtures/data/images.npz"))
      tensors.emplace(name, tensor);
    return tensors;
  }();
  return all;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(tensor.nbytes())};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Tensor decode(std::string_view text, ImageMode mode = ImageMode::unchanged) {
  return decode_image(bytes_of(text), mode, "file");
}

std::string error_text(std::string_view text) {
  return error_of([&] { decode(text); });
}

std::string file_of(const std::string& name) {
  const std::span<const std::byte> bytes = bytes_of(fixtures().at(name + ".file"));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Image, DecodesEveryKindAsPillowDoes) {
  const std::pair<const char*, ImageMode> modes[] = {
      {".unchanged", ImageMode::unchanged}, {".gray", ImageMode::gray}, {".rgb", ImageMode::rgb}};
  int compared = 0;
  for (const auto& [key, file] : fixtures()) {
    if (!key.ends_with(".file")) continue;
    for (const auto& [ending, mode] : modes) {
      const std::string name = key.substr(0, key.size() - 5) + ending;
      if (!fixtures().contains(name)) continue;
      const Tensor& expected = fixtures().at(name);
      const Tensor image = decode_image(bytes_of(file), mode);
      EXPECT_EQ(image.shape(), expected.shape()) << name;
      EXPECT_EQ(image.to_vector<int>(), expected.to_vector<int>()) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 31);
}

TEST(Image, IsReadFromAFile) {
  const std::string path =
      testing::TempDir() + "/" + std::to_string(getpid()) + "_picture.anything";
  const std::string contents = file_of("rgb");
  std::ofstream(path, std::ios::binary) << contents;
  EXPECT_EQ(read_image(path).to_vector<int>(), fixtures().at("rgb.rgb").to_vector<int>());
  EXPECT_EQ(read_png(path, ImageMode::gray).shape(), (Shape{1, 11, 13}));
  std::ofstream(path, std::ios::binary) << "BM not one of ours";
  EXPECT_EQ(error_of([&] { read_image(path); }).substr(path.size()),
            ": an image must be JPEG, PNG, or PNM (P5, P6), got \"BM not o\"");
  unlink(path.c_str());
  EXPECT_EQ(error_of([&] { read_image(path); }),
            path + ": file must be readable, got ENOENT (No such file or directory)");
}

TEST(Image, KnowsJpegByItsFirstBytes) {
  const Tensor file = encode_jpeg(fixtures().at("rgb.rgb"), 90);
  for (const ImageMode mode : {ImageMode::unchanged, ImageMode::gray}) {
    const Tensor image = decode_image(bytes_of(file), mode);
    EXPECT_EQ(image.shape(), (Shape{mode == ImageMode::gray ? 1 : 3, 11, 13}));
    EXPECT_EQ(image.to_vector<int>(), decode_jpeg(bytes_of(file), mode).to_vector<int>());
  }
  EXPECT_TRUE(error_text("\xff\xd8\xff").starts_with("file: JPEG image must be sound, got "))
      << error_text("\xff\xd8\xff");
}

TEST(Png, WritesWhatItReads) {
  const std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + "_written.png";
  Generator random(1);
  for (int64_t channels = 1; channels <= 4; ++channels) {
    const Tensor image = randint(0, 256, {channels, 9, 5}, {.dtype = u8}, &random);
    const Tensor file = encode_png(image);
    EXPECT_EQ(decode_png(bytes_of(file)).to_vector<int>(), image.to_vector<int>());
    write_png(image.transpose(1, 2), path);
    EXPECT_EQ(read_png(path).to_vector<int>(), image.transpose(1, 2).to_vector<int>());
  }
  unlink(path.c_str());
  const Tensor grey = full({2, 3}, 9, {.dtype = u8});
  EXPECT_EQ(decode_png(bytes_of(encode_png(grey))).shape(), (Shape{1, 2, 3}));
  const std::string rule =
      "encode_png: image must be u8 (H, W) or (C, H, W), C = 1 to 4, with pixels, got ";
  EXPECT_EQ(error_of([] { encode_png(zeros({5, 2, 2}, {.dtype = u8})); }), rule + "u8 [5,2,2]");
  EXPECT_EQ(error_of([] { encode_png(zeros({3, 2, 2})); }), rule + "f32 [3,2,2]");
  EXPECT_EQ(error_of([] { encode_png(zeros({3, 0, 2}, {.dtype = u8})); }), rule + "u8 [3,0,2]");
}

// Cut anywhere, and with each byte changed in turn: an error of one line, or pixels.
TEST(Png, RefusesWhatIsNotSound) {
  for (const char* name : {"rgb", "interlaced", "palette"}) {
    const std::string whole = file_of(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string text =
          error_of([&] { decode_png(bytes_of(whole.substr(0, size)), ImageMode::rgb, "file"); });
      EXPECT_TRUE(text.starts_with("file: PNG image must be sound, got ")) << size << text;
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 0x41);
      const std::string text =
          error_of([&] { decode_png(bytes_of(changed), ImageMode::rgb, "file"); });
      EXPECT_TRUE(text == "no error" || text.starts_with("file: PNG image must be sound, got ") ||
                  text.starts_with("file: data must be as long as the image's size says, got "))
          << i << text;
    }
  }
  EXPECT_EQ(error_of([] { decode_png({}, ImageMode::rgb, "file"); }),
            "file: PNG image must be sound, got the end of the file");
}

// A header that claims 900,000 x 900,000 pixels; its checksum is right.
TEST(Png, TakesNoMoreMemoryThanTheFileCanFill) {
  std::string file = file_of("rgb");
  const unsigned char header[] = {0, 13, 0xbb, 0xa0, 0,    13,   0xbb, 0xa0, 8,
                                  0, 0,  0,    0,    0xf5, 0xd6, 0xce, 0x53};
  std::memcpy(file.data() + 16, header, sizeof header);
  EXPECT_EQ(error_of([&] { decode_png(bytes_of(file), ImageMode::rgb, "file"); }),
            "file: data must be as long as the image's size says, got " +
                std::to_string(file.size()) + " bytes for 900000 x 900000");
}

TEST(Pnm, ReadsCommentsAndSmallRanges) {
  EXPECT_EQ(decode("P5 # a comment\n# another\n 3\t1\n255\n\x01\x02\xff").to_vector<int>(),
            (std::vector<int>{1, 2, 255}));
  EXPECT_EQ(decode(std::string("P5 3 1 15 \x00\x07\x0f", 13)).to_vector<int>(),
            (std::vector<int>{0, 119, 255}));
  EXPECT_EQ(decode("P6 1 1 255 abc", ImageMode::rgb).to_vector<int>(),
            (std::vector<int>{'a', 'b', 'c'}));
}

TEST(Pnm, RefusesWhatIsNotSound) {
  EXPECT_EQ(error_text("P5"), "file: PNM header must have a width from 1 to 999999, got \"\"");
  EXPECT_EQ(error_text("P5 #"), "file: PNM header must have a width from 1 to 999999, got \"\"");
  EXPECT_EQ(error_text("P5 3 x"),
            "file: PNM header must have a height from 1 to 999999, got \"x\"");
  EXPECT_EQ(error_text("P5 3 0 255 "),
            "file: PNM header must have a height from 1 to 999999, got \"0 255 \"");
  EXPECT_EQ(error_text("P5 99999999999999999999 1 255 "),
            "file: PNM header must have a width from 1 to 999999, got \"9999999999\"");
  EXPECT_EQ(error_text("P5 2 2 65535 abcdefgh"),
            "file: PNM image must have 8 bits a channel, got 65535 as the largest value");
  EXPECT_EQ(error_text("P6 2 2 255 abc"),
            "file: data must be as long as the image's size says, got 3 bytes for 2 x 2");
  EXPECT_EQ(error_text("P6 999999 999999 255"),
            "file: data must be as long as the image's size says, got 0 bytes for 999999 x 999999");
  EXPECT_EQ(error_text("GIF89a"),
            "file: an image must be JPEG, PNG, or PNM (P5, P6), got \"GIF89a\"");
  EXPECT_EQ(error_text(""), "file: an image must be JPEG, PNG, or PNM (P5, P6), got \"\"");
}

}  // namespace
}  // namespace aorta::data

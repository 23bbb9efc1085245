#include <aorta/core/ops/view.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/jpeg_format.h>

#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

std::span<const std::byte> file_bytes(const Tensor& file) {
  return {static_cast<const std::byte*>(file.data()), static_cast<size_t>(file.numel())};
}

std::span<const std::byte> file_bytes(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

std::string text_of(const Tensor& file) {
  return {static_cast<const char*>(file.data()), static_cast<size_t>(file.numel())};
}

TEST(Jpeg, GivesOpencvsPixels) {
  const auto cases = fixture("jpeg.npz");
  EXPECT_EQ(cases.size(), 12u);
  for (const auto& [name, arrays] : cases) {
    SCOPED_TRACE(name);
    const auto file = file_bytes(arrays.at("file"));
    const Tensor& rgb = arrays.at("rgb");  // (H, W, 3)
    const Tensor& gray = arrays.at("gray");
    EXPECT_EQ(decode_jpeg(file, ImageMode::rgb).to_vector<int>(),
              rgb.permute({2, 0, 1}).to_vector<int>());
    EXPECT_EQ(decode_jpeg(file, ImageMode::gray).to_vector<int>(), gray.to_vector<int>());
    EXPECT_EQ(decode_jpeg(file).size(0), name.starts_with("gray") ? 1 : 3);
    // Into a (H, W, 3) image, and into a piece of something larger.
    const Tensor interleaved = zeros(rgb.shape(), {.dtype = u8});
    decode_jpeg_into(file, interleaved.permute({2, 0, 1}));
    EXPECT_EQ(interleaved.to_vector<int>(), rgb.to_vector<int>());
    const Tensor clip = full({3, 4, rgb.size(0) + 2, rgb.size(1) + 3}, 9, {.dtype = u8});
    const Tensor place = clip.select(1, 2).narrow(1, 1, rgb.size(0)).narrow(2, 2, rgb.size(1));
    decode_jpeg_into(file, place);
    EXPECT_EQ(place.to_vector<int>(), rgb.permute({2, 0, 1}).to_vector<int>());
    int64_t untouched = 0;
    for (const int value : clip.to_vector<int>()) untouched += value == 9;
    EXPECT_GE(untouched, clip.numel() - place.numel());
  }
}

// Motion JPEG's images come without Huffman tables: a decoder that kept those of the image before
// would give other pixels.
TEST(Jpeg, TakesTheStandardTablesWhereNoneAreStored) {
  const auto cases = fixture("jpeg.npz");
  const Tensor& bare = cases.at("no_tables").at("file");
  EXPECT_EQ(text_of(bare).find("\xff\xc4"), std::string::npos);
  const auto expected = cases.at("420").at("rgb").permute({2, 0, 1}).to_vector<int>();
  for (const char* before : {"progressive", "low", "gray"}) {
    decode_jpeg(file_bytes(cases.at(before).at("file")));
    EXPECT_EQ(decode_jpeg(file_bytes(bare)).to_vector<int>(), expected) << before;
  }
}

TEST(Jpeg, RefusesWhatIsCutOrDamaged) {
  const auto cases = fixture("jpeg.npz");
  const std::string whole = text_of(cases.at("420").at("file"));
  EXPECT_EQ(error_of([&] { decode_jpeg(file_bytes(whole.substr(0, 1)), ImageMode::rgb, "a.jpg"); }),
            "a.jpg: JPEG image must start with the bytes ff d8, got 1 bytes without them");
  EXPECT_EQ(error_of([&] { decode_jpeg(file_bytes("no" + whole), ImageMode::rgb, "a.jpg"); }),
            "a.jpg: JPEG image must start with the bytes ff d8, got " +
                std::to_string(whole.size() + 2) + " bytes without them");
  EXPECT_EQ(error_of([&] { decode_jpeg(file_bytes(whole.substr(0, whole.size() / 2))); }),
            "decode_jpeg: JPEG image must be sound, got Premature end of JPEG file");
  for (const auto& [name, arrays] : cases) {
    const std::string file = text_of(arrays.at("file"));
    for (size_t length = 0; length < file.size() - 2; length += 1 + file.size() / 150) {
      EXPECT_TRUE(error_of([&] {
                    decode_jpeg(file_bytes(file.substr(0, length)));
                  }).starts_with("decode_jpeg: JPEG image must "))
          << name << " cut to " << length;
    }
    // Every byte changed: a picture or an error, and never anything else.
    for (size_t i = 0; i < file.size(); i += 1 + file.size() / 200) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      const std::string error = error_of([&] { decode_jpeg(file_bytes(damaged)); });
      EXPECT_TRUE(error == "no error" || error.starts_with("decode_jpeg: JPEG image must "))
          << error;
    }
  }
}

TEST(Jpeg, ChecksSizesBeforeItTakesMemory) {
  std::string file = text_of(fixture("jpeg.npz").at("progressive").at("file"));
  const size_t frame = file.find("\xff\xc2");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xfe\xff\xfe\xff", 4);
  EXPECT_EQ(error_of([&] { decode_jpeg(file_bytes(file)); }),
            "decode_jpeg: JPEG image must have at most 134217728 pixels, got 65279 x 65279");
  const Tensor place = empty({3, 32, 47}, {.dtype = u8});
  const Tensor sound = fixture("jpeg.npz").at("420").at("file");
  EXPECT_EQ(error_of([&] { decode_jpeg_into(file_bytes(sound), place, "b.jpg"); }),
            "b.jpg: JPEG image must have the size of its place, got 32 x 48 for 32 x 47");
  EXPECT_EQ(error_of([&] {
              decode_jpeg_into(file_bytes(sound), empty({3, 32, 48}));
            }),
            "decode_jpeg: image must be u8 (C, H, W) on the CPU, C = 1 or 3, got f32 [3,32,48] "
            "on cpu");
}

TEST(Jpeg, WritesWhatItReads) {
  const Tensor image = test_picture(37, 50);
  const Tensor fine = encode_jpeg(image, 100), coarse = encode_jpeg(image, 20);
  EXPECT_LT(coarse.numel(), fine.numel());
  // Colour is stored at half resolution, so that even quality 100 loses some.
  EXPECT_LT(mean_difference(decode_jpeg(file_bytes(fine)), image), 4);
  EXPECT_GT(mean_difference(decode_jpeg(file_bytes(coarse)), image),
            mean_difference(decode_jpeg(file_bytes(fine)), image));
  const Tensor gray = test_picture(16, 24, 3, 1);
  EXPECT_LT(mean_difference(decode_jpeg(file_bytes(encode_jpeg(gray, 100))), gray), 1);
  // The strides of the image don't matter.
  const Tensor interleaved = image.permute({1, 2, 0}).contiguous().permute({2, 0, 1});
  EXPECT_EQ(text_of(encode_jpeg(interleaved, 90)), text_of(encode_jpeg(image, 90)));
  const TestFolder folder;
  write_jpeg(image, folder.file("a.jpg"), 90);
  EXPECT_EQ(read_text(folder.file("a.jpg")), text_of(encode_jpeg(image, 90)));
  EXPECT_EQ(read_jpeg(folder.file("a.jpg")).shape(), (Shape{3, 37, 50}));
  EXPECT_EQ(error_of([&] { encode_jpeg(image, 0); }),
            "encode_jpeg: quality must be 1 to 100, got 0");
  EXPECT_EQ(error_of([&] {
              encode_jpeg(empty({2, 4, 4}, {.dtype = u8}));
            }),
            "encode_jpeg: image must be u8 (C, H, W) on the CPU, C = 1 or 3, got u8 [2,4,4] on "
            "cpu");
  EXPECT_EQ(error_of([&] {
              encode_jpeg(empty({3, 0, 4}, {.dtype = u8}));
            }),
            "encode_jpeg: image must be 1 to 65500 pixels wide and high, and of at most 2^27 "
            "pixels, got 0 x 4");
}

}  // namespace
}  // namespace aorta::data

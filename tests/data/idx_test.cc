#include <aorta/data/idx.h>
#include <aorta/data/idx_format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// "00 00 08 01" as bytes; blanks are skipped.
std::string bytes(std::string_view digits) {
  std::string text;
  int high = -1;
  for (const char digit : digits) {
    if (digit == ' ') continue;
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    if (high < 0) {
      high = value;
    } else {
      text += static_cast<char>(high * 16 + value);
      high = -1;
    }
  }
  return text;
}

Tensor loaded(const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + "_file.idx";
  std::ofstream(path, std::ios::binary) << contents;
  const Tensor tensor = load_idx(path);
  unlink(path.c_str());
  return tensor;
}

std::string error_in_idx(const std::string& contents) {
  return error_of(
      [&] { parse_idx(io::FileBytes::copy("file", std::as_bytes(std::span(contents)))); });
}

TEST(Idx, ReadsEveryElement) {
  const Tensor u = loaded(bytes("0000 0802 00000002 00000003 01 02 03 04 05 fa"));
  EXPECT_EQ(u.dtype(), u8);
  EXPECT_EQ(u.shape(), (Shape{2, 3}));
  EXPECT_EQ(u.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 250}));
  const Tensor b = loaded(bytes("0000 0901 00000003 80 7f ff"));
  EXPECT_EQ(b.dtype(), i32);
  EXPECT_EQ(b.to_vector<int>(), (std::vector<int>{-128, 127, -1}));
  const Tensor s = loaded(bytes("0000 0b01 00000003 8000 7fff 0102"));
  EXPECT_EQ(s.dtype(), i32);
  EXPECT_EQ(s.to_vector<int>(), (std::vector<int>{-32768, 32767, 258}));
  const Tensor i = loaded(bytes("0000 0c01 00000002 80000000 01020304"));
  EXPECT_EQ(i.dtype(), i32);
  EXPECT_EQ(i.to_vector<int64_t>(), (std::vector<int64_t>{-2147483648, 16909060}));
  const Tensor f = loaded(bytes("0000 0d01 00000003 3fc00000 c0000000 7fc00000"));
  EXPECT_EQ(f.dtype(), f32);
  EXPECT_EQ(f.at<float>({0}), 1.5f);
  EXPECT_EQ(f.at<float>({1}), -2.f);
  EXPECT_TRUE(std::isnan(f.at<float>({2})));
  const Tensor d = loaded(bytes("0000 0e01 00000002 3ff8000000000000 c000000000000000"));
  EXPECT_EQ(d.dtype(), f64);
  EXPECT_EQ(d.to_vector<double>(), (std::vector<double>{1.5, -2}));
}

TEST(Idx, ReadsEmptyArrays) {
  EXPECT_EQ(loaded(bytes("0000 0803 00000000 0000001c 0000001c")).shape(), (Shape{0, 28, 28}));
  EXPECT_EQ(loaded(bytes("0000 0c01 00000000")).shape(), Shape{0});
}

// Python's gzip made these.
const char* const kGzipped =
    "1f8b08000000000002036360e06062606000616646266616d65f007f2a355112000000";
const char* const kTwoMembers =
    "1f8b08000000000002036360e06062606060620000409918aa090000001f8b08000000000002036360606664626661"
    "fd05008366de5309000000";

TEST(Idx, ReadsGzippedFiles) {
  for (const char* file : {kGzipped, kTwoMembers}) {
    const Tensor u = loaded(bytes(file));
    EXPECT_EQ(u.shape(), (Shape{2, 3}));
    EXPECT_EQ(u.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 250}));
  }
}

TEST(Idx, RefusesWhatIsNotSound) {
  EXPECT_EQ(error_in_idx(""), "file: IDX header must be whole, got 0 of 4 bytes of it");
  EXPECT_EQ(error_in_idx(bytes("0000 08")),
            "file: IDX header must be whole, got 3 of 4 bytes of it");
  EXPECT_EQ(error_in_idx(bytes("0000 0802 00000002")),
            "file: IDX header must be whole, got 4 of 8 bytes of it");
  EXPECT_EQ(error_in_idx("GIF8"), "file: IDX file must start with two bytes of 0, got \"GIF8\"");
  EXPECT_EQ(
      error_in_idx(bytes("0000 0a01 00000000")),
      "file: IDX element must be 8 (unsigned byte), 9 (signed byte), 11 (short), 12 (int), 13 "
      "(float) or 14 (double), got 10");
  EXPECT_EQ(error_in_idx(bytes("0000 0800")),
            "file: IDX array must have 1 to 12 dimensions, got 0");
  EXPECT_EQ(error_in_idx(bytes("0000 08ff")),
            "file: IDX array must have 1 to 12 dimensions, got 255");
  EXPECT_EQ(error_in_idx(bytes("0000 0801 00000003 01 02")),
            "file: data must be as long as the shape says, got 2 bytes for shape [3] of 1-byte "
            "elements");
  EXPECT_EQ(error_in_idx(bytes("0000 0801 00000001 01 02")),
            "file: data must be as long as the shape says, got 2 bytes for shape [1] of 1-byte "
            "elements");
  EXPECT_EQ(error_in_idx(bytes("0000 0e03 ffffffff ffffffff ffffffff")),
            "file: shape x item size must fit in 63 bits, got [4294967295,4294967295,4294967295] "
            "of 64 bits");
  EXPECT_EQ(error_in_idx(bytes("0000 0802 ffffffff 10000000")),
            "file: data must be as long as the shape says, got 0 bytes for shape "
            "[4294967295,268435456] of 1-byte elements");
}

TEST(Idx, RefusesDamagedGzip) {
  const std::string whole = bytes(kGzipped);
  for (size_t size = 2; size < whole.size(); ++size) {
    const std::string text = error_in_idx(whole.substr(0, size));
    EXPECT_TRUE(text.starts_with("file: gzip data must be sound, got the end of the file")) << text;
  }
  std::string flipped = whole;
  flipped[whole.size() - 8] ^= 1;  // the checksum
  EXPECT_EQ(error_in_idx(flipped),
            "file: gzip data must be sound, got incorrect data check after 18 bytes");
  EXPECT_TRUE(error_in_idx(whole + "junk").starts_with("file: gzip data must be sound, got "));
  EXPECT_EQ(error_in_idx(whole + whole),
            "file: contents must end where they should, got more than 18 bytes");
  // It claims 4294967295 x 16 x 16 bytes.
  EXPECT_EQ(error_in_idx(bytes("1f8b08000000000002036360e060fe0f040c0c0c02200c00db87559b10000000")),
            "file: data must be as long as the shape says, got at most 33026 bytes for shape "
            "[4294967295,16,16] of 1-byte elements");
}

TEST(Idx, NamesAFileThatIsNotThere) {
  EXPECT_EQ(error_of([] { load_idx("/nowhere/x.idx"); }),
            "/nowhere/x.idx: file must be readable, got ENOENT (No such file or directory)");
}

}  // namespace
}  // namespace aorta::data

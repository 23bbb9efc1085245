#include <aorta/core/io/crc32c.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace aorta::io {
namespace {

// RFC 3720, appendix B.4, and the check value of the CRC catalogue (CRC-32/ISCSI).
TEST(Crc32c, MatchesPublishedVectors) {
  std::vector<unsigned char> rising(32), falling(32), zeros(32, 0), ones(32, 0xff);
  std::iota(rising.begin(), rising.end(), 0);
  std::iota(falling.rbegin(), falling.rend(), 0);
  for (auto crc : {&crc32c, &crc32c_table}) {
    EXPECT_EQ(crc(zeros.data(), 32, 0), 0x8a9136aau);
    EXPECT_EQ(crc(ones.data(), 32, 0), 0x62a8ab43u);
    EXPECT_EQ(crc(rising.data(), 32, 0), 0x46dd794eu);
    EXPECT_EQ(crc(falling.data(), 32, 0), 0x113fdb5cu);
    EXPECT_EQ(crc("123456789", 9, 0), 0xe3069283u);
    EXPECT_EQ(crc(nullptr, 0, 0), 0u);
  }
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLengthStartAndSplit) {
  std::mt19937 random(1);
  std::vector<unsigned char> bytes(100);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (size_t start = 0; start < 9; ++start) {
    for (size_t size = 0; size + start <= bytes.size(); ++size) {
      uint32_t whole = crc32c_table(bytes.data() + start, size);
      EXPECT_EQ(crc32c(bytes.data() + start, size), whole);
      size_t split = size / 3;
      uint32_t first = crc32c(bytes.data() + start, split);
      EXPECT_EQ(crc32c(bytes.data() + start + split, size - split, first), whole);
    }
  }
}

}  // namespace
}  // namespace aorta::io

#include <aorta/core/io/crc32c.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace aorta::io {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // 0x1edc6f41 with its bits reversed

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(const void* data, size_t size_bytes,
                                                        uint32_t crc) {
  auto bytes = static_cast<const unsigned char*>(data);
  uint64_t state = ~crc;
  for (; size_bytes >= 8; size_bytes -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto tail = static_cast<uint32_t>(state);
  for (; size_bytes > 0; --size_bytes, ++bytes) tail = _mm_crc32_u8(tail, *bytes);
  return ~tail;
}
#endif

}  // namespace

uint32_t crc32c_table(const void* data, size_t size_bytes, uint32_t crc) {
  auto bytes = static_cast<const unsigned char*>(data);
  uint32_t state = ~crc;
  for (size_t i = 0; i < size_bytes; ++i) state = (state >> 8) ^ kTable[(state ^ bytes[i]) & 0xff];
  return ~state;
}

uint32_t crc32c(const void* data, size_t size_bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_sse42(data, size_bytes, crc);
#endif
  return crc32c_table(data, size_bytes, crc);
}

}  // namespace aorta::io

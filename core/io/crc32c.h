#pragma once

#include <cstddef>
#include <cstdint>

namespace aorta::io {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `size_bytes` bytes. `crc` is the checksum of the
/// bytes that come before these, 0 for none. Uses SSE4.2 where the CPU has it, else a table.
uint32_t crc32c(const void* data, size_t size_bytes, uint32_t crc = 0);

/// Computes the checksum by table on any CPU; the test compares the instruction with it.
uint32_t crc32c_table(const void* data, size_t size_bytes, uint32_t crc = 0);

}  // namespace aorta::io

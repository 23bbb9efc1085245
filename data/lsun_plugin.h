#pragma once

#include <cstddef>
#include <cstdint>

/// What libaorta_lsun.so offers to the library that loads it: LMDB databases by liblmdb, WebP
/// images by libwebp. Plain C, so that the two share nothing else.
extern "C" {

/// Why a call failed.
struct aorta_lsun_problem {
  int error;       // errno where a call of the system's failed, or 0
  char text[200];  // what the library says; empty where `error` says it
};

struct aorta_lsun_value {
  const void *key, *bytes;
  size_t key_size, size;
};

struct aorta_lsun {
  /// The version of this table; a library that was built for another version is refused.
  int version;
  /// The database in a folder, which must be sound (lmdb_format.h), and how many values it has;
  /// null with the problem.
  void* (*open)(const char* folder, int64_t* values, aorta_lsun_problem* problem);
  void (*close)(void* database);
  /// A value by its place in the order of keys: 1, or -1 with the problem. It stays where it is
  /// until the next call. A child made by fork() may call it, too, and opens the file again.
  int (*get)(void* database, int64_t place, aorta_lsun_value* value, aorta_lsun_problem* problem);
  /// A WebP image's size, and 3 channels (red, green, blue) or 4 (alpha): 1, or -1.
  int (*webp_size)(const void* bytes, size_t size, int64_t* height, int64_t* width,
                   int64_t* channels, aorta_lsun_problem* problem);
  /// Its rows of pixels, as many bytes as webp_size says: 1, or -1.
  int (*webp_pixels)(const void* bytes, size_t size, uint8_t* out, size_t out_size,
                     aorta_lsun_problem* problem);
};

const aorta_lsun* aorta_lsun_table();
}

namespace aorta::data {
inline constexpr int kLsunVersion = 1;
}  // namespace aorta::data

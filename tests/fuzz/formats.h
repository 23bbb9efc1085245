#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int fuzz_avi(const uint8_t* data, size_t size);
int fuzz_csv(const uint8_t* data, size_t size);
int fuzz_gzip(const uint8_t* data, size_t size);
int fuzz_idx(const uint8_t* data, size_t size);
int fuzz_image(const uint8_t* data, size_t size);
int fuzz_jpeg(const uint8_t* data, size_t size);
int fuzz_lmdb(const uint8_t* data, size_t size);
int fuzz_npy(const uint8_t* data, size_t size);
int fuzz_npz(const uint8_t* data, size_t size);
int fuzz_onnx(const uint8_t* data, size_t size);
int fuzz_safetensors(const uint8_t* data, size_t size);
int fuzz_state(const uint8_t* data, size_t size);
int fuzz_tables(const uint8_t* data, size_t size);
int fuzz_yaml(const uint8_t* data, size_t size);
}

namespace aorta::fuzz {

/// Each libFuzzer target, FORMAT_fuzz.cc, for a program that holds them all: in libFuzzer's own
/// each is LLVMFuzzerTestOneInput.
struct Target {
  const char* format;
  int (*parse)(const uint8_t* data, size_t size);
};
inline constexpr Target kTargets[] = {
    {"avi", fuzz_avi},
    {"csv", fuzz_csv},
    {"gzip", fuzz_gzip},
    {"idx", fuzz_idx},
    {"image", fuzz_image},
    {"jpeg", fuzz_jpeg},
    {"lmdb", fuzz_lmdb},
    {"npy", fuzz_npy},
    {"npz", fuzz_npz},
    {"onnx", fuzz_onnx},
    {"safetensors", fuzz_safetensors},
    {"state", fuzz_state},
    {"tables", fuzz_tables},
    {"yaml", fuzz_yaml},
};

}  // namespace aorta::fuzz

#pragma once

#include <cstddef>
#include <cstdint>

/// What libaorta_dicom.so offers to the library that loads it: DICOM files by DCMTK. Plain C, so
/// that the two share nothing else.
extern "C" {

/// An item of SequenceOfUltrasoundRegions (PS3.3 C.8.5.5).
struct aorta_dicom_region {
  int spatial_format;       // 1: a two-dimensional picture
  int data_type;            // 1: tissue, 2: colour flow, 10: ECG
  int64_t x0, y0, x1, y1;   // the first and the last column and row
  double x_delta, y_delta;  // centimetres from a pixel to the next, 0 where it isn't said
};

struct aorta_dicom_facts {
  int64_t frames, height, width;
  double fps;         // 0 where the file doesn't say
  uint64_t patient;   // a hash of who it is, 0 where the file doesn't say
  char modality[20];  // "US"
};

struct aorta_dicom {
  /// The version of this table; a library that was built for another version is refused.
  int version;
  /// A DICOM file, or null with the reason in `error`.
  void* (*open)(const char* path, aorta_dicom_facts* facts, char* error, size_t error_size);
  void (*close)(void* file);
  /// A frame, rows of pixels of 3 channels (red, green, blue) or 1: 1, or -1.
  int (*pixels)(void* file, int64_t frame, int channels, uint8_t* out, char* error,
                size_t error_size);
  /// The regions, in the file's order: 1, or -1.
  int (*regions)(void* file, void (*visit)(void* context, const aorta_dicom_region* region),
                 void* context, char* error, size_t error_size);
  /// Each attribute of the file outside of sequences, by tag (group << 16 | element) and name: 1,
  /// or -1.
  int (*attributes)(void* file, void (*visit)(void* context, uint32_t tag, const char* name),
                    void* context, char* error, size_t error_size);
};

const aorta_dicom* aorta_dicom_table();
}

namespace aorta::data {
inline constexpr int kDicomVersion = 1;
// What the machine lacks, and not the file.
inline constexpr char kDicomHasNoMemory[] = "no more memory";
inline constexpr char kDicomHasNoThread[] = "no thread for it (memory and limits allow no more)";
}  // namespace aorta::data

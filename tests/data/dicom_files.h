#pragma once

#include <aorta/core/tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace aorta::data {

/// A DICOM file that DCMTK writes for a test.
struct DicomSpec {
  /// "implicit", "explicit", "big endian", "deflated", "rle", "jpeg" (baseline), "jpeg extended",
  /// "jpeg lossless" (any predictor), "jpeg lossless sv1" or "jpeg-ls".
  std::string syntax = "explicit";
  /// PhotometricInterpretation of what is encoded.
  std::string colours = "RGB";
  bool by_plane = false;
  int bits_allocated = 8, bits_stored = 8;
  /// Attributes by keyword and value; values separated by backslashes.
  std::vector<std::pair<std::string, std::string>> attributes = {};
  bool with_region = false;  // one of 10 to 89 x 5 to 44, 0.05 x 0.04 cm a pixel, and an ECG's
};

/// `samples`: u8 (or i32 of 16 bits) (T, H, W, C) as the file holds them; of YBR_FULL_422
/// (T, H, W / 2, 4).
void write_dicom(const std::string& path, const Tensor& samples, const DicomSpec& spec = {});

}  // namespace aorta::data

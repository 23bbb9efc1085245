#pragma once

#include <aorta/data/byte_source.h>

#include <cstdint>
#include <string>
#include <vector>

/// What a DICOM file says beside its frames, which a VideoReader reads: uncompressed, RLE, JPEG
/// (baseline, extended, lossless) and JPEG-LS; grey, palette, RGB, YBR_FULL and YBR_FULL_422; of 8
/// bits, and grey and palettes of 16. By DCMTK, in libaorta_dicom.so, which is loaded when the
/// first such file is opened and looked for as libaorta_opencv.so is, at AORTA_DICOM_PLUGIN first.
/// What such a file may nest is bounded: 20,000 fragments of frames and items of sequences.
namespace aorta::data {

/// A part of the picture and what is shown in it: an item of SequenceOfUltrasoundRegions (PS3.3
/// C.8.5.5).
struct UltrasoundRegion {
  bool is_picture = false;                      // two-dimensional; else a curve, as an ECG's
  int64_t left = 0, top = 0;                    // in pixels
  int64_t width = 0, height = 0;                // in pixels
  double x_millimetres = 0, y_millimetres = 0;  // of a pixel; 0 where the file doesn't say
};

/// An attribute, without its value.
struct DicomAttribute {
  uint32_t tag = 0;  // group << 16 | element
  std::string name;  // "PatientName"; of a private one "private"
};

struct DicomFacts {
  std::string modality;  // "US" of ultrasound
  uint64_t patient = 0;  // a hash of who it is; 0 where the file doesn't say
  std::vector<UltrasoundRegion> regions;
  std::vector<DicomAttribute> attributes;  // in the order of their tags
};

/// Whether a file begins as a DICOM file does: 128 bytes, and "DICM".
bool is_dicom(const ByteSource& file);
/// Throws `a.dcm: DICOM file must be readable, got ...`.
DicomFacts read_dicom_facts(const std::string& path);

}  // namespace aorta::data

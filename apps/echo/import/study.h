#pragma once

#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/frame_view.h>
#include <aorta/apps/echo/import/sector.h>
#include <aorta/data/video/dicom.h>

#include <string>

namespace aorta::echo {

/// A video as a scanner or another program wrote it, seen as EchoNet's videos are: grey, the sector
/// alone, in a square as high as the sector.
struct Study {
  data::VideoReader video;  // u8 (3, side, side); nothing outside of the sector
  Box crop;  // of the file's frames that `video` shows; beyond their edge it is black
  bool is_dicom = false;
  double millimetres = 0;  // of a pixel of `video`; 0 where the file doesn't say
  uint64_t patient = 0;    // a hash of who it is; 0 where the file doesn't say
  double coloured = 0;     // the part of the sector's pixels with colour, as flow is drawn
  std::vector<data::DicomAttribute> attributes;  // of a DICOM file
};

/// A DICOM file of another modality: a folder holds such files beside its videos.
struct NotUltrasound : Failure {
  NotUltrasound(const std::string& path, const std::string& modality);
};

/// Opens a file of any format that VideoReader reads. A video of `side` x `side` pixels is taken
/// for one of a data set, and is as it is. Throws what it throws, NotUltrasound, and where there is
/// no sector: nothing is lit.
Study open_study(const std::string& path, int64_t side = kEchoNetSide);

/// "sector of 512 x 512 pixels at 144, 50; 0.31 mm a pixel": what is to be said of it.
std::string to_string(const Study& study);

}  // namespace aorta::echo

#pragma once

#include <aorta/apps/echo/synth/phantom.h>
#include <aorta/core/tensor.h>

#include <string>

namespace aorta::echo {

struct SynthOptions {
  std::string output;                       // a new or empty folder, unless `overwrite`
  int64_t train = 64, val = 16, test = 16;  // videos
  int64_t frames = 100;                     // of a video, at most; each has two beats at least
  double fps = 50;
  int64_t size = 112;  // height and width of a frame, pixels; 16 to 112, as which all are drawn
  uint64_t seed = 0;
  bool overwrite = false;  // replaces a data set that is there
};

/// Writes a data set of synthetic echocardiograms in EchoNet-Dynamic's layout: FileList.csv,
/// VolumeTracings.csv and Videos/. See docs/synthetic_echo.md.
///
/// Each video is a function of (seed, its split, its number there, frames, fps, size): the same
/// bytes for any number of threads and of other videos, so that no set that trains has another
/// one's TEST.
/// The folder appears when all of it is written; SIGINT and SIGTERM leave nothing. Throws Failure:
/// usage for a wrong option, storage where the folder can't be written or has files, 128 + its
/// number after a signal.
void synth(const SynthOptions& options);

/// One of its videos.
struct SyntheticVideo {
  std::string name;                                          // without ".avi"
  Tensor frames;                                             // u8 (T, 1, 112, 112)
  double ejection_fraction = 0;                              // %
  double end_diastolic_volume = 0, end_systolic_volume = 0;  // ml
  int64_t diastole = 0, systole = 0;                         // traced frames
  Tracing diastole_tracing, systole_tracing;                 // pixels
  Outline diastole_border, systole_border;                   // of the blood, pixels
  double heart_rate = 0;                                     // a minute
  std::vector<double> contraction;                           // of each frame
  Tensor sector;                                             // u8 (112, 112): 1 in the sector
};
/// Videos of VAL and TEST have numbers of their own, from these on.
inline constexpr int64_t kFirstVal = 1 << 23, kFirstTest = 3 << 22;
/// `pixels`: without, the frames are left out.
SyntheticVideo synthetic_video(uint64_t seed, int64_t number, int64_t frames, double fps,
                               bool pixels = true);

}  // namespace aorta::echo

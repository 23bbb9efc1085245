#pragma once

#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/video/regressor.h>

#include <string>
#include <vector>

namespace aorta::echo {

/// A beat of a video and its ejection fraction by either network.
struct MeasuredBeat {
  int64_t diastole = 0, systole = 0;
  int64_t clip = 0;         // the clip's first frame
  double ef = 0;            // of the clip, by the network of clips
  double segmented_ef = 0;  // of the masks, by the method of disks
};

/// A video beat by beat.
struct BeatToBeat {
  VideoSegmentation segmentation;  // its beats are these
  std::vector<MeasuredBeat> beats;
  double told = 0;                 // the table's ejection fraction; NaN without
  double mean = 0, deviation = 0;  // of the beats' ef (n - 1; NaN of one); NaN without a beat
  double low = 0, high = 0;        // the mean's 95 % interval, by Student's t; NaN of one beat
};

/// Where the clip of a beat begins: in its middle is the end of systole, as far as the video
/// reaches (Ouyang et al. 2020: a clip around each beat).
int64_t clip_of_beat(const Regressor& regressor, int64_t systole, int64_t video_frames);

/// Joins two networks: the segmenter's areas tell the beats (find_beats), and the regressor, which
/// has learnt EF, tells each beat's ejection fraction from the clip around its systole. Throws what
/// segment_video() throws.
BeatToBeat measure_beats(const Segmenter& segmenter, const Regressor& regressor,
                         const data::VideoReader& video, const SegmentSettings& settings = {});
/// The mean and its spread, from the beats.
void summarise(BeatToBeat& video);

/// "4 beats, EF 58.3 +- 2.1 % (55.0 to 61.6; 56.1, 58.0, 58.2, 60.9)".
std::string to_string(const BeatToBeat& video);

/// The ejection fraction of each beat over the frames, by either network, with the mean, as SVG.
std::string beat_plot(const BeatToBeat& video);

}  // namespace aorta::echo

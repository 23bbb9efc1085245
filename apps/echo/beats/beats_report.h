#pragma once

#include <aorta/apps/echo/beats/beat_to_beat.h>
#include <aorta/report/page.h>

#include <string>
#include <vector>

// What people look at of beats.

namespace aorta::echo {

/// Found against told with each mean's interval, as SVG; nothing where no video is told.
std::string interval_plot(const std::vector<BeatToBeat>& videos);

/// A beat as a film: from its diastole to as long after its systole, the mask's edge in blue.
report::Page::Film beat_film(const data::VideoReader& video, const BeatToBeat& found, size_t beat,
                             const std::string& caption);

/// "EF 56.1 %; told 58.0 %, off by 1.9": of a video.
std::string verdict(const BeatToBeat& video);

}  // namespace aorta::echo

#pragma once

#include <aorta/core/io/state.h>
#include <aorta/data/datasets/echo.h>

#include <span>

namespace aorta::echo {

/// What a run's numbers depend on of a split: the videos' names in their order, which frames are
/// traced and how, and how many bytes each file has. 40 bytes a video.
State data_facts(const data::Echo& videos);
/// The facts of videos that a number is learnt of, with `told`, theirs, in the tracings' place.
State data_facts(const data::Echo& videos, std::span<const float> told);

/// What differs between two states of data_facts, for people: "train lacks a.avi and 2 more"; empty
/// where nothing does. `split` is what the videos are called, `fact` what else is known of each
/// ("tracings").
std::string data_difference(const State& before, const State& now, const std::string& split,
                            const std::string& fact);

}  // namespace aorta::echo

#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/dtype.h>

namespace aorta::cpu {

/// A row of results of a convolution in groups: `positions` of `results` channels, beside each
/// other. What a result reads of its group was spread before, so that each has its own: with tap t
/// of the kernel's i-th row that reads inside, and channel c of the group, result r of position p
/// reads sources[i][p * position_step + t * tap_step + c * channel_step + r] and
/// weights[i][(t * channels + c) * results + r]. All are f32 or f64; steps are in elements.
struct GroupedRow {
  DType dtype = DType::f32;
  int64_t positions = 0, results = 0;
  int64_t rows = 0, taps = 0, channels = 0;
  int64_t position_step = 0, tap_step = 0, channel_step = 0, target_step = 0;
  const void* const* sources = nullptr;
  void* const* weights = nullptr;
  const void* bias = nullptr;  // null for none
  void* target = nullptr;
};

/// Gives each of a group's `results` its own copy of the group's `channels`: from (positions,
/// groups, channels) to (channels, positions, groups, results).
struct GroupedSpread {
  DType dtype = DType::f32;
  int64_t positions = 0, groups = 0, channels = 0, results = 0;
  int64_t from_step = 0, to_step = 0, channel_step = 0;
  const void* from = nullptr;
  void* to = nullptr;
};

/// An instruction set's loops.
struct GroupedLoops {
  void (*convolve)(const GroupedRow& row);      // target from sources and weights
  void (*add_gradient)(const GroupedRow& row);  // to weights, from sources and target
  void (*spread)(const GroupedSpread& spread);
};
AORTA_ISA_TABLE(GroupedLoops, grouped_loops)

}  // namespace aorta::cpu

#pragma once

#include <string>

namespace aorta::echo {

struct CheckDataOptions {
  std::string data_dir = {};  // empty: what AORTA_ECHO names
  /// Looks into every video; without it the tables and the folder alone are looked at.
  bool open_videos = true;
};

/// The commands `data check` and `data info` print how many videos each split has, how many are
/// traced, and the ranges of their EF, frames, sizes and frame rates. `check` then prints a line a
/// fault, "FAULT FileList.csv:17: Videos/a.avi must be there", and what is odd but harmless as
/// "note", and throws Failure(data) with their number where there are faults.
void check_data(const CheckDataOptions& options);
/// Throws Failure(data) where the tables can't be read.
void data_info(const CheckDataOptions& options);

}  // namespace aorta::echo

#pragma once

#include <cstdint>

namespace aorta::data {

/// What the time of reading a sample is spent on.
enum class Stage { open, read, decode, transform };
inline constexpr int kStages = 4;

/// While it lives, this thread's time counts for `stage` in its loader's stall account; inside
/// another one, the inner one's alone.
///
///     const data::StageScope scope(data::Stage::decode);
class StageScope {
 public:
  explicit StageScope(Stage stage);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  int outer_;
};

/// Nanoseconds that a thread has spent in each stage.
struct StageTimes {
  int64_t nanoseconds[kStages] = {};
};
/// This thread's so far.
StageTimes stage_times();

}  // namespace aorta::data

#pragma once

#include <aorta/core/process/zygote.h>
#include <aorta/data/dataset.h>
#include <aorta/data/workers/ring.h>

namespace aorta::data {

/// What the processes of a loader need to know.
struct WorkerPlan {
  std::shared_ptr<const Source> source;
  TensorSpecs specs;
  Ring::Layout layout;
  int workers = 0;
  uint64_t seed = 0;
  WorkerInit init = nullptr;

  int readers_per_worker() const { return layout.readers / workers; }
};

/// The nursery is the process that makes a loader's dataset, forks its workers when told to, and
/// says how they fare; it ends when its channel is closed, workers within a second. Its
/// descriptors: the ring's samples and its control, the eventfd that wakes the loader, the pidfd of
/// the program.
///
/// Messages: one of these bytes, then the worker's number, its pid and, when it ended, its status.
struct NurseryMessage {
  static constexpr char kStart = 'w';              // from the loader: that worker
  static constexpr char kStop = 'x', kQuit = 'q';  // all of them; and the nursery, too
  static constexpr char kStarted = 's', kEnded = 'e', kStopped = 'x';
  static constexpr char kFault = 'f';  // a text follows: there is no dataset
  static constexpr size_t kBytes = 13;
  char kind = 0;
  int32_t worker = 0;
  int32_t pid = 0;
  int32_t status = 0;

  std::string text() const;
  static NurseryMessage parse(std::string_view text);
};

/// Starts it; by the zygote where `plan.source` has a recipe whose arguments are portable.
StartedProcess start_nursery(const WorkerPlan& plan, std::span<const int> descriptors,
                             StartMethod method);

}  // namespace aorta::data

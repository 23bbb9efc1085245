#pragma once

namespace aorta::data {

/// Points of a worker's work, then of the nursery's (it has the dataset; a worker; has said so),
/// for tests that end it there.
enum class WorkerStep { started, claimed, read, finished, counted, told, made, forked, announced };
/// Called at each, where it is set before workers are forked from the program.
inline void (*worker_step_hook)(WorkerStep step) = nullptr;

}  // namespace aorta::data

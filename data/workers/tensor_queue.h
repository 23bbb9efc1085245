#pragma once

#include <aorta/core/process/portable.h>

namespace aorta::data {

/// Tensors from some processes to others, in the order in which they were put. A queue is a handle:
/// give it to a Process as an argument. What is in shared memory (Tensor::share_memory) is passed
/// on and not copied; anything else is copied into shared memory once. The memory of such a copy
/// and of buffer() is used again by the process that made it when no process has a tensor in it any
/// more.
///
///     data::TensorQueue queue(8);
///     data::Process reader(+[](data::TensorQueue queue) { while (...) queue.put({frame}); },
///     queue); while (const auto tensors = queue.get()) train((*tensors)[0]);
class TensorQueue {
 public:
  /// put() waits while `capacity` puts haven't been taken out.
  explicit TensorQueue(int capacity = 16);

  /// At most 200 tensors, on the CPU. Throws after close(). With a limit in seconds false when the
  /// queue stayed full.
  bool put(const List<Tensor>& tensors, std::optional<double> seconds = {}) const;
  /// The next ones; none when the queue is closed and empty, or stayed empty for so many seconds.
  std::optional<std::vector<Tensor>> get(std::optional<double> seconds = {}) const;
  /// Nothing more is put, by any process; what is in it can be taken out.
  void close() const;
  /// Shared memory to be filled and put; not initialised.
  Tensor buffer(const Shape& shape, DType dtype) const;

 private:
  friend struct aorta::Portable<TensorQueue>;
  struct State;
  explicit TensorQueue(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace aorta::data

/// The other process has the same queue.
template <>
struct aorta::Portable<aorta::data::TensorQueue> {
  static void write(ArgumentWriter& writer, const data::TensorQueue& value);
  static data::TensorQueue read(ArgumentReader& reader);
};

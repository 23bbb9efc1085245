#pragma once

#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace aorta::report {

/// Writes a TensorBoard event file, which `tensorboard --logdir FOLDER` shows while it grows:
/// records framed as TFRecord does it (length, masked CRC-32C, bytes, masked CRC-32C), each a
/// serialized tensorflow.Event (tensorflow/core/util/event.proto).
///
///     report::EventWriter events("run");
///     events.scalar("loss/train", loss, step);
///     events.flush();                          // at each checkpoint, which keeps
///     state.set("events", events.size_bytes()) // and events.path(), so that
///     report::EventWriter::resume(path, size)  // goes on without a row twice or missing
///
/// `scalar`, `image` and `text` keep the record in memory; it is written by `flush`, and from one
/// MiB on by themselves. An error of writing (a full disk, say) throws `PATH: cannot write ...` and
/// loses nothing: what wasn't written stays in memory, further records join it without trying, and
/// the next `flush` goes on where the file ends. So a program warns once and trains on. From 64 MiB
/// in memory on new records are dropped; `dropped` counts them.
class EventWriter {
 public:
  /// Seconds since 1970, as every record carries them.
  using Clock = double (*)();
  static double wall_clock();

  /// A new file `events.out.tfevents.TIME.HOST.PID.COUNT` in `folder`, which is created if need be.
  explicit EventWriter(const Text& folder, Clock clock = wall_clock);
  /// The file at `path`, cut to its first `size_bytes` bytes, to be gone on with. They must be
  /// whole records; 0 is the size of a run whose disk was full all along. Else `PATH: size must be
  /// at the end of a record of an event file, ...`.
  static EventWriter resume(const Text& path, uint64_t size_bytes, Clock clock = wall_clock);
  /// Writes what is left; an error is ignored.
  ~EventWriter();
  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;

  /// A point of the curve `tag`.
  void scalar(const Text& tag, double value, int64_t step);
  /// A picture u8 (1 or 3, H, W).
  void image(const Text& tag, const Tensor& image, int64_t step);
  /// Markdown.
  void text(const Text& tag, const Text& text, int64_t step);

  /// Writes what is in memory, and syncs the file to the disk.
  void flush();

  const std::string& path() const;
  /// The length of the whole records in the file, after a flush all of them: what `resume` takes.
  uint64_t size_bytes() const;
  /// Records that a lasting error cost.
  uint64_t dropped() const;

 private:
  struct File;
  explicit EventWriter(std::unique_ptr<File> file);
  void add(int64_t step, std::string_view value);

  std::unique_ptr<File> file_;
};

}  // namespace aorta::report

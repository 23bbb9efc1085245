#pragma once

#include <functional>
#include <future>

namespace aorta::echo {

/// Writes files beside a GPU's work, in the order in which they are given.
class BackgroundWriter {
 public:
  BackgroundWriter() = default;
  ~BackgroundWriter() = default;  // waits
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Waits for what was given before, throws what went wrong there, and begins with this.
  void write(std::function<void()> work) {
    finish();
    written_ = std::async(std::launch::async, std::move(work));
  }
  /// Waits for what is being written, and throws what goes wrong there.
  void finish() {
    if (written_.valid()) written_.get();
  }

 private:
  std::future<void> written_;  // whose end waits
};

}  // namespace aorta::echo

#pragma once

#include <aorta/core/check.h>

#include <string_view>
#include <utility>

namespace aorta::echo {

/// What the program returns to the shell; a signal gives 128 + its number.
enum class ExitCode { done = 0, usage = 2, data = 3, environment = 4, diverged = 5, storage = 6 };

/// Ends the program with one line on stderr and this code.
class Failure : public Error {
 public:
  Failure(ExitCode code, const std::string& text) : Error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Runs it and returns what it returns; an Error that is no Failure becomes one of this code, or,
/// when memory ran out, whatever for, one of ExitCode::environment.
template <class Run>
auto with_code(ExitCode code, Run&& run) -> decltype(std::forward<Run>(run)()) {
  try {
    return std::forward<Run>(run)();
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    const bool memory =
        std::string_view(error.what()).find("machine has no more memory") != std::string_view::npos;
    throw Failure(memory ? ExitCode::environment : code, error.what());
  }
}

}  // namespace aorta::echo

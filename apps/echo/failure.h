#pragma once

#include <aorta/core/comm.h>
#include <aorta/core/resource_error.h>

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

/// The code of an error where the input's is `code`: environment for what the machine refused, in
/// this process or in a worker that read a sample, and for a batch that didn't come in time.
ExitCode code_of(const Error& error, ExitCode code);

/// Runs it and returns what it returns; an Error becomes a Failure of code_of(`code`)
/// unless it is one, or a RankError: that of another process.
template <class Run>
auto with_code(ExitCode code, Run&& run) -> decltype(std::forward<Run>(run)()) {
  try {
    return std::forward<Run>(run)();
  } catch (const Failure&) {
    throw;
  } catch (const RankError&) {
    throw;
  } catch (const Error& error) {
    throw Failure(code_of(error, code), error.what());
  }
}

}  // namespace aorta::echo

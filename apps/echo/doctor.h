#pragma once

#include <string>
#include <vector>

namespace aorta::echo {

struct DoctorOptions {
  /// Where runs are written, for its free space.
  std::string folder = ".";
};

/// One thing that was looked at.
struct Finding {
  /// warn: something is slower or left out; missing: nothing works without it.
  enum class Status { ok, warn, missing };
  Status status = Status::ok;
  std::string name;  // "memory"
  std::string text;  // what was found
  std::string fix;   // of what isn't ok
};

/// The machine, the libraries, and the data that is named by AORTA_ECHO.
std::vector<Finding> examine(const DoctorOptions& options);
/// "warn     open files      256 (limit 4096); fix: ulimit -n 4096".
std::string to_string(const Finding& finding);

/// The command: a line a finding. Throws Failure(environment) that names what is missing.
void doctor(const DoctorOptions& options);

}  // namespace aorta::echo

#pragma once

#include <string>

namespace aorta::data {

/// The exit code of a scenario that this machine, or this user, can't play.
inline constexpr int kCannotBeHad = 77;

/// What main writes before init(), but for a process that is the program anew.
inline bool is_set_before_init = false;

/// Programs of their own that tests start and end: `worker_test --scenario NAME`.
int run_scenario(const std::string& name);

}  // namespace aorta::data

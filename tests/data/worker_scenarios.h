#pragma once

#include <string>

namespace aorta::data {

/// The exit code of a scenario that this machine, or this user, can't play.
inline constexpr int kCannotBeHad = 77;

/// Programs of their own that tests start and end: `worker_test --scenario NAME`.
int run_scenario(const std::string& name);

}  // namespace aorta::data

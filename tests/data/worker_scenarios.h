#pragma once

#include <string>

namespace aorta::data {

/// Programs of their own that tests start and end: `worker_test --scenario NAME`.
int run_scenario(const std::string& name);

}  // namespace aorta::data

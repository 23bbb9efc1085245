#include <aorta/core/process/init.h>
#include <aorta/tests/data/worker_scenarios.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

// Tests of worker processes start as programs do: with a zygote.
int main(int argc, char** argv) {
  aorta::data::is_set_before_init = std::getenv("AORTA_SPAWNED_CHANNEL") == nullptr;
  const bool scenario = argc == 3 && std::strcmp(argv[1], "--scenario") == 0;
  if (!scenario || std::strncmp(argv[2], "no_init", 7) != 0) aorta::init(argc, argv);
  if (scenario) return aorta::data::run_scenario(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

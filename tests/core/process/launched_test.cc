// How a program sees that mpirun, mpiexec or srun started it.
#include <aorta/core/process/process_group.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace aorta {
namespace {

/// Whether a program with these variables, and none else of a launcher's, is launched.
bool is_launched_with(const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> before;
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(name)) before[name] = value;
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const bool launched = distributed::is_launched();
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);
  return launched;
}

TEST(Launched, ByTheEnvironmentOfTheLauncher) {
  EXPECT_FALSE(is_launched_with({}));
  EXPECT_TRUE(is_launched_with({{"OMPI_COMM_WORLD_SIZE", "4"}}));  // Open MPI's mpirun
  EXPECT_TRUE(is_launched_with({{"PMI_RANK", "0"}}));              // MPICH's, and srun --mpi=pmi2
  EXPECT_TRUE(is_launched_with({{"PMIX_RANK", "3"}}));             // srun --mpi=pmix
  EXPECT_FALSE(is_launched_with({{"PMI_RANK", ""}}));
  // srun without either.
  EXPECT_TRUE(is_launched_with({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
  // A step of one task, and a batch script, which is task 0 of none.
  EXPECT_FALSE(is_launched_with({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(is_launched_with({{"SLURM_PROCID", "0"}}));
}

}  // namespace
}  // namespace aorta

#pragma once

#include <aorta/apps/echo/failure.h>
#include <aorta/core/comm.h>
#include <aorta/core/random.h>

#include <functional>
#include <optional>
#include <vector>

// The processes that mpirun or srun started for one training.

namespace aorta::echo {

/// Their group; null for a process by itself.
Communicator* rank_group();
/// How many there are, and whether this is the one that writes the run's folder and speaks to
/// people.
int64_t rank_count();
bool is_first_rank();

/// What each gives, by rank; all give as many numbers.
std::vector<std::vector<double>> gathered(const std::vector<double>& mine);

/// Returns when all have come, however long it takes: where they may have been apart for long.
void meet_ranks();
/// What the first rank does while the others wait for it.
void on_first_rank(const std::function<void()>& work);

/// Throws Failure(usage) where the ranks' texts of args.yaml differ in what they compute.
void check_same_settings(const std::string& args);

/// While it lives, the default generator is the rank's own: a function of what the common one
/// stood at, which moves on by two numbers, and of the rank. Does nothing in a process by itself.
class RankRandom {
 public:
  RankRandom();

 private:
  Generator own_;
  std::optional<DefaultGeneratorScope> scope_;
};

/// Says that this process ends with an error, and ends the others with the same code, which it
/// returns. Where another rank has said what is wrong, nothing is said.
int end_ranks(int code, const std::string& text);
/// Does the same for an error that the group had.
int end_with(const RankError& error);

/// Writes what the ranks' last collectives were into RUN/ranks; in a process by itself nothing.
void write_rank_records(const std::string& run);

/// The command: one table of what the ranks of a run that failed called, side by side, and a line
/// for each that had not joined. Throws Failure(environment) where there is nothing of the kind.
void show_ranks(const std::string& run);

}  // namespace aorta::echo

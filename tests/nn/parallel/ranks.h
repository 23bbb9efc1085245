#pragma once

#include <aorta/core/check.h>
#include <aorta/core/comm.h>
#include <aorta/nn/parallel/local_comm.h>
#include <aorta/tests/error_text.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace aorta {

/// Calls `function(end)` for each end of a group on a thread of its own: the error texts by rank.
inline std::vector<std::string> on_ranks(int size, const CommOptions& options,
                                         const std::function<void(Communicator& end)>& function) {
  const auto ends = nn::local_communicators(size, options);
  std::vector<std::string> errors(ends.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ends.size(); ++rank)
    threads.emplace_back([&, rank] { errors[rank] = error_of([&] { function(*ends[rank]); }); });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// What on_ranks gives where nothing failed.
inline std::vector<std::string> no_errors(int size) {
  return std::vector<std::string>(static_cast<size_t>(size), kNoError);
}

}  // namespace aorta

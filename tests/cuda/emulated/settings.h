#pragma once

#include <cstddef>
#include <cstdint>

namespace aorta::emulated {

/// When queued work is done. All give the same results to code that keeps CUDA's rules.
enum class Mode {
  eager,   // at once
  lazy,    // as late as the rules allow: when somebody waits for it, and then no more than it takes
  random,  // any time in between
  threads,  // by a thread of each stream
};

/// In which order the blocks of a launch, and the threads of a block, have their turns.
enum class Order { forward, reverse, random };

/// What the emulated machine is like. Read from the environment once:
///   AORTA_EMULATED_MODE=eager|lazy|random|threads   AORTA_EMULATED_ORDER=forward|reverse|random
///   AORTA_EMULATED_SEED=N                   AORTA_EMULATED_DEVICES=N
///   AORTA_EMULATED_RACES=BYTES
struct Settings {
  Mode mode = Mode::lazy;
  Order order = Order::forward;
  uint64_t seed = 1;
  int devices = 3;
  size_t races = size_t{4} << 20;  // bytes of a launch among which races are looked for
  int multiprocessors = 2;         // few, so that loops over the grid take more than one round
  size_t device_bytes = size_t{16} << 30;
  int patience = 20000;  // milliseconds that a rank of a communicator waits for the others
};
Settings& settings();

/// The next of the numbers that the seed gives; below `bound`.
uint64_t random_below(uint64_t bound);

}  // namespace aorta::emulated

#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <vector>

// Training programs as people write them, in their default memory format but for networks of
// images. Both sides start from the same numbers; programs.py has PyTorch's.

namespace aorta::bench {

/// The sizes of a batch: how many samples first, then of images, clips or texts.
using Sizes = std::vector<int64_t>;

/// A whole step on a fixed batch: zero_grad, forward, loss, backward, optimizer.
struct Program {
  const char* name;  // of its function in programs.py
  const char* text;  // of its row, with places for the sizes but that of the batch
  Sizes sizes, tiny;
  double f32 = 0;   // times PyTorch's time that its row has to reach
  double bf16 = 0;  // the same with autocast; 0: no such row
  /// A step, which returns its loss.
  std::function<std::function<Tensor()>(const Sizes& sizes, bool bf16)> make;
  bool one_thread = false;  // measured on one thread alone
  int rounds = 0;           // 0: as many as others
};
const std::vector<Program>& programs();

}  // namespace aorta::bench

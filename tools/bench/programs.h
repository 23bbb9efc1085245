#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <vector>

// Training programs as people write them, in their default memory format but for networks of
// images. Both sides start from the same numbers; programs.py has PyTorch's.

namespace aorta::bench {

/// A whole step on a fixed batch: zero_grad, forward, loss, backward, optimizer.
struct Program {
  const char* name;  // of its function in programs.py
  const char* text;  // of its row, before the size of the batch
  int64_t batch;     // of samples
  double f32 = 0;    // times PyTorch's time that its row has to reach
  double bf16 = 0;   // the same with autocast; 0: no such row
  /// A step, which returns its loss.
  std::function<std::function<Tensor()>(int64_t batch, bool bf16)> make;
  bool one_thread = false;  // measured on one thread alone
};
const std::vector<Program>& programs();

}  // namespace aorta::bench

#pragma once

#include <aorta/core/tensor.h>

#include <any>
#include <string>
#include <vector>

namespace aorta {

/// One call of an op, as a tracer is told of it, after it has run.
struct TracedCall {
  const char* op;  // "relu": the name of its row, or of the function where that says more
  std::vector<Tensor> outputs;
  /// Undefined where an input is left out, or a number stands in its place.
  std::vector<Tensor> inputs;
  /// A pointwise op's numbers, one for each input, which counts where that is undefined.
  std::vector<Scalar> numbers = {};
  /// A std::tuple of what the op takes besides tensors; of a pointwise op, its functor.
  std::any options = {};
};

/// Who is told of the ops that a thread runs: of whole ops, and also of those that a whole op is
/// made of, before it. An op whose output is a tensor that it was given has written that in place.
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void add(TracedCall call) = 0;
};

/// While it lives, `tracer` is told of what this thread runs, and no other is.
class TracerScope {
 public:
  explicit TracerScope(Tracer& tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* outer_;
};

}  // namespace aorta

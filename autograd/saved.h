#pragma once

#include <aorta/autograd/node.h>
#include <aorta/core/dispatch/pointwise_args.h>

#include <any>

namespace aorta::autograd {

/// What replaces saved tensors while a SavedTensorsHooks lives: `unpack(pack(tensor))` has the
/// tensor's shape, dtype, device and values.
struct PackHooks {
  std::function<std::any(const Tensor& tensor)> pack;
  std::function<Tensor(const std::any& packed)> unpack;
  std::shared_ptr<const PackHooks> outer = {};
};

/// While it lives, tensors that this thread's ops save for their gradients go through `pack`, and
/// through `unpack` when a gradient needs them. Scopes nest: the innermost counts, and where its
/// `pack` gives nothing, the one around it.
class SavedTensorsHooks {
 public:
  [[nodiscard]] SavedTensorsHooks(decltype(PackHooks::pack) pack,
                                  decltype(PackHooks::unpack) unpack);
  ~SavedTensorsHooks();
  SavedTensorsHooks(const SavedTensorsHooks&) = delete;
  SavedTensorsHooks& operator=(const SavedTensorsHooks&) = delete;
};

/// Saved tensors wait in host memory (page-locked when asked) and return to their device.
class SaveOnCpu : public SavedTensorsHooks {
 public:
  [[nodiscard]] explicit SaveOnCpu(bool pin_memory = false);
};

/// An input or output of an op, kept for its gradient. It remembers the tensor's place in the graph
/// and its version: a later write in place is an error when the gradient asks for it.
class Saved {
 public:
  Saved() = default;
  /// Input number `input` of the op that is being recorded. May be undefined.
  Saved(const Tensor& tensor, int input);
  /// An input where the gradient will ask for it, else nothing.
  static Saved if_wanted(const Tensor& tensor, int input, bool wanted) {
    return wanted ? Saved(tensor, input) : Saved();
  }
  /// Output number `output`, which the node itself made.
  static Saved output(const Tensor& tensor, int output = 0);

  /// The tensor; `node` is the node that saved it.
  Tensor get(Node& node) const;

 private:
  void keep(const Tensor& tensor);
  // Whether hooks take it.
  bool pack(const Tensor& tensor);

  Tensor tensor_;  // a leaf itself, or an alias outside the graph
  Edge edge_;      // where the alias's gradient goes
  uint32_t version_ = 0;
  int16_t place_ = 0;  // input number, or -1 - output number
  bool is_leaf_ = false;
  struct Packed {
    std::shared_ptr<const PackHooks> hooks;
    GradientSpec spec;  // of what was packed
    std::any value;
  };
  std::shared_ptr<const Packed> packed_;
};

/// A tensor or a number, as an operand.
struct Value {
  Tensor tensor;
  Scalar number = 0;
  bool is_number() const { return !tensor.defined(); }
  /// The number as a 0-d tensor beside `like`.
  Tensor as_tensor(const Tensor& like) const;
  operator Operand() const { return is_number() ? Operand(number) : Operand(tensor); }
};

/// An operand of a pointwise op, saved.
class SavedOperand {
 public:
  SavedOperand() = default;
  SavedOperand(const Operand& operand, int input)
      : tensor_(operand.tensor ? Saved(*operand.tensor, input) : Saved()),
        number_(operand.number) {}
  Value get(Node& node) const { return {tensor_.get(node), number_}; }

 private:
  Saved tensor_;
  Scalar number_ = 0;
};

}  // namespace aorta::autograd

#pragma once

#include <aorta/core/tensor.h>

#include <span>

// What calls tell distributed::autograd of the tensors that they send and receive.

namespace aorta::distributed::autograd::detail {

/// The context of this thread; 0: none.
int64_t current_context();
/// Makes it another one while it lives.
class ContextScope {
 public:
  explicit ContextScope(int64_t context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const int64_t outer_;
};

/// A number that no other process makes.
int64_t unique_number();
/// These tensors, which require gradients, go to `rank`: the number that they are known by.
int64_t note_sent(int64_t context, int rank, std::span<const Tensor> tensors);
/// They have come from `rank`, under that number; their gradients will go back there.
void note_received(int64_t context, int rank, int64_t number, std::span<const Tensor> tensors);
/// A call of this context has come.
void join_context(int64_t context);
/// Whether this thread runs a context's backward pass.
bool is_in_pass();
/// Forgets the contexts of a group that has ended.
void forget_contexts();

}  // namespace aorta::distributed::autograd::detail

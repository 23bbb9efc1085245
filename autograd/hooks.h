#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace aorta {

namespace autograd {

/// The hooks of one node's outputs, in the order of registration.
struct HookList {
  using GradientHook = std::function<Tensor(const Tensor& gradient)>;
  using TensorHook = std::function<void(const Tensor& tensor)>;
  struct Entry {
    int64_t id = 0;
    uint32_t output = 0;
    GradientHook before;   // on the whole gradient of an output
    TensorHook after;      // on a leaf, after accumulation
    bool retains = false;  // keeps what the others leave: the last
  };

  int64_t add(uint32_t output, GradientHook before, TensorHook after, bool retains = false);
  void remove(int64_t id);
  bool has_before() const;
  bool has_after() const;

  std::vector<Entry> entries;
  int64_t next_id = 1;
};

}  // namespace autograd

/// A registered hook. Letting go of the handle leaves the hook where it is.
class HookHandle {
 public:
  HookHandle() = default;
  /// The hook `id` of a list with `remove(id)`.
  template <class List>
  HookHandle(const std::shared_ptr<List>& list, int64_t id)
      : list_(list),
        remove_([](void* hooks, int64_t hook) { static_cast<List*>(hooks)->remove(hook); }),
        id_(id) {}
  /// Takes the hook away; a second time does nothing.
  void remove();

 private:
  std::weak_ptr<void> list_;
  void (*remove_)(void* list, int64_t id) = nullptr;
  int64_t id_ = 0;
};

}  // namespace aorta

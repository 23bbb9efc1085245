#pragma once

#include <aorta/autograd/hooks.h>
#include <aorta/core/allocator.h>
#include <aorta/core/module_path.h>
#include <aorta/core/tensor.h>

#include <span>

namespace aorta::autograd {

class Gradients;
class Node;

/// Where a tensor's gradient goes: an output of the node that was recorded for it. Without a node,
/// nowhere.
struct Edge {
  Ref<Node> node;
  uint32_t output = 0;
};

/// What a gradient must look like: shape, dtype and device of the tensor that it belongs to.
struct GradientSpec {
  Shape shape;
  DType dtype = DType::f32;
  Device device;
  bool operator==(const GradientSpec&) const = default;
};
GradientSpec spec_of(const Tensor& tensor);

/// One recorded op: edges to the nodes of its inputs, and the function that maps the gradients of
/// its outputs to those of its inputs. Counted; chains of any length are freed without recursion.
/// The block of a node holds its edges and output specs too.
class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name() const { return name_; }
  /// "sqrt", or "sqrt in layer1.0" when a module was running.
  std::string description() const;
  const ModulePath* path() const { return path_.get(); }
  /// One an input; without a node where the input needs no gradient.
  std::span<Edge> edges() { return {edges_, edge_count_}; }
  std::span<const Edge> edges() const { return {edges_, edge_count_}; }
  std::span<GradientSpec> outputs() { return {outputs_, output_count_}; }
  /// Nodes of one thread count up in the order in which they were made.
  uint64_t sequence() const { return sequence_; }
  /// True for a node that a pass runs even where none of its outputs has a gradient.
  virtual bool is_always_run() const { return false; }
  /// True for the node of a leaf, which adds to the leaf's gradient.
  virtual bool is_leaf() const { return false; }

  /// Calls the gradient function; throws when its saved tensors have been freed.
  void run(Gradients& gradients);
  /// Frees the saved tensors, once no thread is in run().
  void free_saved();

  /// The hooks of its outputs; made at first use.
  HookList& hooks();
  HookList* existing_hooks() const { return hooks_.get(); }
  const std::shared_ptr<HookList>& shared_hooks() const { return hooks_; }

  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy();
    }
  }

 protected:
  /// `bytes` is the size of the whole block.
  Node(const char* name, uint64_t sequence, int64_t bytes);
  virtual ~Node();
  virtual void apply(Gradients& gradients) = 0;
  /// Whether there is anything to free; if not, the node can run any number of times.
  virtual bool has_saved() const { return false; }
  virtual void do_free_saved() {}

  /// Memory for an object of `size` bytes with edges and specs behind it.
  static int64_t block_bytes(size_t size, size_t edges, size_t outputs);
  void place_lists(size_t size, size_t edges, size_t outputs);
  static uint64_t next_sequence();

 private:
  friend class BackwardPass;
  void destroy();
  bool leave();

  std::atomic<int32_t> count_{1};
  std::atomic<uint32_t> running_{0};  // calls of run() under way, and kFreed
  const char* name_;
  uint64_t sequence_;
  Edge* edges_ = nullptr;
  GradientSpec* outputs_ = nullptr;
  uint32_t edge_count_ = 0;
  uint32_t output_count_ = 0;
  // The backward pass that keeps its notes on this node here; another one at the same time keeps
  // them in a table of its own.
  std::atomic<const void*> pass_{nullptr};
  uint32_t visit_ = 0;
  uint32_t bytes_;
  Node* next_ = nullptr;  // in the list of nodes to destroy
  Ref<ModulePath> path_;
  std::shared_ptr<HookList> hooks_;
};

/// The node of a gradient function `closure(Gradients&)`. What it has captured is freed after a
/// backward pass, unless it is trivial (shapes and numbers).
template <class Closure>
class FunctionNode final : public Node {
 public:
  static Ref<Node> make(const char* name, size_t edges, size_t outputs, Closure closure) {
    const int64_t bytes = block_bytes(sizeof(FunctionNode), edges, outputs);
    void* block = cpu::allocate(bytes);
    FunctionNode* node = new (block) FunctionNode(name, bytes, std::move(closure));
    node->place_lists(sizeof(FunctionNode), edges, outputs);
    return Ref<Node>::adopt(node);
  }

 private:
  FunctionNode(const char* name, int64_t bytes, Closure closure)
      : Node(name, next_sequence(), bytes), closure_(std::move(closure)) {}
  void apply(Gradients& gradients) override { (*closure_)(gradients); }
  bool has_saved() const override { return !std::is_trivially_destructible_v<Closure>; }
  void do_free_saved() override { closure_.reset(); }

  std::optional<Closure> closure_;
};

}  // namespace aorta::autograd

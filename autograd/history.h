#pragma once

#include <aorta/autograd/node.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/dispatch/in_place.h>

#include <mutex>

namespace aorta::kernel {
class Recording;
}

namespace aorta::autograd {

/// The gradient of one tensor, which its handles share: dense, sparse, or none.
class GradCell {
 public:
  /// Throws where it is sparse.
  Tensor get() const;
  std::optional<SparseGradient> sparse() const;
  void set(const Tensor& gradient);
  void set(const SparseGradient& gradient);
  /// Adds a copy, for others go on with the gradient itself.
  void retain(const Tensor& gradient);
  /// Adds; the first one is taken over where nobody else holds it. `record` builds a new sum.
  void accumulate(Tensor gradient, bool record);
  void accumulate(SparseGradient gradient);

 private:
  mutable std::mutex mutex_;
  Tensor gradient_;
  std::unique_ptr<SparseGradient> sparse_;
};

class Shard;

/// The node of a leaf: its gradient function adds to the leaf's gradient. The leaf owns it, so that
/// a graph doesn't keep a leaf alive.
class LeafNode final : public Node {
 public:
  static Ref<Node> make(const Tensor& leaf);
  bool is_leaf() const override { return true; }
  GradCell& cell() { return cell_; }
  /// Adds to the gradient, what is dense first, and runs the hooks for after.
  void accumulate(Tensor gradient, bool record, std::vector<SparseGradient> sparse = {});
  /// Sets the gradient, as each launch of a captured step does again.
  void set(const Tensor& gradient);
  /// Keeps the leaf's memory, for hooks that are called with it.
  void keep(const Tensor& leaf);
  /// What the leaf is a part of, if it is one.
  std::shared_ptr<const Shard> shard;

 private:
  LeafNode(const Tensor& leaf, int64_t bytes);
  void apply(Gradients& gradients) override;
  void follow(kernel::Recording& recording, const Tensor& before);

  GradCell cell_;
  Tensor elements_;  // an alias outside the graph; for hooks alone
};

/// The node of a leaf, also of one that needs no gradient; null of another tensor, and without
/// `make` where there is none yet.
LeafNode* leaf_node(const Tensor& tensor, bool make);

/// Where the gradient of `tensor` goes; without a node when it needs none.
Edge edge_of(const Tensor& tensor);

/// Makes output `index` of `node` the history of `tensor`, which an op has just made or written in
/// place. A write into a view rewrites the history of its base too.
void set_history(const Tensor& tensor, const Ref<Node>& node, uint32_t index = 0);
/// Does what set_history does, for a view that a view op has just made.
void set_view_history(const Tensor& view, const Ref<Node>& node);
/// An alias of `elements` at the place `edge` of the graph.
Tensor with_edge(const Tensor& elements, const Edge& edge);

/// Computes the elements of an op's output again, from what the graph keeps anyway.
struct Rebuild {
  std::function<Tensor()> elements;
  int depth = 0;  // 1 where it may call another one
};
/// What saves `output`, which an op has just made, keeps `rebuild` in its place, so that its memory
/// is free after the forward pass.
void set_rebuild(const Tensor& output, Rebuild rebuild);
/// Null where there is none, or the tensor was written since.
std::shared_ptr<const Rebuild> rebuild_of(const Tensor& tensor);

/// Gives a leaf the elements of `value`, of the same shape and outside the graph, and its dtype,
/// device and layout. The leaf stays the object that it is; its gradient is converted too.
void set_data(const Tensor& leaf, const Tensor& value);
/// Makes the leaf the part of it that `value` is, of another shape. Its gradient goes.
void set_part(const Tensor& leaf, const Tensor& value, std::shared_ptr<const Shard> shard);

/// Makes grad() of a tensor with history keep its gradient.
void retain_gradient(const Tensor& tensor);
/// The cell behind grad(); null when there is none (yet).
GradCell* gradient_cell(const Tensor& tensor, bool make);

void check_in_place(const char* op, const Tensor& self);
Tensor keep_before_write(const Tensor& self);

}  // namespace aorta::autograd

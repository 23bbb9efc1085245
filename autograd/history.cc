#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/record.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/allocator.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/recording.h>

namespace aorta::autograd {
namespace {

/// What hangs on a tensor: its node, and how often its history was rewritten.
struct Slot final : AutogradSlot {
  bool is_leaf() const override { return !node || node->is_leaf(); }
  static void* operator new(size_t size) { return cpu::allocate(static_cast<int64_t>(size)); }
  static void operator delete(void* slot, size_t size) {
    cpu::deallocate(slot, static_cast<int64_t>(size));
  }

  Ref<Node> node;
  uint32_t output = 0;
  uint32_t rewrites = 0;       // of this tensor, by recorded writes in place
  uint32_t base_rewrites = 0;  // of a view's base, when the view got `node`
  std::shared_ptr<GradCell> retained;
  int64_t retaining_hook = 0;
  std::shared_ptr<const Rebuild> rebuild;
  uint32_t rebuild_version = 0;  // of the tensor, when it was set
};

Slot* slot_of(const TensorImpl& impl) {
  // A leaf's slot may be made by any thread that records an op on it.
  AutogradSlot* const& place = impl.autograd;
  return static_cast<Slot*>(__atomic_load_n(&place, __ATOMIC_ACQUIRE));
}

Slot& make_slot(TensorImpl& impl) {
  if (Slot* slot = slot_of(impl)) return *slot;
  impl.autograd = new Slot;
  return static_cast<Slot&>(*impl.autograd);
}

// The first thread that needs it makes the node of a leaf; another that loses the race drops its
// own.
Slot& leaf_slot(const Tensor& leaf) {
  if (Slot* slot = slot_of(leaf.impl())) return *slot;
  Slot* mine = new Slot;
  mine->node = LeafNode::make(leaf);
  AutogradSlot* expected = nullptr;
  if (__atomic_compare_exchange_n(&leaf.impl().autograd, &expected,
                                  static_cast<AutogradSlot*>(mine), false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return *mine;
  }
  delete mine;
  return static_cast<Slot&>(*expected);
}

uint32_t rewrites_of(const TensorImpl& impl) {
  const Slot* slot = slot_of(impl);
  return slot ? slot->rewrites : 0;
}

bool follows_base(const TensorImpl& impl) {
  return impl.base && impl.base->requires_grad && !impl.view_without_grad;
}

// Dtype, shape, strides and offset: what a view is, seen from its base. A complex base's may be
// real, and the other way round.
struct Geometry {
  explicit Geometry(const TensorImpl& impl)
      : dtype(impl.dtype), shape(impl.shape), strides(impl.strides), offset(impl.offset) {}
  // In numbers of the real dtype.
  int64_t real_offset() const { return is_complex(dtype) ? 2 * offset : offset; }
  DType dtype;
  Shape shape;
  Strides strides;
  int64_t offset;
};

// A copy of `gradient` in memory laid out as the base's.
Tensor lay_out(const Tensor& gradient, const Geometry& base) {
  const Tensor laid = empty_strided(base.shape, base.strides,
                                    {.dtype = gradient.dtype(), .device = gradient.device()});
  laid.copy_(gradient);
  return laid;
}

// The view of `base` that a geometry says, from an offset in numbers of the real dtype on.
Tensor view_at(const Tensor& base, const Geometry& view, int64_t real_offset) {
  if (is_complex(view.dtype) == base.is_complex())
    return as_strided(base, view.shape, view.strides,
                      base.is_complex() ? real_offset / 2 : real_offset);
  if (base.is_complex())
    return as_strided(view_as_real(base), view.shape, view.strides, real_offset);
  Shape shape = view.shape;
  Strides strides;
  for (const int64_t stride : view.strides) strides.push_back(2 * stride);
  shape.push_back(2);
  strides.push_back(1);
  return view_as_complex(as_strided(base, shape, strides, real_offset));
}

Tensor place_of(const Tensor& laid, const Geometry& view, const Geometry& base) {
  return view_at(laid, view,
                 Geometry(laid.impl()).real_offset() + view.real_offset() - base.real_offset());
}

Tensor handle(const Ref<TensorImpl>& impl) { return Tensor(impl); }

void remove_retaining_hook(Slot& slot) {
  if (slot.retaining_hook && slot.node) slot.node->hooks().remove(slot.retaining_hook);
  slot.retaining_hook = 0;
}

void add_retaining_hook(Slot& slot) {
  slot.retaining_hook = slot.node->hooks().add(
      slot.output,
      [cell = std::weak_ptr<GradCell>(slot.retained)](const Tensor& gradient) {
        if (const auto kept = cell.lock()) kept->retain(gradient);
        return Tensor();
      },
      nullptr, true);
}

// The node of a view whose base was rewritten since the view was made.
void renew_view(const Tensor& view) {
  TensorImpl& impl = view.impl();
  const Tensor base = handle(impl.base);
  const EnableGradGuard recording;
  const Geometry geometry(impl);
  const Tensor fresh = view_at(base, geometry, geometry.real_offset());
  Slot& slot = make_slot(impl);
  const Slot* fresh_slot = slot_of(fresh.impl());
  remove_retaining_hook(slot);
  slot.node = fresh_slot->node;
  slot.output = fresh_slot->output;
  if (slot.retained) add_retaining_hook(slot);
  slot.base_rewrites = rewrites_of(*impl.base);
  impl.requires_grad = true;
}

// Gives the tensor, not a view, its new history.
void rewrite(TensorImpl& impl, Ref<Node> node, uint32_t index) {
  Slot& slot = make_slot(impl);
  remove_retaining_hook(slot);
  slot.node = std::move(node);
  slot.output = index;
  slot.rebuild = nullptr;
  ++slot.rewrites;
  if (slot.retained) add_retaining_hook(slot);
  impl.requires_grad = true;
}

// The base's gradient reaches the part that was written through the new node, and the rest as
// before.
void rewrite_base(const Tensor& view, const Ref<Node>& node, uint32_t index) {
  const Tensor base = handle(view.impl().base);
  const Geometry whole(base.impl()), part(view.impl());
  const auto copy_slices = [whole, part](Gradients& g) {
    if (g.wanted(0)) {
      g.input(0) = lay_out(g.output(), whole);
      place_of(g.input(0), part, whole).zero_();
    }
    const Tensor& gradient = g.output();
    const bool fits = gradient.strides() == whole.strides;
    g.input(1) = place_of(fits ? gradient : lay_out(gradient, whole), part, whole);
  };
  const Ref<Node> slices =
      FunctionNode<decltype(copy_slices)>::make("copy_slices", 2, 1, copy_slices);
  slices->edges()[0] = edge_of(base);
  slices->edges()[1] = {node, index};
  slices->outputs()[0] = spec_of(base);
  rewrite(base.impl(), slices, 0);
}

}  // namespace

namespace {

// What may be written later: the tensor itself where nobody else holds it, and each of its elements
// has memory of its own.
Tensor owned(Tensor gradient) {
  bool sole = gradient.impl().count.load() == 1 && gradient.storage()->use_count() == 1;
  for (int d = 0; d < gradient.dim(); ++d) sole &= gradient.size(d) <= 1 || gradient.stride(d) > 0;
  return sole ? std::move(gradient) : gradient.clone();
}

}  // namespace

Tensor GradCell::get() const {
  const std::lock_guard lock(mutex_);
  check(!sparse_, "grad", "a sparse gradient is had from autograd::sparse_grad()",
        sparse_ ? sparse_->values.shape() : Shape(), " of ", sparse_ ? sparse_->shape : Shape());
  return gradient_;
}

std::optional<SparseGradient> GradCell::sparse() const {
  const std::lock_guard lock(mutex_);
  return sparse_ ? std::optional(*sparse_) : std::nullopt;
}

void GradCell::set(const Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  gradient_ = gradient;
  sparse_ = nullptr;
}

void GradCell::set(const SparseGradient& gradient) {
  const std::lock_guard lock(mutex_);
  gradient_ = {};
  sparse_ = std::make_unique<SparseGradient>(gradient);
}

void GradCell::retain(const Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  gradient_ = gradient_.defined() ? gradient_ + gradient : gradient.clone();
}

void GradCell::accumulate(SparseGradient gradient) {
  const std::lock_guard lock(mutex_);
  if (gradient_.defined()) {
    index_add_(gradient_, 0, gradient.indices, gradient.values);
  } else if (sparse_) {
    *sparse_ = {cat({sparse_->indices, gradient.indices}), cat({sparse_->values, gradient.values}),
                gradient.shape};
  } else {
    gradient.values = owned(std::move(gradient.values));
    gradient.indices = owned(std::move(gradient.indices));
    sparse_ = std::make_unique<SparseGradient>(std::move(gradient));
  }
}

void GradCell::accumulate(Tensor gradient, bool record) {
  const std::lock_guard lock(mutex_);
  if (sparse_) {
    gradient_ = index_add(gradient, 0, sparse_->indices, sparse_->values);
    sparse_ = nullptr;
  } else if (!gradient_.defined()) {
    gradient_ = owned(std::move(gradient));
  } else if (record) {
    gradient_ = gradient_ + gradient;
  } else {
    add_(gradient_, gradient);
  }
}

LeafNode::LeafNode(const Tensor& leaf, int64_t bytes) : Node("leaf", UINT64_MAX, bytes) {
  place_lists(sizeof(LeafNode), 0, 1);
  outputs()[0] = spec_of(leaf);
}

Ref<Node> LeafNode::make(const Tensor& leaf) {
  const int64_t bytes = block_bytes(sizeof(LeafNode), 0, 1);
  return Ref<Node>::adopt(new (cpu::allocate(bytes)) LeafNode(leaf, bytes));
}

void LeafNode::keep(const Tensor& leaf) { elements_ = leaf.detach(); }

void LeafNode::apply(Gradients& gradients) { accumulate(gradients.output(), grad_enabled()); }

void LeafNode::set(const Tensor& gradient) {
  if (kernel::Recording* const recording = kernel::Recording::current()) {
    retain();
    const Ref<LeafNode> self = Ref<LeafNode>::adopt(this);
    if (const auto before = cell_.sparse()) {
      recording->on_failure([self, before] { self->cell_.set(*before); });
    } else {
      recording->on_failure([self, before = cell_.get()] { self->cell_.set(before); });
    }
    if (gradient.defined() && gradient.device() == recording->device()) recording->keep(gradient);
    recording->before_launch([self, gradient] { self->cell_.set(gradient); });
  }
  cell_.set(gradient);
}

// The leaf's gradient is the graph's at each launch, whatever has come in between.
void LeafNode::follow(kernel::Recording& recording, const Tensor& before) {
  retain();
  const Ref<LeafNode> self = Ref<LeafNode>::adopt(this);
  recording.on_failure([self, before] { self->cell_.set(before); });
  if (before.defined()) {
    recording.before_launch([self, address = &before.impl(), kept = before] {
      const Tensor now = self->cell_.get();
      check(now.defined() && &now.impl() == address, "backward",
            "a captured step must begin with zero_grad(), or the gradient that it adds to stay",
            "another gradient");
    });
  }
  const Tensor gradient = cell_.get();
  if (before.defined() && &before.impl() == &gradient.impl()) return;
  recording.keep(gradient);
  recording.before_launch([self, gradient] { self->cell_.set(gradient); });
}

void LeafNode::accumulate(Tensor gradient, bool record, std::vector<SparseGradient> sparse) {
  kernel::Recording* const recording = kernel::Recording::current();
  const Tensor before = recording ? cell_.get() : Tensor();
  if (gradient.defined()) cell_.accumulate(std::move(gradient), record);
  for (SparseGradient& rows : sparse) cell_.accumulate(std::move(rows));
  if (recording) follow(*recording, before);
  HookList* list = existing_hooks();
  if (!list || !list->has_after()) return;
  retain();
  const Tensor leaf = with_edge(elements_, {Ref<Node>::adopt(this), 0});
  const auto entries = list->entries;  // a hook may remove itself
  for (const HookList::Entry& entry : entries) {
    if (entry.after) entry.after(leaf);
  }
}

Edge edge_of(const Tensor& tensor) {
  TensorImpl& impl = tensor.impl();
  if (!impl.needs_gradient()) return {};
  if (follows_base(impl)) {
    // One that requires a gradient itself was recorded, and holds until its base is rewritten.
    const Slot* slot = slot_of(impl);
    const uint32_t seen = slot ? slot->base_rewrites : 0;
    if (!impl.requires_grad || seen != rewrites_of(*impl.base)) renew_view(tensor);
  }
  const Slot* known = slot_of(impl);
  const Slot& slot = known ? *known : leaf_slot(tensor);
  return {slot.node, slot.output};
}

void set_history(const Tensor& tensor, const Ref<Node>& node, uint32_t index) {
  TensorImpl& impl = tensor.impl();
  node->outputs()[index] = spec_of(tensor);
  if (impl.base) return rewrite_base(tensor, node, index);
  rewrite(impl, node, index);
}

void set_view_history(const Tensor& view, const Ref<Node>& node) {
  TensorImpl& impl = view.impl();
  Slot& slot = make_slot(impl);
  slot.node = node;
  slot.base_rewrites = rewrites_of(*impl.base);
  node->outputs()[0] = spec_of(view);
  impl.requires_grad = true;
}

Tensor with_edge(const Tensor& elements, const Edge& edge) {
  Tensor alias = elements.detach();
  TensorImpl& impl = alias.impl();
  Slot& slot = make_slot(impl);
  slot.node = edge.node;
  slot.output = edge.output;
  impl.requires_grad = true;
  return alias;
}

void set_rebuild(const Tensor& output, Rebuild rebuild) {
  Slot& slot = make_slot(output.impl());
  slot.rebuild = std::make_shared<const Rebuild>(std::move(rebuild));
  slot.rebuild_version = output.version();
}

std::shared_ptr<const Rebuild> rebuild_of(const Tensor& tensor) {
  const Slot* slot = slot_of(tensor.impl());
  return slot && slot->rebuild_version == tensor.version() ? slot->rebuild : nullptr;
}

void retain_gradient(const Tensor& tensor) {
  const Edge edge = edge_of(tensor);
  if (!edge.node || edge.node->is_leaf()) return;
  Slot& slot = *slot_of(tensor.impl());
  if (slot.retained) return;
  slot.retained = std::make_shared<GradCell>();
  add_retaining_hook(slot);
}

LeafNode* leaf_node(const Tensor& tensor, bool make) {
  const Slot* slot = slot_of(tensor.impl());
  if (!slot && make) slot = &leaf_slot(tensor);
  return slot && slot->node && slot->node->is_leaf() ? &static_cast<LeafNode&>(*slot->node)
                                                     : nullptr;
}

GradCell* gradient_cell(const Tensor& tensor, bool make) {
  if (LeafNode* const leaf = leaf_node(tensor, make)) return &leaf->cell();
  const Slot* slot = slot_of(tensor.impl());
  return slot ? slot->retained.get() : nullptr;
}

namespace {

void take_elements(const Tensor& leaf, const Tensor& value) {
  TensorImpl& impl = leaf.impl();
  const TensorImpl& from = value.impl();
  impl.dtype = from.dtype;
  impl.storage = from.storage;
  impl.offset = from.offset;
  impl.numel = from.numel;
  impl.shape = from.shape;
  impl.strides = from.strides;
  impl.contiguous = from.contiguous;
  impl.inference = from.inference;
  impl.base = nullptr;
  LeafNode* const node = leaf_node(leaf, false);
  if (!node) return;
  node->outputs()[0] = spec_of(leaf);
  if (node->existing_hooks() && node->existing_hooks()->has_after()) node->keep(leaf);
}

}  // namespace

void set_data(const Tensor& leaf, const Tensor& value) {
  check(leaf.is_leaf(), "set_data", "the tensor must be a leaf", leaf.shape());
  check(leaf.shape() == value.shape(), "set_data", "the value must have the tensor's shape",
        value.shape(), " for ", leaf.shape());
  take_elements(leaf, value);
  GradCell* const cell = gradient_cell(leaf, false);
  if (!cell) return;
  const NoGradGuard no_grad;
  const ToOptions like{.dtype = value.dtype(), .device = value.device()};
  if (auto sparse = cell->sparse()) {
    sparse->indices = sparse->indices.to(value.device());
    sparse->values = sparse->values.detach().to(like);
    return cell->set(*sparse);
  }
  if (const Tensor gradient = cell->get(); gradient.defined())
    cell->set(gradient.detach().to(like));
}

void set_part(const Tensor& leaf, const Tensor& value, std::shared_ptr<const Shard> shard) {
  LeafNode* const node = leaf_node(leaf, true);
  check(node != nullptr, "set_part", "the tensor must be a leaf", leaf.shape());
  take_elements(leaf, value);
  node->cell().set(Tensor());
  node->shard = std::move(shard);
}

void check_in_place(const char* op, const Tensor& self) {
  const TensorImpl& impl = self.impl();
  check(!impl.inference || grad_mode().inference, op,
        "a tensor made in inference mode can't be written where gradients are recorded; clone it",
        impl.shape);
  check(
      !impl.base || !impl.view_without_grad, op,
      "a view made without gradients (under NoGradGuard, or for a module's backward hook) can't be "
      "written where they are recorded",
      impl.shape);
  const auto is_needing_leaf = [](const TensorImpl& t) {
    const Slot* slot = slot_of(t);
    return t.requires_grad && (!slot || slot->is_leaf());
  };
  check(!is_needing_leaf(impl), op,
        "a leaf that requires a gradient can't be written in place; use NoGradGuard to change its "
        "values",
        impl.shape);
  check(!impl.base || !is_needing_leaf(*impl.base), op,
        "a view of a leaf that requires a gradient can't be written in place; use NoGradGuard to "
        "change its values",
        impl.shape);
}

Tensor keep_before_write(const Tensor& self) {
  Tensor kept;
  {
    const NoGradGuard no_grad;
    kept = self.clone();
  }
  const Edge edge = edge_of(self);
  return edge.node ? with_edge(kept, edge) : kept;
}

namespace {

// A part of a parameter is no operand of what takes the whole one: of a layer whose forward() was
// called directly, or of a module outside of the one that was sharded.
void check_parts(const Node& node, std::span<const Tensor* const> inputs) {
  for (const Tensor* const part : inputs) {
    const LeafNode* const leaf = part && part->defined() ? leaf_node(*part, false) : nullptr;
    if (!leaf || !leaf->shard || leaf->shard->is_computed_with()) continue;
    for (const Tensor* const other : inputs)
      check(!other || !other->defined() || other->dim() == 0 || other->shape() == part->shape(),
            node.description().c_str(),
            "a parameter of fully_shard's must be used in the module that was sharded, which is "
            "called",
            "a part ", part->shape(), " of it");
  }
}

}  // namespace

void connect(Node& node, std::span<const Tensor* const> inputs) {
  if (are_shards()) [[unlikely]]
    check_parts(node, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && inputs[i]->defined()) node.edges()[i] = edge_of(*inputs[i]);
  }
}

}  // namespace aorta::autograd

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>

#include <algorithm>

namespace aorta::autograd {
namespace {

Tensor view_of(const Tensor& buffer, const Shape& shape, const Strides& strides, int64_t start) {
  return as_strided(buffer, shape, strides, buffer.storage_offset() + start);
}

// With a row where there are no dimensions.
Tensor with_rows(const Tensor& tensor) { return tensor.dim() == 0 ? tensor.reshape({1}) : tensor; }

Shape with_front(int64_t front, const Shape& rest) {
  Shape shape = rest;
  shape.insert(0, front);
  return shape;
}

}  // namespace

Shard::Shard(Communicator& group, const Tensor& whole) : group_(&group), whole_(whole.shape()) {
  const Tensor rows = with_rows(whole);
  count_ = rows.size(0);
  rows_ = divide_up(count_, group.size());
  first_ = std::min(rows_ * group.rank(), count_);
  mine_ = std::min(rows_, count_ - first_);
  Shape row = rows.shape();
  Strides strides = rows.strides();
  row.erase(0);
  strides.erase(0);
  row_ = row.numel();
  strides_ = with_front(row_, dense_strides(row, strides));
}

Shape Shard::part() const {
  Shape shape = whole_;
  if (shape.empty()) return {mine_};
  shape[0] = mine_;
  return shape;
}

Tensor Shard::part_of(const Tensor& whole) const {
  return with_rows(whole).narrow(0, first_, mine_);
}

Tensor Shard::rows_in(const Tensor& buffer, int64_t start) const {
  return view_of(buffer, part(), strides_, start);
}

void Shard::spread(const Tensor& whole, const Tensor& buffer, int64_t start) const {
  if (rows_ == 0) return;
  const Tensor rows = with_rows(whole);
  const int64_t step = buffer.stride(0), full = count_ / rows_, left = count_ - full * rows_;
  Shape row = rows.shape();
  row.erase(0);
  // The ranks that have as many rows as there is room for, and the one that has fewer.
  Strides strides = strides_;
  strides.insert(0, step);
  view_of(buffer, with_front(full, with_front(rows_, row)), strides, start)
      .copy_(rows.narrow(0, 0, full * rows_).reshape(with_front(full, with_front(rows_, row))));
  if (left > 0)
    view_of(buffer, with_front(left, row), strides_, start + full * step)
        .copy_(rows.narrow(0, full * rows_, left));
}

Tensor Shard::gather(const Tensor& part) const {
  const NoGradGuard no_grad;
  const Tensor mine = zeros({elements()}, {.dtype = part.dtype(), .device = part.device()});
  rows_in(mine, 0).copy_(part);
  const Tensor all = group_->all_gather(mine);
  Shape shape = whole_;
  if (shape.empty()) shape.push_back(1);
  return view_of(all, shape, strides_, 0).reshape(whole_);
}

const Shard* shard_of(const Tensor& leaf) {
  const LeafNode* const node = leaf.defined() ? leaf_node(leaf, false) : nullptr;
  return node ? node->shard.get() : nullptr;
}

void make_shard(const Tensor& leaf, Communicator& group) {
  const NoGradGuard no_grad;
  auto shard = std::make_shared<const Shard>(group, leaf);
  const Tensor mine = empty_strided(shard->part(), shard->strides(),
                                    {.dtype = leaf.dtype(), .device = leaf.device()});
  mine.copy_(shard->part_of(leaf.detach()));
  detail::are_shards = true;
  set_part(leaf, mine, std::move(shard));
}

void check_whole(const char* op, const Tensor& leaf) {
  if (const Shard* const shard = shard_of(leaf))
    fail(op, "parameters must be whole, and not parts of fully_shard's",
         to_string(leaf.shape()) + " of " + to_string(shard->whole()));
}

}  // namespace aorta::autograd

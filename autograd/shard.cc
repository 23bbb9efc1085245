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

void take_part(const Tensor& leaf, const Tensor& part, const std::shared_ptr<const Shard>& shard) {
  const Tensor mine = empty_strided(shard->part(), shard->strides(),
                                    {.dtype = leaf.dtype(), .device = leaf.device()});
  mine.copy_(part);
  set_part(leaf, mine, shard);
}

std::shared_ptr<const Shard> known_shard_of(const Tensor& leaf) {
  const LeafNode* const node = leaf.defined() ? leaf_node(leaf, false) : nullptr;
  return node ? node->shard : nullptr;
}

}  // namespace

Shard::Shard(Communicator& group, const Tensor& whole, int64_t dim,
             std::shared_ptr<const Shard> outer)
    : group_(&group), whole_(whole.shape()), dim_(dim), outer_(std::move(outer)) {
  const Tensor rows = with_rows(whole);
  count_ = rows.size(dim);
  rows_ = divide_up(count_, group.size());
  first_ = std::min(rows_ * group.rank(), count_);
  mine_ = std::min(rows_, count_ - first_);
  Shape row = rows.shape();
  row.erase(dim);
  row_ = row.numel();
  if (dim > 0) {
    strides_ = dense_strides(part(), whole.strides());
    return;
  }
  Strides strides = rows.strides();
  strides.erase(0);
  strides_ = with_front(row_, dense_strides(row, strides));
}

std::vector<Communicator*> Shard::groups() const {
  std::vector<Communicator*> groups;
  for (const Shard* shard = this; shard; shard = shard->outer_.get())
    groups.push_back(shard->group_);
  return groups;
}

Shape Shard::part() const {
  Shape shape = whole_;
  if (shape.empty()) return {mine_};
  shape[static_cast<int>(dim_)] = mine_;
  return shape;
}

Tensor Shard::own_part_of(const Tensor& whole) const {
  return with_rows(whole).narrow(dim_, first_, mine_);
}

Tensor Shard::part_of(const Tensor& full) const {
  return own_part_of(outer_ ? outer_->part_of(full) : full);
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

// With as many elements for each rank as there is room for.
Tensor Shard::gather_rows(const Tensor& part) const {
  const TensorOptions like{.dtype = part.dtype(), .device = part.device()};
  if (dim_ > 0) {
    Shape room = whole_;
    room[static_cast<int>(dim_)] = rows_;
    const Tensor mine = zeros(room, like).movedim(dim_, 0).contiguous();
    mine.narrow(0, 0, mine_).copy_(part.movedim(dim_, 0));
    return group_->all_gather(mine).narrow(0, 0, count_).movedim(0, dim_).contiguous();
  }
  const Tensor mine = zeros({elements()}, like);
  rows_in(mine, 0).copy_(part);
  const Tensor all = group_->all_gather(mine);
  Shape shape = whole_;
  if (shape.empty()) shape.push_back(1);
  return view_of(all, shape, strides_, 0).reshape(whole_);
}

Tensor Shard::gather(const Tensor& part) const {
  const NoGradGuard no_grad;
  const Tensor whole = gather_rows(part);
  return outer_ ? outer_->gather(whole) : whole;
}

const Shard* shard_of(const Tensor& leaf) { return known_shard_of(leaf).get(); }

const Shard* gathered_shard_of(const Tensor& leaf) {
  const Shard* const shard = shard_of(leaf);
  return shard && !shard->is_computed_with() ? shard : nullptr;
}

std::string part_text(const Tensor& leaf) {
  const Shard* const shard = shard_of(leaf);
  if (!shard) return "";
  std::string text = "part";
  for (const Communicator* const group : shard->groups()) {
    text += ' ';
    aorta::detail::append(text, int64_t{group->rank()});
    text += " of ";
    aorta::detail::append(text, int64_t{group->size()});
  }
  return text;
}

void make_shard(const Tensor& leaf, Communicator& group) {
  const NoGradGuard no_grad;
  const auto shard = std::make_shared<const Shard>(group, leaf, 0, known_shard_of(leaf));
  detail::are_shards = true;
  take_part(leaf, shard->own_part_of(leaf.detach()), shard);
}

void divide(const Tensor& leaf, Communicator& group, int64_t dim) {
  const NoGradGuard no_grad;
  const auto shard = std::make_shared<Shard>(group, leaf, dim);
  shard->computed_with_ = true;
  detail::are_shards = true;
  take_part(leaf, shard->own_part_of(leaf.detach()), shard);
}

void check_whole(const char* op, const Tensor& leaf) {
  if (const Shard* const shard = shard_of(leaf))
    fail(op, "parameters must be whole",
         "a part " + to_string(leaf.shape()) + " of " + to_string(shard->full()));
}

}  // namespace aorta::autograd

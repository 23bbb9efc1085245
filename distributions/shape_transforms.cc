#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/shape_transforms.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace aorta::distributions {
namespace {

// Lengths up to here can be added.
constexpr int64_t kTooLong = (int64_t{1} << 40) + 1;

// A shape whose end `from` becomes `to`.
Shape replaced(const char* op, const char* what, const Shape& shape, const Shape& from,
               const Shape& to) {
  check(shape.size() >= from.size() && last(shape, from.size()) == from, op,
        std::string("the last sizes of ") + what + " must be the event's", shape, " for ", from);
  return joined(without_last(shape, from.size()), to);
}

}  // namespace

ReshapeTransform::ReshapeTransform(const Shape& in_shape, const Shape& out_shape)
    : in_(in_shape), out_(out_shape) {
  check(checked_numel(name(), in_) == checked_numel(name(), out_), name(),
        "both shapes must have as many numbers", in_, " and ", out_);
}

Tensor ReshapeTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  return x.reshape(replaced(name(), "x", x.shape(), in_, out_));
}

Tensor ReshapeTransform::inv(const Tensor& y) const {
  check_defined(name(), {{"y", y}});
  return y.reshape(replaced(name(), "y", y.shape(), out_, in_));
}

Tensor ReshapeTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  check_defined(name(), {{"x", x}});
  return zeros(replaced(name(), "x", x.shape(), in_, {}), options_of(x));
}

Constraint ReshapeTransform::domain() const {
  return constraints::independent(constraints::real(), in_.size());
}
Constraint ReshapeTransform::codomain() const {
  return constraints::independent(constraints::real(), out_.size());
}

Shape ReshapeTransform::forward_shape(const Shape& shape) const {
  return replaced(name(), "x", shape, in_, out_);
}
Shape ReshapeTransform::inverse_shape(const Shape& shape) const {
  return replaced(name(), "y", shape, out_, in_);
}

bool ReshapeTransform::equals(const Transform& other) const {
  const auto* reshape = dynamic_cast<const ReshapeTransform*>(&other);
  return reshape && in_ == reshape->in_ && out_ == reshape->out_;
}

PartsTransform::PartsTransform(const char* name, const Transforms& transforms, int64_t dim,
                               const std::vector<int64_t>& lengths)
    : parts_(transforms), dim_(dim), lengths_(lengths) {
  check(!parts_.empty(), name, "transforms must be given", "none");
  check(dim < 0 && dim >= -kMaxDims, name, "dim must be from -12 to -1, counted from the end", dim);
  check(stacked() || lengths_.size() == parts_.size(), name, "each transform must have a length",
        lengths_.size(), " for ", parts_.size());
  for (const int64_t length : lengths_)
    check(length >= 0 && length < kTooLong, name, "lengths must be from 0 to 2^40", length);
  for (const AnyTransform& part : parts_) {
    const int before = part->domain().event_dim(), after = part->codomain().event_dim();
    check(before == after, name, "transforms must keep the dimensions of their events", before,
          " and ", after);
  }
}

int PartsTransform::event_dim() const {
  int result = 0;
  for (const AnyTransform& part : parts_) result = std::max(result, part->domain().event_dim());
  return result;
}

void PartsTransform::check_shape(const char* what, const Shape& shape) const {
  int64_t length = static_cast<int64_t>(parts_.size());
  if (!stacked()) length = std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
  check(shape.size() >= -dim_ && shape[shape.size() + static_cast<int>(dim_)] == length, name(),
        std::string(what) + " must be as long along dim as its parts", shape, " for ", length,
        " along ", dim_);
}

std::vector<Tensor> PartsTransform::divided(const Tensor& whole) const {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts.push_back(stacked() ? whole.select(dim_, start) : whole.narrow(dim_, start, lengths_[i]));
    start += stacked() ? 1 : lengths_[i];
  }
  return parts;
}

Tensor PartsTransform::together(const std::vector<Tensor>& parts, int64_t dim) const {
  return stacked() ? stack(parts, dim) : cat(parts, dim);
}

Tensor PartsTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  check_shape("x", x.shape());
  std::vector<Tensor> parts = divided(x);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts_[i](parts[i]);
  return together(parts, dim_);
}

Tensor PartsTransform::inv(const Tensor& y) const {
  check_defined(name(), {{"y", y}});
  check_shape("y", y.shape());
  std::vector<Tensor> parts = divided(y);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts_[i]->inv(parts[i]);
  return together(parts, dim_);
}

Tensor PartsTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  check_defined(name(), {{"x", x}, {"y", y}});
  check_shape("x", x.shape());
  check_shape("y", y.shape());
  const int dims = event_dim();
  std::vector<Tensor> parts = divided(x);
  const std::vector<Tensor> of_y = divided(y);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor one = parts_[i]->log_abs_det_jacobian(parts[i], of_y[i]);
    parts[i] = sum_rightmost(one, dims - parts_[i]->domain().event_dim());
  }
  if (!inside()) return together(parts, dim_ + dims);
  for (size_t i = 1; i < parts.size(); ++i) parts[0] = parts[0] + parts[i];
  return parts[0];
}

Tensor PartsTransform::sign() const {
  for (const AnyTransform& part : parts_)
    check(!part->sign().defined(), "sign", "each part must always grow", part->name());
  return {};
}

Constraint PartsTransform::constraint(bool of_domain) const {
  const int dims = event_dim();
  std::vector<Constraint> sets;
  std::string rule = "in each part";
  for (const AnyTransform& part : parts_) {
    const Constraint set = of_domain ? part->domain() : part->codomain();
    rule += (sets.empty() ? " " : ", ") + set.rule();
    sets.push_back(constraints::independent(set, dims - set.event_dim()));
  }
  const auto check = [self = clone(), sets, dims](const Tensor& whole) {
    const auto& own = static_cast<const PartsTransform&>(*self);
    std::vector<Tensor> parts = own.divided(whole);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = sets[i].check(parts[i]);
    if (!own.inside()) return own.together(parts, own.dim_ + dims);
    for (size_t i = 1; i < parts.size(); ++i) parts[0] = logical_and(parts[0], parts[i]);
    return parts[0];
  };
  return {rule, check, dims + (stacked() && inside() ? 1 : 0)};
}

Constraint PartsTransform::domain() const { return constraint(true); }
Constraint PartsTransform::codomain() const { return constraint(false); }

Shape PartsTransform::forward_shape(const Shape& shape) const {
  check_shape("x", shape);
  return shape;
}
Shape PartsTransform::inverse_shape(const Shape& shape) const {
  check_shape("y", shape);
  return shape;
}

bool PartsTransform::equals(const Transform& other) const {
  const auto* parts = dynamic_cast<const PartsTransform*>(&other);
  return parts && dim_ == parts->dim_ && lengths_ == parts->lengths_ &&
         ComposeTransform(parts_).equals(ComposeTransform(parts->parts_));
}

namespace {

std::vector<int64_t> one_each(const Transforms& transforms, const std::vector<int64_t>& lengths) {
  return lengths.empty() ? std::vector<int64_t>(transforms.size(), 1) : lengths;
}

}  // namespace

CatTransform::CatTransform(const Transforms& transforms, int64_t dim,
                           const std::vector<int64_t>& lengths)
    : PartsTransform("CatTransform", transforms, dim, one_each(transforms, lengths)) {}

StackTransform::StackTransform(const Transforms& transforms, int64_t dim)
    : PartsTransform("StackTransform", transforms, dim, {}) {}

}  // namespace aorta::distributions

#include <aorta/tests/siege/hostile.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dtype.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/view.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace aorta::siege {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kWild[] = {kLeast,
                             kLeast + 1,
                             kMost,
                             kMost - 1,
                             kMost / 2,
                             kMost / 4 + 1,
                             int64_t{1} << 62,
                             int64_t{1} << 53,
                             int64_t{1} << 40,
                             int64_t{1} << 32,
                             (int64_t{1} << 32) + 1,
                             -(int64_t{1} << 32),
                             int64_t{1} << 31,
                             -(int64_t{1} << 31),
                             (int64_t{1} << 31) - 1,
                             1000003,
                             65536,
                             255,
                             256,
                             -1000003};
constexpr double kWildNumbers[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   1e308,
                                   -1e308,
                                   5e-324,
                                   1e-300,
                                   0x1p63,
                                   -0x1p63,
                                   0x1p64,
                                   3e38,
                                   4e38,
                                   65504,
                                   65536,
                                   300,
                                   -0.0,
                                   1e10,
                                   -1e10};
// Elements of an expanded tensor, which calls may go through one by one.
constexpr int64_t kMostExpanded = int64_t{1} << 18;

// Values of every kind, each a few times.
Tensor numbers_of(const Shape& shape, DType dtype, Draw& draw) {
  const Tensor values = empty(shape, {.dtype = f64});
  auto* data = values.data<double>();
  for (int64_t i = 0; i < values.numel(); ++i)
    data[i] = static_cast<double>(static_cast<int64_t>(draw.below(33)) - 16) / 4;
  return values.to(dtype);
}

Shape small_shape(Draw& draw) {
  Shape shape;
  const uint64_t dims = draw.once_in(30) ? kMaxDims : draw.below(5);
  for (uint64_t i = 0; i < dims; ++i)
    shape.push_back(dims > 5 ? 1 + static_cast<int64_t>(draw.below(2))
                             : static_cast<int64_t>(draw.below(6)));
  return shape;
}

void say(Arguments& a, const char* text) {
  a.one.say(text);
  a.one.say(" ");
}

// Some elements at the ends of what the dtype holds, or beyond.
Tensor with_wild_elements(Arguments& a, const Tensor& x) {
  if (x.numel() == 0 || x.dtype() == boolean || x.numel() > 100000) return x;
  const Tensor result = x.detach().clone(MemoryFormat::contiguous);
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<int64_t>(a.draw.below(static_cast<uint64_t>(x.numel())));
    const Tensor element = result.view({x.numel()}).slice(0, at, at + 1);
    if (is_differentiable(x.dtype())) {
      double value = a.draw.one_of(kWildNumbers);
      if (real_dtype(x.dtype()) != f64 && std::isfinite(value) && std::abs(value) > 60000)
        value = std::numeric_limits<double>::infinity();
      element.fill_(value);
    } else if (x.dtype() == i64) {
      element.fill_(a.draw.one_of(kWild));
    } else if (x.dtype() == i32) {
      element.fill_(a.draw.once_in(2) ? int64_t{-(1ll << 31)} : (int64_t{1} << 31) - 1);
    } else {
      element.fill_(255);
    }
  }
  a.non_finite = true;
  return result;
}

Tensor mutated(Arguments& a, const Tensor& x) {
  Draw& draw = a.draw;
  switch (draw.below(24)) {
    case 0:
      say(a, "undefined");
      return {};
    case 1: {
      say(a, "moved-from");
      Tensor gone = x;
      const Tensor taken = std::move(gone);
      return gone;  // NOLINT: that is the point
    }
    case 2: {
      say(a, "emptied");
      if (x.dim() == 0) return x.reshape({1}).slice(0, 0, 0);
      return x.slice(static_cast<int64_t>(draw.below(static_cast<uint64_t>(x.dim()))), 0, 0);
    }
    case 3: {
      say(a, "huge and empty");
      Shape shape = x.shape();
      if (shape.size() < 2) shape = {1, 1};
      shape[0] = 0;
      // A list of its columns fits well or not at all: of those between it would take long.
      shape[shape.size() - 1] = int64_t{1} << (draw.once_in(4) ? 20 : 31 + draw.below(13));
      return empty(shape, {.dtype = x.dtype()});
    }
    case 4:
    case 5: {
      const auto dtype = static_cast<DType>(draw.below(kDTypeCount));
      return is_complex(dtype) ? x.to(dtype) : real(x).to(dtype);
    }
    case 6:
      return x.to(Device(DeviceType::cpu, 1 + static_cast<int>(draw.below(2))));
    case 7: {
      if (a.drawn.empty()) return x;
      const Tensor& other = draw.one_of(a.drawn);
      if (!other.defined()) return x;
      a.aliased = true;
      say(a, "alias");
      if (draw.once_in(2) || other.dim() == 0) return other;
      const int64_t dim = static_cast<int64_t>(draw.below(static_cast<uint64_t>(other.dim())));
      if (draw.once_in(2)) return other.transpose(0, dim);
      return other.slice(dim, 1).detach();
    }
    case 8: {
      say(a, "expanded");
      if (x.numel() == 0) return x;
      a.aliased = true;
      const int64_t times = int64_t{1} << draw.below(12);
      if (x.dim() > 0 && draw.once_in(2)) {  // one slice repeated, the shape kept
        return x.narrow(0, 0, 1).expand(x.shape());
      }
      if (x.numel() * times > kMostExpanded || x.dim() == kMaxDims) return x;
      Shape shape = x.shape();
      shape.insert(0, times);
      return x.expand(shape);
    }
    case 9:
    case 10:
      say(a, "wild");
      return with_wild_elements(a, x);
    case 11:
      return x.dim() < kMaxDims
                 ? x.unsqueeze(static_cast<int64_t>(draw.below(static_cast<uint64_t>(x.dim() + 1))))
                 : x;
    case 12:
      return x.dim() > 0 && x.size(0) > 0 ? x.select(0, 0) : x;
    case 13:
      return x.numel() < kMostExpanded ? x.flatten() : x;
    case 14: {
      if (x.dim() < 2) return x;
      say(a, "transposed");
      return x.transpose(0, x.dim() - 1);
    }
    case 15: {  // the same shape, other strides
      if (x.dim() == 0 || x.numel() > kMostExpanded) return x;
      Dims order;
      for (int i = x.dim(); i-- > 0;) order.push_back(i);
      say(a, "strided");
      return x.permute(order).contiguous().permute(order);
    }
    case 16:
      return x.dim() == 4 || x.dim() == 5 ? x.contiguous(MemoryFormat::channels_last) : x;
    case 17: {
      if (x.dim() == 0) return x;
      say(a, "one fewer");
      const auto dim = static_cast<int64_t>(draw.below(static_cast<uint64_t>(x.dim())));
      return x.slice(dim, 1);
    }
    case 18: {
      if (x.dim() == 0 || x.numel() == 0) return x;
      const auto dim = static_cast<int64_t>(draw.below(static_cast<uint64_t>(x.dim())));
      return x.slice(dim, 0, {}, 2);
    }
    case 19: {
      const Shape shape = small_shape(draw);
      return numbers_of(shape, x.dtype(), draw);
    }
    case 20:
      if (is_differentiable(x.dtype()) && x.numel() < kMostExpanded) return neg(x.detach());
      return x;
    case 21: {
      if (!is_differentiable(x.dtype())) return x;
      say(a, "leaf");
      const Tensor leaf = x.detach().clone();
      return leaf.requires_grad_();
    }
    case 22: {
      say(a, "inference");
      const InferenceMode inference;
      return x.numel() < kMostExpanded ? x.clone() : x;
    }
    default: {
      if (x.dim() == 0) return x;
      say(a, "view without grad");
      const NoGradGuard off;
      return x.slice(0, 0);
    }
  }
}

}  // namespace

int64_t draw_integer(Arguments& a) {
  Draw& draw = a.draw;
  if (draw.once_in(5)) return draw.one_of(kWild);
  if (draw.once_in(3) && !a.drawn.empty()) {  // a size that is there
    const Tensor& x = draw.one_of(a.drawn);
    if (x.defined() && x.dim() > 0) return x.size(static_cast<int64_t>(draw.below(x.dim())));
  }
  return static_cast<int64_t>(draw.below(9)) - 3;
}

double draw_number(Draw& draw) {
  if (draw.once_in(3)) return draw.one_of(kWildNumbers);
  return static_cast<double>(static_cast<int64_t>(draw.below(17)) - 4) / 4;
}

Scalar draw_scalar(Arguments& a) {
  Draw& draw = a.draw;
  switch (draw.below(5)) {
    case 0:
      return draw.once_in(2);
    case 1:
    case 2:
      return draw_integer(a);
    default:
      return draw_number(draw);
  }
}

Dims draw_dims(Arguments& a) {
  Draw& draw = a.draw;
  Dims dims;
  const uint64_t count = draw.once_in(20) ? kMaxDims : draw.below(5);
  for (uint64_t i = 0; i < count; ++i) dims.push_back(draw_integer(a));
  return dims;
}

Device draw_device(Draw& draw) {
  switch (draw.below(6)) {
    case 0:
      return {DeviceType::cuda, 0};
    case 1:
      return {DeviceType::cpu, 1};
    case 2:
      return {DeviceType::cpu, static_cast<int>(draw.one_of(kWild))};
    default:
      return {};
  }
}

Drawn<ConvPadding>::Drawn(Arguments& a) {
  if (a.draw.once_in(4)) {
    static constexpr const char* kNames[] = {"same", "valid", "", "full"};
    const char* name = a.draw.one_of(kNames);
    a.one.say(std::string("\"") + name + "\", ");
    value = ConvPadding(name);
  } else {
    Dims dims;
    draw_into(a, dims);
    value = ConvPadding(dims);
  }
}

Tensor draw_tensor(Arguments& a) {
  Tensor x;
  if (a.taken < a.pool.size() && !a.draw.once_in(12)) {
    x = a.pool[a.taken++];
  } else {
    const Shape shape = small_shape(a.draw);
    x = numbers_of(shape, a.draw.once_in(3) ? i64 : f32, a.draw);
  }
  if (!x.defined()) return x;
  const uint64_t mutations = a.draw.once_in(3) ? 0 : 1 + a.draw.below(3);
  for (uint64_t i = 0; i < mutations && x.defined(); ++i) {
    x = mutated(a, x);
  }
  a.drawn.push_back(x);
  a.one.say(describe(x) + ", ");
  return x;
}

Tensor safe_copy(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const Tensor copy = tensor.detach().clone(MemoryFormat::contiguous);
  if (tensor.requires_grad()) copy.requires_grad_();
  return copy;
}

std::string describe(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::string text = std::string(name(tensor.dtype())) + to_string(tensor.shape());
  if (!tensor.is_contiguous()) text += " strides " + to_string(tensor.strides());
  if (tensor.device().index != 0) text += " on " + to_string(tensor.device());
  if (tensor.requires_grad()) text += " requires_grad";
  return text;
}

}  // namespace aorta::siege

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/empty.h>
#include <aorta/core/recording.h>
#include <aorta/core/written.h>

#include <algorithm>
#include <cstring>

namespace aorta {

using namespace kernel;

namespace {

enum class Kind { boolean, integer, floating, complex };

Kind kind_of(DType dtype) {
  return dtype == DType::boolean ? Kind::boolean
         : is_complex(dtype)     ? Kind::complex
         : is_floating(dtype)    ? Kind::floating
                                 : Kind::integer;
}

// Everything on one device; 0-d CPU tensors may stand beside tensors of another device.
Device common_device(const char* op, std::span<const Operand> inputs, const Tensor* out) {
  const Tensor* anchor = out;
  for (const Operand& input : inputs) {
    if (!anchor && input.tensor && (input.tensor->dim() > 0 || !input.tensor->is_cpu())) {
      anchor = input.tensor;
    }
  }
  for (const Operand& input : inputs) {
    if (!anchor && input.tensor) anchor = input.tensor;
  }
  check(anchor != nullptr, op, "at least one operand must be a tensor", "numbers alone");
  const Device device = anchor->device();
  for (const Operand& input : inputs) {
    if (!input.tensor || input.tensor->device() == device) continue;
    check(input.tensor->dim() == 0 && input.tensor->device().is_cpu(), op,
          "tensors must be on one device", device, " and ", input.tensor->device());
  }
  return device;
}

void check_accepts(const scalar::PointwiseInfo& info, DType common) {
  using scalar::Accept;
  switch (info.accept) {
    case Accept::any:
      check(!is_complex(common), info.name, "dtype must be real", common);
      return;
    case Accept::numeric:
      check(!is_complex(common), info.name, "dtype must be real", common);
      check(common != DType::boolean, info.name, "dtype must be a number, not bool", common);
      return;
    case Accept::floating:
      check(is_floating(common), info.name, "dtype must be floating", common);
      return;
    case Accept::integral:
      check(!is_differentiable(common), info.name, "dtype must be an integer or bool", common);
      return;
  }
}

Shape broadcast_inputs(const char* op, std::span<const Operand> inputs) {
  Shape shape;
  bool first = true;
  for (const Operand& input : inputs) {
    if (!input.tensor) continue;
    shape = first ? input.tensor->shape() : broadcast_shapes(op, shape, input.tensor->shape());
    first = false;
  }
  return shape;
}

Tensor make_output(const char* op, const Shape& shape, DType dtype, Device device,
                   std::span<const Operand> inputs) {
  const CalledOp called(op);
  for (const Operand& input : inputs) {
    if (!input.tensor || input.tensor->shape() != shape) continue;
    if (input.tensor->is_contiguous()) break;
    const Strides strides = dense_strides(shape, input.tensor->strides());
    return empty_strided(shape, strides, {.dtype = dtype, .device = device});
  }
  return empty(shape, {.dtype = dtype, .device = device});
}

// [first, last] byte that a tensor touches.
std::pair<const char*, const char*> extent(const Tensor& t) {
  const char* first = static_cast<const char*>(t.data());
  int64_t last = 0;
  for (int i = 0; i < t.dim(); ++i) last += (t.shape()[i] - 1) * t.strides()[i];
  return {first, first + (last + 1) * item_size(t.dtype()) - 1};
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.data() != b.data() || a.shape() != b.shape() ||
      item_size(a.dtype()) != item_size(b.dtype()))
    return false;
  for (int i = 0; i < a.dim(); ++i) {
    if (a.shape()[i] > 1 && a.strides()[i] != b.strides()[i]) return false;
  }
  return true;
}

bool merge_into(PointwiseArgs& args, int into, int from) {
  for (int k = 0; k < args.operands; ++k) {
    if (args.strides[k][from] != args.strides[k][into] * args.shape[into]) return false;
  }
  args.shape[into] *= args.shape[from];
  return true;
}

// Makes operand k a number, stored in the operand's compute dtype. One beyond a floating type's
// range is infinite there.
void set_number(const char* op, PointwiseArgs& args, size_t k, const Scalar& value) {
  if (!is_floating(args.compute[k])) check_fits(op, value, args.compute[k]);
  args.dtype[k] = args.compute[k];
  args.data[k] = args.number[k];
  args.is_number[k] = true;
  args.strides[k][0] = 0;
  store_number(args.number[k], args.compute[k], value);
}

// The tensor that all operands are like: row-major, of one shape and dtype, on one device, and no
// number of a higher kind. Then nothing is promoted, broadcast, reordered or copied first. Null
// otherwise.
const Tensor* common_layout(std::span<const Operand> inputs, const Tensor* out) {
  const Tensor* like = out;
  for (const Operand& input : inputs) {
    if (!like) like = input.tensor;
  }
  if (!like || !like->is_contiguous()) return nullptr;
  for (const Operand& input : inputs) {
    const Tensor* const t = input.tensor;
    if (t == like) continue;
    if (!t) {
      if (kind_of(input.number.dtype()) > kind_of(like->dtype())) return nullptr;
      continue;
    }
    if (t->dtype() != like->dtype() || !t->is_contiguous() || t->shape() != like->shape() ||
        t->device() != like->device() ||
        (out && t->shares_storage(*out) && t->data() != out->data())) {
      return nullptr;
    }
  }
  return like;
}

// Fills `args` for operands of a common layout.
void plan_flat(const char* op, PointwiseArgs& args, const Tensor& like, const Tensor& output,
               std::span<const Operand> inputs) {
  args.operands = static_cast<int>(inputs.size()) + 1;
  args.numel = args.shape[0] = like.numel();
  args.ndim = args.numel == 1 ? 0 : 1;
  const auto set = [&](size_t k, const Tensor& t) {
    args.data[k] = static_cast<char*>(t.data());
    args.dtype[k] = t.dtype();
    args.strides[k][0] = item_size(t.dtype());
  };
  set(0, output);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor)
      set(i + 1, *inputs[i].tensor);
    else
      set_number(op, args, i + 1, inputs[i].number);
  }
}

void run(const PointwiseOp& op, const PointwiseArgs& args, Device device) {
  const PointwiseKernel kernel = op.kernel(device);
  if (args.numel > 0) kernel(args);
}

// Plans and runs operands of any layout.
void run_any(const PointwiseOp& op, PointwiseArgs& args, const Tensor& output,
             std::span<const Operand> inputs, bool in_place) {
  const Device device = output.device();
  const Tensor* tensors[kMaxOperands] = {&output};
  Tensor copies[kMaxOperands];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t k = i + 1;
    const Tensor* t = inputs[i].tensor;
    if (!t || t->device() != device) {
      if (t) {
        refuse_in_capture(op.info.name,
                          "a captured step must take its numbers from its device or C++",
                          "a tensor on cpu");
      }
      set_number(op.info.name, args, k, t ? t->item() : inputs[i].number);
      continue;
    }
    // Beside tensors of more dimensions one without may have to become an element of theirs.
    if (t->dim() == 0 && t->dtype() != args.compute[k] && is_integral(args.compute[k]) &&
        device.is_cpu()) {
      check_fits(op.info.name, t->item(), args.compute[k]);
    }
    if (in_place && overlaps(*t, output)) copies[k] = t->clone();
    tensors[k] = copies[k].defined() ? &copies[k] : t;
  }
  plan_iteration(args, {tensors, inputs.size() + 1});
  run(op, args, device);
}

void check_fits(const char* op, const Shape& shape, DType result, const Tensor& out) {
  check(broadcast_shapes(op, out.shape(), shape) == out.shape(), op,
        "the result must fit the tensor that is written in place", shape, " into ", out.shape());
  check(can_cast(result, out.dtype()), op,
        "the result's dtype must be castable to that of the tensor written in place", result,
        " into ", out.dtype());
  check_writable(op, out);
}

}  // namespace

void kernel::store_number(char* place, DType dtype, const Scalar& value) {
  visit_dtype(dtype, [&](auto type) {
    using T = decltype(type);
    T x;
    if constexpr (std::is_same_v<T, bool>)
      x = value.to_bool();
    else if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(value.to_int());
    else if constexpr (std::is_same_v<T, double>)
      x = value.to_double();
    else
      x = T(static_cast<float>(value.to_double()));
    std::memcpy(place, &x, sizeof x);
  });
}

bool kernel::overlaps(const Tensor& input, const Tensor& out) {
  if (!input.shares_storage(out) || input.numel() == 0 || out.numel() == 0) return false;
  if (same_elements(input, out)) return false;
  const auto [a, b] = extent(input);
  const auto [c, d] = extent(out);
  return a <= d && c <= b;
}

void kernel::check_writable(const char* op, const Tensor& out) {
  if (out.numel() == 0) return;
  for (int i = 0; i < out.dim(); ++i) {
    check(out.shape()[i] <= 1 || out.strides()[i] != 0, op,
          "a tensor whose elements share memory can't be written; clone it first", out.shape(),
          " with strides ", out.strides());
  }
}

DType result_type(std::span<const Operand> operands) {
  bool seen[3] = {};
  DType best[3] = {DType::boolean, DType::boolean, DType::boolean};
  for (const Operand& operand : operands) {
    const int group = !operand.tensor ? 2 : operand.tensor->dim() == 0 ? 1 : 0;
    const DType dtype = operand.dtype();
    best[group] = seen[group] ? promote(best[group], dtype) : dtype;
    seen[group] = true;
  }
  DType result = DType::boolean;
  bool any = false;
  for (int group = 0; group < 3; ++group) {
    if (!seen[group]) continue;
    if (any && is_complex(best[group]) && is_floating(result))
      result = complex_dtype(result);
    else if (!any || kind_of(best[group]) > kind_of(result))
      result = any ? promote(result, best[group]) : best[group];
    any = true;
  }
  return result;
}

void kernel::plan_iteration(PointwiseArgs& args, std::span<const Tensor* const> tensors) {
  const Tensor& out = *tensors[0];
  const Shape& shape = out.shape();
  args.operands = static_cast<int>(tensors.size());
  args.numel = out.numel();
  int order[kMaxDims];
  int n = 0;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1) order[n++] = i;
  }
  // Insertion sort: stable, so that ties (and already sorted dimensions) stay row-major.
  for (int i = 1; i < n; ++i) {
    for (int j = i; j > 0 && out.strides()[order[j]] < out.strides()[order[j - 1]]; --j) {
      std::swap(order[j], order[j - 1]);
    }
  }
  for (int k = 0; k < args.operands; ++k) {
    if (!tensors[static_cast<size_t>(k)]) {
      args.data[k] = args.number[k];
      args.is_number[k] = true;
      for (int i = 0; i < n; ++i) args.strides[k][i] = 0;
      continue;
    }
    const Tensor& t = *tensors[static_cast<size_t>(k)];
    const int64_t item = item_size(t.dtype());
    const int lead = shape.size() - t.dim();
    args.data[k] = static_cast<char*>(t.data());
    args.dtype[k] = t.dtype();
    for (int i = 0; i < n; ++i) {
      const int d = order[i] - lead;
      args.strides[k][i] = d < 0 || t.shape()[d] == 1 ? 0 : t.strides()[d] * item;
    }
  }
  args.ndim = 0;
  for (int i = 0; i < n; ++i) {
    args.shape[args.ndim] = shape[order[i]];
    for (int k = 0; k < args.operands; ++k) args.strides[k][args.ndim] = args.strides[k][i];
    if (args.ndim > 0 && merge_into(args, args.ndim - 1, args.ndim)) continue;
    ++args.ndim;
  }
}

Tensor kernel::run_pointwise(const PointwiseOp& op, const void* functor,
                             std::span<const Operand> inputs, const Tensor* out, int masks) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(),
                            {inputs[0].tensor, inputs.size() > 1 ? inputs[1].tensor : nullptr,
                             inputs.size() > 2 ? inputs[2].tensor : nullptr});
  const scalar::PointwiseInfo& info = op.info;
  const Tensor* const like = masks == 0 ? common_layout(inputs, out) : nullptr;
  const Device device = like ? like->device() : common_device(info.name, inputs, out);
  DType common = like ? like->dtype() : result_type(inputs.subspan(static_cast<size_t>(masks)));
  check_accepts(info, common);
  if (info.compute == scalar::Compute::promote_to_float && !is_floating(common))
    common = DType::f32;
  const DType compute = is_half(common) ? DType::f32 : common;
  const DType result = info.result == scalar::Result::boolean ? DType::boolean : common;
  const Shape shape = like ? like->shape() : broadcast_inputs(info.name, inputs);
  if (out) check_fits(info.name, shape, result, *out);
  Tensor output = out ? Tensor(*out) : make_output(info.name, shape, result, device, inputs);

  PointwiseArgs args;
  args.functor = functor;
  args.compute[0] = info.result == scalar::Result::boolean ? DType::boolean : compute;
  for (size_t i = 0; i < inputs.size(); ++i) {
    args.compute[i + 1] = static_cast<int>(i) < masks ? DType::boolean : compute;
  }
  if (like) {
    plan_flat(info.name, args, *like, output, inputs);
    run(op, args, device);
  } else {
    run_any(op, args, output, inputs, out != nullptr);
  }
  if (out) {
    bump_written(*out);
    range.count(0, out->nbytes());
  }
  return output;
}

}  // namespace aorta

#include <aorta/core/called_op.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/written.h>

#include <cmath>

namespace aorta::kernel {

constinit Op<CopyKernel, CopyGradient> copy_op{"to"};
constinit Op<NoKernel, CopyIntoGradient> copy_into_op{"copy_"};
constinit Op<PointwiseKernel, FillGradient> fill_op{"fill_"};

void check_stays_complex(const char* op, DType from, DType to) {
  check(!is_complex(from) || is_complex(to), op,
        "a complex tensor can't become a real one; take real(x) or abs(x)", from, " to ", to);
}

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

void run_fill_kernel(const Tensor& destination, const Scalar& value) {
  if (destination.numel() == 0) return;
  if (destination.is_complex()) [[unlikely]] {
    const Tensor parts = parts_of(destination);
    if (value.real() == 0 && value.imag() == 0) return run_fill_kernel(parts, 0);
    run_fill_kernel(parts.select(-1, 0), value.real());
    return run_fill_kernel(parts.select(-1, 1), value.imag());
  }
  const ProfilerRange range("fill_");
  range.count(0, destination.nbytes());
  PointwiseArgs args;
  const DType dtype = destination.dtype();
  const Tensor* tensors[] = {&destination, nullptr};
  args.compute[0] = args.compute[1] = args.dtype[1] = dtype;
  store_number(args.number[1], dtype, value);
  plan_iteration(args, tensors);
  fill_op.kernel(destination.device())(args);
}

void run_copy_kernel(const Tensor& destination, const Tensor& source) {
  if (destination.numel() == 0) return;
  if (destination.is_complex()) [[unlikely]] {  // a real number has an imaginary part of 0
    const Tensor parts = parts_of(destination);
    if (source.is_complex()) return run_copy_kernel(parts, parts_of(source));
    run_copy_kernel(parts.select(-1, 0), source);
    return run_fill_kernel(parts.select(-1, 1), 0);
  }
  const ProfilerRange range("copy", {&source});
  PointwiseArgs args;
  const Tensor* tensors[] = {&destination, &source};
  plan_iteration(args, tensors);
  range.count(0, destination.nbytes());
  copy_op.kernel(destination.device())(args);
}

// Copies elements, whatever the dtypes, devices and layouts. Across devices the bytes travel as one
// dense block; converting and laying out happen on the side that already has (or will have) them.
void copy_elements(const Tensor& destination, const Tensor& source, bool non_blocking) {
  const Device to = destination.device(), from = source.device();
  if (to == from || (to.is_cpu() && from.is_cpu())) return run_copy_kernel(destination, source);
  if (to.is_meta()) return;
  const Tensor dense = source.to(destination.dtype()).contiguous();
  const Tensor target =
      destination.is_contiguous()
          ? destination
          : empty(destination.shape(), {.dtype = destination.dtype(), .device = to});
  backend(to.is_cpu() ? from.type : to.type)
      .copy(target.data(), to, dense.data(), from, dense.nbytes(), non_blocking);
  if (!target.is_same(destination)) run_copy_kernel(destination, target);
}

Strides strides_for(const Tensor& like, MemoryFormat format) {
  if (format == MemoryFormat::channels_last) return channels_last_strides(like.shape());
  if (format == MemoryFormat::preserve) return dense_strides(like.shape(), like.strides());
  return contiguous_strides(like.shape());
}

}  // namespace

Tensor Tensor::to(const ToOptions& options) const {
  const CalledOp called("to");
  check_defined("to", {{"input", *this}});
  const DType dtype = options.dtype.value_or(this->dtype());
  const Device device = options.device.value_or(this->device());
  check(!is_meta() || device.is_meta(), "to", "the tensor must have values", this->device(), " to ",
        device);
  check_stays_complex("to", this->dtype(), dtype);
  const bool right_layout =
      options.memory_format == MemoryFormat::preserve || is_contiguous(options.memory_format);
  if (dtype == this->dtype() && device == this->device() && right_layout && !options.copy)
    return *this;
  Tensor result = empty_strided(shape(), strides_for(*this, options.memory_format),
                                {.dtype = dtype, .device = device});
  copy_elements(result, detach(), options.non_blocking);
  if (is_differentiable(dtype) && needs_gradient(*this)) copy_op.gradient()(result, *this);
  tell_tracer(copy_op.name(), {&result}, {this});
  return result;
}

Tensor Tensor::cpu() const {
  const CalledOp called("cpu");
  return to(Device());
}

Tensor Tensor::cuda() const {
  const CalledOp called("cuda");
  return to(DeviceType::cuda);
}

Tensor Tensor::cuda(int index) const {
  const CalledOp called("cuda");
  return to(Device(DeviceType::cuda, index));
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  const CalledOp called("contiguous");
  check_defined("contiguous", {{"input", *this}});
  return format == MemoryFormat::preserve ? *this : to(ToOptions{.memory_format = format});
}

Tensor Tensor::clone(MemoryFormat format) const {
  const CalledOp called("clone");
  check_defined("clone", {{"input", *this}});
  return to(ToOptions{.copy = true, .memory_format = format});
}

Tensor Tensor::pin_memory() const {
  const CalledOp called("pin_memory");
  check_defined("pin_memory", {{"input", *this}});
  check(device().is_cpu(), "pin_memory", "only a CPU tensor can be pinned", device());
  if (is_pinned()) return *this;
  Tensor result(Storage::allocate_pinned(nbytes()), dtype(), shape(), contiguous_strides(shape()));
  copy_elements(result, detach(), false);
  if (needs_gradient(*this)) copy_op.gradient()(result, *this);
  return result;
}

const Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  const CalledOp called("copy_");
  check_defined("copy_", {{"input", *this}, {"source", source}});
  check(broadcast_shapes("copy_", shape(), source.shape()) == shape(), "copy_",
        "the source must broadcast to the destination", source.shape(), " into ", shape());
  check(!source.is_meta() || is_meta(), "copy_", "the source must have values", source.device(),
        " into ", device());
  check_stays_complex("copy_", source.dtype(), dtype());
  check_writable("copy_", *this);
  const bool wanted = is_differentiable(dtype()) && needs_gradient(*this, source);
  const bool record = records_write("copy_", *this, wanted);
  Tensor from = source.detach().expand(shape());
  if (overlaps(from, *this)) from = from.clone();
  copy_elements(*this, from, non_blocking);
  kernel::bump_written(*this);
  if (record) copy_into_op.gradient()(*this, source);
  tell_tracer(copy_into_op.name(), {this}, {&source});
  return *this;
}

const Tensor& Tensor::fill_(const Scalar& value) const {
  const CalledOp called("fill_");
  check_defined("fill_", {{"input", *this}});
  check_writable("fill_", *this);
  check_fits("fill_", value, dtype());
  const bool record = records_write("fill_", *this, needs_gradient(*this));
  run_fill_kernel(*this, value);
  kernel::bump_written(*this);
  if (record) fill_op.gradient()(*this);
  tell_tracer(fill_op.name(), {this}, {}, value);
  return *this;
}

const Tensor& Tensor::zero_() const {
  const CalledOp called("zero_");
  return fill_(0);
}

}  // namespace aorta

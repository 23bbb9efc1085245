#include <aorta/core/allocator.h>
#include <aorta/core/called_op.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/tensor.h>

#include <complex>
#include <cstring>
#include <new>

namespace aorta {
namespace {

bool has_strides(const Shape& shape, const Strides& strides, const Strides& wanted) {
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

TensorImpl* TensorImpl::make() {
  TensorImpl* impl = new (cpu::allocate(sizeof(TensorImpl))) TensorImpl;
  impl->inference = grad_mode().inference;
  return impl;
}

void TensorImpl::destroy() {
  delete autograd;
  this->~TensorImpl();
  cpu::deallocate(this, sizeof(TensorImpl));
}

Tensor::Tensor(Ref<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
               int64_t offset) {
  Ref<TensorImpl> impl = Ref<TensorImpl>::adopt(TensorImpl::make());
  impl->dtype = dtype;
  impl->storage = std::move(storage);
  impl->offset = offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->numel = shape.numel();
  impl->contiguous = impl->numel == 0 || is_row_major(shape, strides);
  impl_ = std::move(impl);
}

void check_defined(const char* op, const char* name, std::span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined()) continue;
    check_defined(op, {{(name + ("[" + std::to_string(i) + "]")).c_str(), tensors[i]}});
  }
}

void Tensor::undefined(const char* op) {
  fail(op, "tensor must be defined", "an undefined tensor");
}

void Tensor::check_dtype(DType wanted) const {
  const DType own = impl("data").dtype;
  check(own == wanted, "data", "the element type must match the dtype", wanted, " for a tensor of ",
        own);
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::contiguous) return impl("is_contiguous").contiguous;
  check(format == MemoryFormat::channels_last, "is_contiguous",
        "the format must be contiguous or channels_last", static_cast<int>(format));
  if (dim() != 4 && dim() != 5) return false;
  return numel() == 0 || has_strides(shape(), strides(), channels_last_strides(shape()));
}

int64_t Tensor::offset_of(const Dims& index) const {
  check(index.size() == dim(), "at", "one index a dimension", index, " for shape ", shape());
  check(device().is_cpu(), "at", "the tensor must be on the CPU", device());
  int64_t offset = 0;
  for (int i = 0; i < index.size(); ++i) {
    check(index[i] >= 0 && index[i] < shape()[i], "at", "index out of range", index, " for shape ",
          shape());
    offset += index[i] * strides()[i];
  }
  return offset;
}

Scalar Tensor::item() const {
  const CalledOp called("item");
  check_defined("item", {{"input", *this}});
  check(numel() == 1, "item", "only a tensor with one element has a value", shape());
  check(!is_meta(), "item", "the tensor must have values", device());
  char bytes[16] = {};
  if (device().is_cpu()) {
    std::memcpy(bytes, data(), static_cast<size_t>(item_size(dtype())));
  } else {
    backend(device().type)
        .copy(bytes, Device(), data(), device(), item_size(dtype()), /*non_blocking=*/false);
  }
  const auto part = [&](auto type, size_t i) {
    std::memcpy(&type, bytes + i * sizeof type, sizeof type);
    return static_cast<double>(type);
  };
  if (dtype() == DType::c64) return std::complex<double>(part(0.0f, 0), part(0.0f, 1));
  if (dtype() == DType::c128) return std::complex<double>(part(0.0, 0), part(0.0, 1));
  return visit_dtype(dtype(), [&](auto type) -> Scalar {
    decltype(type) value;
    std::memcpy(&value, bytes, sizeof value);
    if constexpr (std::is_same_v<decltype(type), Half> ||
                  std::is_same_v<decltype(type), BFloat16>) {
      return static_cast<float>(value);
    } else {
      return value;
    }
  });
}

Tensor Tensor::host_copy(DType dtype) const {
  const CalledOp called("to_vector");
  return detach().to(ToOptions{.dtype = dtype, .device = Device()}).contiguous();
}

bool is_channels_last(const Tensor& tensor) {
  check_defined("is_channels_last", {{"tensor", tensor}});
  const Shape& shape = tensor.shape();
  return (shape.size() == 4 || shape.size() == 5) && !tensor.is_contiguous() &&
         dense_strides(shape, tensor.strides()) == channels_last_strides(shape);
}

const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  check_defined("requires_grad_", {{"input", *this}});
  check(!requires_grad || is_differentiable(dtype()), "requires_grad_",
        "only floating and complex tensors can require gradients", dtype());
  TensorImpl& self = impl();
  if (requires_grad == self.needs_gradient()) return *this;
  const bool leaf =
      self.autograd ? self.autograd->is_leaf() : self.requires_grad == self.needs_gradient();
  check(requires_grad || leaf, "requires_grad_",
        "only a leaf's flag can be changed; use detach() for a tensor without history", self.shape);
  check(!requires_grad || !self.inference || grad_mode().inference, "requires_grad_",
        "a tensor made in inference mode can't require a gradient outside it; clone it first",
        self.shape);
  self.requires_grad = requires_grad;
  self.base = nullptr;  // a leaf's history is its own
  return *this;
}

Tensor Tensor::detach() const {
  check_defined("detach", {{"input", *this}});
  const TensorImpl& from = impl();
  Ref<TensorImpl> alias = Ref<TensorImpl>::adopt(TensorImpl::make());
  alias->dtype = from.dtype;
  alias->contiguous = from.contiguous;
  alias->inference = from.inference;
  alias->storage = from.storage;
  alias->offset = from.offset;
  alias->numel = from.numel;
  alias->shape = from.shape;
  alias->strides = from.strides;
  return Tensor(std::move(alias));
}

Tensor from_blob(void* data, const Shape& shape, const Strides& strides,
                 const TensorOptions& options, Storage::Deleter deleter, void* context) {
  const DType dtype = options.dtype.value_or(DType::f32);
  const int64_t extent = checked_extent("from_blob", shape, strides, item_size(dtype));
  check(data != nullptr || extent == 0, "from_blob", "data must not be null", shape);
  const int64_t bytes = extent * item_size(dtype);
  Tensor result(Storage::borrow(data, bytes, options.device, deleter, context), dtype, shape,
                strides);
  if (options.requires_grad) result.requires_grad_();
  return result;
}

Tensor from_blob(void* data, const Shape& shape, const TensorOptions& options,
                 Storage::Deleter deleter, void* context) {
  return from_blob(data, shape, contiguous_strides(shape), options, deleter, context);
}

}  // namespace aorta

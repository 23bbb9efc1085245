#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/op_table.h>

#include <unordered_map>

namespace aorta {
namespace {

thread_local constinit DType scope_dtype = DType::f32;
thread_local constinit int depth = 0;

// Casts of leaves, until the outermost scope ends. The leaf is held, so that its address stays its.
struct CastLeaf {
  Tensor leaf, cast;
  uint32_t version;
};

std::unordered_map<const TensorImpl*, CastLeaf>& casts() {
  static thread_local std::unordered_map<const TensorImpl*, CastLeaf> map;
  return map;
}

bool is_half_listed(const Tensor& tensor) {
  return tensor.defined() && is_floating(tensor.dtype()) && tensor.dtype() != DType::f64;
}

// A leaf that has been used in an op has a slot which says so; one that hasn't has none.
bool is_leaf(const TensorImpl& impl) {
  AutogradSlot* const slot = __atomic_load_n(&impl.autograd, __ATOMIC_ACQUIRE);
  return impl.requires_grad && (!slot || slot->is_leaf());
}

}  // namespace

Autocast::Autocast(DType dtype) : outer_(scope_dtype) {
  check(is_half(dtype) || dtype == DType::f32, "autocast",
        "dtype must be bf16, f16, or f32 for none", dtype);
  scope_dtype = dtype;
  ++depth;
}

Autocast::~Autocast() {
  scope_dtype = outer_;
  if (--depth == 0) casts().clear();
}

DType autocast_dtype() { return scope_dtype; }

void detail::forget_autocast_casts() { casts().clear(); }

bool autocast_changes(std::initializer_list<const Tensor*> tensors) {
  if (scope_dtype == DType::f32) return false;
  for (const Tensor* tensor : tensors) {
    if (is_half_listed(*tensor) && tensor->dtype() != scope_dtype) return true;
  }
  return false;
}

Tensor autocast_to_half(const Tensor& tensor) {
  if (scope_dtype == DType::f32 || !is_half_listed(tensor) || tensor.dtype() == scope_dtype)
    return tensor;
  if (!is_leaf(tensor.impl()) || !grad_enabled()) return tensor.to(scope_dtype);
  CastLeaf& kept = casts()[&tensor.impl()];
  if (!kept.cast.defined() || kept.version != tensor.version() ||
      kept.cast.dtype() != scope_dtype) {
    kept = {tensor, tensor.to(scope_dtype), tensor.version()};
  }
  return kept.cast;
}

Tensor autocast_to_f32(const Tensor& tensor) {
  const bool cast = scope_dtype != DType::f32 && tensor.defined() && is_half(tensor.dtype());
  return cast ? tensor.to(DType::f32) : tensor;
}

}  // namespace aorta

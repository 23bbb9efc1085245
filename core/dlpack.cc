#include <aorta/core/dlpack.h>
#include <dlpack/dlpack.h>

#include <algorithm>
#include <memory>

namespace aorta {
namespace {

constexpr int kBoolCode = 6;  // kDLBool, since DLPack 0.8

struct TypeCode {
  DType dtype;
  int code, bits;
};

// Imports take the first that fits; exports the first of their dtype.
constexpr TypeCode kTypes[] = {
    {DType::f32, kDLFloat, 32},   {DType::f64, kDLFloat, 64},     {DType::f16, kDLFloat, 16},
    {DType::bf16, kDLBfloat, 16}, {DType::i64, kDLInt, 64},       {DType::i32, kDLInt, 32},
    {DType::u8, kDLUInt, 8},      {DType::boolean, kDLUInt, 8},   {DType::boolean, kBoolCode, 8},
    {DType::c64, kDLComplex, 64}, {DType::c128, kDLComplex, 128},
};

DType import_dtype(const DLDataType& type) {
  for (const TypeCode& known : kTypes) {
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return known.dtype;
  }
  fail("from_dlpack", "there must be a dtype for the elements", "code ", int{type.code}, ", ",
       int{type.bits}, " bits, ", int{type.lanes}, " lanes");
}

DLDataType export_dtype(DType dtype) {
  const TypeCode& known = *std::find_if(std::begin(kTypes), std::end(kTypes),
                                        [&](const TypeCode& t) { return t.dtype == dtype; });
  return {static_cast<uint8_t>(known.code), static_cast<uint8_t>(known.bits), 1};
}

Device import_device(const DLDevice& device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return Device();
    case kDLCUDA:
    case kDLCUDAManaged:
      check(device.device_id >= 0 && device.device_id < device_count(DeviceType::cuda),
            "from_dlpack", "the CUDA device must be there", device.device_id);
      return Device(DeviceType::cuda, device.device_id);
    default:
      fail("from_dlpack", "the device must be a CPU or a CUDA GPU", "device type ",
           static_cast<int>(device.device_type));
  }
}

// Strides in elements; along dimensions of size 0 or 1 any number may stand, and row-major ones are
// taken.
Strides import_strides(const DLTensor& tensor, const Shape& shape) {
  Strides strides = contiguous_strides(shape);
  if (!tensor.strides) return strides;
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1) continue;
    strides[d] = tensor.strides[d];
    int64_t reach = 0;
    check(strides[d] >= 0 && !__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) &&
              !__builtin_add_overflow(last, reach, &last) && last < (int64_t{1} << 59),
          "from_dlpack", "strides must be from 0 on and inside the memory", strides[d],
          " in dimension ", d);
  }
  return strides;
}

void release(void* context) {
  DLManagedTensor* const managed = static_cast<DLManagedTensor*>(context);
  if (managed->deleter) managed->deleter(managed);
}

// What an export owns: the tensor, and the arrays that the struct points to.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  Shape shape;
  Strides strides;
};

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed) {
  const char* const op = "from_dlpack";
  check(managed != nullptr, op, "there must be a tensor", "null");
  const DLTensor& source = managed->dl_tensor;
  check(source.ndim >= 0 && source.ndim <= kMaxDims, op, "at most 12 dimensions", source.ndim);
  check(source.shape != nullptr || source.ndim == 0, op, "there must be a shape", "null");
  const DType dtype = import_dtype(source.dtype);
  const Device device = import_device(source.device);
  const Shape shape(std::span<const int64_t>(source.shape, static_cast<size_t>(source.ndim)));
  const int64_t numel = checked_numel(op, shape, item_size(dtype));
  const Strides strides = import_strides(source, shape);
  char* const data = static_cast<char*>(source.data) + source.byte_offset;
  check(source.data != nullptr || numel == 0, op, "there must be data", "null for ", shape);
  const uintptr_t alignment = static_cast<uintptr_t>(item_size(real_dtype(dtype)));
  check(reinterpret_cast<uintptr_t>(data) % alignment == 0 || numel == 0, op,
        "data must be aligned to its elements", dtype, " at an address with remainder ",
        reinterpret_cast<uintptr_t>(data) % alignment);
  return from_blob(data, shape, strides, {.dtype = dtype, .device = device}, release, managed);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  check_defined("to_dlpack", {{"input", tensor}});
  check(!tensor.requires_grad(), "to_dlpack",
        "a tensor that requires a gradient can't be exported; detach it first", tensor.shape());
  check(!tensor.is_meta(), "to_dlpack", "the tensor must have values", tensor.device());
  if (tensor.is_cuda()) synchronize(tensor.device());
  auto exported = std::make_unique<Exported>();
  exported->tensor = tensor.detach();  // the memory, not the graph
  exported->shape = tensor.shape();
  exported->strides = tensor.strides();
  DLTensor& out = exported->managed.dl_tensor;
  out.data = tensor.data();
  out.device = tensor.is_cuda() ? DLDevice{kDLCUDA, tensor.device().index} : DLDevice{kDLCPU, 0};
  out.ndim = tensor.dim();
  out.dtype = export_dtype(tensor.dtype());
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  out.byte_offset = 0;
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

}  // namespace aorta

#pragma once

#include <aorta/core/tensor.h>

/// As <dlpack/dlpack.h> (0.6) defines it; a program that looks inside includes that itself.
struct DLManagedTensor;

namespace aorta {

// DLPack: tensors of other frameworks in the same process, without a copy (dmlc/dlpack).
// dtypes: f16 f32 f64 are kDLFloat, i32 i64 kDLInt, u8 kDLUInt, bf16 kDLBfloat, one lane each.
// DLPack 0.6 has no bool: it is exported as kDLUInt with 8 bits and comes back as u8; an import
// takes the kDLBool (6) of later versions too. Devices: cpu is kDLCPU 0, whatever the logical
// index; cuda:i is kDLCUDA i.

/// A tensor on the memory of `managed`, whose deleter runs when the last tensor on it is gone. Null
/// strides mean row-major; page-locked host memory counts as cpu, managed memory as cuda. Errors
/// (then `managed` stays the caller's): another dtype or device, negative strides, data that isn't
/// aligned to its elements, more than 12 dimensions.
Tensor from_dlpack(DLManagedTensor* managed);

/// The tensor's own memory for another framework, which calls `result->deleter(result)` when it is
/// done. Work that is queued on the tensor's device is waited for. Writes from outside don't show
/// in the tensor's version. Error: the tensor requires a gradient (detach it).
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace aorta

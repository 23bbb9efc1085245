#pragma once

#include <aorta/core/dispatch/in_place.h>
#include <aorta/tests/op_catalog.h>

// The checks that every row of the op catalogue goes through, on a device. They report through
// GoogleTest. An input gets every dtype that holds its values exactly.
namespace aorta::catalog {

/// The dtypes of a sample: of its kind, exact, and taken by PyTorch. A sample without varied inputs
/// has one, f32, that nothing depends on.
std::vector<DType> dtypes_of(const Sample& sample);
/// Its inputs, those that vary in the dtype: copies.
Tensors inputs_of(const Sample& sample, DType dtype, Device device);
/// What is wrong with the results of the sample's call in the dtype, or nothing.
std::string difference(const Row& row, const Sample& sample, const Tensors& results, DType dtype);

/// Results equal the fixture's, and their dtypes PyTorch's, for every sample and dtype.
void check_forward(const Row& row, Device device);
/// Results are right with inputs transposed, stepped, at an odd offset and channels_last.
void check_layouts(const Row& row, Device device);
/// Inputs whose first dimension is expanded (stride 0) give what contiguous ones give.
void check_expanded(const Row& row, Device device);
/// The in-place form writes what the op returns, returns its tensor and bumps the version once.
void check_in_place(const Row& row, Device device);
/// The op leaves its inputs and their versions alone.
void check_inputs_kept(const Row& row, Device device);
/// The op writes every element of its outputs: they start as blocks full of NaN.
void check_written(const Row& row, Device device);
/// On meta the results have the shapes, dtypes and strides that they have on the CPU, in the
/// in-place form too.
void check_planned(const Row& row);
/// Large inputs give the same bits for 1, 2 and 3 threads.
void check_threads(const Row& row, Device device);
/// Without one of its inputs the op says which operand it misses, by the header's name; it does
/// without those alone that are undefined by default.
void check_undefined(const Row& row);
/// Where the row needs a kernel that the device lacks (op_kernels.h), a call says which.
void check_missing_kernel(const Row& row, Device device);
/// Bad input throws the row's exact text.
void check_errors(const Row& row);

/// Frees blocks of `bytes` full of 0xff bytes (NaN), which the allocator hands out next.
void poison(int64_t bytes, Device device);

}  // namespace aorta::catalog

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sort.h>

#include <cmath>

namespace aorta::kernel {

constinit Op<SearchsortedKernel, NoGradient> searchsorted_op{"searchsorted"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// As a tensor of the dtype.
Tensor in_dtype(const char* op, const Operand& values, DType dtype, Device device) {
  if (values.tensor) return values.tensor->to(dtype);
  pointwise::check_sign(op, values.number, dtype);
  pointwise::fitting(op, values.number, dtype);
  return full({}, values.number, {.dtype = dtype, .device = device});
}

Tensor search(const char* op, const Tensor& sorted, const Operand& wanted_values, bool right) {
  check(sorted.dtype() != DType::boolean, op, "dtype must be a number, not bool", sorted.dtype());
  const DType dtype = pointwise::common_dtype(op, sorted, wanted_values);
  check(!is_complex(dtype), op, "dtype must be real", dtype);
  const Tensor sequence = sorted.to(dtype);
  const Tensor values = in_dtype(op, wanted_values, dtype, sorted.device());
  check(sequence.device() == values.device(), op, "tensors must be on one device",
        sequence.device(), " and ", values.device());
  check(sequence.dim() > 0, op, "the sequence must have a dimension", sequence.shape());
  if (sequence.dim() > 1) {
    bool alike = sequence.dim() == values.dim();
    for (int d = 0; alike && d < sequence.dim() - 1; ++d)
      alike = sequence.shape()[d] == values.shape()[d];
    check(alike, op, "sequence and values must have the same sizes but for the last",
          sequence.shape(), " and ", values.shape());
  }
  const CalledOp called(op);
  const ProfilerRange range(op, {&sequence, &values});
  const Tensor rows = sequence.detach().contiguous(), wanted = values.detach().contiguous();
  Tensor output = empty(values.shape(), {.dtype = DType::i64, .device = values.device()});
  if (values.numel() == 0) return output;
  const int64_t per_row = sequence.dim() > 1 ? values.size(-1) : values.numel();
  searchsorted_op.kernel(values.device())({rows.data(), wanted.data(), output.data<int64_t>(),
                                           rows.dtype(), rows.size(-1), values.numel(), per_row,
                                           right});
  tell_tracer(searchsorted_op.name(), {&output}, {&sequence, &values}, right);
  return output;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values, bool right) {
  const CalledOp called("searchsorted");
  check_defined("searchsorted", {{"sorted_sequence", sorted_sequence}});
  if (values.tensor) check_defined("searchsorted", {{"values", *values.tensor}});
  return search("searchsorted", sorted_sequence, values, right);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values,
                    const SearchsortedOptions& options) {
  const Tensor& sorter = options.sorter;
  if (!sorter.defined()) return searchsorted(sorted_sequence, values, options.right);
  const CalledOp called("searchsorted");
  check_defined("searchsorted", {{"sorted_sequence", sorted_sequence}});
  check(sorter.dtype() == DType::i64, "searchsorted", "sorter must be i64", sorter.dtype());
  check(sorter.shape() == sorted_sequence.shape(), "searchsorted",
        "sorter must have the sequence's shape", sorter.shape(), " for ", sorted_sequence.shape());
  return searchsorted(gather(sorted_sequence.detach(), -1, sorter), values, options.right);
}

Tensor bucketize(const Operand& input, const Tensor& boundaries, bool right) {
  const CalledOp called("bucketize");
  if (input.tensor) check_defined("bucketize", {{"input", *input.tensor}});
  check_defined("bucketize", {{"boundaries", boundaries}});
  check(boundaries.dim() == 1, "bucketize", "boundaries must have one dimension",
        boundaries.shape());
  return search("bucketize", boundaries, input, right);
}

Tensor isin(const Operand& elements, const Operand& test_elements, bool invert) {
  const CalledOp called("isin");
  if (elements.tensor) check_defined("isin", {{"elements", *elements.tensor}});
  if (test_elements.tensor) check_defined("isin", {{"test_elements", *test_elements.tensor}});
  check(elements.tensor || test_elements.tensor, "isin", "one operand must be a tensor",
        elements.number, " and ", test_elements.number);
  const Operand operands[] = {elements, test_elements};
  const DType promoted = result_type(operands);
  check(!is_complex(promoted), "isin", "dtype must be real", promoted);
  const DType dtype = promoted == DType::boolean ? DType::u8 : promoted;
  const Device device = (elements.tensor ? elements : test_elements).tensor->device();
  const auto wanted = [&](const Operand& operand) {
    return operand.tensor ? operand.tensor->detach().to(dtype)
                          : full({}, operand.number, {.dtype = dtype, .device = device});
  };
  const Tensor values = wanted(elements), among = wanted(test_elements).reshape({-1});
  if (among.numel() == 0)
    return full(values.shape(), invert, {.dtype = DType::boolean, .device = device});
  const Tensor sequence = sort(among).values;
  // NaN stands behind all, where a search wants what is in order.
  const Tensor ordered = is_floating(dtype) ? where(isnan(sequence), INFINITY, sequence) : sequence;
  const Tensor place = clamp_max(searchsorted(ordered, values), sequence.numel() - 1);
  const Tensor nearest = take(sequence, place);
  return invert ? ne(nearest, values) : eq(nearest, values);
}

}  // namespace aorta

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>

namespace aorta::kernel {

constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, const Tensor&, int64_t, bool)> embedding_op{
    "embedding"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// The indices (n), given in `shape`: checked once, for the gradient too.
Tensor check_indices(const Tensor& indices, const Shape& shape, int64_t rows) {
  auto [inside, bad] = check_values(indices, rows, false);
  if (bad < 0) return inside;
  const int64_t index = indices.select(0, bad).item<int64_t>();
  Dims place;
  for (int d = shape.size(); d-- > 0; bad /= shape[d]) place.insert(0, bad % shape[d]);
  fail("embedding", "index must be in [0, V)", index, " at ", place, ", V ", rows);
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                 bool sparse) {
  const CalledOp called("embedding");
  check_defined("embedding", {{"input", input}, {"weight", weight}});
  const char* const op = embedding_op.name();
  check(weight.dim() == 2, op, "weight must be (V, D)", weight.shape());
  check(input.dtype() == DType::i64 || input.dtype() == DType::i32, op,
        "indices must be i64 or i32", input.dtype());
  check(input.device() == weight.device(), op, "tensors must be on one device", input.device(),
        " and ", weight.device());
  const int64_t rows = weight.shape()[0];
  int64_t padding = -1;
  if (padding_idx) {
    check(*padding_idx >= -rows && *padding_idx < rows, op, "padding_idx must be a row of weight",
          *padding_idx, " for ", weight.shape());
    padding = *padding_idx + (*padding_idx < 0 ? rows : 0);
  }
  const ProfilerRange range(op, {&input, &weight});
  const Tensor indices =
      check_indices(input.to(DType::i64).contiguous().reshape({-1}), input.shape(), rows);
  Shape shape = input.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor read = read_rows(weight, indices).contiguous();
  Tensor output(read.storage(), read.dtype(), shape, contiguous_strides(shape),
                read.storage_offset());
  if (needs_gradient(weight)) embedding_op.gradient()(output, weight, indices, padding, sparse);
  tell_tracer(op, {&output}, {&input, &weight});
  return output;
}

}  // namespace aorta

#include <aorta/core/called_op.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {
namespace {

void check_devices(const char* op, const Tensor& input, const Tensor& other) {
  check(input.device() == other.device(), op, "tensors must be on one device", input.device(),
        " and ", other.device());
}

}  // namespace

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const CalledOp called("isclose");
  check_defined("isclose", {{"input", input}, {"other", other}});
  check(input.dtype() == other.dtype(), "isclose", "tensors must have one dtype", input.dtype(),
        " and ", other.dtype());
  check_devices("isclose", input, other);
  broadcast_shapes("isclose", input.shape(), other.shape());  // so that an error names this op
  check(rtol >= 0, "isclose", "rtol must be at least 0", rtol);
  check(atol >= 0, "isclose", "atol must be at least 0", atol);
  const DType wide = !is_differentiable(input.dtype()) ? DType::f64
                     : is_half(input.dtype())          ? DType::f32
                                                       : input.dtype();
  const Tensor x = input.detach().to(wide), y = other.detach().to(wide);
  const Tensor difference = abs(x - y);
  // An infinite difference is close to nothing, whatever rtol times infinity allows.
  Tensor close = logical_and(le(difference, add(mul(abs(y), rtol), atol)), isfinite(difference));
  close = logical_or(close, eq(x, y));
  if (equal_nan) close = logical_or(close, logical_and(isnan(x), isnan(y)));
  return close;
}

Tensor isclose(const Tensor& input, const Tensor& other, const CloseOptions& o) {
  return isclose(input, other, o.rtol, o.atol, o.equal_nan);
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const CalledOp called("allclose");
  check_defined("allclose", {{"input", input}, {"other", other}});
  return all(isclose(input, other, rtol, atol, equal_nan)).item<bool>();
}

bool allclose(const Tensor& input, const Tensor& other, const CloseOptions& o) {
  return allclose(input, other, o.rtol, o.atol, o.equal_nan);
}

bool equal(const Tensor& input, const Tensor& other) {
  check_defined("equal", {{"input", input}, {"other", other}});
  check_devices("equal", input, other);
  return input.shape() == other.shape() && all(eq(input.detach(), other.detach())).item<bool>();
}

}  // namespace aorta

#pragma once

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

// Tensors that are almost right: what mutants give, and are given.
namespace aorta::mutants {

// By what an element of this dtype is off, of itself.
inline double slip(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-9;
    case DType::f32:
      return 1e-4;
    case DType::f16:
      return 0x1p-7;
    default:
      return 0x1p-5;
  }
}

// With the element that is the middle one by its size among those that are finite and not 0, if
// there are such, a little off.
inline Tensor off(const Tensor& result) {
  const Tensor flat = result.reshape({-1}).clone();
  if (!is_floating(flat.dtype())) {
    const Tensor first = flat.narrow(0, flat.numel() / 2, 1);
    first.copy_(flat.dtype() == boolean ? logical_not(first) : first + 1);
    return flat.view(result.shape());
  }
  const Tensor size = abs(flat.to(f64)), counts = logical_and(isfinite(size), gt(size, 0));
  const int64_t count = count_nonzero(counts).item<int64_t>();
  const Tensor order = argsort(where(counts, size, INFINITY));
  const Tensor element =
      flat.select(0, order.select(0, count / 2 - (count > 1 && count % 2 == 0)).item<int64_t>());
  element.copy_(count == 0 ? zeros_like(element) + 1 : element * (1 + slip(flat.dtype())));
  return flat.view(result.shape());
}

inline Tensor reversed(const Tensor& result) {
  return flip(result.reshape({-1}), {0}).view(result.shape());
}
inline Tensor rolled(const Tensor& result) {
  return roll(result.reshape({-1}), 1).view(result.shape());
}
inline Tensor alike(const Tensor& input) {
  return input.reshape({-1})
      .narrow(0, 0, 1)
      .expand({input.numel()})
      .contiguous()
      .view(input.shape());
}

/// The changes of a result, by their names.
inline const std::vector<std::pair<std::string, Tensor (*)(const Tensor&)>>& changes() {
  static const std::vector<std::pair<std::string, Tensor (*)(const Tensor&)>> all = {
      {"off", off}, {"reversed", reversed}, {"rolled", rolled}};
  return all;
}

}  // namespace aorta::mutants

#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/siege/targets.h>

#include <csignal>
#include <ctime>
#include <stdexcept>

namespace aorta::siege {
namespace {

using T = Tensor;

T unclear(const T&) { throw Error("something went wrong"); }

T without_values(const T& x) {
  check(!x.defined(), "without_values", "x must be undefined", "");
  return ones({1});
}

T of_another_function(const T&) { fail("mul", "x must be positive", -1); }

T of_another_type(const T&) { throw std::runtime_error("vector::_M_range_check"); }

T of_an_undefined_tensor(const T& x) { return full({1}, x.dim()); }

T crashes(const T&) {
  std::raise(SIGSEGV);
  return {};
}

T never_ends(const T&) {
  for (;;) static_cast<void>(std::time(nullptr));
}

// 1 where the elements don't lie one behind the other, as those of a copy do.
double scattered(const T& x) { return x.defined() && !x.is_contiguous() ? 1 : 0; }

T another_result(const T& x) { return full({1}, scattered(x)); }

T another_gradient(const T& x) { return x + (x - x.detach()) * scattered(x); }

}  // namespace

std::vector<Target> planted_targets() {
  std::vector<Target> all{
      of<T, const T&>("unclear", unclear),
      of<T, const T&>("without_values", without_values),
      of<T, const T&>("of_another_function", of_another_function),
      of<T, const T&>("of_another_type", of_another_type),
      of<T, const T&>("of_an_undefined_tensor", of_an_undefined_tensor),
      of<T, const T&>("crashes", crashes),
      of<T, const T&>("never_ends", never_ends),
      of<T, const T&>("another_result", another_result),
      of<T, const T&>("another_gradient", another_gradient),
  };
  for (Target& target : all) target.functions = {target.name};
  return all;
}

}  // namespace aorta::siege

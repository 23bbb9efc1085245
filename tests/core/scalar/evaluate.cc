#include <aorta/core/scalar/op_list.h>
#include <aorta/tests/core/scalar/evaluate.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using namespace aorta::scalar;

template <class Op>
constexpr Op make_op() {
  if constexpr (std::is_same_v<Op, Clamp>)
    return {-1, 1};
  else if constexpr (std::is_same_v<Op, ClampMin> || std::is_same_v<Op, ClampMax>)
    return {2};
  else
    return {};
}

bool is_same(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

template <int Inputs, class Op, class T>
void run(const T* const* inputs, T* out, int64_t n) {
  const Op op = make_op<Op>();
  const T *a = inputs[0], *b = inputs[Inputs > 1 ? 1 : 0], *c = inputs[Inputs > 2 ? 2 : 0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (Inputs == 1) out[i] = static_cast<T>(op(a[i]));
    if constexpr (Inputs == 2) out[i] = static_cast<T>(op(a[i], b[i]));
    if constexpr (Inputs == 3) out[i] = static_cast<T>(op(a[i], b[i], c[i]));
  }
}

template <int Inputs, class Op, class T>
bool run_if_named(const char* name, const T* const* inputs, T* out, int64_t n) {
  if constexpr (computes_in<Op, T>() && masks_of<Op>() == 0) {
    if (is_same(name, Op::info.name)) {
      run<Inputs, Op, T>(inputs, out, n);
      return true;
    }
  }
  return false;
}

template <int Inputs, class T, class... Ops>
bool find(TypeList<Ops...>, const char* name, const T* const* inputs, T* out, int64_t n) {
  return (run_if_named<Inputs, Ops>(name, inputs, out, n) || ...);
}

template <class T>
bool find_in_all(const char* name, const T* const* inputs, T* out, int64_t n) {
  return find<1>(UnaryOps{}, name, inputs, out, n) || find<2>(BinaryOps{}, name, inputs, out, n) ||
         find<3>(TernaryOps{}, name, inputs, out, n);
}

}  // namespace

bool evaluate(const char* name, const float* const* inputs, float* out, int64_t n) {
  return find_in_all(name, inputs, out, n);
}
bool evaluate(const char* name, const double* const* inputs, double* out, int64_t n) {
  return find_in_all(name, inputs, out, n);
}

}  // namespace aorta::cpu::AORTA_ISA

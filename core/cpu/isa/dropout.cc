#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/dropout.h>
#include <aorta/core/dtype.h>
#include <aorta/core/scalar/philox.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class T>
void run(const DropoutArgs& args, int64_t first, int64_t end) {
  using C = Compute<T>;
  const T* const x = static_cast<const T*>(args.input);
  T* const out = static_cast<T*>(args.output);
  const GeneratorState at = args.mask.random;
  const C scale = static_cast<C>(args.mask.scale);
  // Words below 2^32 - 1 compare as themselves; p = 1 keeps none.
  const bool none = args.mask.threshold > UINT32_MAX;
  const uint32_t threshold = static_cast<uint32_t>(args.mask.threshold);
  const auto value = [&](const scalar::PhiloxWords& w, int j, T element)
      __attribute__((always_inline)) {
    const C scaled = static_cast<C>(element) * scale;
    return T((w.word[j] >= threshold) & !none ? scaled : C(0));
  };
  const int64_t whole = args.count / 4, stop = end < whole ? end : whole;
#pragma GCC ivdep
  for (int64_t i = first; i < stop; ++i) {
    const scalar::PhiloxWords w =
        scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(i));
    for (int j = 0; j < 4; ++j) out[i * 4 + j] = value(w, j, x[i * 4 + j]);
  }
  if (end <= whole) return;
  const scalar::PhiloxWords w =
      scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(whole));
  for (int64_t i = whole * 4, j = 0; i < args.count; ++i, ++j)
    out[i] = value(w, static_cast<int>(j), x[i]);
}

}  // namespace

void dropout_blocks(const DropoutArgs& args, int64_t first, int64_t end) {
  switch (args.dtype) {
    case DType::f64:
      return run<double>(args, first, end);
    case DType::f16:
      return run<Half>(args, first, end);
    case DType::bf16:
      return run<BFloat16>(args, first, end);
    default:
      return run<float>(args, first, end);
  }
}

}  // namespace aorta::cpu::AORTA_ISA

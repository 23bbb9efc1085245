#include <aorta/core/cpu/random.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::Distribution;

template <class Body>
void run(const Body& body, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) body(i);
}

template <class T>
void fill_as(const RandomFill& f, int64_t begin, int64_t end) {
  T* const out = static_cast<T*>(f.out);
  switch (f.distribution) {
    case Distribution::uniform:
    case Distribution::normal:
      if constexpr (!std::is_integral_v<T>) {
        if (f.distribution == Distribution::uniform) {
          run(body::UniformBody<T>{out, f.count, f.random, f.a, f.b}, begin, end);
        } else {
          run(body::NormalBody<T>{out, f.count, f.random, f.a, f.b}, begin, end);
        }
      }
      return;
    case Distribution::randint:
      run(body::RandintBody<T>{out, f.count, f.random, f.low, f.range}, begin, end);
      return;
    case Distribution::bernoulli:
      run(body::BernoulliBody<T>{out, f.count, f.random, f.probability, f.probability_step}, begin,
          end);
      return;
  }
}

}  // namespace

void random_fill(const RandomFill& f, int64_t begin, int64_t end) {
  switch (f.dtype) {
    case DType::f32:
      return fill_as<float>(f, begin, end);
    case DType::f64:
      return fill_as<double>(f, begin, end);
    case DType::f16:
      return fill_as<Half>(f, begin, end);
    case DType::bf16:
      return fill_as<BFloat16>(f, begin, end);
    case DType::i64:
      return fill_as<int64_t>(f, begin, end);
    case DType::i32:
      return fill_as<int32_t>(f, begin, end);
    case DType::u8:
      return fill_as<uint8_t>(f, begin, end);
    case DType::boolean:
      return fill_as<bool>(f, begin, end);
  }
}

}  // namespace aorta::cpu::AORTA_ISA

#include <aorta/core/cpu/random.h>
#include <aorta/core/integers.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::Distribution;

// Whole blocks in a loop without conditions, which the compiler turns into vectors of blocks.
template <class Body>
void run(const Body& given, int64_t begin, int64_t end) {
  using T = typename Body::Item;
  constexpr int n = Body::kItems;
  const Body body = given;
  const int64_t last = divide_up(body.count, n), whole = body.count / n;
  if (end > last) end = last;
  const int64_t stop = end < whole ? end : whole;
  T* const out = body.out;
#pragma GCC ivdep
  for (int64_t i = begin; i < stop; ++i) {
    T items[n];
    body.make(body::words_of(body.random, i), i * n, items);
    for (int j = 0; j < n; ++j) out[i * n + j] = items[j];
  }
  for (int64_t i = begin > whole ? begin : whole; i < end; ++i) body(i);
}

template <class T>
void fill_as(const RandomFill& f, int64_t begin, int64_t end) {
  T* const out = static_cast<T*>(f.out);
  switch (f.distribution) {
    case Distribution::randint:
      run(body::RandintBody<T>{out, f.count, f.random, f.low, f.range}, begin, end);
      return;
    case Distribution::bernoulli:
      run(body::BernoulliBody<T>{out, f.count, f.random, f.probability, f.probability_step}, begin,
          end);
      return;
    default:
      body::run_with_numbers(f, out, f.count, [&](const auto& body) { run(body, begin, end); });
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
    case DType::c64:
    case DType::c128:
      return;  // never here: the op has refused them
  }
}

}  // namespace aorta::cpu::AORTA_ISA

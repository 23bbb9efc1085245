#include <aorta/core/cpu/gemm.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace aorta::cpu {
namespace {

// One product of the batch.
struct Item {
  const char* a;
  const char* b;
  const char* input;
  char* c;
};

Item item_of(const MatmulArgs& args, int64_t index) {
  const int64_t size = item_size(args.dtype);
  int64_t a = 0, b = 0, input = 0;
  for (int64_t d = args.batch_shape.size() - 1, rest = index; d >= 0; --d) {
    const int i = static_cast<int>(d);
    const int64_t position = rest % args.batch_shape[i];
    rest /= args.batch_shape[i];
    a += position * args.a_batch[i];
    b += position * args.b_batch[i];
    if (args.input) input += position * args.input_batch[i];
  }
  return {static_cast<const char*>(args.a) + a * size, static_cast<const char*>(args.b) + b * size,
          args.input ? static_cast<const char*>(args.input) + input * size : nullptr,
          static_cast<char*>(args.c) + index * args.m * args.n * size};
}

void multiply_floating(const MatmulArgs& args, const Item& item) {
  Gemm product;
  product.dtype = args.dtype;
  product.m = args.m;
  product.n = args.n;
  product.k = args.k;
  product.a = item.a;
  product.a_row = args.a_row;
  product.a_column = args.a_column;
  product.b = item.b;
  product.b_row = args.b_row;
  product.b_column = args.b_column;
  product.c = item.c;
  product.ldc = args.n;
  product.input = item.input;
  product.input_row = args.input_row;
  product.input_column = args.input_column;
  product.alpha = args.alpha.to_double();
  product.beta = args.beta.to_double();
  product.rounded = is_half(args.dtype);
  gemm(product);
}

// ---- Integers: sums wrap around, so their order doesn't matter.

template <class T>
void multiply_integers(const MatmulArgs& args, const Item& item) {
  using Unsigned = std::make_unsigned_t<T>;
  const T* const a = reinterpret_cast<const T*>(item.a);
  const T* const b = reinterpret_cast<const T*>(item.b);
  const T* const input = reinterpret_cast<const T*>(item.input);
  Unsigned* const c = reinterpret_cast<Unsigned*>(item.c);
  const Unsigned alpha = static_cast<Unsigned>(args.alpha.to_int());
  const Unsigned beta = static_cast<Unsigned>(args.beta.to_int());
  const int64_t grain = std::max<int64_t>(kTaskWork / (args.n * std::max<int64_t>(args.k, 1)), 1);
  parallel_for(0, args.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Unsigned* const row = c + i * args.n;
      for (int64_t j = 0; j < args.n; ++j) {
        row[j] = input
                     ? static_cast<Unsigned>(
                           beta *
                           static_cast<Unsigned>(input[i * args.input_row + j * args.input_column]))
                     : Unsigned(0);
      }
      for (int64_t p = 0; p < args.k; ++p) {
        const Unsigned x = static_cast<Unsigned>(
            alpha * static_cast<Unsigned>(a[i * args.a_row + p * args.a_column]));
        const T* const from = b + p * args.b_row;
        for (int64_t j = 0; j < args.n; ++j)
          row[j] += static_cast<Unsigned>(x * static_cast<Unsigned>(from[j * args.b_column]));
      }
    }
  });
}

void multiply(const MatmulArgs& args, const Item& item) {
  switch (args.dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
      return multiply_floating(args, item);
    case DType::i64:
      return multiply_integers<int64_t>(args, item);
    case DType::i32:
      return multiply_integers<int32_t>(args, item);
    default:
      return multiply_integers<uint8_t>(args, item);
  }
}

// Small products of a batch share a thread; a large one has all threads for itself.
void matmul_kernel(const MatmulArgs& args) {
  const int64_t work = args.m * args.n * std::max<int64_t>(args.k, 1);
  const int64_t count = args.batch_shape.numel();
  if (count == 1 || work >= 8 * kTaskWork) {
    for (int64_t i = 0; i < count; ++i) multiply(args, item_of(args, i));
    return;
  }
  parallel_for(0, count, std::max<int64_t>(kTaskWork / work, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(args, item_of(args, i));
  });
}

}  // namespace

void register_matmul() {
  matmul_op.set_kernel(DeviceType::cpu, matmul_kernel);
  addmm_op.set_kernel(DeviceType::cpu, matmul_kernel);
  linear_op.set_kernel(DeviceType::cpu, matmul_kernel);
}

}  // namespace aorta::cpu

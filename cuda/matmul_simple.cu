#include <aorta/core/scalar/arithmetic.h>
#include <aorta/cuda/matmul_simple.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

struct SimpleArgs {
  int64_t m, n, k;
  const void *a, *b, *input;
  void* c;
  int64_t a_row, a_column, b_row, b_column, input_row, input_column;
  int batch_ndim;
  int64_t batch_shape[kMaxDims], a_batch[kMaxDims], b_batch[kMaxDims], input_batch[kMaxDims];
};

/// Element i of c, row-major. T is what sums are taken in.
template <class M, class T>
struct ProductBody {
  SimpleArgs args;
  T alpha, beta;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const int64_t column = i % args.n, row = i / args.n % args.m;
    int64_t batch = i / args.n / args.m;
    int64_t a = row * args.a_row, b = column * args.b_column;
    int64_t input = row * args.input_row + column * args.input_column;
    for (int d = args.batch_ndim - 1; d >= 0; --d) {
      const int64_t place = batch % args.batch_shape[d];
      batch /= args.batch_shape[d];
      a += place * args.a_batch[d];
      b += place * args.b_batch[d];
      input += place * args.input_batch[d];
    }
    const auto load_at = [](const void* data, int64_t offset) {
      return load<T, M>(static_cast<const MemoryType<M>*>(data) + offset);
    };
    T sum = T(0);
    for (int64_t l = 0; l < args.k; ++l) {
      const T product = scalar::wrapping_mul(load_at(args.a, a + l * args.a_column),
                                             load_at(args.b, b + l * args.b_row));
      sum = scalar::wrapping_add(sum, product);
    }
    sum = scalar::wrapping_mul(alpha, sum);
    if (args.input) {
      sum = scalar::wrapping_add(sum, scalar::wrapping_mul(beta, load_at(args.input, input)));
    }
    store<M>(static_cast<MemoryType<M>*>(args.c) + i, sum);
  }
};

template <class T>
T number(const Scalar& value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.to_double());
  else
    return static_cast<T>(value.to_int());
}

}  // namespace

void matmul_simple(const MatmulArgs& args) {
  SimpleArgs simple{args.m,
                    args.n,
                    args.k,
                    args.a,
                    args.b,
                    args.input,
                    args.c,
                    args.a_row,
                    args.a_column,
                    args.b_row,
                    args.b_column,
                    args.input_row,
                    args.input_column,
                    args.batch_shape.size(),
                    {},
                    {},
                    {},
                    {}};
  for (int d = 0; d < simple.batch_ndim; ++d) {
    simple.batch_shape[d] = args.batch_shape[d];
    simple.a_batch[d] = args.a_batch[d];
    simple.b_batch[d] = args.b_batch[d];
    simple.input_batch[d] = args.input ? args.input_batch[d] : 0;
  }
  const int64_t count = args.batch_shape.numel() * args.m * args.n;
  visit_dtype(args.dtype, [&](auto type) {
    using M = decltype(type);
    using T = ComputeType<M>;
    if constexpr (std::is_same_v<M, bool>) {
      fail("matmul", "dtype must be a number, not bool", args.dtype);
    } else {
      for_each("matmul", args.c, count,
               ProductBody<M, T>{simple, number<T>(args.alpha), number<T>(args.beta)});
    }
  });
}

}  // namespace aorta::cuda

// Decompositions: of small matrices by kernels of our own (small_matrices.cu), all others by
// cuSOLVER. Its matrices lie in columns: a matrix of ours is there its transpose.
#include <aorta/core/check.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/device_work.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/recording.h>
#include <aorta/cuda/cusolver.h>
#include <aorta/cuda/data_type.h>
#include <aorta/cuda/small_matrices.h>

#include <algorithm>
#include <cmath>

namespace aorta::cuda {
namespace {

/// The tensors of a call: `a` (count, m, n) is what is decomposed, a copy, zeros where a matrix
/// isn't finite, as cuSOLVER may never be done with such a one.
class Batch {
 public:
  explicit Batch(const DecompositionArgs& args)
      : args_(args), device_(device_of(args.a)), scope_(device_, "linalg") {
    refuse_in_capture("linalg", "a captured step must not wait for its device",
                      "a decomposition, which may find that a matrix has none");
  }

  int device() const { return device_; }
  Tensor at(const void* data, int64_t rows, int64_t columns, DType dtype) const {
    return from_blob(const_cast<void*>(data), {args_.count, rows, columns},
                     {.dtype = dtype, .device = Device(DeviceType::cuda, device_)});
  }
  Tensor at(const void* data, int64_t rows, int64_t columns) const {
    return at(data, rows, columns, args_.dtype);
  }
  Tensor fresh(int64_t rows, int64_t columns) const {
    return empty({args_.count, rows, columns},
                 {.dtype = args_.dtype, .device = Device(DeviceType::cuda, device_)});
  }

  /// Matrices `a`, or a part of them, real ones, with 0 for those that aren't finite.
  Tensor finite_of(const Tensor& a) {
    finite_ = all(isfinite(a.view({args_.count, -1})), {1});
    return where(finite_.view({args_.count, 1, 1}), a, 0);
  }

  /// One launch of a kernel of our own for all matrices.
  template <class Args>
  void run_small(void (*kernel)(const Args& args, int32_t* found), const Args& args) const {
    const Tensor found =
        empty({args_.count}, {.dtype = DType::i32, .device = Device(DeviceType::cuda, device_)});
    kernel(args, found.data<int32_t>());
    const Tensor said = found.cpu();
    for (int64_t i = 0; i < args_.count; ++i) {
      const int32_t what = said.data<int32_t>()[i];
      args_.states[i] = what == kNotFinite ? MatrixState::not_finite
                        : what == kFailed  ? MatrixState::failed
                                           : MatrixState::fine;
    }
  }

  /// Waits for all, and says what became of each matrix: `failed` (count) where it isn't 0.
  void tell(const Tensor& failed) const {
    const Tensor finite = finite_.cpu(), bad = ne(failed, 0).cpu();
    for (int64_t i = 0; i < args_.count; ++i) {
      args_.states[i] = !finite.data<bool>()[i] ? MatrixState::not_finite
                        : bad.data<bool>()[i]   ? MatrixState::failed
                                                : MatrixState::fine;
    }
  }

 private:
  const DecompositionArgs& args_;
  int device_;
  DeviceScope scope_;
  Tensor finite_;
};

/// Matrix `i` of tensor (count, rows, columns).
void* matrix(const Tensor& tensor, int64_t i) {
  return static_cast<char*>(tensor.data()) +
         i * tensor.size(1) * tensor.size(2) * item_size(tensor.dtype());
}

bool is_small(const DecompositionArgs& args) {
  return args.m <= kSmallMatrix && args.n <= kSmallMatrix;
}

Tensor columns_of(const Tensor& a) { return transpose(a, -2, -1).contiguous(); }

void cholesky(const TwoFactorsArgs& args) {
  Batch batch(args);
  if (is_small(args)) return batch.run_small(small_cholesky, args);
  // For an upper triangle, which would take no transposed copies, cuSOLVER takes 2.7 times as long.
  const Tensor columns = columns_of(batch.finite_of(batch.at(args.a, args.n, args.n)));
  Solver solver(batch.device(), args.count);
  const auto type = data_type(args.dtype);
  const auto call = [&](auto function, auto... last) {
    return function(solver.handle(), solver.params(), CUBLAS_FILL_MODE_LOWER, args.n, type,
                    last...);
  };
  solver.each(
      [&](size_t* bytes, size_t* host_bytes) {
        return call(cusolver().potrf_size, columns.data(), args.n, type, bytes, host_bytes);
      },
      [&](int64_t i, auto... memory) {
        return call(cusolver().potrf, matrix(columns, i), args.n, type, memory...);
      });
  batch.at(args.first, args.n, args.n).copy_(transpose(triu(columns), 1, 2));
  batch.tell(solver.found());
}

/// Factors of matrices that lie in columns, in their place; the pivots (count, 1, k), i64.
Tensor factor(Solver& solver, const Tensor& columns, int64_t m, int64_t n) {
  const auto type = data_type(columns.dtype());
  const Tensor pivots = empty({columns.size(0), 1, std::min(m, n)},
                              {.dtype = DType::i64, .device = columns.device()});
  solver.each(
      [&](size_t* bytes, size_t* host_bytes) {
        return cusolver().getrf_size(solver.handle(), solver.params(), m, n, type, columns.data(),
                                     m, type, bytes, host_bytes);
      },
      [&](int64_t i, auto... memory) {
        return cusolver().getrf(solver.handle(), solver.params(), m, n, type, matrix(columns, i), m,
                                static_cast<int64_t*>(matrix(pivots, i)), type, memory...);
      });
  return pivots;
}

void lu_factor(const TwoFactorsArgs& args) {
  Batch batch(args);
  if (is_small(args)) return batch.run_small(small_lu_factor, args);
  const Tensor columns = columns_of(batch.finite_of(batch.at(args.a, args.m, args.n)));
  Solver solver(batch.device(), args.count);
  const Tensor pivots = factor(solver, columns, args.m, args.n);
  batch.at(args.first, args.m, args.n).copy_(transpose(columns, 1, 2));
  batch.at(args.second, 1, std::min(args.m, args.n), DType::i32).copy_(pivots);
  batch.tell(zeros_like(solver.found()));  // a singular matrix has factors too
}

/// X with op(M) X = B for factored M in columns, as args' b and x.
void substitute(const Batch& batch, const Solver& solver, const SolveArgs& args,
                const Tensor& factors, const Tensor& pivots, cublasOperation_t operation) {
  const Tensor x = columns_of(batch.at(args.b, args.n, args.c)).clone();
  const Tensor found = empty_like(solver.found());  // nothing: the factors say what there is
  const auto type = data_type(args.dtype);
  for (int64_t i = 0; i < args.count; ++i) {
    check_cusolver(cusolver().getrs(solver.handle(), solver.params(), operation, args.n, args.c,
                                    type, matrix(factors, i), args.n,
                                    static_cast<const int64_t*>(matrix(pivots, i)), type,
                                    matrix(x, i), args.n, static_cast<int*>(found.data())));
  }
  batch.at(args.x, args.n, args.c).copy_(transpose(x, 1, 2));
}

void solve(const SolveArgs& args) {
  Batch batch(args);
  if (is_small(args)) return batch.run_small(small_solve, args);
  const Tensor a = batch.finite_of(batch.at(args.a, args.n, args.n));
  Solver solver(batch.device(), args.count);
  const Tensor pivots = factor(solver, a, args.n, args.n);
  substitute(batch, solver, args, a, pivots, CUBLAS_OP_T);
  batch.tell(solver.found());
}

/// A triangle U is a factored matrix whose other factor is one.
void solve_triangular(const SolveArgs& args) {
  Batch batch(args);
  if (is_small(args)) return batch.run_small(small_solve_triangular, args);
  const Tensor all = batch.at(args.a, args.n, args.n);
  const int above = args.unitriangular ? 1 : 0;
  Tensor a = batch.finite_of(args.upper ? triu(all, above) : tril(all, -above));
  if (args.unitriangular) a.add_(eye(args.n, {.dtype = args.dtype, .device = a.device()}));
  const Tensor failed = any(eq(diagonal(a, 0, 1, 2), 0), {1});
  if (args.upper) a = columns_of(a);
  const Tensor pivots = arange(1, args.n + 1, {.dtype = DType::i64, .device = a.device()})
                            .expand({args.count, 1, args.n})
                            .contiguous();
  const Solver solver(batch.device(), args.count);
  substitute(batch, solver, args, a, pivots, args.upper ? CUBLAS_OP_N : CUBLAS_OP_T);
  batch.tell(failed);
}

void qr(const TwoFactorsArgs& args) {
  Batch batch(args);
  const int64_t m = args.m, n = args.n, q = args.q, k = std::min(m, n);
  const Tensor columns = columns_of(batch.finite_of(batch.at(args.a, m, n)));
  const Tensor scales = batch.fresh(1, k);
  const auto type = data_type(args.dtype);
  Solver solver(batch.device(), args.count);
  solver.each(
      [&](size_t* bytes, size_t* host_bytes) {
        return cusolver().geqrf_size(solver.handle(), solver.params(), m, n, type, columns.data(),
                                     m, type, scales.data(), type, bytes, host_bytes);
      },
      [&](int64_t i, auto... memory) {
        return cusolver().geqrf(solver.handle(), solver.params(), m, n, type, matrix(columns, i), m,
                                type, matrix(scales, i), type, memory...);
      });
  batch.at(args.second, q, n).copy_(triu(narrow(transpose(columns, 1, 2), 1, 0, q)));

  const Tensor reflections =
      zeros({args.count, q, m}, {.dtype = args.dtype, .device = columns.device()});
  reflections.narrow(1, 0, k).copy_(narrow(columns, 1, 0, k));
  const auto form = [&]<class T>(T, auto size_of, auto run) {
    const int rows = static_cast<int>(m), vectors = static_cast<int>(q), used = static_cast<int>(k);
    int items = 0;
    solver.each(
        [&](size_t* bytes, size_t*) {
          const auto status = size_of(solver.handle(), rows, vectors, used,
                                      static_cast<const T*>(reflections.data()), rows,
                                      static_cast<const T*>(scales.data()), &items);
          *bytes = static_cast<size_t>(items) * sizeof(T);
          return status;
        },
        [&](int64_t i, void* memory, size_t, void*, size_t, int* found) {
          return run(solver.handle(), rows, vectors, used, static_cast<T*>(matrix(reflections, i)),
                     rows, static_cast<const T*>(matrix(scales, i)), static_cast<T*>(memory), items,
                     found);
        });
  };
  if (args.dtype == DType::f64)
    form(double{}, cusolver().dorgqr_size, cusolver().dorgqr);
  else
    form(float{}, cusolver().sorgqr_size, cusolver().sorgqr);
  batch.at(args.first, m, q).copy_(transpose(reflections, 1, 2));
  batch.tell(solver.found());
}

/// The lower triangle of a matrix is the upper one of what lies there in columns.
void ldl_factor(const TwoFactorsArgs& args) {
  Batch batch(args);
  const int64_t n = args.n;
  const Tensor columns = columns_of(batch.finite_of(batch.at(args.a, n, n)));
  const Tensor pivots = batch.at(args.second, 1, n, DType::i32);
  Solver solver(batch.device(), args.count);
  const auto factor = [&]<class T>(T, auto size_of, auto run) {
    const int size = static_cast<int>(n);
    int items = 0;
    solver.each(
        [&](size_t* bytes, size_t*) {
          const auto status =
              size_of(solver.handle(), size, static_cast<T*>(columns.data()), size, &items);
          *bytes = static_cast<size_t>(items) * sizeof(T);
          return status;
        },
        [&](int64_t i, void* memory, size_t, void*, size_t, int* found) {
          return run(solver.handle(), CUBLAS_FILL_MODE_LOWER, size,
                     static_cast<T*>(matrix(columns, i)), size,
                     static_cast<int*>(matrix(pivots, i)), static_cast<T*>(memory), items, found);
        });
  };
  if (args.dtype == DType::f64)
    factor(double{}, cusolver().dsytrf_size, cusolver().dsytrf);
  else
    factor(float{}, cusolver().ssytrf_size, cusolver().ssytrf);
  batch.at(args.first, n, n).copy_(transpose(triu(columns), 1, 2));
  batch.tell(solver.found());
}

void eigh(const TwoFactorsArgs& args) {
  Batch batch(args);
  const int64_t n = args.n;
  const Tensor a = batch.finite_of(batch.at(args.a, n, n));
  const auto type = data_type(args.dtype);
  Solver solver(batch.device(), args.count);
  const auto call = [&](auto function, auto... last) {
    return function(solver.handle(), solver.params(), CUSOLVER_EIG_MODE_VECTOR,
                    CUBLAS_FILL_MODE_UPPER, n, type, a.data(), n, type, args.first, type, last...);
  };
  size_t bytes = 0, host_bytes = 0;
  check_cusolver(call(cusolver().syev_size, &bytes, &host_bytes, args.count));
  const Workspace memory(static_cast<int64_t>(bytes), batch.device());
  std::vector<std::byte> host(host_bytes);
  check_cusolver(call(cusolver().syev, memory.data(), bytes, static_cast<void*>(host.data()),
                      host_bytes, static_cast<int*>(solver.found().data()), args.count));
  batch.at(args.second, n, n).copy_(transpose(a, 1, 2));
  batch.tell(solver.found());
}

/// A matrix is there its transpose: A = U S Vh is A^T = Vh^T S U^T, and the vectors, which lie
/// there in columns, are rows. By Jacobi's rotations; small ones all at once, with all of their
/// vectors.
void svd(const SvdArgs& args) {
  constexpr int64_t kMostOfABatch = 32;
  Batch batch(args);
  const int64_t k = std::min(args.m, args.n);
  const bool vectors = args.u != nullptr;
  const bool together = args.count > 1 && std::max(args.m, args.n) <= kMostOfABatch;
  const bool complete = together || (vectors && (args.u_columns > k || args.vh_rows > k));
  const Tensor a = batch.finite_of(batch.at(args.a, args.m, args.n));
  const Tensor left = batch.fresh(complete ? args.n : k, args.n),
               right = batch.fresh(complete ? args.m : k, args.m), values = batch.at(args.s, 1, k);
  Solver solver(batch.device(), args.count);
  const int rows = static_cast<int>(args.n), columns = static_cast<int>(args.m);
  const auto job = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  const auto decompose = [&]<class T>(T, auto size_of, auto run, auto batch_size_of,
                                      auto run_batch) {
    const auto call = [&](auto function, int64_t i, auto... last) {
      return function(solver.handle(), job, complete ? 0 : 1, rows, columns,
                      static_cast<T*>(matrix(a, i)), rows, static_cast<T*>(matrix(values, i)),
                      static_cast<T*>(matrix(left, i)), rows, static_cast<T*>(matrix(right, i)),
                      columns, last...);
    };
    const auto call_batch = [&](auto function, auto... last) {
      return function(solver.handle(), job, rows, columns, static_cast<T*>(a.data()), rows,
                      static_cast<T*>(values.data()), static_cast<T*>(left.data()), rows,
                      static_cast<T*>(right.data()), columns, last...);
    };
    int items = 0;
    if (!together) {
      return solver.each(
          [&](size_t* bytes, size_t*) {
            const auto status = call(size_of, 0, &items, solver.jacobi());
            *bytes = static_cast<size_t>(items) * sizeof(T);
            return status;
          },
          [&](int64_t i, void* memory, size_t, void*, size_t, int* found) {
            return call(run, i, static_cast<T*>(memory), items, found, solver.jacobi());
          });
    }
    const int count = static_cast<int>(args.count);
    check_cusolver(call_batch(batch_size_of, &items, solver.jacobi(), count));
    const Workspace memory(static_cast<int64_t>(items) * static_cast<int64_t>(sizeof(T)),
                           batch.device());
    check_cusolver(call_batch(run_batch, memory.as<T>(), items,
                              static_cast<int*>(solver.found().data()), solver.jacobi(), count));
  };
  const CusolverCalls& calls = cusolver();
  if (args.dtype == DType::f64)
    decompose(double{}, calls.dgesvdj_size, calls.dgesvdj, calls.dgesvdj_batched_size,
              calls.dgesvdj_batched);
  else
    decompose(float{}, calls.sgesvdj_size, calls.sgesvdj, calls.sgesvdj_batched_size,
              calls.sgesvdj_batched);
  if (vectors) {
    batch.at(args.u, args.m, args.u_columns)
        .copy_(transpose(narrow(right, 1, 0, args.u_columns), 1, 2));
    batch.at(args.vh, args.vh_rows, args.n).copy_(narrow(left, 1, 0, args.vh_rows));
  }
  batch.tell(solver.found());
}

/// Eigenvectors of real matrices, in rows: a pair of conjugate ones lies there as its real part and
/// its imaginary one.
Tensor unpacked(const Tensor& values, const Tensor& packed) {
  const Tensor parts = imag(values).view({values.size(0), values.size(2), 1});
  const Tensor first = gt(parts, 0), second = lt(parts, 0);
  const Tensor re = where(second, roll(packed, {1}, {1}), packed);
  const Tensor im = where(first, roll(packed, {-1}, {1}), where(second, -packed, 0));
  return complex(re, im);
}

void eig(const TwoFactorsArgs& args) {
  Batch batch(args);
  const int64_t n = args.n;
  const bool is_real = args.dtype == real_dtype(args.dtype);
  const DType result = complex_dtype(args.dtype);
  const Tensor parts =
      batch.finite_of(batch.at(args.a, n, is_real ? n : 2 * n, real_dtype(args.dtype)));
  const Tensor columns = columns_of(batch.at(parts.data(), n, n));
  const Tensor values = batch.at(args.first, 1, n, result), vectors = batch.fresh(n, n);
  const auto type = data_type(args.dtype), complex_type = data_type(result);
  Solver solver(batch.device(), args.count);
  const auto call = [&](auto function, int64_t i, auto... last) {
    return function(solver.handle(), solver.params(), CUSOLVER_EIG_MODE_NOVECTOR,
                    CUSOLVER_EIG_MODE_VECTOR, n, type, matrix(columns, i), n, complex_type,
                    matrix(values, i), type, nullptr, n, type, matrix(vectors, i), n, type,
                    last...);
  };
  solver.each([&](size_t* bytes,
                  size_t* host_bytes) { return call(cusolver().geev_size, 0, bytes, host_bytes); },
              [&](int64_t i, auto... memory) { return call(cusolver().geev, i, memory...); });
  batch.at(args.second, n, n, result)
      .copy_(transpose(is_real ? unpacked(values, vectors) : vectors, 1, 2));
  batch.tell(solver.found());
}

/// Taylor's polynomial of a matrix that is halved until its 1-norm is at most `most`, up to which
/// it is exact to rounding (P. Bader, S. Blanes, F. Casas, Mathematics 7, 2019), and squared as
/// often.
struct Polynomial {
  int order;
  int powers;  // of the matrix that are made; between them it is Horner's scheme
  double most;
};

void matrix_exp(const TwoFactorsArgs& args) {
  const Autocast off(DType::f32);
  Batch batch(args);
  const int64_t n = args.n;
  const Polynomial polynomial =
      args.dtype == DType::f64 ? Polynomial{18, 4, 1.09} : Polynomial{8, 2, 0.58};
  const Tensor a = batch.finite_of(batch.at(args.a, n, n));
  const Tensor norm = amax(sum(abs(a), {1}, true), {2}, true);
  const Tensor halvings = clamp_min(ceil(log2(norm / polynomial.most)), 0);
  const double most = amax(halvings).item<double>();
  std::vector<Tensor> powers = {eye(n, {.dtype = args.dtype, .device = a.device()}),
                                a * exp2(-halvings)};
  while (static_cast<int>(powers.size()) <= polynomial.powers)
    powers.push_back(matmul(powers.back(), powers[1]));
  std::vector<double> coefficients = {1};
  for (int i = 1; i <= polynomial.order; ++i) coefficients.push_back(coefficients.back() / i);
  Tensor result;
  for (int first = polynomial.order / polynomial.powers * polynomial.powers; first >= 0;
       first -= polynomial.powers) {
    if (result.defined()) result = matmul(result, powers.back());
    for (int i = 0; i < polynomial.powers && first + i <= polynomial.order; ++i) {
      const Tensor& power = powers[static_cast<size_t>(i)];
      const double coefficient = coefficients[static_cast<size_t>(first + i)];
      result = result.defined() ? add(result, power, coefficient) : power * coefficient;
    }
  }
  for (double i = 0; i < most; ++i) result = where(gt(halvings, i), matmul(result, result), result);
  batch.at(args.first, n, n).copy_(result);
  batch.tell(zeros({args.count}, {.dtype = DType::i32, .device = a.device()}));
}

}  // namespace

void register_linalg() {
  set_kernel<cholesky_op, cholesky>();
  set_kernel<qr_op, qr>();
  set_kernel<lu_factor_op, lu_factor>();
  set_kernel<solve_op, solve>();
  set_kernel<solve_triangular_op, solve_triangular>();
  set_kernel<svd_op, svd>();
  set_kernel<ldl_factor_op, ldl_factor>();
  set_kernel<eigh_op, eigh>();
  set_kernel<eig_op, eig>();
  set_kernel<matrix_exp_op, matrix_exp>();
}

}  // namespace aorta::cuda

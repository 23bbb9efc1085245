// cuSOLVER: decompositions in f64 by Eigen, and the rules for their operands.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/library_work.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/symmetric_factor.h>
#include <cusolverDn.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <initializer_list>

using namespace aorta::emulated;

struct cusolverDnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};
struct gesvdjInfo {};

namespace {

using Matrix = Eigen::MatrixXd;
using ComplexMatrix = Eigen::MatrixXcd;

constexpr const char* kPage = "docs.nvidia.com/cuda/cusolver, cuSolverDN: dense LAPACK";
constexpr size_t kHostBytes = 64;

// More than one size, so that who asks uses the answer.
size_t workspace_bytes(int64_t m, int64_t n, int type) {
  return static_cast<size_t>(m + n) * number_bytes(type) + 256;
}

/// A matrix of `rows` and `columns` that lies in columns, `leading` numbers apart.
struct Operand {
  void* data;
  cudaDataType type;
  int64_t rows, columns, leading;
  Access access = Access::read;

  Operand at(int64_t matrix) const {
    Operand other = *this;
    other.data = static_cast<char*>(data) +
                 static_cast<size_t>(matrix * leading * columns) * number_bytes(type);
    return other;
  }
  Span span() const {
    const int64_t last = rows == 0 || columns == 0 ? 0 : (columns - 1) * leading + rows;
    return {data, static_cast<size_t>(last) * number_bytes(type), access};
  }
  ComplexMatrix complex() const {
    ComplexMatrix result(rows, columns);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) result(i, j) = load_number(data, type, j * leading + i);
    return result;
  }
  Matrix real() const { return complex().real(); }
  template <class M>
  void store(const M& m) const {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) store_number(data, type, j * leading + i, m(i, j));
  }
};

Operand written(Operand operand) {
  operand.access = Access::write;
  return operand;
}

/// Where a routine works, on the device and on the host.
struct Workspace {
  void* data;
  size_t bytes, wanted;
  const void* host = nullptr;
  size_t host_bytes = 0, host_wanted = 0;

  Workspace(void* memory, size_t size, size_t needed) : data(memory), bytes(size), wanted(needed) {}
  Workspace(void* memory, size_t size, size_t needed, const void* host_memory, size_t host_size)
      : Workspace(memory, size, needed) {
    host = host_memory;
    host_bytes = host_size;
    host_wanted = kHostBytes;
  }
  bool suffices() const {
    return bytes >= wanted && host_bytes >= host_wanted && (host || host_wanted == 0);
  }
};

cusolverStatus_t refuse(const char* name, const std::string& rule, const std::string& got) {
  report(name, rule, got, kPage);
  return CUSOLVER_STATUS_INVALID_VALUE;
}

template <class Body>
cusolverStatus_t solver_call(const char* name, const Body& body) {
  if (closed() != cudaSuccess) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const MachineLock lock;
  if (begin_call(name) != cudaSuccess) return CUSOLVER_STATUS_INTERNAL_ERROR;
  return body();
}

/// Queues `run`, which gives the number that `info` gets, for each of `batch` matrices.
template <class Run>
cusolverStatus_t work(const char* name, cusolverDnHandle_t handle,
                      std::initializer_list<Operand> operands, const Workspace* memory, int* info,
                      const Run& run, std::vector<Span> more = {}, int64_t batch = 1) {
  return solver_call(name, [&] {
    if (!handle) return refuse(name, "the handle is one that was made", "none");
    std::vector<Span> spans = std::move(more);
    for (const Operand& operand : operands) {
      if (operand.rows < 0 || operand.columns < 0 ||
          operand.leading < std::max<int64_t>(operand.rows, 1)) {
        return refuse(name, "a leading dimension spans a column",
                      std::to_string(operand.leading) + " for " + std::to_string(operand.rows));
      }
      Operand all = operand;
      all.columns *= batch;
      spans.push_back(all.span());
      // What is written in place is read, too.
      if (operand.access == Access::write && &operand == operands.begin())
        spans.push_back({all.data, all.span().bytes, Access::read});
    }
    spans.push_back({info, static_cast<size_t>(batch) * sizeof *info, Access::write});
    void* workspace = nullptr;
    size_t bytes = 0;
    if (memory) {
      if (!memory->suffices()) {
        return refuse(name, "a workspace is as large as was asked for",
                      std::to_string(memory->bytes) + " of " + std::to_string(memory->wanted));
      }
      workspace = memory->data;
      bytes = memory->wanted;
      spans.push_back({workspace, bytes, Access::write});
    }
    const std::string rule = queue_work(name, kPage, handle->stream, handle->device,
                                        std::move(spans), [workspace, bytes, info, run, batch] {
                                          if (bytes > 0) std::memset(workspace, 0xa5, bytes);
                                          for (int64_t i = 0; i < batch; ++i) info[i] = run(i);
                                        });
    return rule.empty() ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_EXECUTION_FAILED;
  });
}

cusolverStatus_t sizes(const char* name, int64_t m, int64_t n, int type, size_t* bytes,
                       size_t* host_bytes) {
  return solver_call(name, [&] {
    *bytes = workspace_bytes(m, n, type);
    *host_bytes = kHostBytes;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

/// Columns of length 1, the largest component real.
void normalize(Eigen::Ref<Eigen::VectorXcd> v) {
  v /= v.norm();
  Eigen::Index largest = 0;
  v.cwiseAbs2().maxCoeff(&largest);
  v *= std::conj(v[largest]) / std::abs(v[largest]);
  v[largest] = v[largest].real();
}

int eigen_real(const Operand& a, const Operand& values, const Operand& vectors) {
  const Eigen::EigenSolver<Matrix> solver(a.real(), true);
  if (solver.info() != Eigen::Success) return 1;
  values.store(solver.eigenvalues());
  const ComplexMatrix all = solver.eigenvectors();
  Matrix packed(a.rows, a.rows);
  for (int64_t j = 0; j < a.rows; ++j) {
    Eigen::VectorXcd v = all.col(j);
    normalize(v);
    packed.col(j) = v.real();
    if (solver.eigenvalues()[j].imag() > 0) packed.col(++j) = v.imag();
  }
  vectors.store(packed);
  return 0;
}

int eigen_complex(const Operand& a, const Operand& values, const Operand& vectors) {
  const Eigen::ComplexEigenSolver<ComplexMatrix> solver(a.complex(), true);
  if (solver.info() != Eigen::Success) return 1;
  values.store(solver.eigenvalues());
  ComplexMatrix all = solver.eigenvectors();
  for (int64_t j = 0; j < a.rows; ++j) normalize(all.col(j));
  vectors.store(all);
  return 0;
}

/// By rows that are swapped: LAPACK's pivots, from 1.
int factor(const Operand& a, int64_t* pivots) {
  Matrix m = a.real();
  int zero = 0;
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    Eigen::Index place = 0;
    const double largest = m.col(j).tail(a.rows - j).cwiseAbs().maxCoeff(&place);
    pivots[j] = place + j + 1;
    if (largest == 0) {
      if (zero == 0) zero = static_cast<int>(j) + 1;
      continue;
    }
    m.row(j).swap(m.row(place + j));
    const int64_t rest = a.rows - j - 1;
    m.col(j).tail(rest) /= m(j, j);
    m.bottomRightCorner(rest, a.columns - j - 1) -=
        m.col(j).tail(rest) * m.row(j).tail(a.columns - j - 1);
  }
  a.store(m);
  return zero;
}

int substitute(cublasOperation_t operation, const Operand& a, const int64_t* pivots,
               const Operand& b) {
  const Matrix m = a.real();
  Matrix x = b.real();
  if (operation == CUBLAS_OP_N) {
    for (int64_t j = 0; j < a.rows; ++j) x.row(j).swap(x.row(pivots[j] - 1));
    m.triangularView<Eigen::UnitLower>().solveInPlace(x);
    m.triangularView<Eigen::Upper>().solveInPlace(x);
  } else {
    m.transpose().triangularView<Eigen::Lower>().solveInPlace(x);
    m.transpose().triangularView<Eigen::UnitUpper>().solveInPlace(x);
    for (int64_t j = a.rows; j-- > 0;) x.row(j).swap(x.row(pivots[j] - 1));
  }
  b.store(x);
  return 0;
}

template <class T>
cusolverStatus_t form(const char* name, cudaDataType type, cusolverDnHandle_t handle, int m, int n,
                      int k, T* a, int leading, const T* scales, T* memory, int items, int* info) {
  const Operand vectors = written({a, type, m, n, leading});
  const Operand tau{const_cast<T*>(scales), type, k, 1, k};
  const Workspace place{memory, static_cast<size_t>(items) * sizeof(T),
                        workspace_bytes(m, n, type) / sizeof(T) * sizeof(T)};
  return work(name, handle, {vectors, tau}, &place, info, [vectors, tau, k](int64_t) {
    const Matrix reflections = vectors.real().leftCols(k);
    const Eigen::VectorXd factors = tau.real().col(0);
    vectors.store(Matrix(Eigen::HouseholderSequence<Matrix, Eigen::VectorXd>(reflections, factors) *
                         Matrix::Identity(vectors.rows, vectors.columns)));
    return 0;
  });
}

template <class T>
cusolverStatus_t factor_symmetric_in(const char* name, cudaDataType type, cusolverDnHandle_t handle,
                                     cublasFillMode_t triangle, int n, T* a, int leading,
                                     int* pivots, T* memory, int items, int* info) {
  if (triangle != CUBLAS_FILL_MODE_LOWER)
    return refuse(name, "this double has lower triangles alone", "another");
  const Operand matrix = written({a, type, n, n, leading});
  const Workspace place{memory, static_cast<size_t>(items) * sizeof(T),
                        workspace_bytes(n, n, type) / sizeof(T) * sizeof(T)};
  const Span swaps{pivots, static_cast<size_t>(n) * sizeof *pivots, Access::write};
  return work(name, handle, {matrix}, &place, info,
              [matrix, pivots](int64_t) {
                Matrix lower = matrix.real();
                const int zero = factor_symmetric(lower, pivots);
                matrix.store(lower);
                return zero;
              },
              {swaps});
}

cusolverStatus_t items_of(const char* name, int64_t m, int64_t n, cudaDataType type, int* items) {
  return solver_call(name, [&] {
    *items = static_cast<int>(workspace_bytes(m, n, type) / number_bytes(type));
    return CUSOLVER_STATUS_SUCCESS;
  });
}

template <class T>
cusolverStatus_t rotate(const char* name, cudaDataType type, cusolverDnHandle_t handle,
                        cusolverEigMode_t vectors, bool reduced, int m, int n, T* a, int leading,
                        T* values, T* left, int left_leading, T* right, int right_leading,
                        T* memory, int items, int* info, int batch) {
  const int64_t k = std::min(m, n);
  const bool wanted = vectors == CUSOLVER_EIG_MODE_VECTOR;
  const Operand matrix = written({a, type, m, n, leading});
  const Operand found = written({values, type, k, 1, k});
  const Operand u = written({left, type, m, reduced ? k : m, left_leading});
  const Operand v = written({right, type, n, reduced ? k : n, right_leading});
  const Workspace place{memory, static_cast<size_t>(items) * sizeof(T),
                        workspace_bytes(m, int64_t{n} * batch, type) / sizeof(T) * sizeof(T)};
  return work(
      name, handle, {matrix, found, u, v}, &place, info,
      [=](int64_t i) {
        const unsigned parts = !wanted ? 0
                               : reduced
                                   ? unsigned{Eigen::ComputeThinU} | unsigned{Eigen::ComputeThinV}
                                   : unsigned{Eigen::ComputeFullU} | unsigned{Eigen::ComputeFullV};
        const Eigen::JacobiSVD<Matrix> svd(matrix.at(i).real(), parts);
        found.at(i).store(svd.singularValues());
        if (wanted) {
          u.at(i).store(svd.matrixU());
          v.at(i).store(svd.matrixV());
        }
        return 0;
      },
      {}, batch);
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return solver_call("cusolverDnCreate", [&] {
    static auto* handles = new std::deque<cusolverDnContext>;
    *handle = &handles->emplace_back(cusolverDnContext{current_device()});
    return CUSOLVER_STATUS_SUCCESS;
  });
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  return solver_call("cusolverDnCreateParams", [&] {
    static cusolverDnParams same;
    *params = &same;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return solver_call("cusolverDnSetStream", [&] {
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                             cublasFillMode_t, int64_t n, cudaDataType type,
                                             const void*, int64_t, cudaDataType, size_t* bytes,
                                             size_t* host_bytes) {
  return sizes("cusolverDnXpotrf_bufferSize", n, n, type, bytes, host_bytes);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t,
                                  cublasFillMode_t triangle, int64_t n, cudaDataType type, void* a,
                                  int64_t leading, cudaDataType, void* memory, size_t bytes,
                                  void* host, size_t host_bytes, int* info) {
  const Operand matrix = written({a, type, n, n, leading});
  const Workspace place{memory, bytes, workspace_bytes(n, n, type), host, host_bytes};
  return work("cusolverDnXpotrf", handle, {matrix}, &place, info, [matrix, triangle](int64_t) {
    const Matrix all = matrix.real();
    const bool upper = triangle == CUBLAS_FILL_MODE_UPPER;
    const Eigen::LLT<Matrix> llt(upper ? Matrix(all.transpose()) : all);
    if (llt.info() != Eigen::Success) return 1;
    Matrix result = all;  // the other triangle stays
    if (upper)
      result.triangularView<Eigen::Upper>() = llt.matrixU();
    else
      result.triangularView<Eigen::Lower>() = llt.matrixL();
    matrix.store(result);
    return 0;
  });
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType type, const void*, int64_t,
                                             cudaDataType, size_t* bytes, size_t* host_bytes) {
  return sizes("cusolverDnXgetrf_bufferSize", m, n, type, bytes, host_bytes);
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t leading,
                                  int64_t* pivots, cudaDataType, void* memory, size_t bytes,
                                  void* host, size_t host_bytes, int* info) {
  const Operand matrix = written({a, type, m, n, leading});
  const Workspace place{memory, bytes, workspace_bytes(m, n, type), host, host_bytes};
  const Span swaps{pivots, static_cast<size_t>(std::min(m, n)) * sizeof *pivots, Access::write};
  return work("cusolverDnXgetrf", handle, {matrix}, &place, info,
              [matrix, pivots](int64_t) { return factor(matrix, pivots); }, {swaps});
}

cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t,
                                  cublasOperation_t operation, int64_t n, int64_t columns,
                                  cudaDataType type, const void* a, int64_t leading,
                                  const int64_t* pivots, cudaDataType b_type, void* b,
                                  int64_t b_leading, int* info) {
  const Operand x = written({b, b_type, n, columns, b_leading});
  const Operand factors{const_cast<void*>(a), type, n, n, leading};
  const Span swaps{pivots, static_cast<size_t>(n) * sizeof *pivots, Access::read};
  return work("cusolverDnXgetrs", handle, {x, factors}, nullptr, info,
              [=](int64_t) { return substitute(operation, factors, pivots, x); }, {swaps});
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType type, const void*, int64_t,
                                             cudaDataType, const void*, cudaDataType, size_t* bytes,
                                             size_t* host_bytes) {
  return sizes("cusolverDnXgeqrf_bufferSize", m, n, type, bytes, host_bytes);
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t leading,
                                  cudaDataType scales_type, void* scales, cudaDataType,
                                  void* memory, size_t bytes, void* host, size_t host_bytes,
                                  int* info) {
  const Operand matrix = written({a, type, m, n, leading});
  const Operand tau = written({scales, scales_type, std::min(m, n), 1, std::min(m, n)});
  const Workspace place{memory, bytes, workspace_bytes(m, n, type), host, host_bytes};
  return work("cusolverDnXgeqrf", handle, {matrix, tau}, &place, info, [matrix, tau](int64_t) {
    const Eigen::HouseholderQR<Matrix> qr(matrix.real());
    matrix.store(qr.matrixQR());
    tau.store(qr.hCoeffs());
    return 0;
  });
}

cusolverStatus_t cusolverDnSorgqr_bufferSize(cusolverDnHandle_t, int m, int n, int, const float*,
                                             int, const float*, int* items) {
  return items_of("cusolverDnSorgqr_bufferSize", m, n, CUDA_R_32F, items);
}

cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t, int m, int n, int, const double*,
                                             int, const double*, int* items) {
  return items_of("cusolverDnDorgqr_bufferSize", m, n, CUDA_R_64F, items);
}

cusolverStatus_t cusolverDnSorgqr(cusolverDnHandle_t handle, int m, int n, int k, float* a,
                                  int leading, const float* scales, float* memory, int items,
                                  int* info) {
  return form("cusolverDnSorgqr", CUDA_R_32F, handle, m, n, k, a, leading, scales, memory, items,
              info);
}

cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t handle, int m, int n, int k, double* a,
                                  int leading, const double* scales, double* memory, int items,
                                  int* info) {
  return form("cusolverDnDorgqr", CUDA_R_64F, handle, m, n, k, a, leading, scales, memory, items,
              info);
}

cusolverStatus_t cusolverDnSsytrf_bufferSize(cusolverDnHandle_t, int n, float*, int, int* items) {
  return items_of("cusolverDnSsytrf_bufferSize", n, n, CUDA_R_32F, items);
}

cusolverStatus_t cusolverDnDsytrf_bufferSize(cusolverDnHandle_t, int n, double*, int, int* items) {
  return items_of("cusolverDnDsytrf_bufferSize", n, n, CUDA_R_64F, items);
}

cusolverStatus_t cusolverDnSsytrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  float* a, int leading, int* pivots, float* memory, int items,
                                  int* info) {
  return factor_symmetric_in("cusolverDnSsytrf", CUDA_R_32F, handle, triangle, n, a, leading,
                             pivots, memory, items, info);
}

cusolverStatus_t cusolverDnDsytrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  double* a, int leading, int* pivots, double* memory, int items,
                                  int* info) {
  return factor_symmetric_in("cusolverDnDsytrf", CUDA_R_64F, handle, triangle, n, a, leading,
                             pivots, memory, items, info);
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                                   cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                                   cudaDataType type, const void*, int64_t,
                                                   cudaDataType, const void*, cudaDataType,
                                                   size_t* bytes, size_t* host_bytes,
                                                   int64_t batch) {
  return sizes("cusolverDnXsyevBatched_bufferSize", n, n * batch, type, bytes, host_bytes);
}

cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t,
                                        cusolverEigMode_t vectors, cublasFillMode_t triangle,
                                        int64_t n, cudaDataType type, void* a, int64_t leading,
                                        cudaDataType values_type, void* values, cudaDataType,
                                        void* memory, size_t bytes, void* host, size_t host_bytes,
                                        int* info, int64_t batch) {
  const Operand matrix = written({a, type, n, n, leading});
  const Operand found = written({values, values_type, n, 1, n});
  const Workspace place{memory, bytes, workspace_bytes(n, n * batch, type), host, host_bytes};
  return work(
      "cusolverDnXsyevBatched", handle, {matrix, found}, &place, info,
      [=](int64_t i) {
        const Matrix all = matrix.at(i).real();
        const Eigen::SelfAdjointEigenSolver<Matrix> solver(
            triangle == CUBLAS_FILL_MODE_UPPER ? Matrix(all.transpose()) : all);
        if (solver.info() != Eigen::Success) return 1;
        found.at(i).store(solver.eigenvalues());
        if (vectors == CUSOLVER_EIG_MODE_VECTOR) matrix.at(i).store(solver.eigenvectors());
        return 0;
      },
      {}, batch);
}

cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* jacobi) {
  return solver_call("cusolverDnCreateGesvdjInfo", [&] {
    static gesvdjInfo same;
    *jacobi = &same;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

cusolverStatus_t cusolverDnSgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int m,
                                              int n, const float*, int, const float*, const float*,
                                              int, const float*, int, int* items, gesvdjInfo_t) {
  return items_of("cusolverDnSgesvdj_bufferSize", m, n, CUDA_R_32F, items);
}

cusolverStatus_t cusolverDnSgesvdj(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                   int reduced, int m, int n, float* a, int leading, float* values,
                                   float* left, int left_leading, float* right, int right_leading,
                                   float* memory, int items, int* info, gesvdjInfo_t) {
  return rotate("cusolverDnSgesvdj", CUDA_R_32F, handle, vectors, reduced != 0, m, n, a, leading,
                values, left, left_leading, right, right_leading, memory, items, info, 1);
}

cusolverStatus_t cusolverDnSgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int m,
                                                     int n, const float*, int, const float*,
                                                     const float*, int, const float*, int,
                                                     int* items, gesvdjInfo_t, int batch) {
  return items_of("cusolverDnSgesvdjBatched_bufferSize", m, n * batch, CUDA_R_32F, items);
}

cusolverStatus_t cusolverDnSgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                          int m, int n, float* a, int leading, float* values,
                                          float* left, int left_leading, float* right,
                                          int right_leading, float* memory, int items, int* info,
                                          gesvdjInfo_t, int batch) {
  const char* const name = "cusolverDnSgesvdjBatched";
  if (m > 32 || n > 32)
    return refuse(name, "matrices of a batch have 32 rows and columns at most",
                  std::to_string(m) + " x " + std::to_string(n));
  return rotate(name, CUDA_R_32F, handle, vectors, false, m, n, a, leading, values, left,
                left_leading, right, right_leading, memory, items, info, batch);
}

cusolverStatus_t cusolverDnDgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int m,
                                              int n, const double*, int, const double*,
                                              const double*, int, const double*, int, int* items,
                                              gesvdjInfo_t) {
  return items_of("cusolverDnDgesvdj_bufferSize", m, n, CUDA_R_64F, items);
}

cusolverStatus_t cusolverDnDgesvdj(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                   int reduced, int m, int n, double* a, int leading,
                                   double* values, double* left, int left_leading, double* right,
                                   int right_leading, double* memory, int items, int* info,
                                   gesvdjInfo_t) {
  return rotate("cusolverDnDgesvdj", CUDA_R_64F, handle, vectors, reduced != 0, m, n, a, leading,
                values, left, left_leading, right, right_leading, memory, items, info, 1);
}

cusolverStatus_t cusolverDnDgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int m,
                                                     int n, const double*, int, const double*,
                                                     const double*, int, const double*, int,
                                                     int* items, gesvdjInfo_t, int batch) {
  return items_of("cusolverDnDgesvdjBatched_bufferSize", m, n * batch, CUDA_R_64F, items);
}

cusolverStatus_t cusolverDnDgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                          int m, int n, double* a, int leading, double* values,
                                          double* left, int left_leading, double* right,
                                          int right_leading, double* memory, int items, int* info,
                                          gesvdjInfo_t, int batch) {
  const char* const name = "cusolverDnDgesvdjBatched";
  if (m > 32 || n > 32)
    return refuse(name, "matrices of a batch have 32 rows and columns at most",
                  std::to_string(m) + " x " + std::to_string(n));
  return rotate(name, CUDA_R_64F, handle, vectors, false, m, n, a, leading, values, left,
                left_leading, right, right_leading, memory, items, info, batch);
}

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                            cusolverEigMode_t, cusolverEigMode_t, int64_t n,
                                            cudaDataType type, const void*, int64_t, cudaDataType,
                                            const void*, cudaDataType, const void*, int64_t,
                                            cudaDataType, const void*, int64_t, cudaDataType,
                                            size_t* bytes, size_t* host_bytes) {
  return sizes("cusolverDnXgeev_bufferSize", n, n, type, bytes, host_bytes);
}

cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t,
                                 cusolverEigMode_t left_vectors, cusolverEigMode_t right_vectors,
                                 int64_t n, cudaDataType type, void* a, int64_t leading,
                                 cudaDataType values_type, void* values, cudaDataType, void*,
                                 int64_t, cudaDataType right_type, void* right,
                                 int64_t right_leading, cudaDataType, void* memory, size_t bytes,
                                 void* host, size_t host_bytes, int* info) {
  const char* const name = "cusolverDnXgeev";
  if (left_vectors != CUSOLVER_EIG_MODE_NOVECTOR || right_vectors != CUSOLVER_EIG_MODE_VECTOR)
    return refuse(name, "this double has right eigenvectors alone", "others");
  const Operand matrix = written({a, type, n, n, leading});
  const Operand found = written({values, values_type, n, 1, n});
  const Operand vectors = written({right, right_type, n, n, right_leading});
  const Workspace place{memory, bytes, workspace_bytes(n, n, type), host, host_bytes};
  return work(name, handle, {matrix, found, vectors}, &place, info, [=](int64_t) {
    return type == CUDA_R_32F || type == CUDA_R_64F ? eigen_real(matrix, found, vectors)
                                                    : eigen_complex(matrix, found, vectors);
  });
}
}

// cuBLASLt: products computed on the CPU with sums in f64, and the rules for their operands.
#include <aorta/core/half.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/cuda/emulated/tf32.h>
#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

using namespace aorta::emulated;

struct cublasLtContext {
  int device;
};

namespace {

// What the opaque structures hold here.
struct Layout {
  cudaDataType_t type;
  int32_t batch;
  uint64_t rows, columns;
  int64_t leading, batch_stride;
};
struct Product {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transpose_a, transpose_b;
  int32_t epilogue, bias_type;
  const void* bias;
};
struct Preference {
  uint64_t workspace;
  uint32_t reductions, alignment[4];
};
// An algorithm is good for the problem that it was found for.
struct Algorithm {
  uint64_t problem;
  uint32_t alignment[4];
  uint64_t workspace;
  int32_t device, has_bias;
};

// Algorithms read a bias 16 bytes at a time, whatever the operands' alignment (cublasLt.h names A,
// B, C and D alone; PyTorch and Marian met faults below 16).
constexpr uintptr_t kBiasAlignment = 16;

template <class T, class Opaque>
T& inside(Opaque* opaque) {
  static_assert(sizeof(T) <= sizeof(Opaque));
  return *reinterpret_cast<T*>(opaque);
}

cublasStatus_t refuse(const char* call, const std::string& rule, const std::string& got,
                      cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  report(call, rule, got, page::kCublasLt);
  return status;
}

size_t item_bytes(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

double load(const char* data, cudaDataType_t type, int64_t i) {
  switch (type) {
    case CUDA_R_64F:
      return reinterpret_cast<const double*>(data)[i];
    case CUDA_R_32F:
      return reinterpret_cast<const float*>(data)[i];
    case CUDA_R_16F:
      return static_cast<double>(
          std::bit_cast<_Float16>(reinterpret_cast<const uint16_t*>(data)[i]));
    default:
      return std::bit_cast<float>(uint32_t{reinterpret_cast<const uint16_t*>(data)[i]} << 16);
  }
}

void store(char* data, cudaDataType_t type, int64_t i, double value) {
  switch (type) {
    case CUDA_R_64F:
      reinterpret_cast<double*>(data)[i] = value;
      break;
    case CUDA_R_32F:
      reinterpret_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case CUDA_R_16F:
      reinterpret_cast<uint16_t*>(data)[i] =
          std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<float>(value)));
      break;
    default:
      reinterpret_cast<aorta::BFloat16*>(data)[i] = aorta::BFloat16(static_cast<float>(value));
  }
}

/// One product, as it was when cublasLtMatmul was called.
struct Call {
  Product product;
  Layout a, b, c, d;
  double alpha, beta;
  const char *a_data, *b_data, *c_data;
  char* d_data;
  void* workspace;
  size_t workspace_bytes;
  int device;
};

/// Bytes from the first element of a batch of matrices to its last.
size_t extent(const Layout& l) {
  if (l.batch == 0 || l.rows == 0 || l.columns == 0) return 0;
  const int64_t matrix =
      static_cast<int64_t>(l.columns - 1) * l.leading + static_cast<int64_t>(l.rows);
  return static_cast<size_t>((l.batch - 1) * l.batch_stride + matrix) * item_bytes(l.type);
}

/// Every column of a batch of matrices: gaps between them are nobody's.
std::string problem_of(const void* data, const Layout& l, Access access, int device) {
  if (extent(l) == 0) return "";
  const size_t item = item_bytes(l.type);
  for (int32_t batch = 0; batch < (l.batch_stride == 0 ? 1 : l.batch); ++batch) {
    for (uint64_t column = 0; column < l.columns; ++column) {
      const int64_t first = batch * l.batch_stride + static_cast<int64_t>(column) * l.leading;
      const std::string problem =
          Memory::get().problem(static_cast<const char*>(data) + first * static_cast<int64_t>(item),
                                l.rows * item, access, device, false);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

std::string problem_of(const Call& call, bool when_it_runs) {
  const Access read = when_it_runs ? Access::read : Access::named;
  const Access write = when_it_runs ? Access::write : Access::named;
  std::string problem = problem_of(call.a_data, call.a, read, call.device);
  if (!problem.empty()) return "A in " + problem;
  problem = problem_of(call.b_data, call.b, read, call.device);
  if (!problem.empty()) return "B in " + problem;
  if (call.beta != 0) problem = problem_of(call.c_data, call.c, read, call.device);
  if (!problem.empty()) return "C in " + problem;
  problem = problem_of(call.d_data, call.d, write, call.device);
  if (!problem.empty()) return "D in " + problem;
  const Memory& memory = Memory::get();
  if (call.product.bias) {
    problem = memory.problem(call.product.bias, call.d.rows * item_bytes(call.d.type), read,
                             call.device, false);
    if (!problem.empty()) return "the bias in " + problem;
  }
  if (call.workspace_bytes > 0) {
    problem = memory.problem(call.workspace, call.workspace_bytes, write, call.device, false);
    if (!problem.empty()) return "the workspace in " + problem;
  }
  return "";
}

/// A dense copy of op(matrix) as (rows, columns), row-major, so that sums run along memory.
std::vector<double> gather(const char* data, const Layout& l, int32_t batch, bool transposed,
                           bool rows_first, bool tf32) {
  const int64_t rows = static_cast<int64_t>(transposed ? l.columns : l.rows);
  const int64_t columns = static_cast<int64_t>(transposed ? l.rows : l.columns);
  std::vector<double> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t place = transposed ? i * l.leading + j : j * l.leading + i;
      const size_t to = static_cast<size_t>(rows_first ? i * columns + j : j * rows + i);
      const double value = load(data, l.type, batch * l.batch_stride + place);
      result[to] = tf32 ? to_tf32(static_cast<float>(value)) : value;
    }
  }
  return result;
}

// Sums are taken in f64 and rounded once, and so belong to no order of summation; where beta is 0,
// C isn't read.
void run_product(const Call& call) {
  if (const std::string problem = problem_of(call, true); !problem.empty()) {
    report("cublasLtMatmul", "operands lie in memory of the device that is allocated and written",
           problem, page::kCublasLt);
    Streams::get().sticky = cudaErrorIllegalAddress;
    return;
  }
  show_read(call.a_data, extent(call.a));
  show_read(call.b_data, extent(call.b));
  if (call.beta != 0) show_read(call.c_data, extent(call.c));
  show_write(call.d_data, extent(call.d));
  // The workspace belongs to the call, whatever lay there.
  if (call.workspace_bytes > 0) {
    show_write(call.workspace, call.workspace_bytes);
    std::memset(call.workspace, 0xa5, call.workspace_bytes);
  }
  const bool ta = call.product.transpose_a == CUBLAS_OP_T;
  const bool tb = call.product.transpose_b == CUBLAS_OP_T;
  const size_t m = call.d.rows, n = call.d.columns, k = ta ? call.a.rows : call.a.columns;
  for (int32_t batch = 0; batch < call.d.batch; ++batch) {
    const bool tf32 = call.product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const std::vector<double> a = gather(call.a_data, call.a, batch, ta, true, tf32);
    const std::vector<double> b = gather(call.b_data, call.b, batch, tb, false, tf32);
    for (size_t j = 0; j < n; ++j) {
      for (size_t i = 0; i < m; ++i) {
        double sum = 0;
        for (size_t l = 0; l < k; ++l) sum += a[i * k + l] * b[j * k + l];
        sum *= call.alpha;
        const int64_t row = static_cast<int64_t>(i), column = static_cast<int64_t>(j);
        if (call.beta != 0) {
          sum += call.beta * load(call.c_data, call.c.type,
                                  batch * call.c.batch_stride + column * call.c.leading + row);
        }
        if (call.product.bias) {
          sum += load(static_cast<const char*>(call.product.bias), call.d.type, row);
        }
        store(call.d_data, call.d.type, batch * call.d.batch_stride + column * call.d.leading + row,
              sum);
      }
      const int64_t first = batch * call.d.batch_stride + static_cast<int64_t>(j) * call.d.leading;
      const size_t item = item_bytes(call.d.type);
      Memory::get().set_written(
          reinterpret_cast<uintptr_t>(call.d_data) + static_cast<size_t>(first) * item, m * item);
    }
  }
}

std::string text_of(const Layout& l) {
  return std::to_string(l.rows) + "x" + std::to_string(l.columns) + " leading " +
         std::to_string(l.leading) + " batch " + std::to_string(l.batch) + " by " +
         std::to_string(l.batch_stride);
}

/// A rule that a product breaks, or none.
struct Problem {
  std::string rule;
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  bool empty() const { return rule.empty(); }
};

/// What is wrong with the description of a product, by the statuses of CUDA 13.
Problem problem_of(const Product& p, const Layout& a, const Layout& b, const Layout& c,
                   const Layout& d) {
  const bool ta = p.transpose_a == CUBLAS_OP_T, tb = p.transpose_b == CUBLAS_OP_T;
  const uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns;
  const uint64_t n = tb ? b.rows : b.columns;
  const auto got = [&] {
    return ", got A " + text_of(a) + ", B " + text_of(b) + ", C " + text_of(c) + ", D " +
           text_of(d);
  };
  if ((tb ? b.columns : b.rows) != k || d.rows != m || d.columns != n || c.rows != m ||
      c.columns != n) {
    return {"D (m, n) = op(A) (m, k) op(B) (k, n), and C is like D" + got()};
  }
  for (const Layout* l : {&a, &b, &c, &d}) {
    if (l->leading < static_cast<int64_t>(l->rows) || m == 0 || n == 0) {
      return {"a leading dimension spans a column, and D isn't empty" + got()};
    }
    if (l->batch != d.batch || l->batch < 0) return {"all have one number of batches" + got()};
  }
  if (d.batch > 1 && d.batch_stride < static_cast<int64_t>(d.columns - 1) * d.leading +
                                          static_cast<int64_t>(d.rows)) {
    return {"the matrices of D don't overlap" + got()};
  }
  const bool wide = d.type == CUDA_R_64F;
  const bool tf32 = d.type == CUDA_R_32F && p.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (a.type != d.type || b.type != d.type || c.type != d.type ||
      (p.compute != (wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F) && !tf32) ||
      p.scale != (wide ? CUDA_R_64F : CUDA_R_32F)) {
    const bool contradict = a.type != b.type || (c.type == CUDA_R_64F) != wide ||
                            (p.compute == CUBLAS_COMPUTE_32F && p.scale != CUDA_R_32F);
    return {"the types are a row of the table of supported ones, got A " + std::to_string(a.type) +
                ", D " + std::to_string(d.type) + ", compute " + std::to_string(p.compute),
            contradict ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_SUPPORTED};
  }
  if (p.epilogue == CUBLASLT_EPILOGUE_BIAS) {
    if (!p.bias || (p.bias_type >= 0 && p.bias_type != d.type)) {
      return {"the bias is there, and of D's type"};
    }
  } else if (p.bias) {
    return {"a bias needs the epilogue that adds it"};
  }
  return {};
}

uint64_t hash_of(const Product& p, const Layout& a, const Layout& b, const Layout& c,
                 const Layout& d) {
  Product product = p;
  product.bias = nullptr;  // an algorithm is good for any pointers of its alignment
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](const auto& part) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&part);
    for (size_t i = 0; i < sizeof part; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  };
  add(product);
  for (const Layout* l : {&a, &b, &c, &d}) add(*l);
  return hash;
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

/// The rules about pointers, which hold when the call is made.
std::string problem_of(const Call& call, const Algorithm& algorithm) {
  const void* const pointers[] = {call.a_data, call.b_data, call.c_data, call.d_data};
  for (int i = 0; i < 4; ++i) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(pointers[i]);
    if (algorithm.alignment[i] == 0 || address % algorithm.alignment[i] == 0) continue;
    return std::string(
               "an operand is aligned as the preferences said when the algorithm was "
               "chosen, got ") +
           "ABCD"[i] + " at ..." + std::to_string(address % 256) + ", said " +
           std::to_string(algorithm.alignment[i]);
  }
  if (reinterpret_cast<uintptr_t>(call.product.bias) % kBiasAlignment != 0) {
    return "a bias is aligned to 16 bytes, for the preferences have no word for it, got ..." +
           std::to_string(reinterpret_cast<uintptr_t>(call.product.bias) % 256);
  }
  if (overlap(call.d_data, extent(call.d), call.a_data, extent(call.a)) ||
      overlap(call.d_data, extent(call.d), call.b_data, extent(call.b))) {
    return "D shares no memory with A or B";
  }
  const bool in_place = call.c_data == call.d_data;
  if (!in_place && call.beta != 0 &&
      overlap(call.d_data, extent(call.d), call.c_data, extent(call.c))) {
    return "C is D, or shares no memory with it";
  }
  if (in_place && std::memcmp(&call.c, &call.d, sizeof call.c) != 0) {
    return "where C is D their layouts are equal";
  }
  if (call.workspace_bytes < algorithm.workspace) {
    return "the workspace is as large as the algorithm asked, got " +
           std::to_string(call.workspace_bytes) + " of " + std::to_string(algorithm.workspace);
  }
  if (call.workspace_bytes > 0 && reinterpret_cast<uintptr_t>(call.workspace) % 256 != 0) {
    return "the workspace is aligned to 256 bytes";
  }
  return "";
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (closed() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  const MachineLock lock;
  if (begin_call("cublasLtCreate") != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "an unknown status";
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType_t type,
                                        uint64_t rows, uint64_t columns, int64_t leading) {
  if (is_injected("cublasLtMatrixLayoutInit")) return CUBLAS_STATUS_INTERNAL_ERROR;
  *layout = {};
  inside<Layout>(layout) = {.type = type,
                            .batch = 1,
                            .rows = rows,
                            .columns = columns,
                            .leading = leading,
                            .batch_stride = 0};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  if (is_injected("cublasLtMatrixLayoutSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  Layout& l = inside<Layout>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof l.batch) {
    std::memcpy(&l.batch, value, bytes);
  } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
             bytes == sizeof l.batch_stride) {
    std::memcpy(&l.batch_stride, value, bytes);
  } else {
    return refuse("cublasLtMatrixLayoutSetAttribute", "the attribute is known, and of its size",
                  std::to_string(attribute) + ", " + std::to_string(bytes) + " bytes");
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t product, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  if (is_injected("cublasLtMatmulDescInit")) return CUBLAS_STATUS_INTERNAL_ERROR;
  *product = {};
  inside<Product>(product) = {.compute = compute,
                              .scale = scale,
                              .transpose_a = CUBLAS_OP_N,
                              .transpose_b = CUBLAS_OP_N,
                              .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                              .bias_type = -1,
                              .bias = nullptr};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (is_injected("cublasLtMatmulDescSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  Product& p = inside<Product>(product);
  const auto set = [&](auto& field) {
    if (bytes != sizeof field) return false;
    std::memcpy(&field, value, bytes);
    return true;
  };
  const bool known = attribute == CUBLASLT_MATMUL_DESC_TRANSA           ? set(p.transpose_a)
                     : attribute == CUBLASLT_MATMUL_DESC_TRANSB         ? set(p.transpose_b)
                     : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE       ? set(p.epilogue)
                     : attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER   ? set(p.bias)
                     : attribute == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE ? set(p.bias_type)
                                                                        : false;
  if (known) return CUBLAS_STATUS_SUCCESS;
  return refuse("cublasLtMatmulDescSetAttribute", "the attribute is known, and of its size",
                std::to_string(attribute) + ", " + std::to_string(bytes) + " bytes");
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  if (is_injected("cublasLtMatmulPreferenceInit")) return CUBLAS_STATUS_INTERNAL_ERROR;
  *preference = {};
  // cublasLt.h: the default alignment is 256 bytes.
  inside<Preference>(preference) = {.workspace = 0,
                                    .reductions = CUBLASLT_REDUCTION_SCHEME_MASK,
                                    .alignment = {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  if (is_injected("cublasLtMatmulPreferenceSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  Preference& p = inside<Preference>(preference);
  const auto set = [&](auto& field) {
    if (bytes != sizeof field) return false;
    std::memcpy(&field, value, bytes);
    return true;
  };
  bool known = false;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) known = set(p.workspace);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) known = set(p.reductions);
  const int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand >= 0 && operand < 4) known = set(p.alignment[operand]);
  if (known) return CUBLAS_STATUS_SUCCESS;
  return refuse("cublasLtMatmulPreferenceSetAttribute", "the attribute is known, and of its size",
                std::to_string(attribute) + ", " + std::to_string(bytes) + " bytes");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  const char* const name = "cublasLtMatmulAlgoGetHeuristic";
  *found = 0;
  {
    const MachineLock lock;
    if (begin_call(name) != cudaSuccess) return CUBLAS_STATUS_INTERNAL_ERROR;
  }
  if (!handle) {
    return refuse(name, "the handle is one that was made", "", CUBLAS_STATUS_NOT_INITIALIZED);
  }
  if (requested < 1) return refuse(name, "at least one result is asked for", "");
  const auto &la = inside<Layout>(a), &lb = inside<Layout>(b), &lc = inside<Layout>(c),
             &ld = inside<Layout>(d);
  const Product& p = inside<Product>(product);
  if (const Problem problem = problem_of(p, la, lb, lc, ld); !problem.empty()) {
    return refuse(name, problem.rule, "", problem.status);
  }
  const Preference& wish = inside<Preference>(preference);
  Algorithm algorithm{.problem = hash_of(p, la, lb, lc, ld),
                      .alignment = {},
                      .workspace = 0,
                      .device = handle->device,
                      .has_bias = p.bias != nullptr};
  // A library may have nothing for a problem: every eighth, so that who asks has an answer to that.
  if (algorithm.problem % 8 == 7) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::copy_n(wish.alignment, 4, algorithm.alignment);
  // Some ask for a workspace.
  if (algorithm.problem % 2) algorithm.workspace = std::min<uint64_t>(wish.workspace, 65536);
  *results = {};
  static_assert(sizeof algorithm <= sizeof results->algo);
  std::memcpy(&results->algo, &algorithm, sizeof algorithm);
  results->workspaceSize = algorithm.workspace;
  results->state = CUBLAS_STATUS_SUCCESS;
  results->wavesCount = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream_handle) {
  const char* const name = "cublasLtMatmul";
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  // Its errors are its statuses: they aren't the runtime's last error.
  if (closed() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  const MachineLock lock;
  if (begin_call(name) != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  const auto make = [&] {
    const Product& p = inside<Product>(product);
    const bool wide = p.scale == CUDA_R_64F;
    const auto number = [&](const void* at) {
      return wide ? *static_cast<const double*>(at)
                  : static_cast<double>(*static_cast<const float*>(at));
    };
    CUstream_st* stream = Streams::get().find(stream_handle, current_device());
    const auto bad = [&](const std::string& rule,
                         cublasStatus_t with = CUBLAS_STATUS_INVALID_VALUE) {
      status = refuse(name, rule, "", with);
      return cudaSuccess;
    };
    if (!stream || stream->destroyed || stream->device != handle->device) {
      return bad("the stream is one of the handle's device");
    }
    const Call made{p,
                    inside<Layout>(a_layout),
                    inside<Layout>(b_layout),
                    inside<Layout>(c_layout),
                    inside<Layout>(d_layout),
                    number(alpha),
                    number(beta),
                    static_cast<const char*>(a),
                    static_cast<const char*>(b),
                    static_cast<const char*>(c),
                    static_cast<char*>(d),
                    workspace,
                    workspace_bytes,
                    handle->device};
    if (const Problem problem = problem_of(p, made.a, made.b, made.c, made.d); !problem.empty()) {
      return bad(problem.rule, problem.status);
    }
    if (!algorithm) return bad("an algorithm that the heuristic gave");
    Algorithm chosen;
    std::memcpy(&chosen, algorithm, sizeof chosen);
    if (chosen.problem != hash_of(p, made.a, made.b, made.c, made.d) ||
        chosen.device != handle->device) {
      return bad("an algorithm is used for the problem that it was chosen for");
    }
    if (const std::string problem = problem_of(made, chosen); !problem.empty()) return bad(problem);
    if (const std::string problem = problem_of(made, false); !problem.empty()) {
      return bad("operands lie in memory of the device, got " + problem);
    }
    return Streams::get().queue(*stream, {name, [made] { run_product(made); }, {}});
  };
  return make() == cudaSuccess ? status : CUBLAS_STATUS_EXECUTION_FAILED;
}
}

// Floating matrix products through cuBLASLt; integers, and products over nothing, by kernels of our
// own (matmul_simple.cu).
#include <aorta/core/backends.h>
#include <aorta/core/check.h>
#include <aorta/core/dispatch/device_work.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/data_type.h>
#include <aorta/cuda/gemm_plan.h>
#include <aorta/cuda/limits.h>
#include <aorta/cuda/matmul_simple.h>

#include <cublasLt.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace aorta::cuda {
namespace {

constexpr int64_t kWorkspaceBytes = 32 << 20;  // what NVIDIA recommends for Hopper

// The preferences have no word for the alignment of a bias, and algorithms may read it as widely as
// they read anything, 16 bytes: one that isn't aligned so is copied.
constexpr int kBiasAlignment = 16;

void check_lt(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail("matmul", "cuBLASLt must succeed", cublasLtGetStatusName(status));
}

cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static cublasLtHandle_t handles[kMaxDevices] = {};
  std::lock_guard lock(mutex);
  if (!handles[device]) check_lt(cublasLtCreate(&handles[device]));
  return handles[device];
}

/// cuBLASLt's description of a product, and the algorithm it advises. Copied out of the cache for
/// each call, so that threads may set pointers of their own.
struct LtPlan {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t left, right, added, out;
  cublasLtMatmulAlgo_t algorithm;
  int64_t workspace = 0;
};

void set_layout(cublasLtMatrixLayoutOpaque_t& layout, const GemmPlan& plan, int64_t rows,
                int64_t columns, const GemmOperand& operand) {
  if (operand.transposed) std::swap(rows, columns);
  check_lt(cublasLtMatrixLayoutInit(&layout, data_type(plan.dtype), static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), operand.leading));
  const int32_t batch = static_cast<int32_t>(plan.batch);
  check_lt(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                            sizeof batch));
  check_lt(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                            &operand.batch_stride, sizeof operand.batch_stride));
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& product, cublasLtMatmulDescAttributes_t what, const T& value) {
  check_lt(cublasLtMatmulDescSetAttribute(&product, what, &value, sizeof value));
}

/// Full f32, unless TF32 is allowed; halves are summed in f32, also where a sum is split over
/// blocks.
void describe(LtPlan& lt, const GemmPlan& plan, const void* bias) {
  const bool wide = plan.dtype == DType::f64;
  const cublasComputeType_t compute = wide        ? CUBLAS_COMPUTE_64F
                                      : plan.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F;
  check_lt(cublasLtMatmulDescInit(&lt.product, compute, wide ? CUDA_R_64F : CUDA_R_32F));
  set(lt.product, CUBLASLT_MATMUL_DESC_TRANSA, plan.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(lt.product, CUBLASLT_MATMUL_DESC_TRANSB, plan.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (plan.input == GemmInput::bias) {
    set(lt.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(lt.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(plan.dtype));
    set(lt.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        bias);  // looked at when an algorithm is chosen
  }
  const GemmOperand out{.transposed = false, .leading = plan.n, .batch_stride = plan.m * plan.n};
  set_layout(lt.left, plan, plan.n, plan.k, plan.left);
  set_layout(lt.right, plan, plan.k, plan.m, plan.right);
  set_layout(lt.out, plan, plan.n, plan.m, out);
  set_layout(lt.added, plan, plan.n, plan.m, plan.input == GemmInput::matrix ? plan.added : out);
}

struct Preference {
  cublasLtMatmulPreferenceOpaque_t value;
  Preference() { check_lt(cublasLtMatmulPreferenceInit(&value)); }
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t what, const T& x) {
    check_lt(cublasLtMatmulPreferenceSetAttribute(&value, what, &x, sizeof x));
  }
};

/// Asks cuBLASLt for its best algorithm; false when it has none for this product.
bool find_algorithm(LtPlan& lt, int device, const std::array<int, 4>& alignment) {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const cublasLtMatmulPreferenceAttributes_t attributes[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (size_t i = 0; i < 4; ++i) {
    preference.set(attributes[i], static_cast<uint32_t>(alignment[i]));
  }
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_of(device), &lt.product, &lt.left, &lt.right, &lt.added,
                                     &lt.out, &preference.value, 1, &result, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  check_lt(status);
  if (found == 0) return false;
  check_lt(result.state);
  lt.algorithm = result.algo;
  lt.workspace = static_cast<int64_t>(result.workspaceSize);
  return true;
}

/// The cached plan for a product, made when it is new; nothing when cuBLASLt has no algorithm.
std::optional<LtPlan> plan_for(const GemmPlan& plan, int device,
                               const std::array<int, 4>& alignment, bool beta, const void* bias) {
  constexpr size_t kMostPlans = 4096;  // 1 KiB each
  static std::mutex mutex;
  static auto* cache = new std::map<GemmPlan::Key, std::optional<LtPlan>>;
  const GemmPlan::Key key = plan.key(device, alignment, beta);
  std::lock_guard lock(mutex);
  if (const auto known = cache->find(key); known != cache->end()) return known->second;
  LtPlan lt{};
  describe(lt, plan, bias);
  std::optional<LtPlan> result;
  if (find_algorithm(lt, device, alignment)) result = lt;
  if (cache->size() >= kMostPlans) cache->clear();
  return (*cache)[key] = result;
}

struct Pointers {
  const char *a, *b, *input;
  char* c;
};

/// One strided batch.
bool run_batch(const GemmPlan& plan, const MatmulArgs& args, const Pointers& p, int device) {
  const bool matrix = plan.input == GemmInput::matrix;
  const void* added = matrix ? p.input : p.c;
  const void* bias = plan.input == GemmInput::bias ? p.input : nullptr;
  const bool beta = matrix && args.beta.to_double() != 0;
  const std::array<int, 4> alignment = {alignment_of(p.b), alignment_of(p.a), alignment_of(added),
                                        alignment_of(p.c)};
  std::optional<LtPlan> lt = plan_for(plan, device, alignment, beta, bias);
  if (!lt) return false;
  if (bias) set(lt->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const double wide[2] = {args.alpha.to_double(), beta ? args.beta.to_double() : 0.0};
  const float narrow[2] = {static_cast<float>(wide[0]), static_cast<float>(wide[1])};
  const bool f64 = plan.dtype == DType::f64;
  const Workspace workspace(lt->workspace, device);
  const cudaStream_t stream = current_stream(device);
  const DeviceWork work("matmul", DeviceType::cuda, stream);
  check_lt(cublasLtMatmul(handle_of(device), &lt->product,
                          f64 ? static_cast<const void*>(&wide[0]) : &narrow[0], p.b, &lt->left,
                          p.a, &lt->right, f64 ? static_cast<const void*>(&wide[1]) : &narrow[1],
                          added, &lt->added, p.c, &lt->out, &lt->algorithm, workspace.data(),
                          static_cast<size_t>(lt->workspace), stream));
  check_finished("matmul", stream);
  return true;
}

/// A size of a matrix, and the stride along it.
struct Extent {
  int64_t size, stride;
};

/// A contiguous copy of a batch of matrices.
Tensor dense_copy(const MatmulArgs& args, const void* data, Strides strides, Extent rows,
                  Extent columns) {
  Shape shape = args.batch_shape;
  for (const Extent& extent : {rows, columns}) {
    shape.push_back(extent.size);
    strides.push_back(extent.stride);
  }
  return from_blob(const_cast<void*>(data), shape, strides,
                   {.dtype = args.dtype, .device = args.device})
      .clone(MemoryFormat::contiguous);
}

/// Calls `run` for each index of the outer batch; false as soon as one is.
template <class Run>
bool for_each_outer(const GemmPlan& plan, Pointers p, const Run& run, int d = 0) {
  if (d == plan.outer.size()) return run(p);
  const int64_t item = item_size(plan.dtype);
  int64_t inner = plan.batch * plan.m * plan.n;
  for (int i = d + 1; i < plan.outer.size(); ++i) inner *= plan.outer[i];
  for (int64_t i = 0; i < plan.outer[d]; ++i) {
    if (!for_each_outer(plan, p, run, d + 1)) return false;
    p.a += plan.outer_a[d] * item;
    p.b += plan.outer_b[d] * item;
    if (p.input) p.input += plan.outer_input[d] * item;
    p.c += inner * item;
  }
  return true;
}

bool run_cublas(const MatmulArgs& original, int device) {
  MatmulArgs args = original;
  Tensor a, b, input;
  GemmPlan plan = GemmPlan::make(args);
  plan.tf32 = args.dtype == DType::f32 && backends::cuda::matmul::allow_tf32();
  if (plan.right.needs_copy) {
    a = dense_copy(args, args.a, args.a_batch, {args.m, args.a_row}, {args.k, args.a_column});
    args.a = a.data();
  }
  if (plan.left.needs_copy) {
    b = dense_copy(args, args.b, args.b_batch, {args.k, args.b_row}, {args.n, args.b_column});
    args.b = b.data();
  }
  if (plan.input == GemmInput::copied) {
    input = dense_copy(args, args.input, args.input_batch, {args.m, args.input_row},
                       {args.n, args.input_column});
    args.input = input.data();
    plan.input = GemmInput::matrix;
  }
  if (plan.input == GemmInput::bias && alignment_of(args.input) < kBiasAlignment) {
    input = from_blob(const_cast<void*>(args.input), {args.n},
                      {.dtype = args.dtype, .device = args.device})
                .clone();
    args.input = input.data();
  }
  const Pointers pointers{static_cast<const char*>(args.a), static_cast<const char*>(args.b),
                          static_cast<const char*>(args.input), static_cast<char*>(args.c)};
  return for_each_outer(plan, pointers,
                        [&](const Pointers& p) { return run_batch(plan, args, p, device); });
}

void matmul_kernel(const MatmulArgs& args) {
  const int device = args.device.index;
  const DeviceScope scope(device);
  // cuBLASLt counts batches in 32 bits, and has no product over nothing.
  const bool suits =
      is_floating(args.dtype) && args.k > 0 && args.batch_shape.numel() < limits().elements;
  if (!suits || !run_cublas(args, device)) matmul_simple(args);
}

}  // namespace

void register_matmul() {
  set_kernel<matmul_op, matmul_kernel>();
  set_kernel<addmm_op, matmul_kernel>();
  set_kernel<linear_op, matmul_kernel>();
}

}  // namespace aorta::cuda

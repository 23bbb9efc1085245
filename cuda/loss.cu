// Losses element by element and the products along lines: the formulas of core/scalar/loss.h. Sums
// are taken in f64, each block over a chunk that depends on the count alone.
#include <aorta/core/integers.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/scalar/loss.h>
#include <aorta/cuda/first_bad.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>

namespace aorta::cuda {
namespace {

using namespace scalar;

constexpr int64_t kSums = 1024;  // chunks at most, and
constexpr int64_t kLeastChunk = 4 * kThreads;

/// The loss of one element, or its slope; the kind is one for all threads.
template <class C, class Use>
__device__ __forceinline__ C with_loss(LossKind kind, double parameter, const Use& use) {
  switch (kind) {
    case LossKind::mse:
      return use(MseLoss{});
    case LossKind::l1:
      return use(L1Loss{});
    case LossKind::smooth_l1:
      return use(SmoothL1Loss{parameter});
    case LossKind::huber:
      return use(HuberLoss{parameter});
    case LossKind::bce_with_logits:
      return use(BceWithLogitsLoss{});
    case LossKind::bce:
      return use(BceLoss{});
    case LossKind::kl_div:
      return use(KlDivLoss{});
    case LossKind::kl_log:
      break;
  }
  return use(KlDivLogLoss{});
}

/// Elements of operands in the compute type C.
template <class C>
struct LossElements {
  LossArgs args;
  __device__ __forceinline__ C read(const void* data, int64_t i) const {
    return load<C>(static_cast<const char*>(data) + i * item_size(args.dtype), args.dtype);
  }
  __device__ __forceinline__ C factor(const void* data, int64_t step, int64_t i) const {
    return data ? read(data, i * step) : C(1);
  }
  __device__ __forceinline__ void write(int64_t i, C value) const {
    store(static_cast<char*>(args.output) + i * item_size(args.dtype), args.dtype, value);
  }
  /// The loss of element i.
  __device__ __forceinline__ C value(C x, int64_t i) const {
    const C t = read(args.target, i), p = factor(args.pos_weight, args.pos_weight_step, i);
    const C loss =
        with_loss<C>(args.kind, args.parameter, [&](const auto& f) { return f.value(x, t, p); });
    return loss * factor(args.weight, args.weight_step, i);
  }
};

/// Each block's chunk: the losses are written, or their sum is. `outside`: the first element
/// outside the domain of binary cross-entropy; null for other losses.
template <class C>
__global__ void __launch_bounds__(kThreads)
    loss_kernel(const __grid_constant__ LossElements<C> elements, int64_t chunk, double* sums,
                unsigned long long* outside) {
  AORTA_SHARED(double, shared, [kThreads / 32]);
  const int64_t end = min((blockIdx.x + int64_t{1}) * chunk, elements.args.count);
  double sum = 0;
  for (int64_t i = blockIdx.x * chunk + threadIdx.x; i < end; i += blockDim.x) {
    const C x = elements.read(elements.args.input, i);
    if (outside) {
      const C t = elements.read(elements.args.target, i);
      if (!(x >= C(0) && x <= C(1) && t >= C(0) && t <= C(1)))
        atomicMin(outside, static_cast<unsigned long long>(i));
    }
    const C loss = elements.value(x, i);
    if (sums) {
      sum += static_cast<double>(loss);
    } else {
      elements.write(i, loss);
    }
  }
  if (!sums) return;
  sum = add_group(sum, shared);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// One block: output = scale times the sum of all.
template <class C>
__global__ void __launch_bounds__(kThreads)
    add_losses_kernel(const __grid_constant__ LossElements<C> elements, const double* sums,
                      int64_t count) {
  AORTA_SHARED(double, shared, [kThreads / 32]);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
  sum = add_group(sum, shared);
  // From f64 straight to the dtype: rounded once.
  if (threadIdx.x == 0) store(elements.args.output, elements.args.dtype, sum * elements.args.scale);
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    loss_backward_kernel(const __grid_constant__ LossElements<C> elements) {
  const LossArgs& args = elements.args;
  const C scale = static_cast<C>(args.scale);
  for (int64_t i = first_item(); i < args.count; i += item_step()) {
    const C x = elements.read(args.input, i), t = elements.read(args.target, i);
    const C p = elements.factor(args.pos_weight, args.pos_weight_step, i);
    const C slope =
        with_loss<C>(args.kind, args.parameter, [&](const auto& f) { return f.slope(x, t, p); });
    elements.write(i, scale * elements.factor(args.gradient, args.gradient_step, i) * slope *
                          elements.factor(args.weight, args.weight_step, i));
  }
}

template <class C>
int64_t run_loss_as(const LossArgs& args) {
  const char* const op = "pointwise_loss";
  const LossElements<C> elements{args};
  const LaunchSite site(args.output);
  const int64_t chunk =
      std::max(kLeastChunk, round_up(divide_up(args.count, kSums), int64_t{kThreads}));
  const int64_t chunks = std::max<int64_t>(divide_up(args.count, chunk), 1);
  const Workspace sums(args.reduced ? chunks * 8 : 0, site.device());
  std::optional<FirstBad> outside;
  if (args.kind == LossKind::bce) outside.emplace(op, site.device(), site.stream());
  launch(op, loss_kernel<C>, static_cast<unsigned>(chunks), kThreads, site.stream(), elements,
         chunk, args.reduced ? sums.as<double>() : nullptr, outside ? outside->data() : nullptr);
  if (args.reduced) {
    launch(op, add_losses_kernel<C>, 1, kThreads, site.stream(), elements, sums.as<double>(),
           chunks);
  }
  return outside ? outside->known() : -1;
}

int64_t run_loss(const LossArgs& args) {
  if (args.count == 0 && !args.reduced) return -1;
  return args.dtype == DType::f64 ? run_loss_as<double>(args) : run_loss_as<float>(args);
}

template <class C>
void run_loss_backward_as(const LossArgs& args) {
  const LaunchSite site(args.output);
  launch("pointwise_loss_backward", loss_backward_kernel<C>, site.blocks(args.count), kThreads,
         site.stream(), LossElements<C>{args});
}
void run_loss_backward(const LossArgs& args) {
  if (args.count == 0) return;
  if (args.dtype == DType::f64) return run_loss_backward_as<double>(args);
  run_loss_backward_as<float>(args);
}

// ---- Products along lines.

struct Products {
  double xy, xx, yy;
  __device__ __forceinline__ void take(double x, double y) {
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  __device__ __forceinline__ void write(const LineProductsArgs& args, int64_t line,
                                        int64_t count) const {
    args.output[line] = xy;
    args.output[count + line] = xx;
    args.output[2 * count + line] = yy;
  }
};

/// The element that stands `bytes` times its place behind `data`, in f64.
__device__ __forceinline__ double read_double(const void* data, DType dtype, int64_t i) {
  return load<double>(static_cast<const char*>(data) + i * item_size(dtype), dtype);
}

/// Lines of neighbours: blockDim.x threads a line, blockDim.y lines a block.
__global__ void __launch_bounds__(kThreads)
    products_of_rows_kernel(const __grid_constant__ LineProductsArgs args, int64_t count) {
  AORTA_SHARED(Products, shared, [kThreads / 32]);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; line < count;
       line += step) {
    Products sums{0, 0, 0};
    for (int64_t i = threadIdx.x; i < args.lines.length; i += blockDim.x) {
      const int64_t place = line * args.lines.length + i;
      sums.take(read_double(args.x, args.dtype, place), read_double(args.y, args.dtype, place));
    }
    sums = join_group(sums, shared, [](const Products& a, const Products& b) {
      return Products{a.xy + b.xy, a.xx + b.xx, a.yy + b.yy};
    });
    if (threadIdx.x == 0) sums.write(args, line, count);
  }
}

/// Lines of elements `inner` apart: a thread a line.
__global__ void __launch_bounds__(kThreads)
    products_of_columns_kernel(const __grid_constant__ LineProductsArgs args, int64_t count) {
  const Lines& lines = args.lines;
  for (int64_t line = first_item(); line < count; line += item_step()) {
    int64_t place = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    Products sums{0, 0, 0};
    for (int64_t i = 0; i < lines.length; ++i, place += lines.inner)
      sums.take(read_double(args.x, args.dtype, place), read_double(args.y, args.dtype, place));
    sums.write(args, line, count);
  }
}

void run_line_products(const LineProductsArgs& args) {
  const char* const op = "line_products";
  const int64_t count = args.lines.count();
  if (count == 0) return;
  const LaunchSite site(args.output);
  if (args.lines.inner == 1) {
    const unsigned threads = args.lines.length > 1024 ? kThreads : 32;
    const dim3 block(threads, kThreads / threads);
    launch(op, products_of_rows_kernel, grid_of(divide_up(count, block.y)), block, site.stream(),
           args, count);
  } else {
    launch(op, products_of_columns_kernel, site.blocks(count), kThreads, site.stream(), args,
           count);
  }
}

/// An element a thread.
__global__ void __launch_bounds__(kThreads)
    products_backward_kernel(const __grid_constant__ LineProductsArgs args, int64_t count) {
  const Lines& lines = args.lines;
  const int64_t elements = count * lines.length, outer = lines.length * lines.inner;
  const int64_t size = item_size(args.dtype);
  for (int64_t i = first_item(); i < elements; i += item_step()) {
    const int64_t line = i / outer * lines.inner + i % lines.inner;
    const double x = read_double(args.x, args.dtype, i), y = read_double(args.y, args.dtype, i);
    const double g = args.gradient[line];
    const auto write = [&](void* output, double value) {
      store(static_cast<char*>(output) + i * size, args.dtype, value);
    };
    if (args.x_gradient) write(args.x_gradient, g * y + 2 * args.gradient[count + line] * x);
    if (args.y_gradient) write(args.y_gradient, g * x + 2 * args.gradient[2 * count + line] * y);
  }
}

void run_line_products_backward(const LineProductsArgs& args) {
  const int64_t count = args.lines.count();
  if (count == 0 || args.lines.length == 0) return;
  const LaunchSite site(args.gradient);
  launch("line_products_backward", products_backward_kernel, site.blocks(count * args.lines.length),
         kThreads, site.stream(), args, count);
}

}  // namespace

void register_loss() {
  set_kernel<pointwise_loss_op, run_loss>();
  set_kernel<pointwise_loss_backward_op, run_loss_backward>();
  set_kernel<line_products_op, run_line_products>();
  set_kernel<line_products_backward_op, run_line_products_backward>();
}

}  // namespace aorta::cuda

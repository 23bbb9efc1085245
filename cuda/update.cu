#include <aorta/core/ops/update.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

#include <cmath>

namespace aorta::cuda {
namespace {

/// Tensors of a launch: what fits the 4 KB of kernel arguments.
constexpr int kTensors = 48;

/// Neighbours in the list with the same numbers.
template <class T>
struct Batch {
  UpdateTensor tensors[kTensors];
  int size = 0;
  UpdateNumbers<T> numbers;
  const UpdateNumbers<double>* live = nullptr;  // in place of `numbers`
  const double* must_be_finite = nullptr;
};

/// The tensors lie one behind the other in one range of elements.
template <class F, class M, class T>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ Batch<T> batch, int64_t begin, int64_t end) {
  if (batch.must_be_finite && !std::isfinite(*batch.must_be_finite)) return;
  const UpdateNumbers<T> numbers = batch.live ? UpdateNumbers<T>(*batch.live) : batch.numbers;
  int tensor = 0;
  for (int64_t i = begin + first_item(); i < end; i += item_step()) {
    while (i >= batch.tensors[tensor].first + batch.tensors[tensor].count) ++tensor;
    const UpdateTensor& t = batch.tensors[tensor];
    const int64_t place = i - t.first;
    M* const parameter = static_cast<M*>(t.parameter) + place;
    const M* const gradient = t.gradient ? static_cast<const M*>(t.gradient) + place : parameter;
    T p = load<T, M>(parameter);
    T s[kMaxUpdateStates] = {};
#pragma unroll
    for (int k = 0; k < F::states; ++k) s[k] = static_cast<const T*>(t.states[k])[place];
    F()(numbers, p, load<T, M>(gradient), s);
    store<M>(parameter, p);
#pragma unroll
    for (int k = 0; k < F::states; ++k) static_cast<T*>(t.states[k])[place] = s[k];
  }
}

template <class F, class M>
void run_as(const UpdateArgs& args) {
  using T = ComputeType<M>;
  static_assert(sizeof(Batch<T>) + 2 * sizeof(int64_t) <= 4096);
  const auto filled = std::find_if(args.tensors.begin(), args.tensors.end(),
                                   [](const UpdateTensor& t) { return t.count > 0; });
  const LaunchSite site(filled->parameter);
  if (!args.live) refuse_capture("update", site.stream());
  for (size_t i = 0; i < args.tensors.size();) {
    Batch<T> batch;
    const int64_t numbers = args.tensors[i].numbers, begin = args.tensors[i].first;
    batch.numbers = UpdateNumbers<T>(args.numbers[static_cast<size_t>(numbers)]);
    if (args.live) batch.live = args.live + numbers;
    batch.must_be_finite = args.must_be_finite;
    int64_t end = begin;
    for (; i < args.tensors.size() && batch.size < kTensors && args.tensors[i].numbers == numbers;
         ++i) {
      batch.tensors[batch.size++] = args.tensors[i];
      end = args.tensors[i].first + args.tensors[i].count;
    }
    if (begin == end) continue;
    launch("update", update_kernel<F, M, T>, site.blocks(end - begin), kThreads, site.stream(),
           batch, begin, end);
  }
}

void run(const UpdateArgs& args) {
  if (args.count() == 0) return;
  scalar::with_update(args.rule, [&]<class F>(F) {
    switch (args.dtype) {
      case DType::f64:
        return run_as<F, double>(args);
      case DType::f16:
        return run_as<F, Half>(args);
      case DType::bf16:
        return run_as<F, BFloat16>(args);
      default:
        return run_as<F, float>(args);
    }
  });
}

}  // namespace

void register_update() { set_kernel<update_op, run>(); }

}  // namespace aorta::cuda

#include <aorta/core/ops/update.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>
#include <aorta/cuda/tensor_list.cuh>

#include <cmath>

namespace aorta::cuda {
namespace {

/// A tensor whose rule has so many states.
template <int states>
struct Place {
  void* parameter;
  const void* gradient;
  void* state[states];
};
template <>
struct Place<0> {
  void* parameter;
  const void* gradient;
};

/// Neighbours in the list with the same numbers.
template <class F, class T>
struct Batch {
  TensorList<Place<F::states>> tensors;
  UpdateNumbers<T> numbers;
  const UpdateNumbers<double>* live = nullptr;  // in place of `numbers`
  const double* must_be_finite = nullptr;
};

/// The tensors lie one behind the other in one range of elements.
template <class F, class M, class T>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ Batch<F, T> batch) {
  if (batch.must_be_finite && !std::isfinite(*batch.must_be_finite)) return;
  const UpdateNumbers<T> numbers = batch.live ? UpdateNumbers<T>(*batch.live) : batch.numbers;
  const int64_t end = batch.tensors.end();
  int64_t i = batch.tensors.begin() + first_item();
  if (i >= end) return;
  for (int tensor = batch.tensors.find(i); i < end; i += item_step()) {
    tensor = batch.tensors.find_from(tensor, i);
    const Place<F::states>& t = batch.tensors.places[tensor];
    const int64_t place = i - batch.tensors.firsts[tensor];
    M* const parameter = static_cast<M*>(t.parameter) + place;
    const M* const gradient = t.gradient ? static_cast<const M*>(t.gradient) + place : parameter;
    T p = load<T, M>(parameter);
    T s[kMaxUpdateStates] = {};
    if constexpr (F::states > 0) {
#pragma unroll
      for (int k = 0; k < F::states; ++k) s[k] = static_cast<const T*>(t.state[k])[place];
    }
    F()(numbers, p, load<T, M>(gradient), s);
    store<M>(parameter, p);
    if constexpr (F::states > 0) {
#pragma unroll
      for (int k = 0; k < F::states; ++k) static_cast<T*>(t.state[k])[place] = s[k];
    }
  }
}

template <int states>
Place<states> place_of(const UpdateTensor& tensor) {
  Place<states> place;
  place.parameter = tensor.parameter;
  place.gradient = tensor.gradient;
  if constexpr (states > 0) std::copy_n(tensor.states, states, place.state);
  return place;
}

template <class F, class M>
void run_as(const UpdateArgs& args) {
  using T = ComputeType<M>;
  static_assert(sizeof(Batch<F, T>) <= kArgumentBytes);
  const auto filled = std::find_if(args.tensors.begin(), args.tensors.end(),
                                   [](const UpdateTensor& t) { return t.count > 0; });
  const LaunchSite site(filled->parameter);
  if (!args.live) refuse_capture("update", site.stream());
  for (size_t i = 0; i < args.tensors.size();) {
    Batch<F, T> batch;
    const int64_t numbers = args.tensors[i].numbers;
    batch.numbers = UpdateNumbers<T>(args.numbers[static_cast<size_t>(numbers)]);
    if (args.live) batch.live = args.live + numbers;
    batch.must_be_finite = args.must_be_finite;
    for (;
         i < args.tensors.size() && !batch.tensors.is_full() && args.tensors[i].numbers == numbers;
         ++i) {
      const UpdateTensor& tensor = args.tensors[i];
      batch.tensors.add(place_of<F::states>(tensor), tensor.first, tensor.count);
    }
    if (batch.tensors.elements() == 0) continue;
    launch("update", update_kernel<F, M, T>, site.blocks(batch.tensors.elements()), kThreads,
           site.stream(), batch);
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

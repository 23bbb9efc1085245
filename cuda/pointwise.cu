// The kernels of core/scalar/op_list.h. Compiled once for each part of the lists
// (AORTA_POINTWISE_PART, see BUILD).
#include <aorta/core/scalar/op_list.h>
#include <aorta/cuda/pointwise.h>
#include <aorta/cuda/elementwise.cuh>

#include <utility>

namespace aorta::cuda {
namespace {

using scalar::TypeList;

/// The type of input k (0 the first) of functor F where its operands are M.
template <class F, class M, int k>
using InputType = std::conditional_t<(k < scalar::masks_of<F>()), bool, M>;

template <class F, class M>
using OutputType = std::conditional_t<F::info.result == scalar::Result::boolean, bool, M>;

template <class M>
bool fits_array(const PointwiseArgs& args, int k) {
  if (args.is_number[k]) return true;
  return args.dtype[k] == dtype_of<M> && (is_array(args, k) || is_constant(args, k));
}

template <class M>
ArrayInput<M> array_input(const PointwiseArgs& args, int k) {
  ArrayInput<M> input{};
  input.constant = is_constant(args, k);
  if (args.is_number[k]) {
    std::memcpy(&input.value, args.number[k], sizeof input.value);
  } else {
    input.data = reinterpret_cast<const MemoryType<M>*>(args.data[k]);
  }
  return input;
}

/// The kernel of blocks for operands of M in rows, when they are that.
template <class F, class M, int... k>
bool run_blocks(const PointwiseArgs& args, std::integer_sequence<int, k...>) {
  using Out = OutputType<F, M>;
  if (args.dtype[0] != dtype_of<Out> || !is_array(args, 0)) return false;
  if (!(fits_array<InputType<F, M, k>>(args, k + 1) && ...)) return false;
  const auto space = BlockSpaceOf<Out, InputType<F, M, k>...>::rows(args);
  if (!space) return false;
  launch_blocks<Out>(F::info.name, *static_cast<const F*>(args.functor), *space, args.data[0],
                     array_input<InputType<F, M, k>>(args, k + 1)...);
  return true;
}

template <class F, class T, class Inputs>
bool run_blocks_of_any(const PointwiseArgs& args, Inputs inputs) {
  if (run_blocks<F, T>(args, inputs)) return true;
  if constexpr (std::is_same_v<T, float>)
    return run_blocks<F, Half>(args, inputs) || run_blocks<F, BFloat16>(args, inputs);
  return false;
}

/// Any strides and dtypes, computed in T.
template <class F, class T, int... k>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(const F f, const __grid_constant__ StridedArgs args,
                   std::integer_sequence<int, k...>) {
  for (int64_t i = first_item(); i < args.count; i += item_step()) {
    int64_t offset[sizeof...(k) + 1];
    args.offsets(static_cast<uint32_t>(i), offset);
    const auto value = f(args.operand[k + 1].template fetch<InputType<F, T, k>>(offset[k + 1])...);
    store(args.operand[0].data + offset[0], args.operand[0].dtype, value);
  }
}

template <class F, class T, int... k>
void run_strided(const PointwiseArgs& args, std::integer_sequence<int, k...> inputs) {
  const LaunchSite site(args.data[0]);
  launch(F::info.name, strided_kernel<F, T, k...>, site.blocks(args.numel), kThreads, site.stream(),
         *static_cast<const F*>(args.functor), strided_args(args), inputs);
}

template <class F, class T, class Inputs>
void run_as(const PointwiseArgs& args, Inputs inputs) {
  if constexpr (scalar::computes_in<F, T>()) {
    if (run_blocks_of_any<F, T>(args, inputs)) return;
    for_each_part(args, [&](const PointwiseArgs& part) {
      if (part.numel < args.numel && run_blocks_of_any<F, T>(part, inputs)) return;
      run_strided<F, T>(part, inputs);
    });
  }
}

template <class F, int inputs>
void kernel(const PointwiseArgs& args) {
  constexpr std::make_integer_sequence<int, inputs> sequence;
  switch (args.compute[inputs]) {
    case DType::f32:
      return run_as<F, float>(args, sequence);
    case DType::f64:
      return run_as<F, double>(args, sequence);
    case DType::i64:
      return run_as<F, int64_t>(args, sequence);
    case DType::i32:
      return run_as<F, int32_t>(args, sequence);
    case DType::u8:
      return run_as<F, uint8_t>(args, sequence);
    case DType::boolean:
      return run_as<F, bool>(args, sequence);
    case DType::f16:
    case DType::bf16:
    case DType::c64:
    case DType::c128:
      break;
  }
  fail(F::info.name, "half types are computed in f32, complex ones in parts", args.compute[inputs]);
}

template <class F, int inputs, int index>
void register_op() {
  if constexpr (index % kPointwiseParts == AORTA_POINTWISE_PART) {
    if constexpr (inputs == 1)
      set_kernel<unary_op<F>, kernel<F, inputs>>();
    else if constexpr (inputs == 2)
      set_kernel<binary_op<F>, kernel<F, inputs>>();
    else
      set_kernel<ternary_op<F>, kernel<F, inputs>>();
  }
}

template <int inputs, class... Fs, int... index>
void register_list(TypeList<Fs...>, std::integer_sequence<int, index...>) {
  (register_op<Fs, inputs, index>(), ...);
}

template <int inputs, class List>
void register_list(List list) {
  register_list<inputs>(list, std::make_integer_sequence<int, List::size>{});
}

}  // namespace

template <>
void register_pointwise_part<AORTA_POINTWISE_PART>() {
  register_list<1>(scalar::UnaryOps{});
  register_list<2>(scalar::BinaryOps{});
  register_list<2>(scalar::GradientOps{});
  register_list<3>(scalar::TernaryOps{});
}

}  // namespace aorta::cuda

// Dropout: a thread takes the four elements of a block of the generator, so that one seed drops the
// same elements on every device.
#include <aorta/core/ops/dropout.h>
#include <aorta/core/scalar/philox.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

template <class M>
struct DropoutBody {
  using C = ComputeType<M>;
  GeneratorState random;
  const GeneratorState* live;
  uint64_t threshold;
  C scale;
  int64_t count;
  const M* input;
  M* output;
  bool aligned;

  __device__ __forceinline__ void operator()(int64_t block) const {
    const GeneratorState at = live ? *live : random;
    const scalar::PhiloxWords words =
        scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(block));
    const int64_t first = block * 4;
    const int there = static_cast<int>(min(int64_t{4}, count - first));
    const bool whole = aligned && there == 4;
    C values[4];
    read_block<M>(values, input + first, there, whole);
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] = words.word[j] >= threshold ? values[j] * scale : C(0);
    write_block<M>(output + first, values, there, whole);
  }
};

template <class M>
void run_dropout_as(const DropoutArgs& args) {
  const DropoutMask& mask = args.mask;
  // Two double blocks of 16 bytes would be needed: those are written one by one.
  const bool aligned =
      sizeof(M) <= 4 && is_vector_aligned<M, 4>(args.input) && is_vector_aligned<M, 4>(args.output);
  const DropoutBody<M> body{mask.random,
                            mask.live,
                            mask.threshold,
                            static_cast<ComputeType<M>>(mask.scale),
                            args.count,
                            static_cast<const M*>(args.input),
                            static_cast<M*>(args.output),
                            aligned};
  for_each("dropout", args.output, (args.count + 3) / 4, body);
}

void run_dropout(const DropoutArgs& args) {
  if (!args.mask.live) refuse_capture("dropout", LaunchSite(args.output).stream());
  switch (args.dtype) {
    case DType::f64:
      return run_dropout_as<double>(args);
    case DType::f16:
      return run_dropout_as<Half>(args);
    case DType::bf16:
      return run_dropout_as<BFloat16>(args);
    default:
      return run_dropout_as<float>(args);
  }
}

}  // namespace

void register_dropout() { set_kernel<dropout_op, run_dropout>(); }

}  // namespace aorta::cuda

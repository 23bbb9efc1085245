#include <aorta/core/body/draws.h>
#include <aorta/core/cpu/random.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/parallel_for.h>

namespace aorta::cpu {
namespace {

// Samplers by rejection: no loop of vectors, so they need no instruction set.
bool draw(const Tensor& out, const RandomArgs& args) {
  constexpr int64_t kDraws = 256;
  if (out.dtype() != DType::f64) return false;
  return body::run_draws(args, out.data<double>(), [&](const auto& body) {
    parallel_for(0, out.numel(), kDraws, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  });
}

void random_kernel(const Tensor& out, const RandomArgs& args) {
  if (draw(out, args)) return;
  static const auto fill = for_isa(v2::random_fill, v3::random_fill, v4::random_fill);
  RandomFill task{.distribution = args.distribution,
                  .dtype = out.dtype(),
                  .out = out.data(),
                  .count = out.numel(),
                  .random = args.random,
                  .a = args.a,
                  .b = args.b,
                  .low = args.low,
                  .range = args.range,
                  .probability = nullptr,
                  .probability_step = 0};
  if (args.distribution == Distribution::bernoulli) {
    task.probability = args.first.data<double>();
    task.probability_step = args.first.numel() == 1 ? 0 : 1;
  }
  constexpr int64_t kBlocks = 4096;
  const int64_t blocks = (out.numel() + 1) / 2;  // at least as many as any fill has
  parallel_for(0, blocks, kBlocks, [&](int64_t begin, int64_t end) { fill(task, begin, end); });
}

}  // namespace

void register_random() { random_op.set_kernel(DeviceType::cpu, random_kernel); }

}  // namespace aorta::cpu

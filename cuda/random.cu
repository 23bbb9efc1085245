// Random fills: the bodies that the CPU runs, so that one seed gives the same integers.
#include <aorta/core/body/draws.h>
#include <aorta/core/body/random.h>
#include <aorta/core/ops/random.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

/// A fill of a captured step: its place in the generator is another at each launch.
template <class Body>
struct LiveBody {
  Body fill;
  const GeneratorState* live;
  __device__ __forceinline__ void operator()(int64_t block) const {
    Body now = fill;
    now.random = {live->seed, live->stream, live->position};
    now(block);
  }
};

template <class T>
void fill_as(const Tensor& out, const RandomArgs& args) {
  T* const data = static_cast<T*>(out.data());
  const int64_t count = out.numel();
  const int64_t pairs = (count + 1) / 2;
  const auto run = [&](int64_t blocks, const auto& body) {
    if (args.live)
      for_each("random_", data, blocks,
               LiveBody<std::remove_cvref_t<decltype(body)>>{body, args.live});
    else
      for_each("random_", data, blocks, body);
  };
  if constexpr (std::is_same_v<T, double>) {
    if (body::run_draws(args, data, [&](const auto& body) { run(count, body); })) return;
  }
  switch (args.distribution) {
    case body::Distribution::randint:
      return run(pairs, body::RandintBody<T>{data, count, args.random, args.low, args.range});
    case body::Distribution::bernoulli:
      return run(pairs, body::BernoulliBody<T>{data, count, args.random, args.first.data<double>(),
                                               args.first.numel() == 1 ? 0 : 1});
    default:
      body::run_with_numbers(args, data, count, [&](const auto& body) {
        constexpr int items = std::remove_cvref_t<decltype(body)>::kItems;
        run((count + items - 1) / items, body);
      });
  }
}

void random_kernel(const Tensor& out, const RandomArgs& args) {
  if (!args.live) refuse_capture("random_", LaunchSite(out.data()).stream());
  visit_dtype(out.dtype(), [&](auto type) { fill_as<decltype(type)>(out, args); });
}

}  // namespace

void register_random() { set_kernel<random_op, random_kernel>(); }

}  // namespace aorta::cuda

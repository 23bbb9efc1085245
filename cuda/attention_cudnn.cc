#include <aorta/core/backends.h>
#include <aorta/core/integers.h>
#include <aorta/cuda/attention_cudnn.h>
#include <aorta/cuda/attention_graph.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/cudnn_device.h>

namespace aorta::cuda {
namespace {

// With older ones NVIDIA's frontend masks what lies past the last key where 128 doesn't divide
// their number, and fills the sums of the query's gradient with zeros before 9.6.
constexpr int64_t kOldest = 91600;
constexpr int64_t kApart = 256;  // bytes that pieces of a workspace begin at multiples of

bool is_there() {
  const DeviceLibrary& state = cudnn_library().state;
  return state.problem.empty() && state.version >= kOldest;
}

template <class Args, class Queue>
bool run(const char* op, const Args& args, const Queue& queue) {
  if (!is_there()) return false;
  const int device = device_of(args.output.data);
  const DeviceScope scope(device);
  const AttentionProblem problem = AttentionProblem::make(args);
  const auto find = [&](cudnnHandle_t handle) -> std::shared_ptr<const CudnnEngine> {
    return find_attention(problem, {.handle = handle}, op);
  };
  return run_by_cudnn(
      {op, device, problem.key(), find,
       [&](const CudnnEngine& engine, cudnnHandle_t handle) { queue(engine, handle, device); }});
}

}  // namespace

bool attention_by_cudnn(const kernel::AttentionKernelArgs& args) {
  const char* const op = "scaled_dot_product_attention";
  return run(op, args, [&](const CudnnEngine& engine, cudnnHandle_t handle, int device) {
    const Workspace workspace(engine.workspace(), device);
    const AttentionScratch scratch{.scale = static_cast<float>(args.scale)};
    engine.run(pointers_of(args, scratch), workspace.data(), handle, op);
  });
}

bool attention_backward_by_cudnn(const kernel::AttentionBackwardArgs& args) {
  const char* const op = "scaled_dot_product_attention_backward";
  if (backends::cudnn::deterministic()) return false;
  return run(op, args, [&](const CudnnEngine& engine, cudnnHandle_t handle, int device) {
    const Workspace workspace(engine.workspace(), device);
    const int64_t apart = round_up(AttentionScratch::product_bytes(args), kApart);
    const Workspace sums(apart + AttentionScratch::gradient_bytes(args), device);
    const AttentionScratch scratch{.scale = static_cast<float>(args.scale),
                                   .products = sums.data(),
                                   .query_gradient = sums.as<char>() + apart};
    engine.run(pointers_of(args, scratch), workspace.data(), handle, op);
  });
}

}  // namespace aorta::cuda

#include <aorta/cuda/attention_shape.h>

#include <aorta/cuda/limits.h>

#include <cmath>

namespace aorta::cuda {
namespace {

using kernel::AttentionBackwardArgs;
using kernel::AttentionKernelArgs;
using kernel::AttentionOperand;

constexpr int64_t kMostFeatures = 256;
constexpr int64_t kMostOfAGrid = int64_t{1} << 16;  // batches and heads, which a grid's y and z are
constexpr int64_t kTogether = 8;                    // halves that are loaded at once: 16 bytes

bool suits_cudnn(int64_t features) {
  return features > 0 && features <= kMostFeatures && features % kTogether == 0;
}

bool suits_cudnn(const AttentionOperand& x, const AttentionKernelArgs& args, int64_t rows,
                 int64_t columns) {
  if (x.column != 1 || reinterpret_cast<uintptr_t>(x.data) % (2 * kTogether) != 0) return false;
  const int64_t limit = limits().elements;
  int64_t reach = columns;
  const auto add = [&](int64_t size, int64_t stride) {
    if (size == 1) return true;
    if (stride < kTogether || stride % kTogether != 0 || stride >= limit || size >= limit)
      return false;
    reach += (size - 1) * stride;
    return reach < limit;
  };
  return add(args.batch, x.batch) && add(args.heads, x.head) && add(rows, x.row);
}

}  // namespace

bool suits_cudnn(const AttentionKernelArgs& args) {
  const bool is_half = args.dtype == DType::f16 || args.dtype == DType::bf16;
  if (!is_half || args.mask.data || args.dropout.threshold > 0) return false;
  const bool scales = args.scale > 0 && std::isfinite(static_cast<float>(args.scale));
  if (!scales || args.queries < 2 || args.keys < 2) return false;
  if (args.batch < 1 || args.batch >= kMostOfAGrid || args.heads < 1 || args.heads >= kMostOfAGrid)
    return false;
  const int64_t features = args.features, values = args.value_features;
  return suits_cudnn(features) && suits_cudnn(values) &&
         suits_cudnn(args.query, args, args.queries, features) &&
         suits_cudnn(args.key, args, args.keys, features) &&
         suits_cudnn(args.value, args, args.keys, values) &&
         suits_cudnn(args.output, args, args.queries, values);
}

bool suits_cudnn(const AttentionBackwardArgs& args) {
  const AttentionKernelArgs& forward = args;
  return suits_cudnn(forward) &&
         suits_cudnn(args.gradient, args, args.queries, args.value_features) &&
         suits_cudnn(args.query_gradient, args, args.queries, args.features) &&
         suits_cudnn(args.key_gradient, args, args.keys, args.features) &&
         suits_cudnn(args.value_gradient, args, args.keys, args.value_features);
}

}  // namespace aorta::cuda

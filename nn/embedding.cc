#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/init.h>

#include <fmt/format.h>

namespace aorta::nn {

Embedding::Embedding(int64_t count, int64_t size, const EmbeddingOptions& options)
    : num_embeddings(count),
      embedding_dim(size),
      options(options),
      weight(*this, "weight", empty({count, size})) {
  init::normal_(weight);
  if (!options.padding_idx) return;
  check(*options.padding_idx >= -count && *options.padding_idx < count, "Embedding",
        "padding_idx must be a row", *options.padding_idx, " of ", count);
  const NoGradGuard no_grad;
  weight.select(0, *options.padding_idx).zero_();
}

Embedding::Embedding(Module& owner, const char* name, int64_t count, int64_t size,
                     const EmbeddingOptions& options)
    : Embedding(count, size, options) {
  join(owner, name);
}

Tensor Embedding::forward(const Tensor& input) const {
  return embedding(input, weight, options.padding_idx);
}

std::string Embedding::extra_repr() const {
  std::string text = fmt::format("{}, {}", num_embeddings, embedding_dim);
  if (options.padding_idx) text += fmt::format(", padding_idx={}", *options.padding_idx);
  return text;
}

}  // namespace aorta::nn

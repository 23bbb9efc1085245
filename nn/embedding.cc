#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/init.h>

#include <fmt/format.h>

namespace aorta::nn {

Embedding::Embedding(const Tensor& given, const EmbeddingOptions& options)
    : num_embeddings(given.size(0)),
      embedding_dim(given.size(1)),
      options(options),
      weight(*this, "weight", given) {
  const int64_t count = num_embeddings;
  check(!options.padding_idx || (*options.padding_idx >= -count && *options.padding_idx < count),
        "Embedding", "padding_idx must be a row", options.padding_idx.value_or(0), " of ", count);
}

Embedding::Embedding(int64_t count, int64_t size, const EmbeddingOptions& options)
    : Embedding(empty({count, size}), options) {
  init::normal_(weight);
  if (!options.padding_idx) return;
  const NoGradGuard no_grad;
  weight.select(0, *options.padding_idx).zero_();
}

Embedding::Embedding(Module& owner, const char* name, int64_t count, int64_t size,
                     const EmbeddingOptions& options)
    : Embedding(count, size, options) {
  join(owner, name);
}

Embedding Embedding::from_pretrained(const Tensor& embeddings, bool freeze,
                                     const EmbeddingOptions& options) {
  const char* const op = "Embedding::from_pretrained";
  check_defined(op, {{"embeddings", embeddings}});
  check(embeddings.dim() == 2, op, "embeddings must be (V, D)", embeddings.shape());
  Embedding result(embeddings.detach(), options);
  result.weight.requires_grad_(!freeze);
  return result;
}

Tensor Embedding::forward(const Tensor& input) const {
  return embedding(input, weight, options.padding_idx, options.sparse);
}

std::string Embedding::extra_repr() const {
  std::string text = fmt::format("{}, {}", num_embeddings, embedding_dim);
  if (options.padding_idx) text += fmt::format(", padding_idx={}", *options.padding_idx);
  if (options.sparse) text += ", sparse=True";
  return text;
}

}  // namespace aorta::nn

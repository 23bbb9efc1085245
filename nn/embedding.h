#pragma once

#include <aorta/nn/module.h>

#include <optional>

namespace aorta::nn {

/// The options of Embedding, with PyTorch's names and defaults.
struct EmbeddingOptions {
  /// This row starts as zeros and isn't trained; negative counts from the end.
  std::optional<int64_t> padding_idx = {};
  /// The weight's gradient has the rows that were read alone: see embedding.
  bool sparse = false;
};
/// Rows of a table: input (*) of i64 or i32 in [0, V), weight (V, D) -> (*, D). The weight starts
/// as N(0, 1).
class Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  Embedding(Module& owner, const char* name, int64_t num_embeddings, int64_t embedding_dim,
            const EmbeddingOptions& options = {});
  /// With a weight that shares memory with `embeddings` (V, D), not trained where `freeze`.
  static Embedding from_pretrained(const Tensor& embeddings, bool freeze = true,
                                   const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t num_embeddings, embedding_dim;
  EmbeddingOptions options;
  Parameter weight;

 private:
  Embedding(const Tensor& weight, const EmbeddingOptions& options);
};

}  // namespace aorta::nn

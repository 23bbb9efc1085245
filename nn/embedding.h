#pragma once

#include <aorta/nn/module.h>

#include <optional>

namespace aorta::nn {

/// The options of Embedding, with PyTorch's names and defaults.
struct EmbeddingOptions {
  /// This row starts as zeros and isn't trained; negative counts from the end.
  std::optional<int64_t> padding_idx = {};
  /// Rows that are read and have a larger norm are scaled to this one before, in place; the norm is
  /// that of `norm_type` p.
  std::optional<double> max_norm = {};
  double norm_type = 2;
  /// A row's gradient is divided by how often it was read.
  bool scale_grad_by_freq = false;
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
  void reset_parameters() override;
  std::string extra_repr() const override;

  int64_t num_embeddings, embedding_dim;
  EmbeddingOptions options;
  Parameter weight;

 private:
  Embedding(const Tensor& weight, const EmbeddingOptions& options);
};

namespace detail {

/// Scales the rows of `weight` (V, D) that `input` names, as max_norm says.
void limit_rows(const Tensor& weight, const Tensor& input, double max_norm, double norm_type);
/// Sets row `row` (negative counts from the end) of a table (V, D) to zeros, which may be a part.
void clear_row(const Tensor& weight, int64_t row);
/// Divides the gradient of `rows` (*, D), those of `weight` that `input` (*) names, by how often
/// each comes.
void share_gradient(const Tensor& rows, const Tensor& weight, const Tensor& input);

}  // namespace detail
}  // namespace aorta::nn

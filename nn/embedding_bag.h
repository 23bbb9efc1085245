#pragma once

#include <aorta/nn/call.h>

namespace aorta::nn {

/// What becomes of the rows of a bag.
enum class EmbeddingBagMode : uint8_t { sum, mean, max };

/// The options of embedding_bag, with PyTorch's names and defaults.
struct EmbeddingBagFunctionOptions {
  EmbeddingBagMode mode = EmbeddingBagMode::mean;
  /// As the input and of the weight's dtype: what each row is multiplied by. For sums alone.
  Tensor per_sample_weights = {};
  /// `offsets` (B + 1) ends with the length of the input.
  bool include_last_offset = false;
  /// Rows of this index are in no bag; negative counts from the end.
  std::optional<int64_t> padding_idx = {};
  /// See EmbeddingOptions.
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  /// The weight's gradient has the rows of the bags alone: see embedding.
  bool sparse = false;
};
/// Sums, means or maxima of bags of rows of `weight` (V, D), of a floating dtype -> (B, D). Bags
/// are the rows of input (B, L), or of input (L) the parts that begin at `offsets` (B), which
/// begins with 0 and doesn't fall; indices and offsets are i64 or i32. A bag without rows is zeros.
/// Among equal elements the maximum is the first, which gets the gradient. Composed of embedding
/// and index_add.
/// Errors: "embedding_bag: index must be in [0, V), got 7 at [3], V 5".
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets = {},
                     const EmbeddingBagFunctionOptions& options = {});

/// The options of EmbeddingBag, with PyTorch's names and defaults.
struct EmbeddingBagOptions {
  EmbeddingBagMode mode = EmbeddingBagMode::mean;
  bool include_last_offset = false;
  /// This row starts as zeros and isn't trained.
  std::optional<int64_t> padding_idx = {};
  /// See EmbeddingOptions.
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  /// See embedding_bag.
  bool sparse = false;
};
/// See embedding_bag. The weight starts as N(0, 1).
class EmbeddingBag : public ModuleOf<EmbeddingBag> {
 public:
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim,
               const EmbeddingBagOptions& options = {});
  EmbeddingBag(Module& owner, const char* name, int64_t num_embeddings, int64_t embedding_dim,
               const EmbeddingBagOptions& options = {});
  /// With a weight that shares memory with `embeddings` (V, D), not trained where `freeze`.
  static EmbeddingBag from_pretrained(const Tensor& embeddings, bool freeze = true,
                                      const EmbeddingBagOptions& options = {});
  Tensor forward(const Tensor& input, const Tensor& offsets,
                 const Tensor& per_sample_weights = {}) const;
  /// The result for bags (B, L).
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  int64_t num_embeddings, embedding_dim;
  EmbeddingBagOptions options;
  Parameter weight;

 private:
  EmbeddingBag(const Tensor& weight, const EmbeddingBagOptions& options);
};

}  // namespace aorta::nn

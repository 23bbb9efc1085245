#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
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
  Embedding::reset_parameters();
}

void Embedding::reset_parameters() {
  init::normal_(weight);
  if (options.padding_idx) detail::clear_row(weight, *options.padding_idx);
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

namespace detail {

void limit_rows(const Tensor& weight, const Tensor& input, double max_norm, double norm_type) {
  const CalledOp called("embedding");
  check_defined("embedding", {{"input", input}});
  check(max_norm >= 0, "embedding", "max_norm must not be negative", max_norm);
  check(norm_type > 0, "embedding", "norm_type must be positive", norm_type);
  if (input.numel() == 0 || input.is_meta()) return;
  const NoGradGuard no_grad;
  const Tensor rows = unique(input.flatten()).values;
  const Tensor limited = renorm(weight.index_select(0, rows), norm_type, 0, max_norm);
  weight.index_copy_(0, rows, limited.to(weight.dtype()));  // f32 under autocast
}

void clear_row(const Tensor& weight, int64_t row) {
  const NoGradGuard no_grad;
  const autograd::Shard* const shard = autograd::shard_of(weight);
  const Tensor is_row = zeros({shard ? shard->full()[0] : weight.size(0), 1},
                              {.dtype = DType::boolean, .device = weight.device()});
  is_row.select(0, row).fill_(1);
  const Tensor whole = is_row.expand(shard ? shard->full() : weight.shape());
  weight.masked_fill_(shard ? shard->part_of(whole) : whole, 0);
}

void share_gradient(const Tensor& rows, const Tensor& weight, const Tensor& input) {
  if (!rows.requires_grad() || input.is_meta()) return;
  const Tensor indices = input.flatten();
  const Tensor counts = bincount(indices, {}, weight.size(0)).index_select(0, indices);
  const Tensor share = reciprocal(counts.to(compute_dtype(rows.dtype()))).to(rows.dtype());
  rows.register_hook([share = share.view(input.shape()).unsqueeze(-1)](const Tensor& gradient) {
    return gradient * share;
  });
}

}  // namespace detail

Tensor Embedding::forward(const Tensor& input) const {
  if (options.max_norm) detail::limit_rows(weight, input, *options.max_norm, options.norm_type);
  Tensor rows = embedding(input, weight, options.padding_idx, options.sparse);
  if (!options.scale_grad_by_freq) return rows;
  detail::share_gradient(rows, weight, input);
  return rows.view(rows.shape());  // whose own gradient is the whole one
}

std::string Embedding::extra_repr() const {
  std::string text = fmt::format("{}, {}", num_embeddings, embedding_dim);
  if (options.padding_idx) text += fmt::format(", padding_idx={}", *options.padding_idx);
  if (options.max_norm) text += fmt::format(", max_norm={}", *options.max_norm);
  if (options.norm_type != 2) text += fmt::format(", norm_type={}", options.norm_type);
  if (options.scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  if (options.sparse) text += ", sparse=True";
  return text;
}

}  // namespace aorta::nn

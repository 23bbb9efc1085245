#include <aorta/autograd/grad_mode.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/embedding_bag.h>
#include <aorta/nn/init.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

constexpr const char* kBagOp = "embedding_bag";

bool is_index(const Tensor& tensor) {
  return tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32;
}

// Where each of the bags begins, (B) i64.
Tensor checked_offsets(const Tensor& input, const Tensor& given, bool with_last) {
  check(given.defined() && given.dim() == 1, kBagOp, "offsets must be (B) where the input is (L)",
        given.defined() ? to_string(given.shape()) : "none");
  check(is_index(given), kBagOp, "offsets must be i64 or i32", given.dtype());
  check(given.device() == input.device(), kBagOp, "tensors must be on one device", given.device(),
        " and ", input.device());
  check(!with_last || given.numel() > 0, kBagOp, "offsets must have the last offset",
        given.shape());
  const Tensor all = given.detach().to(DType::i64);
  const int64_t count = all.numel(), bags = with_last ? count - 1 : count, length = input.numel();
  if (count > 0 && !all.is_meta()) {
    const int64_t first = all.select(0, 0).item<int64_t>(),
                  last = all.select(0, count - 1).item<int64_t>();
    check(first == 0, kBagOp, "offsets must begin with 0", first);
    check(with_last ? last == length : last <= length, kBagOp,
          with_last ? "the last offset must be the input's length"
                    : "offsets must be at most the input's length",
          last, " for ", length);
    if (count > 1) {
      const Tensor steps = all.narrow(0, 1, count - 1) - all.narrow(0, 0, count - 1);
      const int64_t least = amin(steps).item<int64_t>();
      check(least >= 0, kBagOp, "offsets must not fall", "a step of ", least);
    }
  }
  return all.narrow(0, 0, bags);
}

// The largest of the rows that are `kept`, by feature: read where the first of them stands.
Tensor largest_rows(const Tensor& rows, const Tensor& bags, const Tensor& kept, int64_t count) {
  const int64_t n = rows.size(0);
  const Shape shape{count, rows.size(1)};
  const TensorOptions whole{.dtype = DType::i64, .device = rows.device()};
  const Tensor index = bags.unsqueeze(1).expand(rows.shape());
  const Tensor values = rows.detach();
  const Tensor largest = scatter_reduce(
      full(shape, -INFINITY, {.dtype = rows.dtype(), .device = rows.device()}), 0, index,
      kept.defined() ? where(kept, values, -INFINITY) : values, ScatterReduce::amax);
  const Tensor wanted = gather(largest, 0, index);
  Tensor is_largest = logical_or(eq(values, wanted), logical_and(isnan(values), isnan(wanted)));
  if (kept.defined()) is_largest = logical_and(is_largest, kept);
  const Tensor place = where(is_largest, arange(n, whole).unsqueeze(1), n);
  const Tensor first = scatter_reduce(full(shape, n, whole), 0, index, place, ScatterReduce::amin);
  return where(lt(first, n), gather(rows, 0, clamp_max(first, n - 1)), 0);
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                     const EmbeddingBagFunctionOptions& options) {
  const CalledOp called(kBagOp);
  check_defined(kBagOp, {{"input", input}, {"weight", weight}});
  check(weight.dim() == 2, kBagOp, "weight must be (V, D)", weight.shape());
  check(is_floating(weight.dtype()), kBagOp, "weight must be floating", weight.dtype());
  check(is_index(input), kBagOp, "indices must be i64 or i32", input.dtype());
  check(input.dim() == 1 || input.dim() == 2, kBagOp, "input must be (B, L) or (L)", input.shape());
  check(input.dim() == 1 || !offsets.defined(), kBagOp, "offsets are for an input (L)",
        input.shape());
  const Tensor& factors = options.per_sample_weights;
  if (factors.defined()) {
    check(options.mode == EmbeddingBagMode::sum, kBagOp, "per_sample_weights are for sums alone",
          options.mode == EmbeddingBagMode::mean ? "mean" : "max");
    check(factors.shape() == input.shape(), kBagOp,
          "per_sample_weights must have the input's shape", factors.shape(), " for ",
          input.shape());
    check(factors.dtype() == weight.dtype(), kBagOp,
          "per_sample_weights must have the weight's dtype", factors.dtype(), " for ",
          weight.dtype());
  }
  const Tensor indices = input.flatten();
  const int64_t n = indices.numel();
  const TensorOptions whole{.dtype = DType::i64, .device = input.device()};
  Tensor bags;  // of each row
  int64_t count = input.size(0);
  if (input.dim() == 2) {
    bags = arange(count, whole).unsqueeze(1).expand(input.shape()).flatten();
  } else {
    const Tensor starts = checked_offsets(input, offsets, options.include_last_offset);
    count = starts.numel();
    check(count > 0 || n == 0, kBagOp, "rows must be in a bag", n, " and no offset");
    bags = searchsorted(starts, arange(n, whole), true) - 1;
  }
  // Half types are summed in f32.
  const DType dtype = weight.dtype(), sums_in = compute_dtype(dtype);
  if (options.max_norm) detail::limit_rows(weight, indices, *options.max_norm, options.norm_type);
  Tensor rows = embedding(indices, weight, options.padding_idx, options.sparse);
  if (options.scale_grad_by_freq) detail::share_gradient(rows, weight, indices);
  Tensor kept;
  if (options.padding_idx) {
    const int64_t padding = *options.padding_idx;
    kept = ne(indices, padding < 0 ? padding + weight.size(0) : padding).unsqueeze(1);
  }
  if (options.mode == EmbeddingBagMode::max && n > 0 && count > 0)
    return largest_rows(rows, bags, kept, count);
  rows = rows.to(sums_in);
  if (factors.defined()) rows = rows * factors.to(sums_in).flatten().unsqueeze(1);
  if (kept.defined()) rows = where(kept, rows, 0);
  const TensorOptions real{.dtype = sums_in, .device = weight.device()};
  const Tensor sums = index_add(zeros({count, weight.size(1)}, real), 0, bags, rows);
  if (options.mode != EmbeddingBagMode::mean) return sums.to(dtype);
  const Tensor ones_of_rows = kept.defined() ? kept.squeeze(1).to(DType::i64) : ones({n}, whole);
  const Tensor sizes = index_add(zeros({count}, whole), 0, bags, ones_of_rows);
  return (sums / clamp_min(sizes, 1).unsqueeze(1).to(sums_in)).to(dtype);
}

EmbeddingBag::EmbeddingBag(const Tensor& given, const EmbeddingBagOptions& options)
    : num_embeddings(given.size(0)),
      embedding_dim(given.size(1)),
      options(options),
      weight(*this, "weight", given) {}

EmbeddingBag::EmbeddingBag(int64_t count, int64_t size, const EmbeddingBagOptions& options)
    : EmbeddingBag(Embedding(count, size, {.padding_idx = options.padding_idx}).weight, options) {}

EmbeddingBag::EmbeddingBag(Module& owner, const char* name, int64_t count, int64_t size,
                           const EmbeddingBagOptions& options)
    : EmbeddingBag(count, size, options) {
  join(owner, name);
}

void EmbeddingBag::reset_parameters() {
  init::normal_(weight);
  if (options.padding_idx) detail::clear_row(weight, *options.padding_idx);
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, bool freeze,
                                           const EmbeddingBagOptions& options) {
  const Embedding table =
      Embedding::from_pretrained(embeddings, freeze, {.padding_idx = options.padding_idx});
  EmbeddingBag bag(table.weight, options);
  bag.weight.requires_grad_(!freeze);
  return bag;
}

Tensor EmbeddingBag::forward(const Tensor& input, const Tensor& offsets,
                             const Tensor& per_sample_weights) const {
  return embedding_bag(input, weight, offsets,
                       {.mode = options.mode,
                        .per_sample_weights = per_sample_weights,
                        .include_last_offset = options.include_last_offset,
                        .padding_idx = options.padding_idx,
                        .max_norm = options.max_norm,
                        .norm_type = options.norm_type,
                        .scale_grad_by_freq = options.scale_grad_by_freq,
                        .sparse = options.sparse});
}

Tensor EmbeddingBag::forward(const Tensor& input) const { return forward(input, Tensor()); }

std::string EmbeddingBag::extra_repr() const {
  constexpr const char* kModes[] = {"sum", "mean", "max"};
  std::string text = fmt::format("{}, {}, mode={}", num_embeddings, embedding_dim,
                                 kModes[static_cast<size_t>(options.mode)]);
  if (options.padding_idx) text += fmt::format(", padding_idx={}", *options.padding_idx);
  if (options.max_norm) text += fmt::format(", max_norm={}", *options.max_norm);
  if (options.norm_type != 2) text += fmt::format(", norm_type={}", options.norm_type);
  if (options.scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  if (options.sparse) text += ", sparse=True";
  return text;
}

}  // namespace aorta::nn

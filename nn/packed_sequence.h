#pragma once

#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

#include <optional>

namespace aorta::nn {

/// Sequences of several lengths without padding, the longest first: what RNN, LSTM and GRU take and
/// give. `data` (sum of lengths, *) has step 0 of all sequences, then step 1 of those that have
/// one, and so on; batch_sizes (T), i64 on the CPU, says how many each step has. sorted_indices (N)
/// i64 are the places of the sorted sequences in the batch, unsorted_indices the way back;
/// undefined where the batch was sorted.
struct PackedSequence {
  Tensor data, batch_sizes;
  Tensor sorted_indices = {}, unsorted_indices = {};
};
/// A batch and its lengths (N) i64, on the CPU.
struct PaddedSequence {
  Tensor output, lengths;
};
/// Where the padding stands.
enum class PaddingSide : uint8_t { right, left };

/// Packs input (T, N, *), or (N, T, *) with `batch_first`. lengths (N) i64, on the CPU, are in
/// [1, T]; with `enforce_sorted` they don't rise. Composed of index_select.
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                    bool batch_first = false, bool enforce_sorted = true);
/// The inverse, in the batch's own order: (T, N, *), or (N, T, *) with `batch_first`, and
/// padding_value behind the ends. T is the largest length, or total_length, which is at least that.
PaddedSequence pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                   double padding_value = 0,
                                   std::optional<int64_t> total_length = {});
/// Tensors (L_i, *) as one of (T, N, *), or (N, T, *) with `batch_first`, T the largest L_i.
Tensor pad_sequence(const List<Tensor>& sequences, bool batch_first = false,
                    double padding_value = 0, PaddingSide padding_side = PaddingSide::right);
/// The tensors (L_i, *) of a padded one; views.
std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths,
                                   bool batch_first = false);
/// pad_sequence and pack_padded_sequence: tensors (L_i, *), L_i > 0.
PackedSequence pack_sequence(const List<Tensor>& sequences, bool enforce_sorted = true);
/// The inverse of pack_sequence.
std::vector<Tensor> unpack_sequence(const PackedSequence& sequence);

}  // namespace aorta::nn

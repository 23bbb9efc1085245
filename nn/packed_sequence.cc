#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/nn/packed_sizes.h>

#include <algorithm>
#include <numeric>

namespace aorta::nn {
namespace {

std::vector<int64_t> checked_lengths(const char* op, const Tensor& lengths, int64_t batch,
                                     int64_t longest) {
  check_defined(op, {{"lengths", lengths}});
  check(lengths.dtype() == DType::i64 && lengths.device().type == DeviceType::cpu, op,
        "lengths must be i64, on the CPU", lengths.dtype(), " on ", lengths.device());
  check(lengths.dim() == 1 && lengths.numel() == batch, op, "lengths must be (N)", lengths.shape(),
        " for N ", batch);
  const std::vector<int64_t> values = lengths.to_vector<int64_t>();
  for (const int64_t length : values)
    check(length >= 1 && length <= longest, op, "lengths must be in [1, T]", length, " for T ",
          longest);
  return values;
}

// Row t N + i of (T N, *) for each sequence i that has a step t, in the order of a packed sequence.
// In tensors, whose memory is asked for with an error of ours.
Tensor packed_rows(const Tensor& batch_sizes, int64_t total, int64_t batch, Device device) {
  const Tensor rows = empty({total}, {.dtype = DType::i64});
  const int64_t* const sizes = batch_sizes.data<int64_t>();
  int64_t* row = rows.data<int64_t>();
  for (int64_t t = 0; t < batch_sizes.numel(); ++t)
    for (int64_t i = 0; i < sizes[t]; ++i) *row++ = t * batch + i;
  return rows.to(device);
}

Shape with_rows(const Tensor& rows, std::initializer_list<int64_t> front) {
  Shape shape;
  for (const int64_t size : front) shape.push_back(size);
  for (int d = 1; d < rows.dim(); ++d) shape.push_back(rows.size(d));
  return shape;
}

}  // namespace

std::vector<int64_t> checked_sizes(const char* op, const PackedSequence& sequence) {
  check_defined(op, {{"data", sequence.data}, {"batch_sizes", sequence.batch_sizes}});
  const Tensor& given = sequence.batch_sizes;
  check(given.dtype() == DType::i64 && given.device().type == DeviceType::cpu, op,
        "batch_sizes must be i64, on the CPU", given.dtype(), " on ", given.device());
  check(given.dim() == 1 && given.numel() > 0 && sequence.data.dim() > 0, op,
        "data must be (sum of lengths, *) and batch_sizes (T)", sequence.data.shape(), " and ",
        given.shape());
  const std::vector<int64_t> sizes = given.to_vector<int64_t>();
  int64_t rows = 0, before = sequence.data.size(0);
  for (const int64_t size : sizes) {
    check(size > 0 && size <= before, op, "batch_sizes must be positive and not rise", size,
          " behind ", before);
    rows += before = size;
  }
  check(rows == sequence.data.size(0), op, "batch_sizes must add up to the rows of data", rows,
        " for ", sequence.data.shape());
  for (const Tensor& order : {sequence.sorted_indices, sequence.unsorted_indices})
    check(!order.defined() || (order.dtype() == DType::i64 && order.shape() == Shape{sizes[0]}), op,
          "sorted_indices and unsorted_indices must be (N) of i64",
          order.defined() ? to_string(order.shape()) : "none", " for N ", sizes[0]);
  check(sequence.sorted_indices.defined() == sequence.unsorted_indices.defined(), op,
        "sorted_indices and unsorted_indices must be given both or none", "one");
  return sizes;
}

PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first,
                                    bool enforce_sorted) {
  const char* const op = "pack_padded_sequence";
  const CalledOp called(op);
  check_defined(op, {{"input", input}});
  check(input.dim() >= 2, op, "input must be (T, N, *), or (N, T, *) with batch_first",
        input.shape());
  Tensor x = batch_first ? input.transpose(0, 1) : input;
  const int64_t batch = x.size(1);
  check(batch > 0, op, "there must be a sequence", input.shape());
  std::vector<int64_t> values = checked_lengths(op, lengths, batch, x.size(0));
  PackedSequence result;
  const bool sorted = std::is_sorted(values.rbegin(), values.rend());
  check(sorted || !enforce_sorted, op, "lengths must not rise with enforce_sorted",
        lengths.shape());
  if (!enforce_sorted) {
    std::vector<int64_t> order(values.size()), back(values.size());
    std::iota(order.begin(), order.end(), 0);
    const auto length = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return length(a) > length(b); });
    std::vector<int64_t> sorted_values;
    for (size_t i = 0; i < order.size(); ++i) {
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      sorted_values.push_back(length(order[i]));
    }
    values = std::move(sorted_values);
    result.sorted_indices = tensor(order).to(x.device());
    result.unsorted_indices = tensor(back).to(x.device());
    x = index_select(x, 1, result.sorted_indices);
  }
  result.batch_sizes = zeros({values[0]}, {.dtype = DType::i64});
  int64_t* const sizes = result.batch_sizes.data<int64_t>();
  int64_t total = 0;
  for (const int64_t length : values) {
    for (int64_t t = 0; t < length; ++t) ++sizes[t];
    total += length;
  }
  const Tensor rows = packed_rows(result.batch_sizes, total, batch, x.device());
  result.data = index_select(x.flatten(0, 1), 0, rows);
  return result;
}

PaddedSequence pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                   double padding_value, std::optional<int64_t> total_length) {
  const char* const op = "pad_packed_sequence";
  const CalledOp called(op);
  const std::vector<int64_t> sizes = checked_sizes(op, sequence);
  const Tensor& data = sequence.data;
  const int64_t longest = static_cast<int64_t>(sizes.size()), batch = sizes[0];
  const int64_t steps = total_length.value_or(longest);
  check(steps >= longest, op, "total_length must be at least the largest length", steps, " for ",
        longest);
  const Shape flat = with_rows(data, {checked_numel(op, {steps, batch})});
  const Tensor whole = full(flat, padding_value, {.dtype = data.dtype(), .device = data.device()});
  const Tensor rows =
      packed_rows(sequence.batch_sizes.contiguous(), data.size(0), batch, data.device());
  Tensor output = index_copy(whole, 0, rows, data).reshape(with_rows(data, {steps, batch}));
  std::vector<int64_t> lengths(static_cast<size_t>(batch), 0);
  for (const int64_t size : sizes)
    for (int64_t i = 0; i < size; ++i) ++lengths[static_cast<size_t>(i)];
  Tensor of_sequences = tensor(lengths);
  if (sequence.unsorted_indices.defined()) {
    output = index_select(output, 1, sequence.unsorted_indices);
    of_sequences = index_select(of_sequences, 0, sequence.unsorted_indices.to("cpu"));
  }
  return {batch_first ? output.transpose(0, 1) : output, of_sequences};
}

Tensor pad_sequence(const List<Tensor>& sequences, bool batch_first, double padding_value,
                    PaddingSide padding_side) {
  const char* const op = "pad_sequence";
  const CalledOp called(op);
  check(!sequences.empty(), op, "there must be a sequence", "none");
  check_defined(op, "sequences", sequences);
  int64_t longest = 0;
  for (const Tensor& one : sequences) {
    check(one.dim() > 0, op, "sequences must be (L, *)", one.shape());
    longest = std::max(longest, one.size(0));
  }
  std::vector<Tensor> whole;
  for (const Tensor& one : sequences) {
    Dims ends = Dims::filled(2 * one.dim(), 0);  // the last dimension's first
    ends[2 * one.dim() - (padding_side == PaddingSide::right ? 1 : 2)] = longest - one.size(0);
    whole.push_back(pad(one, ends, PadMode::constant, padding_value));
  }
  return stack(whole, batch_first ? 0 : 1);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths, bool batch_first) {
  const char* const op = "unpad_sequence";
  const CalledOp called(op);
  check_defined(op, {{"padded", padded}});
  check(padded.dim() >= 2, op, "padded must be (T, N, *), or (N, T, *) with batch_first",
        padded.shape());
  const Tensor x = batch_first ? padded : padded.transpose(0, 1);
  const std::vector<int64_t> values = checked_lengths(op, lengths, x.size(0), x.size(1));
  std::vector<Tensor> result;
  for (size_t i = 0; i < values.size(); ++i)
    result.push_back(x.select(0, static_cast<int64_t>(i)).narrow(0, 0, values[i]));
  return result;
}

PackedSequence pack_sequence(const List<Tensor>& sequences, bool enforce_sorted) {
  const CalledOp called("pack_sequence");
  const Tensor padded = pad_sequence(sequences);
  std::vector<int64_t> lengths;
  for (const Tensor& one : sequences) lengths.push_back(one.size(0));
  return pack_padded_sequence(padded, tensor(lengths), false, enforce_sorted);
}

std::vector<Tensor> unpack_sequence(const PackedSequence& sequence) {
  const CalledOp called("unpack_sequence");
  const PaddedSequence padded = pad_packed_sequence(sequence, true);
  return unpad_sequence(padded.output, padded.lengths, true);
}

}  // namespace aorta::nn

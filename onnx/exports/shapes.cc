#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/tensor.h>
#include <aorta/onnx/export_call.h>

#include <algorithm>
#include <limits>

// Views and what moves elements, and writes into views.
namespace aorta::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// Elements first, first + step, ... before last along a dimension.
std::string slice(const ExportCall& call, const std::string& value, int64_t dim, int64_t first,
                  int64_t last, int64_t step = 1) {
  return call.node("Slice", {value, call.integers({first}), call.integers({last}),
                             call.integers({dim}), call.integers({step})});
}
std::string concat(const ExportCall& call, const Names& parts, int64_t dim) {
  return parts.size() == 1 ? parts[0] : call.node("Concat", parts, {attribute("axis", dim)});
}

// `value`, of shape `from`, repeated to `to`.
std::string expanded(const ExportCall& call, const std::string& value, const Shape& from,
                     const Shape& to) {
  if (from == to) return value;
  std::vector<int64_t> sizes = list_of(to);
  const int lead = to.size() - from.size();
  for (int d = lead; d < to.size(); ++d)
    if (from[d - lead] == to[d]) sizes[static_cast<size_t>(d)] = 1;
  return call.node("Expand", {value, call.integers(sizes)});
}

// ---- Views.

Names view(const ExportCall& call) { return {call.reshaped(call[0], call.output().shape())}; }

Names permute(const ExportCall& call) {
  const auto& [order] = call.options<Dims>();
  if (order.empty()) return {call[0]};
  return {call.node("Transpose", {call[0]}, {attribute("perm", list_of(order))})};
}

Names expand(const ExportCall& call) {
  return {expanded(call, call[0], call.input(0).shape(), call.output().shape())};
}

Names slice(const ExportCall& call) {
  const auto& [dim, first, step] = call.options<int, int64_t, int64_t>();
  const int64_t count = call.output().size(dim), size = call.input(0).size(dim);
  const int64_t last = count == 0 ? first : first + (count - 1) * step + 1;
  return {slice(call, call[0], dim, first, count > 0 && last + step > size ? kEnd : last, step)};
}

Names select(const ExportCall& call) {
  const auto& [dim, i] = call.options<int, int64_t>();
  return {call.node("Gather", {call[0], call.integer(i)}, {attribute("axis", dim)})};
}

// Two dimensions as one, the last: its elements a row and a column apart are a diagonal.
struct Flattened {
  std::vector<int64_t> order;  // of the dimensions, the two last
  Shape moved, flat;
  std::vector<int64_t> places;  // of the diagonal in the one dimension
};

Flattened flattened(const Shape& shape, int a, int b, int64_t offset, int64_t count) {
  Flattened result;
  for (int d = 0; d < shape.size(); ++d)
    if (d != a && d != b) result.order.push_back(d);
  for (const int64_t d : result.order) result.flat.push_back(shape[static_cast<int>(d)]);
  result.moved = result.flat;
  for (const int d : {a, b}) {
    result.order.push_back(d);
    result.moved.push_back(shape[d]);
  }
  result.flat.push_back(shape[a] * shape[b]);
  const int64_t start = offset < 0 ? -offset * shape[b] : offset;
  for (int64_t i = 0; i < count; ++i) result.places.push_back(start + i * (shape[b] + 1));
  return result;
}

std::string transposed(const ExportCall& call, const std::string& value,
                       std::vector<int64_t> order) {
  return call.node("Transpose", {value}, {attribute("perm", std::move(order))});
}
std::string transposed_back(const ExportCall& call, const std::string& value,
                            const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return transposed(call, value, std::move(back));
}

Names diagonal(const ExportCall& call) {
  const auto& [offset, a, b] = call.options<int64_t, int, int>();
  const Flattened line = flattened(call.input(0).shape(), a, b, offset, call.output().size(-1));
  const std::string moved = transposed(call, call[0], line.order);
  return {call.node("Gather", {call.reshaped(moved, line.flat), call.integers(line.places)},
                    {attribute("axis", line.flat.size() - 1)})};
}

// Each window's elements by their places.
Names unfold(const ExportCall& call) {
  const auto& [dim, size, step] = call.options<int, int64_t, int64_t>();
  const Tensor taps = arange(size);
  if (call.input(0).dim() == 0)
    return {call.node("Gather", {call.reshaped(call[0], {1}), call.constant(taps)},
                      {attribute("axis", 0)})};
  call.fix(call.input(0).size(dim));
  const Tensor windows = arange(call.output().size(dim)) * step;
  const std::string read = call.node(
      "Gather", {call[0], call.constant(windows.unsqueeze(1) + taps)}, {attribute("axis", dim)});
  std::vector<int64_t> order;
  for (int d = 0; d <= call.input(0).dim(); ++d)
    if (d != dim + 1) order.push_back(d);
  order.push_back(dim + 1);
  return {transposed(call, read, std::move(order))};
}

// ---- Copies.

Names to(const ExportCall& call) {
  return {call.cast(call[0], call.input(0).dtype(), call.output().dtype())};
}

// The whole tensor is written.
Names copy_into(const ExportCall& call) {
  const std::string value = call.cast(call[0], call.input(0).dtype(), call.output().dtype());
  return {expanded(call, value, call.input(0).shape(), call.output().shape())};
}

Names fill(const ExportCall& call) {
  const auto& [value] = call.options<Scalar>();
  return {expanded(call, call.number(value, call.output().dtype()), {}, call.output().shape())};
}

// `base`, of that shape, with the elements of `part` at these places of a dimension.
std::string with_places(const ExportCall& call, const std::string& base, const Shape& shape,
                        int dim, const std::string& part, const std::vector<int64_t>& places) {
  if (places.empty()) return base;
  Shape line{shape[dim]};
  for (int d = dim + 1; d < shape.size(); ++d) line.push_back(1);
  const Tensor is_place = zeros(line, {.dtype = boolean});
  std::vector<int64_t> from(static_cast<size_t>(shape[dim]), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    is_place.select(0, places[i]).fill_(true);
    from[static_cast<size_t>(places[i])] = static_cast<int64_t>(i);
  }
  const std::string spread =
      call.node("Gather", {part, call.integers(from)}, {attribute("axis", dim)});
  return call.node("Where", {call.constant(is_place), spread, base});
}

// `base` with `view` in place of a part of it.
Names write_view(const ExportCall& call) {
  const auto& [op, options] = call.functor<WriteView>();
  const Shape& shape = call.input(0).shape();
  const std::string name = op;
  if (name == "view") return {call.reshaped(call[1], shape)};
  if (name == "permute") {
    const auto& [order] = std::any_cast<const std::tuple<Dims>&>(options);
    return {transposed_back(call, call[1], list_of(order))};
  }
  if (name == "diagonal") {
    const auto& [offset, a, b] = std::any_cast<const std::tuple<int64_t, int, int>&>(options);
    const Flattened line = flattened(shape, a, b, offset, call.input(1).size(-1));
    const std::string base = call.reshaped(transposed(call, call[0], line.order), line.flat);
    const std::string written =
        with_places(call, base, line.flat, line.flat.size() - 1, call[1], line.places);
    return {transposed_back(call, call.reshaped(written, line.moved), line.order)};
  }
  int64_t first = 0, count = 1, step = 1;
  int dim = 0;
  std::string part = call[1];
  if (name == "slice") {
    std::tie(dim, first, step) = std::any_cast<const std::tuple<int, int64_t, int64_t>&>(options);
    count = call.input(1).size(dim);
  } else if (name == "select") {
    std::tie(dim, first) = std::any_cast<const std::tuple<int, int64_t>&>(options);
    part = call.node("Unsqueeze", {part, call.integers({dim})});
  } else {
    call.fail("a part must be written through slices, selected places, diagonals and other shapes",
              name);
  }
  if (step > 1 && count > 1) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < count; ++i) places.push_back(first + i * step);
    return {with_places(call, call[0], shape, dim, part, places)};
  }
  Names parts;
  if (first > 0) parts.push_back(slice(call, call[0], dim, 0, first));
  parts.push_back(part);
  if (first + count < shape[dim]) parts.push_back(slice(call, call[0], dim, first + count, kEnd));
  return {concat(call, parts, dim)};
}

// ---- Rearranged.

Names cat(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  Names parts;
  for (size_t i = 0; i < call.inputs(); ++i)
    parts.push_back(call.cast(call[i], call.input(i).dtype(), call.output().dtype()));
  return {concat(call, parts, dim)};
}

Names flip(const ExportCall& call) {
  const auto& [dims] = call.options<Dims>();
  std::string value = call[0];
  for (const int64_t d : dims)
    value = slice(call, value, d, -1, std::numeric_limits<int64_t>::min(), -1);
  return {value};
}

Names roll(const ExportCall& call) {
  const auto& [shifts, dims] = call.options<Dims, Dims>();
  std::string value = call[0];
  for (int i = 0; i < dims.size(); ++i) {
    const Names parts{slice(call, value, dims[i], -shifts[i], kEnd),
                      slice(call, value, dims[i], 0, -shifts[i])};
    value = concat(call, parts, dims[i]);
  }
  return {value};
}

// What a circular padding adds are the other end's elements.
std::string pad_circular(const ExportCall& call, const Dims& padding) {
  std::string value = call[0];
  for (int k = 0; k < padding.size(); k += 2) {
    const int d = call.input(0).dim() - 1 - k / 2;
    Names parts;
    if (padding[k] > 0) parts.push_back(slice(call, value, d, -padding[k], kEnd));
    parts.push_back(value);
    if (padding[k + 1] > 0) parts.push_back(slice(call, value, d, 0, padding[k + 1]));
    value = concat(call, parts, d);
  }
  return value;
}

Names pad(const ExportCall& call) {
  const auto& [padding, mode, value] = call.options<Dims, PadMode, Scalar>();
  if (mode == PadMode::circular) return {pad_circular(call, padding)};
  const int ndim = call.input(0).dim();
  std::vector<int64_t> pads(static_cast<size_t>(2 * ndim), 0);
  for (int k = 0; k < padding.size(); ++k) {
    const int d = ndim - 1 - k / 2;
    pads[static_cast<size_t>(k % 2 == 0 ? d : ndim + d)] = padding[k];
  }
  const char* const modes[] = {"constant", "reflect", "edge"};
  Names inputs{call[0], call.integers(pads)};
  if (mode == PadMode::constant) inputs.push_back(call.number(value, call.output().dtype()));
  return {call.node("Pad", inputs, {attribute("mode", modes[static_cast<int>(mode)])})};
}

Names triangle(const ExportCall& call) {
  const auto& [diagonal] = call.options<int64_t>();
  return {call.node("Trilu", {call[0], call.integer(diagonal)},
                    {attribute("upper", std::string(call.op()) == "triu")})};
}

}  // namespace

void add_shape_exports(Exports& table) {
  table["view"] = view;
  table["permute"] = permute;
  table["expand"] = expand;
  table["slice"] = slice;
  table["select"] = select;
  table["diagonal"] = diagonal;
  table["unfold"] = unfold;
  table["to"] = to;
  table["copy_"] = copy_into;
  table["fill_"] = fill;
  table[kWriteView] = write_view;
  table["cat"] = cat;
  table["flip"] = flip;
  table["roll"] = roll;
  table["pad"] = pad;
  table["tril"] = triangle;
  table["triu"] = triangle;
}

}  // namespace aorta::onnx

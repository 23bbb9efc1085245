#include <aorta/core/ops/indexing.h>
#include <aorta/onnx/export_call.h>

// Reads and writes by indices.
namespace aorta::onnx {
namespace {

Names embedding(const ExportCall& call) {
  return {call.node("Gather", {call[1], call[0]}, {attribute("axis", 0)})};
}

Names index_select(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  std::string index = call[1];
  if (call.input(1).dim() == 0) index = call.reshaped(index, {1});
  return {call.node("Gather", {call[0], index}, {attribute("axis", dim)})};
}

Names gather(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  return {call.node("GatherElements", {call[0], call[1]}, {attribute("axis", dim)})};
}

// The places (*, dims) at which the index tensors from input `from` on point together.
std::string places(const ExportCall& call, size_t from, Shape& shape) {
  std::vector<size_t> given;
  for (size_t i = from; i < call.inputs(); ++i)
    if (call.has(i)) given.push_back(i);
  shape = call.input(given[0]).shape();
  for (const size_t i : given) shape = broadcast_shapes("index", shape, call.input(i).shape());
  Names parts;
  for (const size_t i : given) {
    std::string part = call[i];
    if (call.input(i).shape() != shape)
      part = call.node("Expand", {part, call.integers(list_of(shape))});
    parts.push_back(call.node("Unsqueeze", {part, call.integers({-1})}));
  }
  return parts.size() == 1 ? parts[0] : call.node("Concat", parts, {attribute("axis", -1)});
}

// How many dimensions are indexed, where these are the first ones.
size_t leading(const ExportCall& call, size_t from) {
  size_t count = 0, last = 0;
  for (size_t i = from; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    ++count;
    last = i - from + 1;
  }
  call.check(count == last, "of several dimensions the first ones must be indexed",
             "a dimension without an index before");
  return count;
}

// Inputs: the tensor, and an index for each dimension or none.
Names index(const ExportCall& call) {
  size_t given = 0, at = 0;
  for (size_t i = 1; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    ++given;
    at = i;
  }
  if (given == 1)
    return {call.node("Gather", {call[0], call[at]},
                      {attribute("axis", static_cast<int64_t>(at) - 1)})};
  // The dimensions with an index to the front, and what they become back to their place: where
  // they stand side by side, that of the first of them.
  std::vector<int64_t> order, others;
  for (int d = 0; d < call.input(0).dim(); ++d)
    (call.has(static_cast<size_t>(d) + 1) ? order : others).push_back(d);
  const int64_t first = order[0], indexed = static_cast<int64_t>(order.size());
  const bool adjacent = order.back() - first + 1 == indexed;
  order.insert(order.end(), others.begin(), others.end());
  std::string source = call[0];
  if (order[static_cast<size_t>(indexed) - 1] != indexed - 1)
    source = call.node("Transpose", {source}, {attribute("perm", order)});
  Shape shape;
  const std::string found = call.node("GatherND", {source, places(call, 1, shape)});
  if (!adjacent || first == 0) return {found};
  std::vector<int64_t> back;
  for (int64_t d = 0; d < first; ++d) back.push_back(shape.size() + d);
  for (int64_t d = 0; d < shape.size(); ++d) back.push_back(d);
  for (int64_t d = first + shape.size(); d < call.output().dim(); ++d) back.push_back(d);
  return {call.node("Transpose", {found}, {attribute("perm", back)})};
}

// Inputs: the tensor, the values, and an index for each dimension or none.
Names index_put(const ExportCall& call) {
  const auto& [accumulate] = call.options<bool>();
  const size_t count = leading(call, 2);
  Shape shape;
  const std::string where = places(call, 2, shape);
  for (int d = static_cast<int>(count); d < call.input(0).dim(); ++d)
    shape.push_back(call.input(0).size(d));
  std::string values = call[1];
  // Expand keeps sizes of 1 in front of the shape.
  std::vector<int64_t> more;
  for (int d = 0; d < call.input(1).dim() - shape.size(); ++d) more.push_back(d);
  if (!more.empty()) values = call.node("Squeeze", {values, call.integers(more)});
  if (call.input(1).shape() != shape)
    values = call.node("Expand", {values, call.integers(list_of(shape))});
  return {call.node("ScatterND", {call[0], where, values},
                    {attribute("reduction", accumulate ? "add" : "none")})};
}

// The number of elements of the sorted sequence that are smaller, or not larger.
Names searchsorted(const ExportCall& call) {
  const auto& [right] = call.options<bool>();
  std::string sequence = call[0];
  if (call.input(0).dim() > 1) sequence = call.node("Unsqueeze", {sequence, call.integers({-2})});
  const std::string value = call.node("Unsqueeze", {call[1], call.integers({-1})});
  const std::string before = call.node(right ? "LessOrEqual" : "Less", {sequence, value});
  return {call.node("ReduceSum", {call.cast(before, DType::boolean, i64), call.integers({-1})},
                    {attribute("keepdims", 0)})};
}

std::string scattered(const ExportCall& call, int dim, const char* reduction) {
  call.check(call.input(1).shape() == call.input(2).shape(), "index and source must have one shape",
             call.input(1).shape(), " and ", call.input(2).shape());
  return call.node("ScatterElements", {call[0], call[1], call[2]},
                   {attribute("axis", dim), attribute("reduction", reduction)});
}
Names scatter(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  return {scattered(call, dim, "none")};
}
Names scatter_add(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  return {scattered(call, dim, "add")};
}
Names scatter_reduce(const ExportCall& call) {
  const auto& [dim, reduce, include_self] = call.options<int, ScatterReduce, bool>();
  call.check(include_self && reduce != ScatterReduce::mean,
             "a reduction must be sum, prod, amax or amin, with the old values",
             include_self ? "a mean" : "one without them");
  const char* const names[] = {"add", "mul", "max", "min"};
  return {scattered(call, dim, names[static_cast<int>(reduce)])};
}

}  // namespace

void add_indexing_exports(Exports& table) {
  table["embedding"] = embedding;
  table["index_select"] = index_select;
  table["gather"] = gather;
  table["index"] = index;
  table["index_put_"] = index_put;
  table["searchsorted"] = searchsorted;
  table["scatter_"] = scatter;
  table["scatter_add_"] = scatter_add;
  table["scatter_reduce"] = scatter_reduce;
}

}  // namespace aorta::onnx

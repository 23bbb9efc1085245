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

// The places (*, dims) at which `count` index tensors point together, of those from input `from`.
std::string places(const ExportCall& call, size_t from, size_t count, Shape& shape) {
  shape = call.input(from).shape();
  for (size_t i = 1; i < count; ++i)
    shape = broadcast_shapes("index", shape, call.input(from + i).shape());
  Names parts;
  for (size_t i = 0; i < count; ++i) {
    std::string part = call[from + i];
    if (call.input(from + i).shape() != shape)
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
  Shape shape;
  return {call.node("GatherND", {call[0], places(call, 1, leading(call, 1), shape)})};
}

// Inputs: the tensor, the values, and an index for each dimension or none.
Names index_put(const ExportCall& call) {
  const auto& [accumulate] = call.options<bool>();
  const size_t count = leading(call, 2);
  Shape shape;
  const std::string where = places(call, 2, count, shape);
  for (int d = static_cast<int>(count); d < call.input(0).dim(); ++d)
    shape.push_back(call.input(0).size(d));
  std::string values = call[1];
  if (call.input(1).shape() != shape)
    values = call.node("Expand", {values, call.integers(list_of(shape))});
  return {call.node("ScatterND", {call[0], where, values},
                    {attribute("reduction", accumulate ? "add" : "none")})};
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
  table["scatter_"] = scatter;
  table["scatter_add_"] = scatter_add;
  table["scatter_reduce"] = scatter_reduce;
}

}  // namespace aorta::onnx

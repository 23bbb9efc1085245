#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

// Sequences of tensors, and values that may be none.
namespace aorta::onnx {
namespace {

using Place = Tensors::difference_type;

// A place in a sequence, from its end where it is negative; `end` where none is given.
Place place_of(const char* op, const Inputs& x, size_t i, size_t most, size_t end) {
  if (!x.has(i)) return static_cast<Place>(end);
  const auto given = x[i].item<int64_t>(), size = static_cast<int64_t>(x.sequence(0).size());
  const int64_t place = given < 0 && given >= -size ? given + size : given;
  check(place >= 0 && place < static_cast<int64_t>(most), op, "a place must lie in the sequence",
        given, " of ", size);
  return place;
}

Values sequence_at(const Inputs& x) {
  const Tensors& all = x.sequence(0);
  return {all[static_cast<size_t>(place_of("SequenceAt", x, 1, all.size(), 0))]};
}

Values sequence_insert(const Inputs& x) {
  Tensors all = x.sequence(0);
  const Place place = place_of("SequenceInsert", x, 2, all.size() + 1, all.size());
  all.insert(all.begin() + place, x[1]);
  return {Value::of(std::move(all))};
}

Values sequence_erase(const Inputs& x) {
  Tensors all = x.sequence(0);
  check(!all.empty(), "SequenceErase", "the sequence must have elements", "none");
  all.erase(all.begin() + place_of("SequenceErase", x, 1, all.size(), all.size() - 1));
  return {Value::of(std::move(all))};
}

Values sequence_length(const Inputs& x) {
  return {
      full({}, static_cast<int64_t>(x.sequence(0).size()), {.dtype = i64, .device = x.device()})};
}

Values sequence_construct(const Inputs& x) {
  Tensors all;
  for (size_t i = 0; i < x.size(); ++i) all.push_back(x[i]);
  return {Value::of(std::move(all))};
}

Run sequence_empty(const Node& node) {
  node.dtype("dtype");  // of elements that it doesn't have
  return [](const Inputs&) -> Values { return {Value::of({})}; };
}

Run concat_from_sequence(const Node& node) {
  node.check(node.has("axis"), "attribute axis must be given", "none");
  const int64_t axis = node.integer("axis", 0);
  const bool is_new = node.flag("new_axis", false);
  return [=](const Inputs& x) -> Values {
    const Tensors& all = x.sequence(0);
    return {is_new ? stack(all, axis) : cat(List<Tensor>(all), axis)};
  };
}

// Parts of given sizes, or of one size, the last smaller; of size 1 they may lose the dimension.
Run split_to_sequence(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  const bool keeps = node.flag("keepdims", true);
  return [=](const Inputs& x) -> Values {
    if (!x.has(1)) {
      Tensors parts = split(x[0], 1, axis);
      for (Tensor& part : parts)
        if (!keeps) part = part.select(axis, 0);
      return {Value::of(std::move(parts))};
    }
    if (x[1].dim() > 0) return {Value::of(split(x[0], List<int64_t>(x.integers(1)), axis))};
    return {Value::of(split(x[0], x[1].item<int64_t>(), axis))};
  };
}

Run optional(const Node& node) {
  node.type("type");
  return [](const Inputs& x) -> Values { return {x.has(0) ? x.value(0) : Value()}; };
}

Values optional_has_element(const Inputs& x) {
  return {full({}, x.has(0), {.dtype = boolean, .device = x.device()})};
}

Values optional_get_element(const Inputs& x) {
  check(x.has(0), "OptionalGetElement", "the value must be there", "none");
  return {x.value(0)};
}

template <Values (*f)(const Inputs&)>
Run values(const Node&) {
  return f;
}

}  // namespace

void add_sequences(Operators& table) {
  table["ConcatFromSequence"] = {concat_from_sequence};
  table["Optional"] = {optional, 0, 1};
  table["OptionalGetElement"] = {values<optional_get_element>};
  table["OptionalHasElement"] = {values<optional_has_element>, 0, 1};
  table["SequenceAt"] = {values<sequence_at>, 2, 2};
  table["SequenceConstruct"] = {values<sequence_construct>, 1, kAnyNumber};
  table["SequenceEmpty"] = {sequence_empty, 0, 0};
  table["SequenceErase"] = {values<sequence_erase>, 1, 2};
  table["SequenceInsert"] = {values<sequence_insert>, 2, 3};
  table["SequenceLength"] = {values<sequence_length>};
  table["SplitToSequence"] = {split_to_sequence, 1, 2};
}

}  // namespace aorta::onnx

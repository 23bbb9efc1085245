#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <algorithm>
#include <limits>

// Control flow: nodes that run graphs of their attributes, which see the values around them.
// Gradients go through what ran.
namespace aorta::onnx {
namespace {

size_t inputs_of(const Node::Graph& graph) { return graph.proto.input.size(); }
size_t outputs_of(const Node::Graph& graph) { return graph.proto.output.size(); }

Run branch(const Node& node) {
  const Node::Graph yes = node.graph("then_branch"), no = node.graph("else_branch");
  for (const Node::Graph* graph : {&yes, &no})
    node.check(inputs_of(*graph) == 0 && outputs_of(*graph) == node.outputs(),
               "branches must take nothing and give the outputs", inputs_of(*graph), " and ",
               outputs_of(*graph), " for ", node.outputs());
  return [yes = yes.number, no = no.number](const Inputs& x) -> Values {
    return x.run(x[0].item<bool>() ? yes : no, {});
  };
}

// What each run of a graph gives, along a new dimension. Where it never ran, what its output says.
struct Gathered {
  ValueInfoProto info;
  bool reversed = false;
  int64_t dim = 0;

  Tensor joined(Tensors parts, const Device& device) const {
    if (!parts.empty()) {
      if (reversed) std::reverse(parts.begin(), parts.end());
      return stack(parts, dim);
    }
    const std::optional<DType> dtype = dtype_of_file(info.elem_type);
    check(dtype.has_value(), "Loop", "a graph that never runs must say its outputs' dtypes",
          to_string(info.elem_type), " for \"", info.name, "\"");
    check(info.shape.size() < static_cast<size_t>(kMaxDims), "Loop",
          "outputs must have at most 11 dimensions", info.shape.size());
    Shape shape{0};
    for (const auto& dimension : info.shape) shape.push_back(std::max<int64_t>(dimension.size, 0));
    return zeros(shape, {.dtype = *dtype, .device = device});
  }
};

// Behind the number of the round and the condition, the body takes and gives what is carried; what
// else it gives is gathered.
Run loop(const Node& node) {
  const Node::Graph body = node.graph("body");
  node.check(node.inputs() >= 2, "inputs must be as many as the operator takes", node.inputs());
  const size_t carried = node.inputs() - 2;
  node.check(inputs_of(body) == carried + 2 && outputs_of(body) >= carried + 1 &&
                 outputs_of(body) - 1 >= node.outputs(),
             "the body must take the round, the condition and what is carried, and give all but "
             "the round, and what is gathered",
             inputs_of(body), " and ", outputs_of(body), " for ", carried, " carried");
  std::vector<Gathered> gathered;
  for (size_t i = carried + 1; i < outputs_of(body); ++i)
    gathered.push_back({body.proto.output[i]});
  return [=, number = body.number](const Inputs& x) -> Values {
    const TensorOptions numbers{.dtype = i64, .device = x.device()};
    const int64_t most = x.has(0) ? x[0].item<int64_t>() : std::numeric_limits<int64_t>::max();
    Tensor goes_on = x.has(1) ? x[1] : ones({}, {.dtype = boolean, .device = x.device()});
    Values state;
    for (size_t i = 0; i < carried; ++i) state.push_back(x.value(i + 2));
    std::vector<Tensors> parts(gathered.size());
    for (int64_t round = 0; round < most && goes_on.item<bool>(); ++round) {
      Values given{full({}, round, numbers), goes_on};
      given.insert(given.end(), state.begin(), state.end());
      const Values results = x.run(number, std::move(given));
      goes_on = results[0].tensor;
      check(goes_on.defined(), "Loop", "the condition must be a tensor", "another value");
      for (size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
      for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(results[carried + 1 + i].tensor);
    }
    for (size_t i = 0; i < parts.size(); ++i)
      state.emplace_back(gathered[i].joined(std::move(parts[i]), x.device()));
    return state;
  };
}

/// A number for each scanned input or output: 0 where the attribute isn't there.
std::vector<int64_t> numbers_for(const Node& node, const char* attribute, size_t count) {
  std::vector<int64_t> numbers = node.integers(attribute);
  if (numbers.empty()) numbers.assign(count, 0);
  node.check(numbers.size() == count,
             std::string("attribute ") + attribute + " must have a number for each", numbers.size(),
             " for ", count);
  return numbers;
}

std::vector<int64_t> directions_for(const Node& node, const char* attribute, size_t count) {
  const std::vector<int64_t> numbers = numbers_for(node, attribute, count);
  for (const int64_t number : numbers)
    node.check(number == 0 || number == 1,
               std::string("attribute ") + attribute + " must have 0 or 1", number);
  return numbers;
}

// The body takes the state and a slice of each scanned input, and gives the state and what is
// gathered.
Run scan(const Node& node) {
  const Node::Graph body = node.graph("body");
  const bool old = node.opset() < 9;  // a batch in front, and its lengths as the first input
  const size_t first = old ? 1 : 0;
  const int64_t given = node.integer("num_scan_inputs", 0);
  node.check(given >= 1 && given <= static_cast<int64_t>(node.inputs()) - (old ? 1 : 0),
             "attribute num_scan_inputs must be 1 to the number of inputs", given, " of ",
             node.inputs());
  const auto scanned = static_cast<size_t>(given);
  const size_t states = node.inputs() - first - scanned;
  node.check(inputs_of(body) == states + scanned && outputs_of(body) >= states &&
                 outputs_of(body) == node.outputs(),
             "the body must take the state and the slices, and give the state and the outputs",
             inputs_of(body), " and ", outputs_of(body), " for ", states, " and ", scanned);
  const size_t outputs = outputs_of(body) - states;
  const std::vector<int64_t> axes = numbers_for(node, "scan_input_axes", scanned);
  const std::vector<int64_t> from_end =
      directions_for(node, old ? "directions" : "scan_input_directions", scanned);
  const std::vector<int64_t> out_axes = numbers_for(node, "scan_output_axes", outputs);
  const std::vector<int64_t> to_front = directions_for(node, "scan_output_directions", outputs);
  std::vector<Gathered> gathered;
  for (size_t i = 0; i < outputs; ++i)
    gathered.push_back({body.proto.output[states + i], to_front[i] == 1, out_axes[i]});
  const auto run = [=, number = body.number](const Inputs& x, Values state,
                                             const Tensors& from) -> Values {
    const int64_t rounds = from[0].size(axes[0]);
    for (size_t i = 1; i < scanned; ++i)
      check(from[i].size(axes[i]) == rounds, "Scan", "inputs must have equally many slices",
            from[i].size(axes[i]), " and ", rounds);
    std::vector<Tensors> parts(outputs);
    for (int64_t round = 0; round < rounds; ++round) {
      Values slices = state;
      for (size_t i = 0; i < scanned; ++i)
        slices.emplace_back(from[i].select(axes[i], from_end[i] ? rounds - 1 - round : round));
      const Values results = x.run(number, std::move(slices));
      state.assign(results.begin(), results.begin() + static_cast<ptrdiff_t>(states));
      for (size_t i = 0; i < outputs; ++i) parts[i].push_back(results[states + i].tensor);
    }
    for (size_t i = 0; i < outputs; ++i)
      state.emplace_back(gathered[i].joined(std::move(parts[i]), from[0].device()));
    return state;
  };
  if (!old)
    return [=](const Inputs& x) {
      Values state;
      for (size_t i = 0; i < states; ++i) state.push_back(x.value(i));
      Tensors from;
      for (size_t i = 0; i < scanned; ++i) from.push_back(x[states + i]);
      return run(x, std::move(state), from);
    };
  return [=](const Inputs& x) -> Values {
    check(!x.has(0), "Scan", "all sequences must have one length (sequence_lens left out)",
          "lengths");
    std::vector<Tensors> samples(states + outputs);
    for (int64_t n = 0; n < x[1].size(0); ++n) {
      Values state;
      Tensors from;
      for (size_t i = 0; i < states + scanned; ++i) {
        const Tensor sample = x[i + 1].select(0, n);
        if (i < states)
          state.emplace_back(sample);
        else
          from.push_back(sample);
      }
      const Values results = run(x, std::move(state), from);
      for (size_t i = 0; i < results.size(); ++i) samples[i].push_back(results[i].tensor);
    }
    Values joined;
    for (const Tensors& tensors : samples) joined.emplace_back(stack(tensors));
    return joined;
  };
}

// The body's outputs for each tensor of the first sequence, and of others that are sequences.
Run map_sequence(const Node& node) {
  const Node::Graph body = node.graph("body");
  node.check(inputs_of(body) == node.inputs() && outputs_of(body) == node.outputs(),
             "the body must take an element of each input and give the outputs", inputs_of(body),
             " and ", outputs_of(body), " for ", node.inputs(), " and ", node.outputs());
  return [number = body.number, outputs = node.outputs()](const Inputs& x) -> Values {
    const size_t count = x.sequence(0).size();
    std::vector<Tensors> results(outputs);
    for (size_t n = 0; n < count; ++n) {
      Values given;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!x.value(i).sequence) {
          given.push_back(x.value(i));
          continue;
        }
        check(x.sequence(i).size() == count, "SequenceMap", "sequences must be equally long",
              x.sequence(i).size(), " and ", count);
        given.emplace_back(x.sequence(i)[n]);
      }
      const Values made = x.run(number, std::move(given));
      for (size_t i = 0; i < outputs; ++i) results[i].push_back(made[i].tensor);
    }
    Values all;
    for (Tensors& tensors : results) all.push_back(Value::of(std::move(tensors)));
    return all;
  };
}

}  // namespace

void add_control(Operators& table) {
  table["If"] = {branch, 1, 1, kAnyNumber};
  table["Loop"] = {loop, 0, kAnyNumber, kAnyNumber};
  table["Scan"] = {scan, 0, kAnyNumber, kAnyNumber};
  table["SequenceMap"] = {map_sequence, 1, kAnyNumber, kAnyNumber};
}

}  // namespace aorta::onnx

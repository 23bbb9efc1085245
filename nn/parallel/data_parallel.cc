#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/random.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/nn/parallel/device_threads.h>
#include <aorta/nn/parallel/local_comm.h>

#include <algorithm>
#include <unordered_set>

namespace aorta::nn::detail {
namespace {

using Tensors = std::vector<Tensor>;

bool has_batch(const Tensor& tensor) { return tensor.defined() && tensor.dim() > 0; }

// Where the parts of a call begin along the batch.
struct Division {
  int64_t dim = 0, size = 0, step = 0;

  int64_t start(size_t part) const { return std::min(static_cast<int64_t>(part) * step, size); }
  Tensor part_of(const Tensor& tensor, size_t part) const {
    return has_batch(tensor) ? tensor.narrow(dim, start(part), start(part + 1) - start(part))
                             : tensor;
  }
};

// A part of a call, and what its backward pass needs.
struct Part {
  Device device;
  Generator random;
  std::unique_ptr<Communicator> end;  // of the group of all parts
  Tensors inputs, outputs;
  Tensors parameters;               // the replica's, of those that require a gradient
  std::shared_ptr<Module> replica;  // which functions of the graph (checkpoints) may call again

  void clear() {
    inputs.clear();
    outputs.clear();
    parameters.clear();
    replica.reset();
  }
};

// The random numbers and the group of a part, while its thread computes.
class PartScope {
 public:
  explicit PartScope(Part& part) : random_(part.random), group_(part.end.get()) {}

 private:
  const DefaultGeneratorScope random_;
  const CommunicatorScope group_;
};

// A call: its parts, and how they are computed, forward and backward.
class Call {
 public:
  Call(const Division& division, std::shared_ptr<DeviceThreads> threads,
       const std::vector<Device>& devices, const DataParallelOptions& options, size_t parts);

  using Compute = std::function<void(Part& part, size_t number)>;
  // Computes the parts on their threads. Who waits for a part that failed ends, too.
  void run(const Compute& compute);
  // Output `i` of all parts, joined on the first device.
  Tensor joined(size_t i) const;
  size_t outputs() const { return parts_[0].outputs.size(); }
  void check_outputs() const;
  bool needs_gradient(size_t output) const;
  // Looks in the parts' graphs for leaves that are neither parameters nor inputs, which the module
  // has from elsewhere.
  void find_other_leaves();
  const std::vector<autograd::Edge>& other_leaves() const { return other_leaves_; }
  // The gradients of the parameters, of these inputs of the call and of the other leaves, for a
  // node that has them all.
  void backward(autograd::Gradients& g, const std::vector<size_t>& inputs);

 private:
  Tensor part_of_gradient(const Tensor& gradient, size_t output, size_t part) const;
  Tensors backward_of(Part& part, size_t number, const Tensors& gradients,
                      const std::vector<autograd::Edge>& leaves, bool keeps_graph) const;
  Tensor input_gradient(const std::vector<Tensors>& found, size_t input, size_t place) const;

  const Division division_;
  const std::shared_ptr<DeviceThreads> threads_;
  std::vector<Part> parts_;
  std::vector<autograd::Edge> other_leaves_;
};

Call::Call(const Division& division, std::shared_ptr<DeviceThreads> threads,
           const std::vector<Device>& devices, const DataParallelOptions& options, size_t parts)
    : division_(division), threads_(std::move(threads)), parts_(parts) {
  Generator& random = default_generator();
  const uint64_t low = random.next_u32(), seed = uint64_t{random.next_u32()} << 32 | low;
  // Groups of one call, which copy from GPU to GPU: NCCL takes longer to begin.
  auto ends = local_communicators(static_cast<int>(parts),
                                  {.timeout = options.timeout, .by_device = false});
  for (size_t i = 0; i < parts; ++i) {
    parts_[i].device = devices[i];
    parts_[i].random.restore({seed, i, 0});
    parts_[i].end = std::move(ends[i]);
  }
}

void Call::run(const Compute& compute) {
  threads_->run(
      parts_.size(),
      [&](size_t number) {
        const PartScope scope(parts_[number]);
        compute(parts_[number], number);
      },
      [&](size_t number, const std::string& text) { parts_[number].end->abort(text); });
}

void Call::check_outputs() const {
  for (const Part& part : parts_) {
    check(part.outputs.size() == outputs(), "DataParallel",
          "the parts must have as many outputs as the first", part.outputs.size(), " on ",
          part.device, " for ", outputs());
    for (size_t i = 0; i < outputs(); ++i) {
      const Tensor &first = parts_[0].outputs[i], &output = part.outputs[i];
      check(first.defined() == output.defined(), "DataParallel",
            "an output must be defined in all parts or in none", "output ", i, " on ", part.device);
      if (!first.defined()) continue;
      Shape like = first.shape();
      if (output.dim() == like.size() && like.size() > division_.dim)
        like[static_cast<int>(division_.dim)] = output.size(division_.dim);
      check(output.dtype() == first.dtype() && output.shape() == like, "DataParallel",
            "the parts' outputs must have one dtype, and one shape but for the batch", "output ", i,
            ": ", output.dtype(), " ", output.shape(), " on ", part.device, ", ", first.dtype(),
            " ", first.shape(), " on ", parts_[0].device);
      check(output.dim() == 0 || output.dim() > division_.dim, "DataParallel",
            "an output must have the dimension of the batch", output.shape(), " for dimension ",
            division_.dim);
    }
  }
}

Tensor Call::joined(size_t i) const {
  const NoGradGuard no_grad;
  if (!parts_[0].outputs[i].defined()) return {};
  Tensors tensors;
  for (const Part& part : parts_) {
    const Tensor output = part.outputs[i].detach().to(parts_[0].device);
    tensors.push_back(output.dim() == 0 ? output.unsqueeze(0) : output);
  }
  return cat(tensors, parts_[0].outputs[i].dim() == 0 ? 0 : division_.dim);
}

bool Call::needs_gradient(size_t output) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    return part.outputs[output].defined() && part.outputs[output].requires_grad();
  });
}

Tensor Call::part_of_gradient(const Tensor& gradient, size_t output, size_t part) const {
  const Tensor& of_part = parts_[part].outputs[output];
  if (of_part.dim() == 0)
    return gradient.select(0, static_cast<int64_t>(part)).to(of_part.device());
  int64_t start = 0;
  for (size_t i = 0; i < part; ++i) start += parts_[i].outputs[output].size(division_.dim);
  return gradient.narrow(division_.dim, start, of_part.size(division_.dim)).to(of_part.device());
}

Tensors Call::backward_of(Part& part, size_t number, const Tensors& gradients,
                          const std::vector<autograd::Edge>& leaves, bool keeps_graph) const {
  Tensors outputs, of_outputs;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !part.outputs[i].requires_grad()) continue;
    outputs.push_back(part.outputs[i]);
    of_outputs.push_back(part_of_gradient(gradients[i], i, number));
  }
  if (outputs.empty()) return Tensors(leaves.size());
  autograd::BackwardPass pass(outputs, of_outputs, "backward");
  pass.capture_parts(leaves);
  pass.run(keeps_graph, false);
  return std::move(pass.captured());
}

void Call::find_other_leaves() {
  using autograd::Node;
  std::unordered_set<const Node*> seen;
  for (const Part& part : parts_) {
    for (const Tensors& known : {part.parameters, part.inputs})
      for (const Tensor& tensor : known)
        if (tensor.defined()) seen.insert(autograd::edge_of(tensor).node.get());
  }
  std::vector<autograd::Edge> queue;
  const auto meet = [&](const autograd::Edge& edge) {
    if (edge.node && seen.insert(edge.node.get()).second) queue.push_back(edge);
  };
  for (const Part& part : parts_) {
    for (const Tensor& output : part.outputs)
      if (output.defined()) meet(autograd::edge_of(output));
    for (size_t i = 0; i < queue.size(); ++i) {
      const autograd::Edge edge = queue[i];
      if (edge.node->is_leaf()) other_leaves_.push_back({edge.node, 0});
      for (const autograd::Edge& next : edge.node->edges()) meet(next);
    }
    queue.clear();
  }
}

// A gradient on `device`, which lives no longer than `gradient`: the CPUs have one memory.
Tensor seen_from(Device device, const Tensor& gradient) {
  if (!device.is_cpu() || !gradient.device().is_cpu()) return gradient.to(device);
  return from_blob(gradient.data(), gradient.shape(), gradient.strides(),
                   {.dtype = gradient.dtype(), .device = device});
}

// The first one that is there, plus the others in the order of the parts; in the first one's memory
// where nobody else has it.
Tensor sum_in_order(const std::vector<Tensors>& found, size_t place, Device device) {
  Tensor sum;
  bool ours = false;
  for (const Tensors& of_part : found) {
    const Tensor& gradient = of_part[place];
    if (!gradient.defined()) continue;
    if (!sum.defined()) {
      sum = gradient.to(device);
      ours = sum.storage() != gradient.storage() ||
             (gradient.impl().count.load() == 2 && gradient.storage()->use_count() == 1 &&
              (gradient.is_contiguous() || is_channels_last(gradient)));
    } else if (ours) {
      add_(sum, seen_from(device, gradient));
    } else {
      sum = sum + seen_from(device, gradient);
      ours = true;
    }
  }
  return sum;
}

// The parts' gradients of an input after one another, as the parts of the input lay.
Tensor Call::input_gradient(const std::vector<Tensors>& found, size_t input, size_t place) const {
  if (!has_batch(parts_[0].inputs[input])) return sum_in_order(found, place, parts_[0].device);
  Tensors gradients;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Tensor& of_part = parts_[i].inputs[input];
    gradients.push_back(
        found[i][place].defined()
            ? found[i][place].to(parts_[0].device)
            : zeros(of_part.shape(), {.dtype = of_part.dtype(), .device = parts_[0].device}));
  }
  return cat(gradients, division_.dim);
}

void Call::backward(autograd::Gradients& g, const std::vector<size_t>& inputs) {
  check(!grad_enabled(), "DataParallel", "gradients of gradients need a single device",
        parts_.size(), " parts");
  Tensors gradients(outputs());
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.has_output(i)) gradients[i] = g.output(i);
  const size_t parameters = parts_[0].parameters.size(), own = parameters + inputs.size();
  std::vector<size_t> edges;
  for (size_t i = 0; i < own + other_leaves_.size(); ++i)
    if (g.wanted(i)) edges.push_back(i);
  std::vector<Tensors> found(parts_.size());
  run([&](Part& part, size_t number) {
    std::vector<autograd::Edge> leaves;
    for (const size_t edge : edges) {
      leaves.push_back(edge >= own
                           ? other_leaves_[edge - own]
                           : autograd::edge_of(edge < parameters
                                                   ? part.parameters[edge]
                                                   : part.inputs[inputs[edge - parameters]]));
    }
    found[number] = backward_of(part, number, gradients, leaves, g.keeps_graph());
  });
  for (size_t place = 0; place < edges.size(); ++place) {
    const size_t edge = edges[place];
    if (edge < parameters) {
      g.input(edge) = sum_in_order(found, place, parts_[0].device);
    } else if (edge < own) {
      g.input(edge) = input_gradient(found, inputs[edge - parameters], place);
    } else {
      const Device device = other_leaves_[edge - own].node->outputs()[0].device;
      g.input(edge) = sum_in_order(found, place, device);
    }
  }
  if (g.keeps_graph()) return;
  // Each thread gives back the memory that it took.
  run([&](Part& part, size_t number) {
    part.clear();
    found[number].clear();
  });
}

// An input of a part: on its device, and a leaf of the part's own graph.
Tensor leaf_of(const Tensor& input, const Division& division, size_t part, Device device) {
  if (!input.defined()) return input;
  const Tensor leaf = division.part_of(input.detach(), part).to(device).detach();
  if (grad_enabled() && input.requires_grad()) leaf.requires_grad_();
  return leaf;
}

Division divide(const Tensors& inputs, size_t devices, int64_t dim) {
  Division division{.dim = dim};
  const Tensor* first = nullptr;
  for (const Tensor& input : inputs) {
    if (!has_batch(input)) continue;
    check(input.dim() > dim, "DataParallel", "an input must have the dimension of the batch",
          input.shape(), " for dimension ", dim);
    check(!first || input.size(dim) == first->size(dim), "DataParallel",
          "the inputs must have one size along the batch", input.shape(), " and ",
          first ? first->shape() : Shape(), " for dimension ", dim);
    first = &input;
  }
  const int64_t parts = static_cast<int64_t>(devices);
  division.size = first ? first->size(dim) : 0;
  division.step = divide_up(division.size, parts);
  return division;
}

}  // namespace

DataParallelCalls::DataParallelCalls(const Module& module, std::vector<Device> devices,
                                     const DataParallelOptions& options)
    : devices_(std::move(devices)), options_(options) {
  check(!devices_.empty(), "DataParallel", "there must be a device", "none");
  check(options.dim >= 0, "DataParallel", "dim must be 0 or more", options.dim);
  for (const Device device : devices_) {
    check(device.type == devices_[0].type, "DataParallel", "devices must be of one kind", device,
          " beside ", devices_[0]);
    check(device.index >= 0 && device.index < device_count(device.type), "DataParallel",
          "the devices must exist", device);
  }
  for (const Tensor& parameter : module.parameters())
    autograd::check_whole("DataParallel", parameter);
  check_place(module);
  for (size_t i = 0; i < devices_.size(); ++i) replicas_.emplace_back(devices_[i], i == 0);
  if (devices_.size() > 1) threads_ = std::make_shared<DeviceThreads>(devices_);
}

void DataParallelCalls::check_place(const Module& module) const {
  const auto check_here = [&](const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors)
      check(tensor.device() == devices_[0], "DataParallel",
            "the module must lie on the first device", name, " on ", tensor.device(), " for ",
            devices_[0]);
  };
  check_here(module.named_parameters());
  check_here(module.named_buffers());
}

size_t DataParallelCalls::parts(const Tensors& inputs) const {
  const Division division = divide(inputs, devices_.size(), options_.dim);
  return division.size == 0 ? 1 : static_cast<size_t>(divide_up(division.size, division.step));
}

Tensors DataParallelCalls::on_first_device(Tensors inputs) const {
  for (Tensor& input : inputs)
    if (input.defined()) input = input.to(devices_[0]);
  return inputs;
}

Tensors DataParallelCalls::run(const Module& module, size_t parts, const Tensors& inputs,
                               const Copy& copy, const Forward& forward) {
  check_place(module);
  const Division division = divide(inputs, devices_.size(), options_.dim);
  const auto call = std::make_shared<Call>(division, threads_, devices_, options_, parts);
  Tensors edges;  // of the node: parameters, and then inputs
  if (grad_enabled()) {
    for (const Tensor& parameter : module.parameters())
      if (parameter.requires_grad()) edges.push_back(parameter);
  }
  const size_t parameters = edges.size();
  std::vector<size_t> inputs_with_edge;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !aorta::needs_gradient(inputs[i])) continue;
    edges.push_back(inputs[i]);
    inputs_with_edge.push_back(i);
  }
  call->run([&](Part& part, size_t number) {
    for (const Tensor& input : inputs)
      part.inputs.push_back(leaf_of(input, division, number, part.device));
    part.replica = copy(number);
    Replica& replica = replicas_[number];
    replica.bind(*part.replica);
    for (size_t i = 0; i < parameters; ++i) part.parameters.push_back(replica.parameter(edges[i]));
  });
  // The first part writes the module's buffers, which the others have copied by now.
  call->run([&](Part& part, size_t number) { part.outputs = forward(number, part.inputs); });
  call->check_outputs();
  Tensors joined;
  std::vector<size_t> recorded;
  for (size_t i = 0; i < call->outputs(); ++i) {
    joined.push_back(call->joined(i));
    if (call->needs_gradient(i)) recorded.push_back(i);
  }
  if (!grad_enabled() || recorded.empty()) return joined;
  call->find_other_leaves();
  std::vector<const Tensor*> pointers;
  for (const Tensor& edge : edges) pointers.push_back(&edge);
  const size_t own = pointers.size();
  pointers.resize(own + call->other_leaves().size());
  if (pointers.empty()) return joined;
  const auto node = autograd::make_node(
      "data_parallel", pointers, joined.size(),
      [call, inputs_with_edge](autograd::Gradients& g) { call->backward(g, inputs_with_edge); });
  for (size_t i = own; i < pointers.size(); ++i) node->edges()[i] = call->other_leaves()[i - own];
  for (const size_t i : recorded) autograd::set_history(joined[i], node, static_cast<uint32_t>(i));
  return joined;
}

}  // namespace aorta::nn::detail

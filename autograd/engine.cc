#include <aorta/autograd/anomaly.h>
#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/gradients.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>

#include <algorithm>
#include <utility>

namespace aorta::autograd {
namespace {

thread_local constinit BackwardPass* pass_of_thread = nullptr;

Tensor root_gradient(const char* op, const Tensor& output, const Tensor& given) {
  if (!given.defined()) {
    check(output.numel() == 1, op,
          "a gradient must be given for an output of more than one element", output.shape());
    check(!output.is_complex(), op, "a gradient must be given for a complex output",
          output.dtype());
    return ones(output.shape(), {.dtype = output.dtype(), .device = output.device()});
  }
  check(given.shape() == output.shape(), op, "the gradient must have the output's shape",
        given.shape(), " for ", output.shape());
  check(is_floating(given.dtype()) || (given.is_complex() && output.is_complex()), op,
        output.is_complex() ? "the gradient must be floating or complex"
                            : "the gradient must be floating",
        given.dtype());
  check(given.device() == output.device(), op, "the gradient must be on the output's device",
        given.device(), " for ", output.device());
  return given.to(output.dtype());
}

}  // namespace

void after_backward(std::function<void(const std::exception_ptr& error)> function) {
  check(pass_of_thread != nullptr, "after_backward", "a backward pass must be running", "none");
  pass_of_thread->call_at_end(std::move(function));
}

bool is_in_backward() { return pass_of_thread != nullptr; }
bool backward_accumulates() { return pass_of_thread && pass_of_thread->accumulates_all(); }

bool backward_adds() { return pass_of_thread && pass_of_thread->adds(); }

BackwardPass::BackwardPass(std::span<const Tensor> outputs, std::span<const Tensor> gradients,
                           const char* op) {
  check(!outputs.empty(), op, "at least one output must be given", 0);
  check(gradients.empty() || gradients.size() == outputs.size(), op,
        "there must be one gradient an output", gradients.size(), " for ", outputs.size());
  check_defined(op, "outputs", outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Edge edge = edge_of(outputs[i]);
    check(edge.node.get() != nullptr, op,
          "an output must require a gradient: it does when an input that was computed with does",
          "output ", i, " of shape ", outputs[i].shape());
    root_gradients_.push_back(
        root_gradient(op, outputs[i], gradients.empty() ? Tensor() : gradients[i]));
    roots_.push_back(edge);
  }
}

BackwardPass::~BackwardPass() {
  for (Visit& visit : visits_) {
    if (visit.node->pass_.load(std::memory_order_relaxed) == this)
      visit.node->pass_.store(nullptr, std::memory_order_release);
  }
}

// The notes on a node; null for one that the pass doesn't reach.
BackwardPass::Visit* BackwardPass::find(Node& node) {
  if (node.pass_.load(std::memory_order_acquire) == this) return &visits_[node.visit_];
  if (elsewhere_.empty()) return nullptr;
  const auto found = elsewhere_.find(&node);
  return found == elsewhere_.end() ? nullptr : &visits_[found->second];
}

// The node's visit, made at the first time.
BackwardPass::Visit& BackwardPass::discover(Node& node) {
  if (Visit* known = find(node)) return *known;
  const void* nobody = nullptr;
  const uint32_t index = static_cast<uint32_t>(visits_.size());
  if (node.pass_.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
    node.visit_ = index;
  } else {
    elsewhere_[&node] = index;
  }
  visits_.emplace_back().node = &node;
  return visits_.back();
}

// `visits_` grows while it is read: it is the queue of nodes whose edges are to be counted.
void BackwardPass::count_edges(size_t from) {
  for (size_t i = from; i < visits_.size(); ++i) {
    for (const Edge& edge : visits_[i].node->edges()) {
      if (edge.node) ++discover(*edge.node).missing;
    }
  }
}

// Marks what leads to a captured place, from the leaves up: in the reverse of an order in which
// every node stands before its inputs.
void BackwardPass::find_needed() {
  std::vector<int32_t> missing;
  for (Visit& visit : visits_) {
    missing.push_back(visit.missing);
    visit.reaches = visit.runs = false;
  }
  for (const Edge& place : places_) {
    if (Visit* visit = place.node ? find(*place.node) : nullptr)
      visit->reaches = visit->captured = true;
  }
  const auto index_of = [&](Node& node) {
    return static_cast<size_t>(find(node) - visits_.data());
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < visits_.size(); ++i) {
    if (missing[i] == 0) order.push_back(i);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge& edge : visits_[order[i]].node->edges()) {
      if (edge.node && --missing[index_of(*edge.node)] == 0) order.push_back(index_of(*edge.node));
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    Visit& visit = visits_[order[i]];
    for (const Edge& edge : visit.node->edges()) {
      if (edge.node && find(*edge.node)->reaches) visit.runs = visit.reaches = true;
    }
  }
}

void BackwardPass::capture(std::span<const Edge> places) {
  places_ = places;
  captured_.resize(places.size());
}

namespace {

// Whether nobody else can see the gradient's memory, so that another of `dtype` may be added to it.
bool is_ours(const Tensor& gradient, DType dtype) {
  return gradient.dtype() == dtype && gradient.impl().count.load() == 1 &&
         gradient.storage()->use_count() == 1 &&
         (gradient.is_contiguous() || is_channels_last(gradient));
}

}  // namespace

void BackwardPass::deliver(Visit& visit, uint32_t output, Tensor gradient) {
  if (!gradient.defined()) return;
  if (output > 0 && visit.others.size() < output)
    visit.others.resize(visit.node->outputs().size() - 1);
  Tensor& place = output == 0 ? visit.gradient : visit.others[output - 1];
  if (!place.defined()) {
    place = std::move(gradient);
  } else if (!create_graph_ && is_ours(place, gradient.dtype())) {
    add_(place, gradient);
  } else if (!create_graph_ && is_ours(gradient, place.dtype())) {
    add_(gradient, place);
    place = std::move(gradient);
  } else {
    place = place + gradient;
  }
}

// Delivers the gradient of the first input, a leaf, whose edge is finished like any other.
void BackwardPass::deliver_sparse(Node& node, SparseGradient gradient) {
  const Edge& edge = node.edges()[0];
  const GradientSpec& spec = edge.node->outputs()[0];
  if (detects_anomaly()) check_anomaly(node, {&gradient.values, 1});
  const HookList* hooks = edge.node->existing_hooks();
  check(!leaves_ && places_.empty() && !(hooks && hooks->has_before()), node.description(),
        "a sparse gradient is accumulated and no more: not for hooks, grad(), inputs by name and "
        "OrderedBackward",
        "one of ", spec.shape);
  if (gradient.values.dtype() != spec.dtype || gradient.values.device() != spec.device) {
    gradient.indices = gradient.indices.to(spec.device);
    gradient.values = gradient.values.to({.dtype = spec.dtype, .device = spec.device});
  }
  find(*edge.node)->sparse.push_back(std::move(gradient));
}

bool BackwardPass::runs_later(uint32_t a, uint32_t b) const {
  const uint64_t of_a = visits_[a].node->sequence(), of_b = visits_[b].node->sequence();
  return of_a != of_b ? of_a < of_b : a > b;
}

void BackwardPass::push(Visit& visit) {
  ready_.push_back(static_cast<uint32_t>(&visit - visits_.data()));
  std::push_heap(ready_.begin(), ready_.end(),
                 [&](uint32_t a, uint32_t b) { return runs_later(a, b); });
}

BackwardPass::Visit& BackwardPass::pop() {
  std::pop_heap(ready_.begin(), ready_.end(),
                [&](uint32_t a, uint32_t b) { return runs_later(a, b); });
  Visit& visit = visits_[ready_.back()];
  ready_.pop_back();
  return visit;
}

void BackwardPass::finish_edge(Visit& visit) {
  if (--visit.missing == 0) push(visit);
}

void BackwardPass::run_hooks(Visit& visit) {
  HookList* list = visit.node->existing_hooks();
  if (!list || !list->has_before()) return;
  const auto entries = list->entries;  // a hook may remove itself
  for (const HookList::Entry& entry : entries) {
    if (!entry.before) continue;
    if (entry.output > 0 && visit.others.size() < entry.output) continue;
    Tensor& gradient = entry.output == 0 ? visit.gradient : visit.others[entry.output - 1];
    if (!gradient.defined()) continue;
    Tensor replacement = entry.before(gradient);
    if (!replacement.defined()) continue;
    check(replacement.shape() == gradient.shape(), visit.node->description(),
          "a hook must return a gradient of the same shape", replacement.shape(), " for ",
          gradient.shape());
    check(replacement.dtype() == gradient.dtype() && replacement.device() == gradient.device(),
          visit.node->description(), "a hook must return a gradient of the same dtype and device",
          replacement.dtype(), " on ", replacement.device(), " for ", gradient.dtype(), " on ",
          gradient.device());
    gradient = std::move(replacement);
  }
}

void BackwardPass::run_capture(const Visit& visit) {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].node.get() != visit.node) continue;
    const uint32_t output = places_[i].output;
    if (output == 0) {
      captured_[i] = visit.gradient;
    } else if (visit.others.size() >= output) {
      captured_[i] = visit.others[output - 1];
    }
  }
}

bool Gradients::leaves_out(size_t i) const {
  return std::find(left_out_.begin(), left_out_.end(), i) != left_out_.end();
}

void BackwardPass::run_node(Visit& visit) {
  Node& node = *visit.node;
  const std::span<Edge> edges = node.edges();
  constexpr size_t kFew = 8;
  Tensor few_inputs[kFew], few_outputs[kFew];
  bool few_wanted[kFew];
  std::vector<Tensor> many_inputs, many_outputs;
  std::unique_ptr<bool[]> many_wanted;
  Tensor* inputs = few_inputs;
  Tensor* outputs = few_outputs;
  bool* wanted = few_wanted;
  if (edges.size() > kFew) {
    many_inputs.resize(edges.size());
    many_wanted.reset(new bool[edges.size()]);
    inputs = many_inputs.data();
    wanted = many_wanted.get();
  }
  if (node.outputs().size() > kFew) {
    many_outputs.resize(node.outputs().size());
    outputs = many_outputs.data();
  }
  bool any = visit.gradient.defined();
  outputs[0] = std::move(visit.gradient);
  for (size_t i = 0; i < visit.others.size(); ++i) {
    any |= visit.others[i].defined();
    outputs[i + 1] = std::move(visit.others[i]);
  }
  for (size_t i = 0; i < edges.size(); ++i)
    wanted[i] = edges[i].node && find(*edges[i].node)->reaches;
  if (any || node.is_always_run()) {
    const ProfilerRange range(node.name(), {outputs}, " backward");
    Gradients gradients(node, outputs, inputs, wanted, keep_graph_);
    node.run(gradients);
    const bool sparse = gradients.sparse_input().has_value();
    if (sparse) deliver_sparse(node, std::move(*gradients.sparse_input()));
    for (size_t i = sparse ? 1 : 0; i < edges.size(); ++i) {
      if (!wanted[i] || inputs[i].defined() || gradients.leaves_out(i)) continue;
      const GradientSpec& spec = edges[i].node->outputs()[edges[i].output];
      inputs[i] = zeros(spec.shape, {.dtype = spec.dtype, .device = spec.device});
    }
    if (detects_anomaly()) check_anomaly(node, {inputs, edges.size()});
    if (!keep_graph_) node.free_saved();
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!wanted[i]) continue;
    Tensor& gradient = inputs[i];
    if (gradient.defined()) {
      const GradientSpec& spec = edges[i].node->outputs()[edges[i].output];
      check(gradient.shape() == spec.shape, node.description(),
            "the gradient of an input must have its shape", "input ", i, ": ", gradient.shape(),
            " for ", spec.shape);
      // A real input's part in a complex result has a gradient that is real.
      if (gradient.is_complex() && !is_complex(spec.dtype)) gradient = real(gradient);
      if (gradient.dtype() != spec.dtype || gradient.device() != spec.device)
        gradient = gradient.to({.dtype = spec.dtype, .device = spec.device});
    }
    Visit& next = *find(*edges[i].node);
    deliver(next, edges[i].output, std::move(gradient));
    finish_edge(next);
  }
}

template <class Work>
void BackwardPass::as_pass_of_thread(Work&& work) {
  BackwardPass* const outer = std::exchange(pass_of_thread, this);
  std::exception_ptr error;
  try {
    const AutoGradMode mode(create_graph_);
    work();
  } catch (...) {
    error = std::current_exception();
  }
  pass_of_thread = outer;
  // One that fails keeps the others from nothing: what they belong to waits for the end, too.
  std::exception_ptr first = error;
  for (const auto& function : std::exchange(at_end_, {})) {
    try {
      function(error);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void BackwardPass::run(bool keep_graph, bool create_graph) {
  keep_graph_ = keep_graph;
  create_graph_ = create_graph;
  as_pass_of_thread([this] { run_roots(); });
}

std::vector<Node*> BackwardPass::expect(std::span<const Edge> places) {
  const size_t first = visits_.size();
  for (const Edge& place : places) {
    ++discover(*place.node).missing;
    roots_.push_back(place);  // which keeps the graph
  }
  count_edges(first);
  std::vector<Node*> found;
  for (size_t i = first; i < visits_.size(); ++i) found.push_back(visits_[i].node);
  return found;
}

void BackwardPass::arrive(std::span<const Edge> places, std::span<const Tensor> gradients) {
  as_pass_of_thread([&] {
    for (size_t i = 0; i < places.size(); ++i) {
      Visit* const visit = find(*places[i].node);
      check(visit && visit->missing > 0, "backward", "a gradient must be expected",
            places[i].node->description());
      deliver(*visit, places[i].output, gradients[i]);
      finish_edge(*visit);
    }
    run_ready();
  });
}

void BackwardPass::run_roots() {
  for (const Edge& root : roots_) discover(*root.node);
  distinct_roots_ = visits_.size();
  count_edges(0);
  if (!places_.empty()) find_needed();
  for (size_t i = 0; i < roots_.size(); ++i) {
    deliver(*find(*roots_[i].node), roots_[i].output, std::move(root_gradients_[i]));
  }
  // A root that another one leads to waits for it.
  for (size_t i = 0; i < distinct_roots_; ++i) {
    if (visits_[i].missing == 0) push(visits_[i]);
  }
  run_ready();
}

void BackwardPass::run_ready() {
  while (!ready_.empty()) {
    Visit& visit = pop();
    if (!visit.captured || !captures_parts_) run_hooks(visit);
    if (visit.captured && !accumulates_) run_capture(visit);
    if (visit.node->is_leaf()) {
      const bool accumulates = places_.empty() || (accumulates_ && visit.captured);
      if ((!visit.gradient.defined() && visit.sparse.empty()) || !accumulates) continue;
      if (leaves_) {
        visit.node->retain();
        leaves_->emplace_back(Ref<Node>::adopt(visit.node), std::move(visit.gradient));
      } else {
        static_cast<LeafNode&>(*visit.node)
            .accumulate(std::move(visit.gradient), create_graph_, std::move(visit.sparse));
      }
    } else if (visit.runs) {
      run_node(visit);
    }
  }
}

}  // namespace aorta::autograd

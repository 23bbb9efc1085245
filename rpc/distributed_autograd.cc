#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/gradients.h>
#include <aorta/core/allocator.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/process/process_group.h>
#include <aorta/rpc/autograd_context.h>
#include <aorta/rpc/distributed_autograd.h>
#include <aorta/rpc/rpc.h>

#include <atomic>
#include <mutex>
#include <set>

namespace aorta::distributed::autograd {
namespace {

using aorta::autograd::BackwardPass;
using aorta::autograd::Edge;
using aorta::autograd::Node;
using futures::Future;

thread_local int64_t context_of_thread = 0;

// One backward pass, in all processes.
struct Pass {
  int64_t context = 0, number = 0;
  bool keeps_graph = false;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(context, number, keeps_graph);
  }
};

Future<void> all_done(const std::vector<Future<void>>& futures) {
  return futures::collect_all(futures).then([](const auto& all) {
    for (const Future<void>& one : all.value()) one.value();
  });
}

// A process's part of a context.
class Context {
 public:
  explicit Context(int64_t id) : id_(id) {}

  int64_t note_sent(int rank, std::span<const Tensor> tensors);
  std::vector<Edge> places_of(int64_t number);
  /// Gradients will come to these places; done when all processes that are reached know.
  Future<void> expect(const Pass& pass, std::span<const Edge> places);
  /// They come; done when all that follows from them is.
  Future<void> arrive(const Pass& pass, std::span<const Edge> places,
                      std::span<const Tensor> gradients);
  /// Where the nodes that this thread runs are.
  static Context*& running();
  void send_back(int rank, int64_t number, const std::vector<Tensor>& gradients);
  Gradients::ByNode gradients();
  std::set<int> workers();

 private:
  void add_gradients();
  void check_no_hook(const char* op);

  const int64_t id_;
  std::mutex mutex_;
  std::set<int> workers_;                        // that were sent something
  std::map<int64_t, std::vector<Edge>> places_;  // of what was sent, by number
  Pass now_;
  std::unique_ptr<BackwardPass> pass_;
  BackwardPass::LeafGradients leaves_;
  std::vector<Future<void>> outgoing_;
  Gradients::ByNode gradients_;
};

struct Contexts {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Context>> by_id;
};

Contexts& contexts() {
  static auto* instance = new Contexts;
  return *instance;
}

std::shared_ptr<Context> find_context(int64_t id) {
  const std::lock_guard lock(contexts().mutex);
  const auto found = contexts().by_id.find(id);
  return found == contexts().by_id.end() ? nullptr : found->second;
}

std::shared_ptr<Context> context_of(const char* op, int64_t id) {
  std::shared_ptr<Context> found = find_context(id);
  check(found != nullptr, op, "the context must live", id);
  return found;
}

std::shared_ptr<Context> make_context(int64_t id) {
  const std::lock_guard lock(contexts().mutex);
  auto& place = contexts().by_id[id];
  if (!place) place = std::make_shared<Context>(id);
  return place;
}

Future<void> expect_gradients(const Pass& pass, int64_t number);
Future<void> take_gradients(const Pass& pass, int64_t number, const std::vector<Tensor>& gradients);

// The history of tensors that have come from another process: their gradients go back there.
class ReceiveNode final : public Node {
 public:
  static Ref<Node> make(int rank, int64_t number, size_t outputs) {
    const int64_t bytes = block_bytes(sizeof(ReceiveNode), 0, outputs);
    auto* node = new (cpu::allocate(bytes)) ReceiveNode(rank, number, bytes);
    node->place_lists(sizeof(ReceiveNode), 0, outputs);
    return Ref<Node>::adopt(node);
  }
  // The other process waits for what is said here: that there is no gradient, too.
  bool is_always_run() const override { return true; }
  int rank() const { return rank_; }
  int64_t number() const { return number_; }

 private:
  ReceiveNode(int rank, int64_t number, int64_t bytes)
      : Node("receive", next_sequence(), bytes), rank_(rank), number_(number) {}
  void apply(aorta::autograd::Gradients& gradients) override {
    Context* const context = Context::running();
    check(context != nullptr, "backward",
          "the gradients of what another process has sent must be asked for by "
          "distributed::autograd::backward(), in the context of the call",
          "backward()");
    std::vector<Tensor> found(outputs().size());
    for (size_t i = 0; i < found.size(); ++i)
      if (gradients.has_output(i)) found[i] = gradients.output(i).detach().cpu();
    context->send_back(rank_, number_, found);
  }

  const int rank_;
  const int64_t number_;
};

Context*& Context::running() {
  static thread_local Context* context = nullptr;
  return context;
}

int64_t Context::note_sent(int rank, std::span<const Tensor> tensors) {
  const std::lock_guard lock(mutex_);
  workers_.insert(rank);
  if (tensors.empty()) return 0;
  const int64_t number = detail::unique_number();
  std::vector<Edge>& places = places_[number];
  for (const Tensor& tensor : tensors) places.push_back(aorta::autograd::edge_of(tensor));
  return number;
}

std::vector<Edge> Context::places_of(int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(number);
  check(found != places_.end(), "backward",
        "what the loss depends on must have been sent in the same context", "another one's");
  return found->second;
}

// A hook that a pass runs holds the context, which is locked.
void Context::check_no_hook(const char* op) {
  check(running() != this, op, "it isn't for hooks and functions of a backward pass",
        "a call there");
}

Future<void> Context::expect(const Pass& pass, std::span<const Edge> places) {
  check_no_hook("backward");
  const std::lock_guard lock(mutex_);
  if (now_.number != pass.number) {
    now_ = pass;
    leaves_.clear();
    pass_ = std::make_unique<BackwardPass>(pass.keeps_graph);
    pass_->collect(&leaves_);
  }
  std::vector<Future<void>> told;
  for (Node* const node : pass_->expect(places))
    if (const auto* received = dynamic_cast<const ReceiveNode*>(node))
      told.push_back(rpc::rpc_async<&expect_gradients>(received->rank(), pass, received->number()));
  return all_done(told);
}

Future<void> Context::arrive(const Pass& pass, std::span<const Edge> places,
                             std::span<const Tensor> gradients) {
  const std::lock_guard lock(mutex_);
  check(now_.number == pass.number, "backward", "a context has one pass at a time",
        "another one since this began");
  std::vector<Tensor> moved;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& spec = places[i].node->outputs()[places[i].output];
    moved.push_back(gradients[i].defined() ? gradients[i].to(spec.device) : Tensor());
  }
  Context* const outer = std::exchange(running(), this);
  outgoing_.clear();
  try {
    pass_->arrive(places, moved);
  } catch (...) {
    running() = outer;
    throw;
  }
  running() = outer;
  add_gradients();
  return all_done(outgoing_);
}

void Context::send_back(int rank, int64_t number, const std::vector<Tensor>& gradients) {
  outgoing_.push_back(rpc::rpc_async<&take_gradients>(rank, now_, number, gradients));
}

void Context::add_gradients() {
  for (auto& [node, gradient] : leaves_) {
    const auto* hooks = node->existing_hooks();
    check(!hooks || !hooks->has_after(), "backward",
          "a leaf's hooks for after the accumulation, as DistributedDataParallel has them, can't "
          "run where gradients belong to a context",
          "such a hook of a leaf ", node->outputs()[0].shape);
    auto& [kept, sum] = gradients_[node.get()];
    const bool is_own = gradient.is_contiguous() && gradient.storage()->use_count() == 1;
    sum = sum.defined() ? sum + gradient : is_own ? gradient : gradient.clone();
    kept = node;
  }
  leaves_.clear();
}

Gradients::ByNode Context::gradients() {
  check_no_hook("get_gradients");
  const std::lock_guard lock(mutex_);
  return gradients_;
}

std::set<int> Context::workers() {
  const std::lock_guard lock(mutex_);
  return workers_;
}

Future<void> expect_gradients(const Pass& pass, int64_t number) {
  const auto context = context_of("backward", pass.context);
  return context->expect(pass, context->places_of(number));
}

Future<void> take_gradients(const Pass& pass, int64_t number,
                            const std::vector<Tensor>& gradients) {
  const auto context = context_of("backward", pass.context);
  return context->arrive(pass, context->places_of(number), gradients);
}

// A process tells those that it has sent something to; one that knows nothing any more, nobody.
void end_context(int64_t id) {
  std::shared_ptr<Context> context;
  {
    const std::lock_guard lock(contexts().mutex);
    const auto found = contexts().by_id.find(id);
    if (found == contexts().by_id.end()) return;
    context = std::move(found->second);
    contexts().by_id.erase(found);
  }
  const detail::ContextScope none(0);
  for (const int rank : context->workers()) {
    try {
      rpc::rpc_async<&end_context>(rank, id);
    } catch (const Error&) {
      // That one is gone, and what it knew with it.
    }
  }
}

}  // namespace

namespace detail {

int64_t current_context() { return context_of_thread; }

ContextScope::ContextScope(int64_t context) : outer_(std::exchange(context_of_thread, context)) {}
ContextScope::~ContextScope() { context_of_thread = outer_; }

int64_t unique_number() {
  static std::atomic<int64_t> count{0};
  constexpr int kBits = 40;
  return (int64_t{get_rank()} << kBits) + ++count;
}

void join_context(int64_t context) { make_context(context); }

bool is_in_pass() { return Context::running() != nullptr; }

int64_t note_sent(int64_t context, int rank, std::span<const Tensor> tensors) {
  const std::shared_ptr<Context> found = find_context(context);
  return found ? found->note_sent(rank, tensors) : 0;  // it has ended
}

void note_received(int64_t context, int rank, int64_t number, std::span<const Tensor> tensors) {
  if (!find_context(context)) return;  // it came too late
  const Ref<Node> node = ReceiveNode::make(rank, number, tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    aorta::autograd::set_history(tensors[i], node, static_cast<uint32_t>(i));
}

void forget_contexts() {
  std::map<int64_t, std::shared_ptr<Context>> forgotten;
  const std::lock_guard lock(contexts().mutex);
  forgotten.swap(contexts().by_id);
}

}  // namespace detail

context::context() : id_(detail::unique_number()), outer_(context_of_thread) {
  rpc::detail::Agent::get("distributed::autograd::context");
  check(outer_ == 0, "distributed::autograd::context", "a thread has one at a time",
        "a second one, inside of the first");
  make_context(id_);
  context_of_thread = id_;
}

context::~context() {
  context_of_thread = outer_;
  try {
    end_context(id_);
  } catch (const Error&) {
    // The group has ended, and with it what the others know.
  }
}

void backward(int64_t context_id, const List<Tensor>& roots, bool retain_graph) {
  constexpr const char* kOp = "distributed::autograd::backward";
  const std::shared_ptr<Context> context = context_of(kOp, context_id);
  check(!roots.empty(), kOp, "there must be a root", 0);
  std::vector<Edge> places;
  std::vector<Tensor> ones;
  for (const Tensor& root : roots) {
    check(root.numel() == 1 && !root.is_complex(), kOp, "roots must be single real numbers",
          root.shape(), " of ", root.dtype());
    places.push_back(aorta::autograd::edge_of(root));
    check(places.back().node.get() != nullptr, kOp, "a root must require a gradient", root.shape());
    ones.push_back(aorta::ones(root.shape(), {.dtype = root.dtype()}));
  }
  const detail::ContextScope none(0);
  const Pass pass{context_id, detail::unique_number(), retain_graph};
  context->expect(pass, places).wait();
  context->arrive(pass, places, ones).wait();
}

const Tensor* Gradients::find(const Tensor& leaf) const {
  const auto found = gradients_.find(aorta::autograd::edge_of(leaf).node.get());
  return found == gradients_.end() ? nullptr : &found->second.second;
}

const Tensor& Gradients::operator[](const Tensor& leaf) const {
  const Tensor* const found = find(leaf);
  check(found != nullptr, "get_gradients", "the context must have a gradient of the leaf",
        leaf.shape());
  return *found;
}

Gradients get_gradients(int64_t context_id) {
  return Gradients(context_of("get_gradients", context_id)->gradients());
}

}  // namespace aorta::distributed::autograd

#include <aorta/autograd/gradients.h>
#include <aorta/autograd/node.h>

namespace aorta::autograd {
namespace {

constexpr uint32_t kFreed = 1u << 31;

thread_local constinit uint64_t last_sequence = 0;
thread_local constinit Node* to_destroy = nullptr;
thread_local constinit bool destroying = false;

constexpr size_t round_up(size_t size) { return (size + 15) / 16 * 16; }

}  // namespace

GradientSpec spec_of(const Tensor& tensor) {
  return {tensor.shape(), tensor.dtype(), tensor.device()};
}

Node::Node(const char* name, uint64_t number, int64_t bytes)
    : name_(name), sequence_(number), bytes_(static_cast<uint32_t>(bytes)), path_(module_path()) {}

Node::~Node() {
  for (uint32_t i = 0; i < edge_count_; ++i) edges_[i].~Edge();
}

uint64_t Node::next_sequence() { return ++last_sequence; }

int64_t Node::block_bytes(size_t size, size_t edges, size_t outputs) {
  return static_cast<int64_t>(round_up(size) + edges * sizeof(Edge) +
                              outputs * sizeof(GradientSpec));
}

void Node::place_lists(size_t size, size_t edges, size_t outputs) {
  char* place = reinterpret_cast<char*>(this) + round_up(size);
  edges_ = reinterpret_cast<Edge*>(place);
  outputs_ = reinterpret_cast<GradientSpec*>(place + edges * sizeof(Edge));
  for (size_t i = 0; i < edges; ++i) new (edges_ + i) Edge;
  for (size_t i = 0; i < outputs; ++i) new (outputs_ + i) GradientSpec;
  edge_count_ = static_cast<uint32_t>(edges);
  output_count_ = static_cast<uint32_t>(outputs);
}

// A node's edges and saved tensors hold other nodes. Those that become free while one is destroyed
// wait in a list, so that a chain doesn't recurse.
void Node::destroy() {
  next_ = to_destroy;
  to_destroy = this;
  if (destroying) return;
  destroying = true;
  while (to_destroy) {
    Node* node = to_destroy;
    to_destroy = node->next_;
    const int64_t bytes = node->bytes_;
    node->~Node();
    cpu::deallocate(node, bytes);
  }
  destroying = false;
}

std::string Node::description() const {
  return path_ ? std::string(name_) + " in " + path_->to_string() : name_;
}

// Another thread may run the node at the same time: the last one out frees what is to be freed.
bool Node::leave() { return running_.fetch_sub(1, std::memory_order_acq_rel) == (kFreed | 1u); }

void Node::run(Gradients& gradients) {
  if (!has_saved()) return apply(gradients);
  const uint32_t before = running_.fetch_add(1, std::memory_order_acq_rel);
  struct Leave {
    Node* node;
    ~Leave() {
      if (node->leave()) node->do_free_saved();
    }
  };
  if (before & kFreed) {
    running_.fetch_sub(1, std::memory_order_acq_rel);
    fail("backward",
         "a graph can be run a second time only if the first kept it (retain_graph = true)",
         "the saved tensors of ", description(), " have been freed");
  }
  const Leave leave_at_end{this};
  apply(gradients);
}

void Node::free_saved() {
  if (!has_saved()) return;
  const uint32_t before = running_.fetch_or(kFreed, std::memory_order_acq_rel);
  if (before == 0) do_free_saved();
}

HookList& Node::hooks() {
  if (!hooks_) hooks_ = std::make_shared<HookList>();
  return *hooks_;
}

}  // namespace aorta::autograd

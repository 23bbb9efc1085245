#pragma once

#include <aorta/autograd/history.h>

#include <exception>
#include <functional>
#include <unordered_map>

namespace aorta::autograd {

/// Calls `function` when the backward pass that this thread is in has ended, with the error that
/// ended it, if any. All such functions are called; the first error of the pass or of one of them
/// is what the pass throws. For hooks; throws outside of a pass.
void after_backward(std::function<void(const std::exception_ptr& error)> function);

/// Whether this thread is in a backward pass.
bool is_in_backward();
/// Whether the pass that this thread is in adds to grad() of every leaf that it reaches, and
/// records nothing: then a gradient may come at its end.
bool backward_accumulates();
/// Whether its gradients reach grad(), if not of all leaves: grad()'s don't.
bool backward_adds();

/// One backward pass over a graph: counts, for every node that is reached, the edges that lead to
/// it, then runs the nodes whose gradients are whole, youngest first. No recursion.
class BackwardPass {
 public:
  using LeafGradients = std::vector<std::pair<Ref<Node>, Tensor>>;

  BackwardPass(std::span<const Tensor> outputs, std::span<const Tensor> gradients, const char* op);
  /// A pass whose gradients come from outside, as those of a graph that several processes share.
  explicit BackwardPass(bool keep_graph) : keep_graph_(keep_graph) {}
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  /// Gradients at these places are returned instead of accumulated, and only what leads to them
  /// runs.
  void capture(std::span<const Edge> places);
  /// Captures the gradients of leaves, which are parts of what another pass delivers: their hooks
  /// run there.
  void capture_parts(std::span<const Edge> leaves) {
    capture(leaves);
    captures_parts_ = true;
  }
  /// Gradients at these places, all of them leaves', are accumulated, and no others.
  void accumulate(std::span<const Edge> places) {
    capture(places);
    accumulates_ = true;
  }
  /// Leaf gradients go here instead of into grad().
  void collect(LeafGradients* leaves) { leaves_ = leaves; }
  void run(bool keep_graph, bool create_graph);
  /// A gradient will come to each of these places. Returns the nodes that are reached for the first
  /// time.
  std::vector<Node*> expect(std::span<const Edge> places);
  /// The gradients of such places, undefined for one that gets none; runs the nodes that have all
  /// of theirs.
  void arrive(std::span<const Edge> places, std::span<const Tensor> gradients);
  /// See autograd::after_backward.
  void call_at_end(std::function<void(const std::exception_ptr& error)> function) {
    at_end_.push_back(std::move(function));
  }
  bool accumulates_all() const { return places_.empty() && !leaves_ && !create_graph_; }
  bool adds() const { return places_.empty() || accumulates_; }
  /// After run(): one a place of capture(); undefined where none arrived.
  std::vector<Tensor>& captured() { return captured_; }

 private:
  // What the pass knows of a node.
  struct Visit {
    Node* node = nullptr;
    int32_t missing = 0;                 // edges that have delivered nothing yet
    bool reaches = true;                 // leads to a place that is wanted
    bool runs = true;                    // one of its inputs does
    bool captured = false;               // is such a place
    Tensor gradient;                     // of output 0
    std::vector<Tensor> others;          // of outputs 1, 2, ...
    std::vector<SparseGradient> sparse;  // of a leaf, beside what is dense
  };

  template <class Work>
  void as_pass_of_thread(Work&& work);
  void run_roots();
  void run_ready();
  Visit* find(Node& node);
  Visit& discover(Node& node);
  void count_edges(size_t from);
  void find_needed();
  void deliver(Visit& visit, uint32_t output, Tensor gradient);
  void deliver_sparse(Node& node, SparseGradient gradient);
  void finish_edge(Visit& visit);
  void run_hooks(Visit& visit);
  void run_capture(const Visit& visit);
  void run_node(Visit& visit);
  bool runs_later(uint32_t a, uint32_t b) const;
  void push(Visit& visit);
  Visit& pop();

  std::vector<Edge> roots_;
  std::vector<Tensor> root_gradients_;
  std::span<const Edge> places_;
  std::vector<Tensor> captured_;
  LeafGradients* leaves_ = nullptr;
  std::vector<Visit> visits_;
  size_t distinct_roots_ = 0;                            // they come first among the visits
  std::unordered_map<const Node*, uint32_t> elsewhere_;  // nodes that keep another pass's notes
  std::vector<uint32_t> ready_;                          // a heap
  std::vector<std::function<void(const std::exception_ptr& error)>> at_end_;
  bool keep_graph_ = false;
  bool create_graph_ = false;
  bool accumulates_ = false;
  bool captures_parts_ = false;
};

}  // namespace aorta::autograd

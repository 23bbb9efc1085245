#include <aorta/core/clock.h>
#include <aorta/core/comm.h>
#include <aorta/core/empty.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/module_path.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <utility>

namespace aorta {
namespace {

thread_local constinit Communicator* communicator_of_thread = nullptr;

// Collectives are outside of every graph.
class WithoutGraph {
 public:
  WithoutGraph() : outer_(grad_mode()) { set_grad_mode({.enabled = false, .inference = false}); }
  ~WithoutGraph() { set_grad_mode(outer_); }
  WithoutGraph(const WithoutGraph&) = delete;
  WithoutGraph& operator=(const WithoutGraph&) = delete;

 private:
  const GradMode outer_;
};

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

void check_reduction(const char* op, const Tensor& tensor, ReduceOp reduction) {
  check(reduction != ReduceOp::mean || is_floating(tensor.dtype()), op,
        "a mean needs a floating dtype", tensor.dtype());
}

// Milliseconds with three digits.
std::string milliseconds(int64_t nanoseconds) {
  std::string text;
  detail::append(text, std::round(static_cast<double>(nanoseconds) * 1e-3) * 1e-3);
  return text + " ms";
}

}  // namespace

std::string to_string(Collective collective) {
  constexpr const char* kNames[] = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                    "barrier"};
  return kNames[static_cast<size_t>(collective)];
}

std::string to_string(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "mean", "min", "max"};
  return kNames[static_cast<size_t>(op)];
}

std::string CollectiveRecord::call() const {
  std::string text = to_string(collective) + " ";
  detail::append(text, number);
  if (collective == Collective::barrier) return text;
  text += " of " + to_string(dtype) + " " + to_string(shape);
  if (reduces(collective)) text += ", " + to_string(op);
  if (collective == Collective::broadcast) {
    text += ", from rank ";
    detail::append(text, int64_t{root});
  }
  return text;
}

std::string to_string(const CollectiveRecord& record) {
  std::string text = record.call() + ", ";
  detail::append(text, record.bytes);
  text += " bytes";
  if (!record.path.empty()) text += ", in " + record.path;
  if (record.left_ns == 0)
    return text + ", for " + milliseconds(nanoseconds_now() - record.entered_ns) + " so far";
  return text + ", took " + milliseconds(record.left_ns - record.entered_ns);
}

struct Communicator::Records {
  std::mutex mutex;
  std::deque<CollectiveRecord> last;
  int64_t calls = 0;
};

// A record while its collective runs.
class Communicator::Entry {
 public:
  Entry(Communicator& comm, Collective collective, const Tensor& tensor, ReduceOp op, int root)
      : comm_(comm), records_(*comm.records_) {
    record_.collective = collective;
    record_.op = op;
    record_.root = root;
    if (tensor.defined()) {
      record_.dtype = tensor.dtype();
      record_.shape = tensor.shape();
      record_.bytes = tensor.nbytes();
    }
    if (const Ref<ModulePath>& path = module_path()) record_.path = path->to_string();
    record_.entered_ns = nanoseconds_now();
    {
      const std::lock_guard lock(records_.mutex);
      record_.number = records_.calls++;
      records_.last.push_back(record_);
      if (records_.last.size() > static_cast<size_t>(comm.options_.records))
        records_.last.pop_front();
    }
    comm_.entered(record_);
  }
  // After an error the collective was never left.
  void leave() {
    record_.left_ns = nanoseconds_now();
    {
      const std::lock_guard lock(records_.mutex);
      records_.last.back().left_ns = record_.left_ns;
    }
    comm_.left(record_);
  }
  const CollectiveRecord& record() const { return record_; }

 private:
  Communicator& comm_;
  Records& records_;
  CollectiveRecord record_;
};

namespace {

void check_timeout(double seconds) {
  check(seconds >= 0 && std::isfinite(seconds), "Communicator",
        "timeout must be seconds, or 0 for ever", seconds);
}

}  // namespace

Communicator::Communicator(int rank, int size, const CommOptions& options)
    : rank_(rank), size_(size), options_(options), records_(std::make_unique<Records>()) {
  check(size >= 1, "Communicator", "a group has at least one rank", size);
  check(rank >= 0 && rank < size, "Communicator", "rank must be 0 to size - 1", rank, " of ", size);
  check_timeout(options.timeout);
  check(options.records >= 1, "Communicator", "at least one collective is remembered",
        options.records);
}

Communicator::~Communicator() = default;

void Communicator::set_timeout(double seconds) {
  check_timeout(seconds);
  options_.timeout = seconds;
}

void Communicator::agree(const CollectiveRecord& record) {
  const std::string mine = record.call();
  const std::vector<std::string> calls = exchange(mine);
  const auto other = std::find_if(calls.begin(), calls.end(),
                                  [&](const std::string& call) { return call != calls[0]; });
  if (other == calls.end()) return;
  const auto rank = other - calls.begin();
  std::string text = "rank 0: " + calls[0] + "; rank ";
  detail::append(text, int64_t{rank});
  text += ": " + *other;
  if (rank_ != 0 && rank_ != rank) {
    text += "; this is rank ";
    detail::append(text, int64_t{rank_});
  }
  fail(to_string(record.collective), "ranks must make the same call", text);
}

void Communicator::all_reduce(const Tensor& tensor, ReduceOp op) {
  check_defined("all_reduce", {{"tensor", tensor}});
  check_reduction("all_reduce", tensor, op);
  Entry entry(*this, Collective::all_reduce, tensor, op, 0);
  agree(entry.record());
  const WithoutGraph no_graph;
  const Tensor whole = tensor.detach().contiguous();
  do_all_reduce(whole, op);
  if (!whole.shares_storage(tensor))
    tensor.detach().copy_(whole);
  else
    tensor.bump_version();
  entry.leave();
}

void Communicator::broadcast(const Tensor& tensor, int root) {
  check_defined("broadcast", {{"tensor", tensor}});
  check(root >= 0 && root < size_, "broadcast", "root must be 0 to the number of ranks - 1", root,
        " of ", size_);
  Entry entry(*this, Collective::broadcast, tensor, ReduceOp::sum, root);
  agree(entry.record());
  const WithoutGraph no_graph;
  const Tensor whole = tensor.detach().contiguous();
  do_broadcast(whole, root);
  if (rank_ != root) {
    if (!whole.shares_storage(tensor))
      tensor.detach().copy_(whole);
    else
      tensor.bump_version();
  }
  entry.leave();
}

Tensor Communicator::all_gather(const Tensor& tensor) {
  check_defined("all_gather", {{"tensor", tensor}});
  Entry entry(*this, Collective::all_gather, tensor, ReduceOp::sum, 0);
  agree(entry.record());
  const WithoutGraph no_graph;
  Shape shape = tensor.shape();
  if (shape.empty())
    shape = {size_};
  else
    shape[0] *= size_;
  const Tensor output = empty(shape, {.dtype = tensor.dtype(), .device = tensor.device()});
  do_all_gather(output, tensor.detach().contiguous());
  entry.leave();
  return output;
}

Tensor Communicator::reduce_scatter(const Tensor& tensor, ReduceOp op) {
  check_defined("reduce_scatter", {{"tensor", tensor}});
  check_reduction("reduce_scatter", tensor, op);
  check(tensor.dim() > 0 && tensor.size(0) % size_ == 0, "reduce_scatter",
        "the first dimension must divide into a part a rank", tensor.shape(), " for ", size_,
        " ranks");
  Entry entry(*this, Collective::reduce_scatter, tensor, op, 0);
  agree(entry.record());
  const WithoutGraph no_graph;
  Shape shape = tensor.shape();
  shape[0] /= size_;
  const Tensor output = empty(shape, {.dtype = tensor.dtype(), .device = tensor.device()});
  do_reduce_scatter(output, tensor.detach().contiguous(), op);
  entry.leave();
  return output;
}

void Communicator::barrier() {
  Entry entry(*this, Collective::barrier, {}, ReduceOp::sum, 0);
  agree(entry.record());
  entry.leave();
}

std::vector<CollectiveRecord> Communicator::records() const {
  const std::lock_guard lock(records_->mutex);
  return {records_->last.begin(), records_->last.end()};
}

Communicator* current_communicator() { return communicator_of_thread; }

CommunicatorScope::CommunicatorScope(Communicator* communicator)
    : outer_(std::exchange(communicator_of_thread, communicator)) {}
CommunicatorScope::~CommunicatorScope() { communicator_of_thread = outer_; }

}  // namespace aorta

#include <aorta/core/backends.h>
#include <aorta/core/clock.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/device_collectives.h>
#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/empty.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/module_path.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace aorta {
namespace {

thread_local constinit const std::string* subject_of_thread = nullptr;
thread_local constinit Communicator* communicator_of_thread = nullptr;
constinit std::atomic<CollectiveLibrary*> library_of_plugin = nullptr;

// What a rank says of its tensor's place: nothing of one that no library takes, else the device or
// why there is no way to it.
constexpr char kDevice = '+', kNoWay = '-';

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

void check_reduction(const char* op, const Tensor& tensor, ReduceOp reduction) {
  check(reduction != ReduceOp::mean || is_floating(tensor.dtype()) || tensor.is_complex(), op,
        "a mean needs a floating or complex dtype", tensor.dtype());
  check(!tensor.is_complex() || reduction == ReduceOp::sum || reduction == ReduceOp::mean, op,
        "complex numbers have no order", to_string(reduction));
}

// Dense tensors that have memory in common would be reduced twice.
void check_apart(std::span<const Tensor> tensors) {
  std::vector<std::pair<const char*, const Tensor*>> places;
  for (const Tensor& tensor : tensors)
    if (tensor.numel() > 0) places.push_back({static_cast<const char*>(tensor.data()), &tensor});
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    const auto& [data, tensor] = places[i - 1];
    check(data + tensor->nbytes() <= places[i].first, "all_reduce_coalesced",
          "the tensors must have no memory in common", tensor->shape(), " and ",
          places[i].second->shape());
  }
}

// What engines compute with: of complex numbers, which are contiguous, their parts (*, 2).
Tensor numbers_of(const Tensor& tensor) {
  if (!tensor.is_complex()) return tensor;
  Shape shape = tensor.shape();
  shape.push_back(2);
  return Tensor(tensor.storage(), real_dtype(tensor.dtype()), shape, contiguous_strides(shape),
                2 * tensor.storage_offset());
}

// " of 96 bytes", for a profiler.
std::string bytes_text(std::span<const Tensor> tensors) {
  if (!detail::profiling.load(std::memory_order_relaxed) || tensors.empty()) return "";
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.nbytes();
  std::string text = " of ";
  detail::append(text, bytes);
  return text + " bytes";
}

}  // namespace

CollectiveSubject::CollectiveSubject(const std::string& subject)
    : outer_(subject_of_thread), subject_(subject) {
  subject_of_thread = &subject_;
}
CollectiveSubject::~CollectiveSubject() { subject_of_thread = outer_; }

struct Communicator::Records {
  std::mutex mutex;
  std::deque<CollectiveRecord> last;
  int64_t calls = 0;
};

// A record while its collective runs.
class Communicator::Entry {
 public:
  // A barrier has no tensors.
  Entry(Communicator& comm, Collective collective, std::span<const Tensor> tensors, ReduceOp op,
        int root, const std::string& parts = {})
      : comm_(comm),
        records_(*comm.records_),
        range_(to_string(collective).c_str(), {tensors.size() == 1 ? &tensors[0] : &kNone},
               bytes_text(tensors).c_str()) {
    record_.collective = collective;
    record_.op = op;
    record_.root = root;
    for (const Tensor& tensor : tensors) record_.bytes += tensor.nbytes();
    if (!tensors.empty()) {
      record_.dtype = tensors[0].dtype();
      record_.shape = tensors[0].shape();
    }
    if (!parts.empty()) {
      record_.shape = {record_.bytes / tensors[0].element_size()};
      record_.parts = " in " + parts;
    }
    if (const Ref<ModulePath>& path = module_path()) record_.path = path->to_string();
    if (subject_of_thread) record_.subject = *subject_of_thread;
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
  void set_engine(const std::string& engine) {
    record_.engine = engine;
    const std::lock_guard lock(records_.mutex);
    records_.last.back().engine = engine;
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
  const ProfilerRange range_;
  static inline const Tensor kNone;
};

// The ways between the devices, of a group and its duplicates. Two of them may be called by two
// threads at once, and what they queue must stand in one order on all ranks ("Using multiple NCCL
// communicators concurrently" in NCCL's guide): the first rank says in which.
struct Communicator::Devices {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> shared = false;  // there is a duplicate
  int64_t given = 0;                 // turns, by the first rank
  int64_t over = 0;
  std::string broken;  // why there is no order any more
  std::map<std::vector<std::string>, std::unique_ptr<DeviceCollectives>> engines;  // by places
};

// The duplicates that end with this end.
struct Communicator::Duplicates {
  struct One {
    std::weak_ptr<GroupState> state;
    std::weak_ptr<Duplicates> duplicates;
  };
  std::mutex mutex;
  std::vector<One> all;

  void add(const Communicator& other) {
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const One& one) { return one.state.expired(); });
    all.push_back({other.state_, other.duplicates_});
  }
  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex);
    for (const One& one : all) {
      if (const auto state = one.state.lock()) state->abort(reason);
      if (const auto duplicates = one.duplicates.lock()) duplicates->abort(reason);
    }
  }
};

// A collective's turn among those of all duplicates, once the ranks agree on it.
class Communicator::Turn {
 public:
  Turn(Communicator& comm, const std::string& call)
      : devices_(*comm.devices_), shared_(devices_.shared) {
    if (!shared_) return;
    try {
      std::string number;
      if (comm.rank_ == 0) {
        const std::lock_guard lock(devices_.mutex);
        detail::append(number, devices_.given++);
      }
      const std::string first = comm.exchange(number)[0];
      std::from_chars(first.data(), first.data() + first.size(), number_);
      wait(comm, call);
    } catch (const std::exception& error) {
      break_order(error.what());
      throw;
    }
  }
  ~Turn() {
    if (shared_ && !ended_) break_order("an earlier collective between these devices has failed");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void end() {
    if (!shared_) return;
    ended_ = true;
    const std::lock_guard lock(devices_.mutex);
    devices_.over = number_ + 1;
    devices_.changed.notify_all();
  }

 private:
  void wait(Communicator& comm, const std::string& call) {
    std::unique_lock lock(devices_.mutex);
    const auto has_come = [&] { return devices_.over == number_ || !devices_.broken.empty(); };
    if (comm.timeout() == 0) {
      devices_.changed.wait(lock, has_come);
    } else {
      // A time of the clock that the thread sanitizer knows a wait for.
      const auto end = std::chrono::system_clock::now() +
                       std::chrono::microseconds(static_cast<int64_t>(comm.timeout() * 1e6));
      if (!devices_.changed.wait_until(lock, end, has_come)) {
        lock.unlock();
        std::string text = call + ": the collectives before it must be queued within ";
        detail::append(text, comm.timeout());
        comm.abort(text + " s, got none");
        comm.state_->check_whole();
      }
    }
    if (!devices_.broken.empty()) throw RankError(devices_.broken);
  }

  void break_order(const std::string& reason) {
    const std::lock_guard lock(devices_.mutex);
    if (devices_.broken.empty()) devices_.broken = reason;
    devices_.changed.notify_all();
  }

  Devices& devices_;
  const bool shared_;
  int64_t number_ = 0;
  bool ended_ = false;
};

namespace {

// Why tensors in these places don't go between devices; empty where they do.
std::string problem_of(const std::vector<std::string>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    std::string rank = "rank ";
    detail::append(rank, static_cast<int64_t>(i));
    if (places[i].empty()) return rank + "'s tensor lies on the CPU";
    if (places[i][0] != kDevice) return rank + ": " + places[i].substr(1);
    const auto other =
        std::find(places.begin(), places.begin() + static_cast<ptrdiff_t>(i), places[i]);
    const auto first = other - places.begin();
    if (first == static_cast<ptrdiff_t>(i)) continue;
    std::string both = "rank ";
    detail::append(both, int64_t{first});
    return both + " and " + rank + " have one GPU";
  }
  return "";
}

// More nanoseconds than this, on top of those that clocks count, don't fit an int64.
constexpr double kLongestTimeout = 1e9;

void check_timeout(double seconds) {
  check(seconds >= 0 && seconds <= kLongestTimeout, "Communicator",
        "timeout must be seconds up to 1e9, or 0 for ever", seconds);
}

// What a call grants beyond the timeout, until it has returned.
class Patience {
 public:
  Patience(double& number, double seconds) : number_(number) { number_ = seconds; }
  ~Patience() { number_ = 0; }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  double& number_;
};

}  // namespace

Communicator::Communicator(int rank, int size, const CommOptions& options,
                           std::shared_ptr<GroupState> state)
    : rank_(rank),
      size_(size),
      options_(options),
      state_(std::move(state)),
      records_(std::make_unique<Records>()),
      devices_(std::make_shared<Devices>()),
      duplicates_(std::make_shared<Duplicates>()) {
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

void Communicator::abort(const Text& reason) {
  state_->abort(reason);
  duplicates_->abort(reason);
}

std::unique_ptr<Communicator> Communicator::duplicate(bool ends_with_it) {
  std::unique_ptr<Communicator> other = do_duplicate();
  devices_->shared = true;
  other->devices_ = devices_;
  if (ends_with_it) duplicates_->add(*other);
  return other;
}

std::unique_ptr<Communicator> Communicator::split(int64_t color) {
  std::unique_ptr<Communicator> other = do_split(color);
  duplicates_->add(*other);
  return other;
}

Communicator::Members Communicator::members_of(const std::vector<std::string>& texts) const {
  const auto color_of = [&](int rank) {
    const std::string& text = texts[static_cast<size_t>(rank)];
    return text.substr(text.find('\n'));
  };
  Members members;
  for (int rank = 0; rank < size_; ++rank) {
    if (color_of(rank) != color_of(rank_)) continue;
    if (rank == rank_) members.place = static_cast<int>(members.ranks.size());
    members.ranks.push_back(rank);
  }
  return members;
}

std::string Communicator::place_of(const Tensor& tensor) const {
  if (!options_.by_device || !tensor.defined() || !tensor.device().is_cuda()) return "";
  CollectiveLibrary* library = collective_library();
  const std::string problem =
      backends::nccl::enabled() ? library->state().problem : "NCCL is switched off";
  return problem.empty() ? kDevice + library->identity(tensor.device().index) : kNoWay + problem;
}

// All ranks' places, which stand behind the calls. The CPU's tensors go the engine's way whatever
// the others' places are, and nothing need be known of these before.
std::vector<std::string> Communicator::agree(const CollectiveRecord& record, const Tensor& tensor) {
  const std::string op = to_string(record.collective);
  const std::string mine = record.call() + '\n' + place_of(tensor);
  if (!tensor.defined() || !tensor.device().is_cuda()) {
    announce(op, mine);
    return {};
  }
  std::vector<std::string> places = exchange(mine);
  check_same_call(op, places);
  for (std::string& text : places) text.erase(0, text.find('\n') + 1);
  return places;
}

void Communicator::check_same_call(const std::string& op,
                                   const std::vector<std::string>& texts) const {
  std::vector<std::string> calls;
  for (const std::string& text : texts) calls.push_back(text.substr(0, text.find('\n')));
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
  fail(op, "ranks must make the same call", text);
}

DeviceCollectives& Communicator::engine_of(const std::vector<std::string>& places,
                                           const CollectiveCall& call, Device device) {
  std::unique_ptr<DeviceCollectives>& engine = devices_->engines[places];
  if (engine) return *engine;
  CollectiveLibrary& library = *collective_library();
  std::string id;
  if (rank_ == 0) {
    try {
      id = kDevice + library.new_id();
    } catch (const std::exception& error) {
      id = kNoWay + std::string(error.what());
    }
  }
  id = exchange(id)[0];
  if (id[0] != kDevice) throw Error(id.substr(1));
  engine = library.join(call, id.substr(1), rank_, size_, device.index);
  return *engine;
}

bool Communicator::run_by_device(Entry& entry, const std::vector<std::string>& places,
                                 Device device, const Run& run) {
  if (!device.is_cuda()) return false;
  const std::string problem =
      options_.by_device ? problem_of(places) : "the group was made for that";
  entry.set_engine(problem.empty() ? "NCCL" : "the CPU, for " + problem);
  if (!problem.empty()) return false;
  const CollectiveCall call{entry.record().call(), timeout(), state_};
  Turn turn(*this, call.text);
  run(engine_of(places, call, device), call);
  turn.end();
  return true;
}

void Communicator::all_reduce(const Tensor& tensor, ReduceOp op) {
  check_defined("all_reduce", {{"tensor", tensor}});
  check_reduction("all_reduce", tensor, op);
  const WithoutGraph no_graph;
  const Tensor whole = tensor.detach().contiguous();
  Entry entry(*this, Collective::all_reduce, {&whole, 1}, op, 0);
  reduce_all(entry, {&tensor, 1}, {&whole, 1});
}

void Communicator::all_reduce_coalesced(const List<Tensor>& tensors, ReduceOp op) {
  const char* const name = "all_reduce_coalesced";
  check(!tensors.empty(), name, "there must be a tensor", "none");
  const WithoutGraph no_graph;
  std::vector<Tensor> wholes;
  for (const Tensor& tensor : tensors) {
    check_defined(name, {{"tensor", tensor}});
    check_reduction(name, tensor, op);
    check(tensor.dtype() == tensors[0].dtype() && tensor.device() == tensors[0].device(), name,
          "the tensors must have one dtype and device", tensors[0].dtype(), " on ",
          tensors[0].device(), " and ", tensor.dtype(), " on ", tensor.device());
    wholes.push_back(kernel::dense(tensor));
  }
  check_apart(wholes);
  // Also of one: it lies as it does, and where it lies otherwise on another rank the texts differ.
  Entry entry(*this, Collective::all_reduce, wholes, op, 0, kernel::layouts_text(wholes));
  reduce_all(entry, tensors, wholes);
}

// `wholes`: the tensors, or copies where these have gaps.
void Communicator::reduce_all(Entry& entry, std::span<const Tensor> tensors,
                              std::span<const Tensor> wholes) {
  const ReduceOp op = entry.record().op;
  const std::vector<std::string> places = agree(entry.record(), tensors[0]);
  std::vector<Tensor> numbers;
  for (const Tensor& whole : wholes) numbers.push_back(numbers_of(kernel::flat_memory(whole)));
  if (!run_by_device(entry, places, tensors[0].device(), [&](auto& engine, auto& call) {
        for (const Tensor& tensor : numbers) engine.all_reduce(call, tensor, op);
      }))
    do_all_reduce(numbers, op);
  settle();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!wholes[i].shares_storage(tensors[i]))
      tensors[i].detach().copy_(wholes[i]);
    else
      tensors[i].bump_version();
  }
  entry.leave();
}

void Communicator::broadcast(const Tensor& tensor, int root) {
  check_defined("broadcast", {{"tensor", tensor}});
  check(root >= 0 && root < size_, "broadcast", "root must be 0 to the number of ranks - 1", root,
        " of ", size_);
  Entry entry(*this, Collective::broadcast, {&tensor, 1}, ReduceOp::sum, root);
  const std::vector<std::string> places = agree(entry.record(), tensor);
  const WithoutGraph no_graph;
  const Tensor whole = tensor.detach().contiguous(), numbers = numbers_of(whole);
  if (!run_by_device(entry, places, whole.device(),
                     [&](auto& engine, auto& call) { engine.broadcast(call, numbers, root); }))
    do_broadcast(numbers, root);
  settle();
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
  Entry entry(*this, Collective::all_gather, {&tensor, 1}, ReduceOp::sum, 0);
  const std::vector<std::string> places = agree(entry.record(), tensor);
  const WithoutGraph no_graph;
  Shape shape = tensor.shape();
  if (shape.empty())
    shape = {size_};
  else
    shape[0] *= size_;
  const Tensor output = empty(shape, {.dtype = tensor.dtype(), .device = tensor.device()});
  const Tensor input = tensor.detach().contiguous();
  const Tensor given = numbers_of(input), gathered = numbers_of(output);
  if (!run_by_device(entry, places, input.device(),
                     [&](auto& engine, auto& call) { engine.all_gather(call, gathered, given); }))
    do_all_gather(gathered, given);
  settle();
  entry.leave();
  return output;
}

Tensor Communicator::reduce_scatter(const Tensor& tensor, ReduceOp op) {
  check_defined("reduce_scatter", {{"tensor", tensor}});
  check_reduction("reduce_scatter", tensor, op);
  check(tensor.dim() > 0 && tensor.size(0) % size_ == 0, "reduce_scatter",
        "the first dimension must divide into a part a rank", tensor.shape(), " for ", size_,
        " ranks");
  Entry entry(*this, Collective::reduce_scatter, {&tensor, 1}, op, 0);
  const std::vector<std::string> places = agree(entry.record(), tensor);
  const WithoutGraph no_graph;
  Shape shape = tensor.shape();
  shape[0] /= size_;
  const Tensor output = empty(shape, {.dtype = tensor.dtype(), .device = tensor.device()});
  const Tensor input = tensor.detach().contiguous();
  const Tensor given = numbers_of(input), reduced = numbers_of(output);
  if (!run_by_device(entry, places, input.device(), [&](auto& engine, auto& call) {
        engine.reduce_scatter(call, reduced, given, op);
      }))
    do_reduce_scatter(reduced, given, op);
  settle();
  entry.leave();
  return output;
}

double Communicator::patience() const {
  return timeout() == 0 ? 0 : std::max(timeout(), patience_);
}

void Communicator::barrier(double patience) {
  check(patience >= 0 && patience <= kLongestTimeout, "barrier",
        "patience must be seconds from 0 to 1e9", patience);
  const Patience granted(patience_, patience);
  Entry entry(*this, Collective::barrier, {}, ReduceOp::sum, 0);
  agree(entry.record(), {});
  settle();
  entry.leave();
}

std::vector<CollectiveRecord> Communicator::records() const {
  const std::lock_guard lock(records_->mutex);
  return {records_->last.begin(), records_->last.end()};
}

CollectiveLibrary* collective_library() { return library_of_plugin; }
void register_collective_library(CollectiveLibrary* library) { library_of_plugin = library; }

Communicator* current_communicator() { return communicator_of_thread; }

CommunicatorScope::CommunicatorScope(Communicator* communicator)
    : outer_(std::exchange(communicator_of_thread, communicator)) {}
CommunicatorScope::~CommunicatorScope() { communicator_of_thread = outer_; }

}  // namespace aorta

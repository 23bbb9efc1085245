#include <aorta/core/clock.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/process/mailbox.h>
#include <aorta/core/process/process_group.h>
#include <aorta/rpc/autograd_context.h>
#include <aorta/rpc/rpc.h>
#include <aorta/rpc/worker_table.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <unordered_map>

namespace aorta::distributed::rpc {
namespace detail {
namespace {

enum class Kind : uint8_t { call, value, failure, holds, goodbye };

// What a letter begins with. The autograd context of the call, and the number that its tensors with
// gradients are known by; the process and the count of holds that are meant.
struct Head {
  Kind kind = Kind::call;
  int64_t call = 0;
  RRefId rref = {};
  int64_t context = 0, number = 0;
  int rank = 0, count = 0;
  int64_t generation = 0;  // that of the sender's init_rpc(): others' letters come too late
  template <class Visit>
  void fields(Visit&& visit) {
    visit(kind, call, rref, context, number, rank, count, generation);
  }
};

// How a tensor goes: where to, and whether its gradient comes back.
struct Passenger {
  bool is_there = false, requires_grad = false;
  Device device;
};

void write_passenger(ArgumentWriter& writer, const Passenger& one) {
  Portable<bool>::write(writer, one.is_there);
  Portable<bool>::write(writer, one.requires_grad);
  Portable<std::string>::write(writer, to_string(one.device));
}

Passenger read_passenger(ArgumentReader& reader) {
  Passenger one;
  one.is_there = Portable<bool>::read(reader);
  one.requires_grad = Portable<bool>::read(reader);
  one.device = Device(Portable<std::string>::read(reader));
  return one;
}

// A writer of bytes alone.
std::string bytes_of(const std::function<void(ArgumentWriter& writer)>& write) {
  ArgumentWriter writer;
  write(writer);
  return writer.text();
}

// Counts the calls of init_rpc(), which all processes make together.
int64_t next_generation() {
  static std::atomic<int64_t> count{0};
  return ++count;
}

// Whether this is the thread that receives letters: it waits for nothing.
thread_local bool receives_letters = false;

struct Value {
  std::map<int, int64_t> holds;  // by process; fewer than none where a later message was faster
  Future<std::shared_ptr<void>> place;
};

class MailAgent final : public Agent {
 public:
  MailAgent(const std::string& name, const RpcOptions& options);
  ~MailAgent() override;
  void start() override;

  const std::vector<WorkerInfo>& workers() const override { return table_->workers(); }
  int rank() const override { return rank_; }
  void wait_for_all() override;
  void stop() override;
  void leave() override;
  void call(CallWriter& writer, const To& to, Answer answer, const RRefId& rref) override;
  void reply(CallWriter& writer, int64_t call, int64_t context) override;
  void reply_failure(int to, int64_t call, const Failure& failure) override;
  void post(std::function<void()> work) override;
  RRefId new_rref() override { return {rank_, ++rrefs_}; }
  void change_holds(const RRefId& id, int owner, int rank, int count) override;
  Future<std::shared_ptr<void>> value_of(const RRefId& id) override;

 private:
  struct Call {
    int to;
    Answer answer;
    double timeout;    // seconds
    int64_t deadline;  // nanoseconds_now(); 0: none
    bool given_up = false;
  };

  void send(int to, Head head, CallWriter& writer);
  void deliver(int to, Letter letter, bool keeps);
  void receive(int from, Letter letter);
  void serve(int from, const Head& head, std::string_view text, std::vector<Tensor> tensors);
  std::vector<Tensor> unpack(int from, const Head& head, ArgumentReader& reader,
                             std::vector<Tensor> tensors);
  void finish_call(int64_t number, CallReader* reader, const Failure* failure);
  void count_holds(const RRefId& id, int rank, int count);
  void end(const Failure& failure);
  void lose(int worker);
  Failure failure_of_leaving(int worker) const;
  void watch_deadlines();
  void work();
  void add_thread();
  bool is_idle();

  int rank_ = 0;
  RpcOptions options_;
  const int64_t generation_;
  std::unique_ptr<Communicator> group_;
  std::unique_ptr<WorkerTable> table_;
  std::atomic<int64_t> calls_{0}, rrefs_{0}, sent_{0}, received_{0};

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<int64_t, Call> waiting_;
  std::map<RRefId, Value> values_;
  std::deque<std::function<void()>> jobs_;
  int idle_ = 0, running_ = 0, waits_ = 0;  // threads
  bool stops_ = false;
  std::optional<Failure> ended_;
  std::set<int> gone_;  // processes that have ended without shutdown()
  bool waits_for_all_ = false, all_are_done_ = false;
  std::vector<std::thread> threads_;
  std::condition_variable deadline_changed_;
  std::thread watch_;
  std::shared_ptr<Mailbox> mailbox_;
};

MailAgent::MailAgent(const std::string& name, const RpcOptions& options)
    : options_(options), generation_(next_generation()) {
  group_ = world().duplicate();
  rank_ = group_->rank();
  table_ = std::make_unique<WorkerTable>(*group_, name, options);
}

MailAgent::~MailAgent() { stop(); }

void MailAgent::start() {
  const MailboxHandlers handlers{
      .received =
          [this](int from, Letter letter) {
            receives_letters = true;
            ++received_;
            receive(from, std::move(letter));
          },
      .ended = [this](const RankError& error) { end(Failure::of(error)); }};
  watch_ = std::thread([this] { watch_deadlines(); });
  std::shared_ptr<Mailbox> mailbox = open_mailbox(handlers);
  {
    const std::lock_guard lock(mutex_);
    mailbox_ = std::move(mailbox);
  }
  // None sends before all can receive.
  group_->barrier();
}

void MailAgent::send(int to, Head head, CallWriter& writer) {
  check(writer.refusal().empty(), "rpc", "an argument or result must be portable",
        writer.refusal());
  const bool records = head.context != 0 && grad_enabled();
  std::vector<Passenger> passengers;
  std::vector<Tensor> with_gradients;
  Letter letter;
  for (const auto& [tensor, is_alone] : writer.tensors()) {
    Passenger one;
    one.is_there = tensor.defined();
    if (one.is_there) {
      one.requires_grad = records && tensor.requires_grad();
      if (one.requires_grad) with_gradients.push_back(tensor);
      if (!tensor.device().is_cpu()) one.device = table_->target(tensor.device(), rank_, to);
      const Tensor host = tensor.detach().cpu().contiguous();
      // The memory of others may be written before the letter has left.
      const bool is_shared = host.shares_storage(tensor) && !is_alone;
      letter.tensors.push_back(is_shared ? host.clone() : host);
    }
    passengers.push_back(one);
  }
  if (head.context != 0)
    head.number = autograd::detail::note_sent(head.context, to, with_gradients);
  head.generation = generation_;
  letter.bytes = bytes_of([&](ArgumentWriter& bytes) {
    Portable<Head>::write(bytes, head);
    Portable<size_t>::write(bytes, passengers.size());
    for (const Passenger& one : passengers) write_passenger(bytes, one);
  });
  letter.bytes += writer.text();
  if (to == rank_) return receive(rank_, std::move(letter));
  std::shared_ptr<Mailbox> mailbox;
  {
    const std::lock_guard lock(mutex_);
    if (!mailbox_) ended_->raise();
    mailbox = mailbox_;
  }
  ++sent_;
  try {
    mailbox->send(to, std::move(letter));
  } catch (...) {
    --sent_;
    throw;
  }
}

void MailAgent::call(CallWriter& writer, const To& to, Answer answer, const RRefId& rref) {
  const double timeout = to.timeout() < 0 ? options_.rpc_timeout : to.timeout();
  const int64_t number = ++calls_;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) ended_->raise();
    if (gone_.contains(writer.to())) failure_of_leaving(writer.to()).raise();
    waiting_[number] = {writer.to(), std::move(answer), timeout,
                        timeout > 0 ? nanoseconds_now() + static_cast<int64_t>(timeout * 1e9) : 0};
  }
  if (timeout > 0) deadline_changed_.notify_one();
  try {
    send(writer.to(),
         {.kind = Kind::call,
          .call = number,
          .rref = rref,
          .context = autograd::detail::current_context()},
         writer);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    waiting_.erase(number);
    throw;
  }
}

void MailAgent::reply(CallWriter& writer, int64_t number, int64_t context) {
  send(writer.to(), {.kind = Kind::value, .call = number, .context = context}, writer);
}

void MailAgent::reply_failure(int to, int64_t number, const Failure& failure) {
  CallWriter writer(to);
  Portable<std::string>::write(writer, table_->name(rank_) + ": " + failure.text);
  try {
    send(to, {.kind = Kind::failure, .call = number}, writer);
  } catch (const Error&) {
    // The group has ended, and who waits for the answer hears that.
  }
}

std::vector<Tensor> MailAgent::unpack(int from, const Head& head, ArgumentReader& reader,
                                      std::vector<Tensor> tensors) {
  std::vector<Tensor> all, with_gradients;
  size_t next = 0;
  for (auto left = Portable<size_t>::read(reader); left > 0; --left) {
    const Passenger one = read_passenger(reader);
    all.push_back(one.is_there ? tensors.at(next++).to(one.device) : Tensor());
    if (one.requires_grad) with_gradients.push_back(all.back());
  }
  if (head.number != 0)
    autograd::detail::note_received(head.context, from, head.number, with_gradients,
                                    head.kind == Kind::value);
  return all;
}

void MailAgent::receive(int from, Letter letter) {
  auto kept = std::make_shared<Letter>(std::move(letter));
  ArgumentReader reader(kept->bytes);
  const auto head = Portable<Head>::read(reader);
  if (head.generation != generation_) return;
  if (head.kind == Kind::goodbye) return lose(from);
  if (head.kind == Kind::holds) return count_holds(head.rref, head.rank, head.count);
  // Before anything that is sent later is looked at, the caller has its hold on what the call
  // makes, and the call one of its own.
  if (head.kind == Kind::call && head.rref.number != 0) {
    count_holds(head.rref, from, 1);
    count_holds(head.rref, rank_, 1);
  }
  const auto work = [this, from, head, kept, rest = reader.rest()] {
    serve(from, head, rest, std::move(kept->tensors));
  };
  if (head.kind == Kind::call) return post(work);
  // Callbacks may wait, and this thread may be the one that receives what they wait for.
  if (receives_letters)
    futures::detail::callbacks_go_to = [this](auto callback) { post(callback); };
  work();
  futures::detail::callbacks_go_to = nullptr;
}

void MailAgent::serve(int from, const Head& head, std::string_view text,
                      std::vector<Tensor> tensors) {
  if (head.kind == Kind::failure) {
    ArgumentReader reader(text);
    Portable<size_t>::read(reader);
    const Failure failure{Portable<std::string>::read(reader)};
    return finish_call(head.call, nullptr, &failure);
  }
  ArgumentReader passengers(text);
  std::optional<Failure> failure;
  std::optional<CallReader> reader;
  try {
    std::vector<Tensor> all = unpack(from, head, passengers, std::move(tensors));
    reader.emplace(passengers.rest(), std::move(all));
  } catch (...) {
    failure = Failure::current();
  }
  if (head.kind == Kind::value)
    return finish_call(head.call, reader ? &*reader : nullptr, failure ? &*failure : nullptr);
  const auto self = shared_from_this();
  const bool makes = head.rref.number != 0;
  const Reply reply(self, from, head.call, head.context,
                    makes ? std::make_shared<Hold>(self, head.rref, rank_) : nullptr);
  const autograd::detail::ContextScope context(head.context);
  try {
    if (failure) failure->raise();
    reinterpret_cast<Serve>(reader->function())(*reader, reply);
  } catch (...) {
    if (makes) value_of(head.rref).set_current_exception();
    reply_failure(from, head.call, Failure::current());
  }
}

// A late answer is read like any other, for holds that it brings are to be given back.
void MailAgent::finish_call(int64_t number, CallReader* reader, const Failure* failure) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    answer = std::move(found->second.answer);
    waiting_.erase(found);
  }
  changed_.notify_all();
  answer(reader, failure);
}

void MailAgent::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stops_) return;
  jobs_.push_back(std::move(work));
  add_thread();
  changed_.notify_all();
}

// Threads that wait for what other calls will bring don't count, or those might never run.
void MailAgent::add_thread() {
  if (static_cast<int>(jobs_.size()) > idle_ && !stops_ &&
      static_cast<int>(threads_.size()) - waits_ < options_.num_worker_threads)
    threads_.emplace_back([this] { work(); });
}

void MailAgent::work() {
  futures::detail::waits = [this](bool begins) {
    const std::lock_guard lock(mutex_);
    waits_ += begins ? 1 : -1;
    if (begins) add_thread();
  };
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stops_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    job();
    lock.lock();
    --running_;
    changed_.notify_all();
  }
}

void MailAgent::change_holds(const RRefId& id, int owner, int rank, int count) {
  if (owner == rank_) return count_holds(id, rank, count);
  CallWriter writer(owner);
  send(owner, {.kind = Kind::holds, .rref = id, .rank = rank, .count = count}, writer);
}

// A process says what it gives to another before it gives it up itself, and its messages stay in
// order: so while anyone has a hold, the count of some process isn't 0, though what others say may
// come late.
void MailAgent::count_holds(const RRefId& id, int rank, int count) {
  Value dead;  // whose end may call anything
  const std::lock_guard lock(mutex_);
  Value& value = values_[id];
  value.holds[rank] += count;
  if (std::any_of(value.holds.begin(), value.holds.end(),
                  [](const auto& one) { return one.second != 0; }))
    return;
  dead = std::move(value);
  values_.erase(id);
}

Future<std::shared_ptr<void>> MailAgent::value_of(const RRefId& id) {
  const std::lock_guard lock(mutex_);
  return values_[id].place;
}

void MailAgent::end(const Failure& failure) {
  std::map<int64_t, Call> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = failure;
    waiting.swap(waiting_);
  }
  changed_.notify_all();
  for (auto& [number, call] : waiting) call.answer(nullptr, &failure);
}

Failure MailAgent::failure_of_leaving(int worker) const {
  return {"rpc: a worker must serve until all have called shutdown(), got the end of " +
          table_->name(worker)};
}

void MailAgent::lose(int worker) {
  std::vector<Answer> lost;
  {
    const std::lock_guard lock(mutex_);
    gone_.insert(worker);
    if (waits_for_all_) group_->abort(failure_of_leaving(worker).text);
    std::erase_if(waiting_, [&](auto& one) {
      if (one.second.to != worker) return false;
      if (!one.second.given_up) lost.push_back(std::move(one.second.answer));
      return true;
    });
  }
  changed_.notify_all();
  for (const Answer& answer : lost)
    post([answer, failure = failure_of_leaving(worker)] { answer(nullptr, &failure); });
}

void MailAgent::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    const int64_t now = nanoseconds_now();
    int64_t next = 0;
    std::vector<std::pair<int64_t, Call*>> late;
    for (auto& [number, call] : waiting_) {
      if (call.deadline == 0) continue;
      if (call.deadline <= now) {
        late.emplace_back(number, &call);
      } else if (next == 0 || call.deadline < next) {
        next = call.deadline;
      }
    }
    std::vector<std::pair<Answer, Failure>> answers;
    for (auto& [number, call] : late) {
      call->deadline = 0;
      call->given_up = true;
      std::string text = "rpc: " + table_->name(call->to) + " must answer within " +
                         aorta::to_string(Scalar(call->timeout)) + " s, got no answer";
      answers.emplace_back(call->answer, Failure{std::move(text)});
    }
    if (!answers.empty()) {
      lock.unlock();
      for (auto& [answer, failure] : answers)
        post([answer, failure] { answer(nullptr, &failure); });
      changed_.notify_all();
      lock.lock();
    } else if (next == 0) {
      deadline_changed_.wait(lock);
    } else {
      deadline_changed_.wait_for(lock, std::chrono::nanoseconds(next - now));
    }
  }
}

bool MailAgent::is_idle() {
  return jobs_.empty() && running_ == 0 &&
         std::none_of(waiting_.begin(), waiting_.end(),
                      [](const auto& one) { return !one.second.given_up; });
}

// No call is under way when all processes are idle, and as many letters have come as were sent, in
// two rounds between which nothing has moved.
void MailAgent::wait_for_all() {
  constexpr double kForever = 1e9;
  std::array<int64_t, 2> before = {-1, -1};
  {
    const std::lock_guard lock(mutex_);
    waits_for_all_ = true;
    if (!gone_.empty()) failure_of_leaving(*gone_.begin()).raise();
  }
  for (;;) {
    group_->barrier(kForever);
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ended_ || is_idle(); });
      if (ended_) return;
    }
    group_->barrier(kForever);
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      idle = is_idle();
    }
    const Tensor now = tensor({static_cast<int64_t>(sent_), static_cast<int64_t>(received_),
                               static_cast<int64_t>(!idle)});
    group_->all_reduce(now);
    const auto* counts = now.data<int64_t>();
    const std::array<int64_t, 2> letters = {counts[0], counts[1]};
    all_are_done_ = counts[2] == 0 && letters[0] == letters[1] && letters == before;
    if (all_are_done_) return;
    before = letters;
  }
}

void MailAgent::leave() {
  for (const WorkerInfo& other : workers()) {
    CallWriter nothing(other.id);
    try {
      if (other.id != rank_ && !all_are_done_) send(other.id, {.kind = Kind::goodbye}, nothing);
    } catch (const Error&) {
      // The group has ended, or this process's part.
    }
  }
  end({"rpc: a call must come before the process's shutdown(), got one behind it"});
  std::shared_ptr<Mailbox> mailbox;
  const std::lock_guard lock(mutex_);
  mailbox.swap(mailbox_);
}

void MailAgent::stop() {
  end({"rpc: a call must come before the process's shutdown(), got one behind it"});
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    stops_ = true;
  }
  changed_.notify_all();
  deadline_changed_.notify_all();
  if (watch_.joinable()) watch_.join();
  for (std::thread& thread : threads_) thread.join();
  leave();
  autograd::detail::forget_contexts();
  const std::map<RRefId, Value> values = std::exchange(values_, {});
}

}  // namespace

std::shared_ptr<Agent> Agent::make(const std::string& name, const RpcOptions& options) {
  return std::make_shared<MailAgent>(name, options);
}

}  // namespace detail
}  // namespace aorta::distributed::rpc

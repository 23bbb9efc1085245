#include <aorta/autograd/grad_mode.h>
#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/process/mailbox.h>
#include <aorta/core/process/process_group.h>
#include <aorta/rpc/autograd_context.h>
#include <aorta/rpc/letter_head.h>
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

// Counts the calls of init_rpc(), which all processes make together.
std::atomic<int64_t> generations{0};

// Whether this is the thread that receives letters: it waits for nothing.
thread_local bool receives_letters = false;

// A callback belongs to the context in which it was registered, whoever runs it.
futures::detail::Callback carried(futures::detail::Callback callback) {
  return [callback = std::move(callback), context = autograd::detail::current_context(),
          records = grad_enabled()] {
    const autograd::detail::ContextScope scope(context);
    const AutoGradMode mode(records);
    callback();
  };
}

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
  void send_away(int to, Letter letter);
  bool queue(std::function<void()> work);
  void deliver(int to, Letter letter, bool keeps);
  bool receive(int from, Letter letter);
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
  int idle_ = 0, running_ = 0, waits_ = 0, senders_ = 0;  // threads
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
    : options_(options), generation_(++generations) {
  group_ = world().duplicate();
  rank_ = group_->rank();
  futures::detail::carry = carried;
  table_ = std::make_unique<WorkerTable>(*group_, name, options);
}

MailAgent::~MailAgent() { stop(); }

void MailAgent::start() {
  const MailboxHandlers handlers{
      .received =
          [this](int from, Letter letter) {
            receives_letters = true;
            if (receive(from, std::move(letter))) ++received_;
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
  const bool must_not = grad_enabled() && autograd::detail::is_in_pass();
  std::vector<Passenger> passengers;
  std::vector<Tensor> with_gradients;
  Letter letter;
  for (const Tensor& tensor : writer.tensors()) {
    Passenger one;
    one.is_there = tensor.defined();
    if (one.is_there) {
      check(!must_not || !tensor.requires_grad(), "rpc",
            "a call with gradients can't be made in a backward pass (autograd::checkpoint)",
            "a tensor that requires one");
      one.requires_grad = records && tensor.requires_grad();
      if (one.requires_grad) with_gradients.push_back(tensor);
      if (!tensor.device().is_cpu()) one.device = table_->target(tensor.device(), rank_, to);
      const Tensor host = tensor.detach().cpu().contiguous();
      // Others may write the memory before the letter has left.
      letter.tensors.push_back(host.shares_storage(tensor) ? host.clone() : host);
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
  if (to == rank_) {
    receive(rank_, std::move(letter));
  } else {
    send_away(to, std::move(letter));
  }
  writer.was_sent();
}

// leave() waits until nobody is in here.
void MailAgent::send_away(int to, Letter letter) {
  Mailbox* mailbox = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!mailbox_)
      ended_.value_or(Failure{"rpc: init_rpc() must have returned, got a call"}).raise();
    mailbox = mailbox_.get();
    ++senders_;
  }
  ++sent_;
  std::exception_ptr error;
  try {
    mailbox->send(to, std::move(letter));
  } catch (...) {
    --sent_;
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    --senders_;
  }
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

void MailAgent::call(CallWriter& writer, const To& to, Answer answer, const RRefId& rref) {
  const double timeout = to.timeout() < 0 ? options_.rpc_timeout : to.timeout();
  check(timeout <= 1e9, "rpc", "a timeout must be at most 1e9 s", timeout);
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
    {
      const std::lock_guard lock(mutex_);
      waiting_.erase(number);
    }
    changed_.notify_all();
    throw;
  }
}

void MailAgent::reply(CallWriter& writer, int64_t number, int64_t context) {
  const AutoGradMode mode(true);  // whoever completes a future that was returned
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
    autograd::detail::note_received(head.context, from, head.number, with_gradients);
  return all;
}

// Whether the letter is of this time; it has been dealt with, and may be counted.
bool MailAgent::receive(int from, Letter letter) {
  auto kept = std::make_shared<Letter>(std::move(letter));
  ArgumentReader reader(kept->bytes);
  const auto head = Portable<Head>::read(reader);
  if (head.generation != generation_) return false;
  if (head.kind == Kind::goodbye) return lose(from), true;
  if (head.kind == Kind::holds) return count_holds(head.rref, head.rank, head.count), true;
  // Before anything that is sent later is looked at, the caller has its hold on what the call
  // makes, and the call one of its own.
  if (head.kind == Kind::call && head.rref.number != 0) {
    count_holds(head.rref, from, 1);
    count_holds(head.rref, rank_, 1);
  }
  const auto work = [this, from, head, kept, rest = reader.rest()] {
    serve(from, head, rest, std::move(kept->tensors));
  };
  if (head.kind == Kind::call) return queue(work), true;
  // Callbacks may wait, and this thread may be the one that receives what they wait for.
  if (receives_letters)
    futures::detail::callbacks_go_to = [this](auto callback) { post(callback); };
  work();
  futures::detail::callbacks_go_to = nullptr;
  return true;
}

void MailAgent::serve(int from, const Head& head, std::string_view text,
                      std::vector<Tensor> tensors) {
  if (head.kind == Kind::failure) {
    ArgumentReader reader(text);
    Portable<size_t>::read(reader);
    const Failure failure{Portable<std::string>::read(reader)};
    return finish_call(head.call, nullptr, &failure);
  }
  if (head.kind == Kind::call && head.context != 0) autograd::detail::join_context(head.context);
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
    if (makes && !value_of(head.rref).done()) value_of(head.rref).set_current_exception();
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

// Behind the end there is nobody else to do it.
void MailAgent::post(std::function<void()> work) {
  if (!queue(work)) work();
}

bool MailAgent::queue(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return false;
    jobs_.push_back(std::move(work));
    add_thread();
  }
  changed_.notify_all();
  return true;
}

// Threads that wait for what other calls will bring don't count, or those might never run.
void MailAgent::add_thread() {
  if (static_cast<int>(jobs_.size()) > idle_ &&
      static_cast<int>(threads_.size()) - waits_ < options_.num_worker_threads)
    threads_.emplace_back([this] { work(); });
}

void MailAgent::work() {
  const futures::detail::WaitHooks hooks{.waits =
                                             [this](bool begins) {
                                               const std::lock_guard lock(mutex_);
                                               waits_ += begins ? 1 : -1;
                                               if (begins) add_thread();
                                             },
                                         .check =
                                             [this] {
                                               const std::lock_guard lock(mutex_);
                                               if (ended_) ended_->raise();
                                             }};
  futures::detail::wait_hooks = &hooks;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stops_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    {
      // What it holds may call this agent at its end.
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      ++running_;
      lock.unlock();
      job();
    }
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

// All that waits fails before any callback runs, which may wait for another of them.
void MailAgent::end(const Failure& failure) {
  std::map<int64_t, Call> waiting;
  std::vector<Future<std::shared_ptr<void>>> places;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = failure;
    waiting.swap(waiting_);
    for (const auto& [id, value] : values_)
      if (!value.place.done()) places.push_back(value.place);
  }
  changed_.notify_all();
  std::vector<futures::detail::Callback> callbacks;
  futures::detail::callbacks_go_to = [&](auto callback) { callbacks.push_back(callback); };
  for (auto& [number, call] : waiting) call.answer(nullptr, &failure);
  for (const auto& place : places) {
    try {
      failure.raise();
    } catch (const Error& error) {
      if (!place.done()) place.set_exception(error);
    }
  }
  futures::detail::callbacks_go_to = nullptr;
  for (const auto& callback : callbacks) post(callback);
}

Failure MailAgent::failure_of_leaving(int worker) const {
  return {"rpc: a worker must serve until all have called shutdown(), got the end of " +
          table_->name(worker)};
}

void MailAgent::lose(int worker) {
  std::vector<Answer> lost, given_up;
  {
    const std::lock_guard lock(mutex_);
    gone_.insert(worker);
    if (waits_for_all_) group_->abort(failure_of_leaving(worker).text);
    std::erase_if(waiting_, [&](auto& one) {
      if (one.second.to != worker) return false;
      (one.second.given_up ? given_up : lost).push_back(std::move(one.second.answer));
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
      answers.clear();
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
      if (ended_) ended_->raise();
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
  std::unique_lock lock(mutex_);
  mailbox.swap(mailbox_);
  changed_.wait(lock, [this] { return senders_ == 0; });
  lock.unlock();
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
  for (;;) {  // a thread that waits may have added another one
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    if (threads.empty()) break;
    for (std::thread& thread : threads) thread.join();
  }
  leave();
  autograd::detail::forget_contexts();
  std::map<RRefId, Value> values;
  const std::lock_guard lock(mutex_);
  values.swap(values_);
}

}  // namespace

std::shared_ptr<Agent> Agent::make(const std::string& name, const RpcOptions& options) {
  return std::make_shared<MailAgent>(name, options);
}

}  // namespace detail
}  // namespace aorta::distributed::rpc

#include <aorta/rpc/rpc.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>

namespace aorta::distributed::rpc {
namespace detail {
namespace {

std::mutex agent_mutex;
// Letters may be under way that nobody waits for.
bool ended_at_once = false;

// Never destroyed, for a program's end waits for no thread that serves a call.
std::shared_ptr<Agent>& agent_of_process() {
  static auto* instance = new std::shared_ptr<Agent>;
  return *instance;
}

void check_name(const std::string& name) {
  const bool fits =
      !name.empty() && name.size() < 128 &&
      std::all_of(name.begin(), name.end(), [](unsigned char letter) {
        return std::isalnum(letter) || letter == '_' || letter == '-' || letter == ':';
      });
  check(fits, "init_rpc", "a name must have 1 to 127 letters, digits, and any of \"_-:\"",
        '"' + name + '"');
}

}  // namespace

Hold::Hold(std::shared_ptr<Agent> agent, const RRefId& id, int owner)
    : agent_(agent), id_(id), owner_(owner) {}

std::shared_ptr<Agent> Hold::agent(const char* op) const {
  std::shared_ptr<Agent> agent = Agent::get(op);
  check(agent == agent_.lock(), op, "a reference is of use until shutdown()", "one from before it");
  return agent;
}

Hold::~Hold() {
  const std::shared_ptr<Agent> agent = agent_.lock();
  if (!agent) return;
  try {
    agent->change_holds(id_, owner_, agent->rank(), -1);
  } catch (const std::exception&) {
    // The group has ended, or this process's part; so does the value.
  }
}

bool CallWriter::takes(const Tensor& tensor) {
  tensors_.push_back(tensor);
  return true;
}

void CallWriter::pass(const Hold& hold) {
  hold.agent("RRef")->change_holds(hold.id(), hold.owner(), to_, 1);
  passed_.emplace_back(hold.id(), hold.owner());
}

CallWriter::~CallWriter() {
  for (const auto& [id, owner] : passed_) {
    try {
      Agent::get("RRef")->change_holds(id, owner, to_, -1);
    } catch (const std::exception&) {
      // The group has ended, or this process's part; so does the value.
    }
  }
}

std::optional<Tensor> CallReader::taken() {
  check(next_ < tensors_.size(), "rpc", "what is read must have been written", "a tensor too few");
  return tensors_[next_++];
}

Future<std::shared_ptr<void>> Reply::made() const { return agent_->value_of(made_->id()); }
void Reply::send(CallWriter& writer) const { agent_->reply(writer, call_, context_); }
void Reply::fail(const Failure& failure) const { agent_->reply_failure(to_, call_, failure); }

std::shared_ptr<Agent> Agent::get(const char* op) {
  const std::lock_guard lock(agent_mutex);
  check(agent_of_process() != nullptr, op, "rpc::init_rpc() must have been called",
        "no call of it");
  return agent_of_process();
}

int Agent::find(const To& to) const {
  for (const WorkerInfo& worker : workers())
    if (to.name().empty() ? worker.id == to.rank() : worker.name == to.name()) return worker.id;
  std::string names;
  for (const WorkerInfo& worker : workers()) names += (names.empty() ? "" : ", ") + worker.name;
  fail("rpc", "a worker must be one of " + names,
       to.name().empty() ? std::to_string(to.rank()) : '"' + to.name() + '"');
}

}  // namespace detail

void init_rpc(const Text& name, const RpcOptions& options) {
  detail::check_name(name);
  check(options.num_worker_threads > 0, "init_rpc", "there must be a thread that serves calls",
        options.num_worker_threads);
  check(options.rpc_timeout >= 0 && options.rpc_timeout <= 1e9, "init_rpc",
        "rpc_timeout must be from 0 to 1e9 s", options.rpc_timeout);
  {
    const std::lock_guard lock(detail::agent_mutex);
    check(!detail::agent_of_process(), "init_rpc", "it is called once", "a second time");
    check(!detail::ended_at_once, "init_rpc", "shutdown(false) must have been the last call of rpc",
          "another one");
  }
  const std::shared_ptr<detail::Agent> agent = detail::Agent::make(name, options);
  {
    const std::lock_guard lock(detail::agent_mutex);
    detail::agent_of_process() = agent;
  }
  // At the end of a program that hasn't called it: what belongs to MPI must end before MPI does.
  [[maybe_unused]] static const int once = on_exit(
      [](int, void*) {
        std::shared_ptr<detail::Agent> last;
        {
          const std::lock_guard lock(detail::agent_mutex);
          last = detail::agent_of_process();
        }
        if (last) last->leave();
      },
      nullptr);
  try {
    agent->start();
  } catch (...) {
    agent->stop();
    const std::lock_guard lock(detail::agent_mutex);
    detail::agent_of_process() = nullptr;
    throw;
  }
}

void shutdown(bool graceful) {
  const std::shared_ptr<detail::Agent> agent = detail::Agent::get("shutdown");
  check(!futures::detail::wait_hooks, "shutdown",
        "it is for the program, not for a call that is served", "a call");
  std::exception_ptr error;
  try {
    if (graceful) agent->wait_for_all();
  } catch (const Error&) {
    error = std::current_exception();
  }
  agent->stop();
  {
    const std::lock_guard lock(detail::agent_mutex);
    detail::agent_of_process() = nullptr;
    detail::ended_at_once = !graceful;
  }
  if (error) std::rethrow_exception(error);
}

WorkerInfo get_worker_info() {
  const auto agent = detail::Agent::get("get_worker_info");
  return agent->workers()[static_cast<size_t>(agent->rank())];
}

WorkerInfo get_worker_info(const Text& name) {
  const auto agent = detail::Agent::get("get_worker_info");
  return agent->workers()[static_cast<size_t>(agent->find(name))];
}

}  // namespace aorta::distributed::rpc

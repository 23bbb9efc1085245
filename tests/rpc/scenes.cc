// One process of rpc_test.py: does what its argument says.
#include <aorta/aorta.h>
#include <aorta/core/process/process_group.h>
#include <aorta/rpc/rref.h>
#include <aorta/tests/rpc/workers.h>
#include <aorta/tests/same_bits.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

namespace {

using namespace aorta;
namespace rpc = distributed::rpc;
using rpc::Future;

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Until it is so, or 10 s have passed.
bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) pause(0.001);
  return holds();
}

// Values there and back.
struct Options {
  std::string name;
  std::vector<double> rates;
  std::optional<int> seed;
  bool operator==(const Options&) const = default;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(name, rates, seed);
  }
};

template <class T>
T same(const T& value) {
  return value;
}

template <class T>
void goes(const T& value) {
  must(rpc::rpc_sync<&same<T>>(next_name(), value) == value, "a value must come back as it was");
}

void goes_tensor(const Tensor& value) {
  const Tensor back = rpc::rpc_sync<&same<Tensor>>(next_name(), value);
  must(back.shape() == value.shape() && back.dtype() == value.dtype() && back.is_contiguous() &&
           same_bits(back, value.contiguous()),
       "a tensor must come back as it was");
  must(!back.shares_storage(value), "it must have memory of its own");
}

void values() {
  goes(true), goes(3), goes(int64_t{-5}), goes(2.5f), goes(1e300), goes(std::string("a\0b", 3));
  goes(f64), goes(std::vector<std::string>{"", "x"}), goes(std::vector<bool>{true, false});
  goes(std::pair(1, std::string("one"))), goes(std::tuple(1, 2.0, std::string("3")));
  goes(std::map<std::string, int>{{"a", 1}, {"b", 2}}), goes(std::optional<double>());
  goes(std::array<int, 3>{1, 2, 3}), goes(Options{"adam", {0.1, 0.2}, 7}), goes(Options{});
  Generator random(1);
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, u8, boolean, c64, c128}) {
    const Tensor x = (randn({3, 4}, {}, &random) * 10).to(dtype);
    goes_tensor(x);
    goes_tensor(x.t());
    goes_tensor(x[1][2]);
    goes_tensor(zeros({0, 3}, {.dtype = dtype}));
  }
  goes_tensor(randn({2, 3, 4, 5}, {}, &random).contiguous(MemoryFormat::channels_last));
  must(!rpc::rpc_sync<&same<Tensor>>(next_name(), Tensor()).defined(), "nothing must stay nothing");
  const auto list = rpc::rpc_sync<&same<std::vector<Tensor>>>(
      next_name(), std::vector<Tensor>{ones({2}), Tensor(), zeros({1})});
  must(list.size() == 3 && !list[1].defined() && same_bits(list[0], ones({2})), "lists must come");
  // What goes in several pieces.
  const Tensor large = arange(0, 20'000'000);
  must(same_bits(rpc::rpc_sync<&same<Tensor>>(next_name(), large), large), "large ones must come");
}

// Names, ranks, infos, and what there isn't.
void workers() {
  const rpc::WorkerInfo info = rpc::get_worker_info();
  must(info.name == name_of(rank()) && info.id == rank(), "a worker must know itself");
  must(rpc::get_worker_info("worker1") == rpc::WorkerInfo{"worker1", 1}, "and the others");
  must(rpc::rpc_sync<&rank>(1) == 1 && rpc::rpc_sync<&rank>("worker1") == 1 &&
           rpc::rpc_sync<&rank>(std::string("worker1")) == 1 &&
           rpc::rpc_sync<&rank>(rpc::get_worker_info("worker1")) == 1 &&
           rpc::rpc_sync<&rank>({"worker1", 3.0}) == 1,
       "calls must go where they are sent");
  must(rpc::rpc_sync<&rank>(rank()) == rank(), "also to the caller itself");
  must_say(error_of([] { rpc::rpc_sync<&rank>("worker7"); }),
           "rpc: a worker must be one of worker0, worker1, got \"worker7\"");
  must_say(error_of([] { rpc::rpc_sync<&rank>(2); }),
           "rpc: a worker must be one of worker0, worker1, got 2");
  must_say(error_of([] { rpc::init_rpc("again"); }),
           "init_rpc: it is called once, got a second time");
}

Tensor product(const Tensor& a, const Tensor& b) { return matmul(a, b); }
int throws(int what) {
  if (what == 1) throw std::runtime_error("a plain one");
  if (what == 2) throw 7;               // NOLINT
  return rpc::rpc_sync<&throws>(0, 1);  // by way of another
}

void errors() {
  if (rank() == 0) {
    must_say(error_of([] {
               rpc::rpc_sync<&product>("worker1", ones({2, 3}), ones({2, 3}));
             }),
             "worker1: matmul: the inner sizes must match, got [2,3] and [2,3]");
    must_say(error_of([] { rpc::rpc_sync<&throws>("worker1", 1); }), "worker1: a plain one");
    must_say(error_of([] { rpc::rpc_sync<&throws>("worker1", 2); }),
             "worker1: future: what is thrown must be a std::exception, got something else");
    must_say(error_of([] { rpc::rpc_sync<&throws>("worker1", 3); }),
             "worker1: worker0: a plain one");
    const Future<int> failed = rpc::rpc_async<&throws>("worker1", 1);
    must_say(error_of([&] { failed.then([](const auto& f) { return f.value() + 1; }).wait(); }),
             "worker1: a plain one");
    const auto value = rpc::remote<&throws>("worker1", 1);
    must_say(error_of([&] { value.to_here(); }), "worker1: a plain one");
    must_say(
        error_of([&] { value.local_value(); }),
        "RRef: local_value() is for the owner alone, got a call on another worker than worker1");
  }
}

int slow(double seconds) {
  pause(seconds);
  return 1;
}

struct Live {
  static inline std::atomic<int> count{0};
  Live() { ++count; }
  Live(const Live&) { ++count; }
  ~Live() { --count; }
  int64_t add(int64_t more) { return sum += more; }
  int64_t sum = 0;
};
int live() { return Live::count; }
rpc::RRef<Live> slow_live(double seconds) {
  pause(seconds);
  return rpc::RRef<Live>(std::make_shared<Live>());
}

void timeouts() {
  if (rank() == 0) {
    const auto start = std::chrono::steady_clock::now();
    must_say(error_of([] {
               rpc::rpc_sync<&slow>({"worker1", 0.2}, 1.0);
             }),
             "rpc: worker1 must answer within 0.2 s, got no answer");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    must(took.count() < 0.9, "a call must be given up in time");
    must(rpc::rpc_sync<&slow>({"worker1", 0.0}, 0.3) == 1, "without a limit it must be waited for");
    // The answer comes late, and what it refers to isn't kept.
    must_say(error_of([] {
               rpc::rpc_sync<&slow_live>({"worker1", 0.1}, 0.3);
             }),
             "rpc: worker1 must answer within 0.1 s, got no answer");
    pause(0.3);
    must(soon([] { return rpc::rpc_sync<&live>("worker1") == 0; }), "late references must end");
  }
}

// References.
int64_t add_by_reference(const rpc::RRef<Live>& live, int64_t more) {
  return live.rpc_sync<&Live::add>(more);
}
rpc::RRef<Live> pass_on(const rpc::RRef<Live>& live) { return live; }
std::vector<rpc::RRef<Live>> own_ones(int count) {
  std::vector<rpc::RRef<Live>> list;
  for (int i = 0; i < count; ++i) list.emplace_back(std::make_shared<Live>());
  return list;
}

void references() {
  if (rank() == 0) {
    const rpc::RRef<Live> live_one = rpc::remote<Live>("worker1");
    must(live_one.owner_name() == "worker1" && !live_one.is_owner(), "the owner must be known");
    must(live_one.rpc_sync<&Live::add>(3) == 3, "a method must run");
    must(rpc::rpc_sync<&add_by_reference>("worker2", live_one, 4) == 7, "also for a third");
    must(rpc::rpc_sync<&add_by_reference>("worker1", live_one, 4) == 11, "also for the owner");
    must(rpc::rpc_sync<&pass_on>("worker2", live_one).rpc_sync<&Live::add>(1) == 12,
         "a reference must come back");
    must(live_one.remote<&Live::add>(5).to_here() == 17, "a method's result may stay there");
    const rpc::RRef<Tensor> sum = rpc::remote<&product>("worker2", ones({2, 3}), ones({3, 1}));
    must(same_bits(sum.to_here(), full({2, 1}, 3.0)), "a result must stay until it is asked for");
    const rpc::RRef<int> mine(5);
    must(mine.is_owner() && mine.to_here() == 5 && mine.local_value() == 5, "of one's own, too");
    for (int i = 0; i < 20; ++i) {
      const auto several = rpc::rpc_sync<&own_ones>("worker2", 3);
      must(rpc::rpc_sync<&add_by_reference>("worker1", several[i % 3], 2) == 2, "in a list, too");
      rpc::remote<Live>("worker2");
    }
    must(soon([] { return rpc::rpc_sync<&live>("worker2") == 0; }), "what nobody has must end");
    must(rpc::rpc_sync<&live>("worker1") == 1, "what somebody has must stay");
  }
}

// References that go round and round, from all processes at once, to be dropped anywhere.
int64_t hand_round(const rpc::RRef<Live>& live, int64_t steps) {
  if (steps == 0) return live.rpc_sync<&Live::add>(1);
  return rpc::rpc_sync<&hand_round>(next_name(), live, steps - 1);
}
void round() {
  {
    std::vector<rpc::RRef<Live>> own;
    std::vector<Future<int64_t>> sums;
    for (int i = 0; i < 10; ++i) {
      own.push_back(rpc::remote<Live>(i % size()));
      for (int j = 0; j < 3; ++j)
        sums.push_back(rpc::rpc_async<&hand_round>(next_name(), own.back(), int64_t{2}));
    }
    own.clear();
    futures::wait_all(sums);
  }
  distributed::world().barrier();
  must(soon([] { return live() == 0; }), "what nobody has must end");
}

// Calls of calls, all at once.
int64_t down(int64_t depth) {
  return depth == 0 ? rank() : rpc::rpc_sync<&down>(next_name(), depth - 1) + 1;
}
void many() {
  std::vector<Future<int64_t>> calls;
  for (int i = 0; i < 200; ++i)
    calls.push_back(rpc::rpc_async<&down>(name_of(i % size()), int64_t{i % 3}));
  const std::vector<int64_t> found = futures::wait_all(calls);
  for (int i = 0; i < 200; ++i)
    must(found[static_cast<size_t>(i)] == (i % size() + i % 3) % size() + i % 3, "each its own");
}

// A server that answers when all have come: PyTorch's async_execution.
struct Server {
  std::mutex mutex;
  std::vector<Tensor> come;
  Future<Tensor> all;
};
Server server;
Future<Tensor> mean_of_all(const Tensor& gradient) {
  const std::lock_guard lock(server.mutex);
  server.come.push_back(gradient);
  const Future<Tensor> all = server.all;
  if (static_cast<int>(server.come.size()) == size()) {
    all.set_result(stack(server.come).mean(0));
    server.come.clear();
    server.all = Future<Tensor>();
  }
  return all;
}
void later() {
  for (int step = 0; step < 20; ++step) {
    const Tensor mine = full({3}, static_cast<double>(rank() + step));
    const Tensor mean = rpc::rpc_sync<&mean_of_all>("worker0", mine);
    must(same_bits(mean, full({3}, (size() - 1) / 2.0 + step)), "all must get the mean");
  }
  const auto stays = rpc::remote<&mean_of_all>("worker0", full({1}, 2.0));
  must(same_bits(stays.to_here(), full({1}, 2.0)), "also what stays there");
}

// Callbacks may call.
void callbacks() {
  if (rank() == 0) {
    const Future<int> last =
        rpc::rpc_async<&slow>("worker1", 0.05).then([](const Future<int>& done) {
          return done.value() + rpc::rpc_sync<&slow>("worker1", 0.0);
        });
    must(last.wait() == 2, "a callback must be able to wait");
  }
}

// What a callback alone holds ends with it, on whichever thread that is.
void dropped() {
  if (rank() != 0) return;
  std::vector<Future<size_t>> sizes;
  for (int i = 0; i < 50; ++i)
    sizes.push_back(rpc::rpc_async<&own_ones>("worker1", 3).then([](const auto& done) {
      return done.value().size();
    }));
  for (const size_t count : futures::wait_all(sizes)) must(count == 3, "all must come");
  must(soon([] { return rpc::rpc_sync<&live>("worker1") == 0; }), "what nobody has must end");
}

// A value that never comes, for who would set it is killed.
Future<int> never() { return Future<int>(); }
void killed_maker() {
  if (rank() == 1) pause(0.3), raise(SIGKILL);
  const rpc::RRef<int> value = rpc::remote<&never>(0);
  if (rank() == 0) value.local_value();
  value.to_here(0);
}

// A server is in shutdown() while others work for longer than any call waits.
void serves_at_its_end() {
  if (rank() == 1) {
    pause(3);
    must(rpc::rpc_sync<&rank>("worker0") == 0, "who is in shutdown must serve");
    // Nobody waits for this one here; shutdown does.
    rpc::rpc_async<&slow>("worker0", 0.5);
  }
}

void behind_the_end() {
  const rpc::RRef<int> kept(3);
  rpc::shutdown();
  must_say(error_of([] { rpc::rpc_sync<&rank>(0); }),
           "rpc_async: rpc::init_rpc() must have been called, got no call of it");
  rpc::init_rpc(name_of(size() - 1 - rank()));  // other names
  must_say(error_of([&] { kept.local_value(); }),
           "RRef: a reference is of use until shutdown(), got one from before it");
  must(rpc::rpc_sync<&rank>("worker0") == size() - 1, "a second time must be like the first");
}

// Whoever waits for one that is killed hears it.
void killed() {
  if (rank() == 1) pause(0.2), raise(SIGKILL);
  rpc::rpc_sync<&slow>("worker1", 60.0);
}
void fails() {
  if (rank() == 1) fail("disk", "must have room", "none");
  rpc::rpc_sync<&slow>("worker1", 60.0);
}
// The program ends without shutdown() while another calls it.
void leaves() {
  if (rank() == 1) pause(0.2), exit(0);
  if (rank() == 2) pause(0.4);  // one waits already, one doesn't
  rpc::rpc_sync<&slow>("worker1", 20.0);
}

const std::pair<const char*, void (*)()> kScenes[] = {
    {"values", values},
    {"workers", workers},
    {"errors", errors},
    {"timeouts", timeouts},
    {"references", references},
    {"round", round},
    {"many", many},
    {"later", later},
    {"callbacks", callbacks},
    {"dropped", dropped},
    {"killed_maker", killed_maker},
    {"serves_at_its_end", serves_at_its_end},
    {"behind_the_end", behind_the_end},
    {"killed", killed},
    {"fails", fails},
    {"leaves", leaves},
    {"names", [] {}},
};

int run(const char* scene) {
  try {
    distributed::world().set_timeout(2);
    rpc::init_rpc(std::strcmp(scene, "names") == 0 ? "one" : name_of(rank()));
    for (const auto& [name, function] : kScenes)
      if (std::strcmp(scene, name) == 0) function();
    rpc::shutdown();
    return 0;
  } catch (const RankError& error) {
    if (!error.is_heard()) std::fprintf(stderr, "%s\n", error.what());
    return 4;
  } catch (const Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank(), error.what());
    distributed::world().abort("rank " + std::to_string(rank()) + ": " + error.what());
    return 3;
  }
}

}  // namespace

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  if (!distributed::is_initialized()) distributed::init_process_group();
  return run(argv[1]);
}

// One rank of mpi_test.py: does what its argument says with the group of all processes.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/device_mesh.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/parallel/local_comm.h>
#include <aorta/nn/parallel/tensor_parallel.h>
#include <aorta/tests/same_bits.h>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

namespace {

using namespace aorta;

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max};

// Any numbers, another set a rank.
Tensor of_rank(int rank, const Shape& shape, DType dtype) {
  Generator random(77, static_cast<uint64_t>(rank));
  const Tensor x = randn(shape, {}, &random) * 20;
  if (dtype == boolean) return x > 0;
  return is_floating(dtype) ? x.to(dtype) : abs(x).to(dtype);
}

void must(bool right, const std::string& what) { check(right, "ranks", what, "another"); }

using Call = std::function<Tensor(Communicator& end, int rank)>;

// What the engine of threads gives each rank.
std::vector<Tensor> by_threads(int size, const Call& call) {
  const auto ends = nn::local_communicators(size, {.timeout = 60});
  std::vector<Tensor> results(ends.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ends.size(); ++i)
    threads.emplace_back([&, i] { results[i] = call(*ends[i], static_cast<int>(i)); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

void compare(const std::string& what, const Call& call) {
  Communicator& group = distributed::world();
  const Tensor found = call(group, group.rank());
  const Tensor wanted = by_threads(group.size(), call)[static_cast<size_t>(group.rank())];
  must(same_bits(found, wanted), what + " must have the bits of the engine of threads");
}

// In memory another order on odd ranks.
Tensor laid_out(const Tensor& x, int rank) {
  return rank % 2 && x.dim() == 2 ? x.t().contiguous().t() : x;
}

void compare_all(const Shape& shape, DType dtype) {
  const int size = distributed::world().size();
  const std::string name = to_string(dtype) + " " + to_string(shape);
  for (const ReduceOp op : kOps) {
    if (op == ReduceOp::mean && !is_floating(dtype)) continue;
    compare("all_reduce " + to_string(op) + " " + name, [&](Communicator& end, int rank) {
      const Tensor x = laid_out(of_rank(rank, shape, dtype), rank);
      end.all_reduce(x, op);
      return x;
    });
    Shape whole = shape;
    whole[0] *= size;
    compare("reduce_scatter " + to_string(op) + " " + name, [&](Communicator& end, int rank) {
      return end.reduce_scatter(laid_out(of_rank(rank, whole, dtype), rank), op);
    });
  }
  for (const int root : {0, size - 1})
    compare("broadcast " + name, [&](Communicator& end, int rank) {
      const Tensor x = laid_out(of_rank(rank, shape, dtype), rank);
      end.broadcast(x, root);
      return x;
    });
  compare("all_gather " + name, [&](Communicator& end, int rank) {
    return end.all_gather(laid_out(of_rank(rank, shape, dtype), rank));
  });
}

void values() {
  for (const DType dtype : kDTypes) compare_all({7, 3}, dtype);
  for (const Shape& shape : {Shape{0, 3}, Shape{1}, Shape{3, 1111}}) compare_all(shape, f32);
  compare("all_gather of numbers",
          [](Communicator& end, int rank) { return end.all_gather(of_rank(rank, {}, f64)); });
  Communicator& group = distributed::world();
  must(group.rank() == distributed::get_rank() && group.size() == distributed::get_world_size(),
       "rank and size must be the group's");
  must(distributed::get_local_rank() == group.rank(), "one machine has all ranks");
}

// Longer than a piece of a reduction, and than one message.
void pieces() {
  Communicator& group = distributed::world();
  const int64_t long_one = (5 << 20) + 3;
  compare("a long all_reduce", [&](Communicator& end, int rank) {
    const Tensor x = of_rank(rank, {long_one}, bf16);
    end.all_reduce(x, ReduceOp::mean);
    return x;
  });
  // Several at once, whose pieces begin and end in the midst of one, and few enough for one step.
  for (const int64_t factor : {1, 5000}) {
    compare("an all_reduce of several tensors", [&](Communicator& end, int rank) {
      List<Tensor> tensors;
      for (const int64_t count : {7, 0, 311, 1, 90, 2})
        tensors.push_back(of_rank(rank, {count * factor}, f32));
      tensors.push_back(of_rank(rank, {3, 5}, f32).t());
      end.all_reduce_coalesced(tensors, ReduceOp::mean);
      for (Tensor& tensor : tensors) tensor = tensor.reshape({-1});
      return cat(tensors);
    });
  }
  const Tensor mine = full({(65 << 20) + 5}, group.rank() + 1, {.dtype = u8});
  const Tensor all = group.all_gather(mine);
  for (int i = 0; i < group.size(); ++i) {
    const Tensor part = all.narrow(0, i * mine.numel(), mine.numel());
    must(min(part).item<int64_t>() == i + 1 && max(part).item<int64_t>() == i + 1,
         "each rank's bytes must come");
  }
  group.broadcast(all.narrow(0, 0, 9 << 20), group.size() - 1);
}

// Groups of the same ranks have an order of their own, also between threads.
void duplicates() {
  Communicator& group = distributed::world();
  const auto other = group.duplicate();
  const auto third = other->duplicate();
  std::thread thread([&] {
    for (int i = 0; i < 50; ++i) {
      const Tensor x = full({100}, 1.0 * group.rank());
      other->all_reduce(x);
      must(x.at<float>({99}) == static_cast<float>(group.size() * (group.size() - 1) / 2), "sum");
    }
  });
  for (int i = 0; i < 50; ++i) group.barrier();
  third->barrier();
  thread.join();
}

// Groups of some of the ranks, at once, and a group of such a group.
void splits() {
  Communicator& world = distributed::world();
  const int64_t color = world.rank() % 2;
  const auto group = world.split(color), other = world.split(-color);
  must(group->rank() == world.rank() / 2 && group->size() == (world.size() + 1 - color) / 2,
       "the ranks of a color must follow one another");
  const Tensor ranks = group->all_gather(tensor({int64_t{world.rank()}}));
  for (int i = 0; i < group->size(); ++i)
    must(ranks.at<int64_t>({i}) == 2 * i + color, "they must be those of the color");
  const auto beside = group->duplicate();
  std::thread thread([&] {
    for (int i = 0; i < 50; ++i) {
      const Tensor x = full({100'000}, 1.0 * color);
      beside->all_reduce(x);
      must(x.at<float>({7}) == static_cast<float>(color * group->size()), "sum");
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Tensor x = full({100'000}, 1.0 * world.rank());
    other->broadcast(x, other->size() - 1);
    must(x.at<float>({7}) == static_cast<float>(2 * (other->size() - 1) + color), "the last's");
    must(other->all_gather(x).size(0) == 100'000 * other->size(), "all of them");
    must(other->reduce_scatter(ones({other->size(), 9})).at<float>({0, 8}) ==
             static_cast<float>(other->size()),
         "sum");
  }
  thread.join();
  if (world.rank() < 2) must(other->failure().empty(), "it must be whole");
  const auto differ = [&] { other->all_reduce(zeros({world.rank() == 2 ? 3 : 2})); };
  const bool must_differ = color == 0 && world.size() > 2;
  std::string text;
  try {
    differ();
  } catch (const Error& error) {
    text = error.what();
  }
  must(must_differ == (text.find("rank 1: all_reduce 150 of f32 [3]") != std::string::npos),
       "text");
  group->barrier();
}

struct Net : nn::Module {
  nn::Linear first{*this, "first", 40, 300};
  nn::BatchNorm1d norm{*this, "norm", 300};
  nn::Linear second{*this, "second", 300, 10};
  Tensor forward(const Tensor& x) const override { return second(relu(norm(first(x)))); }
};

// Three steps; the weights after them.
template <class Any, class Parallel>
void train(const Any& net, const Parallel& parallel) {
  optim::Adam optimizer(net.parameters(), {.lr = 0.01});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    sum(square(parallel(randn({4, 40})))).backward();
    optimizer.step();
  }
}

Tensor trained(Communicator& end, int rank) {
  Generator random(5, static_cast<uint64_t>(rank));
  const DefaultGeneratorScope scope(random);
  Net net;
  train(net, nn::DistributedDataParallel(net, end, {.bucket_cap_mb = 0.01}));
  return net.second.weight.detach();
}

Tensor trained_in_parts(Communicator& end, int rank) {
  Generator random(5, static_cast<uint64_t>(rank));
  const DefaultGeneratorScope scope(random);
  Net net;
  nn::fully_shard(net.first, end);
  nn::fully_shard(net, end);
  train(net, net);
  const NamedTensors whole = net.full_state_dict();
  must(whole.empty() == (rank != 0), "rank 0 alone must have the whole state");
  return net.second.weight.detach();
}

struct Divided : nn::Module {
  nn::LayerNorm norm{*this, "norm", 40};
  nn::Linear first{*this, "first", 40, 301}, second{*this, "second", 301, 10};
  Tensor forward(const Tensor& x) const override { return second(relu(first(norm(x)))); }
};

// Pairs of ranks compute a batch together, each pair one of its own.
Tensor trained_together(Communicator& end, int rank) {
  const nn::DeviceMesh mesh(end, {end.size() / 2, 2}, {"dp", "tp"});
  Generator random(5, static_cast<uint64_t>(rank / 2));
  const DefaultGeneratorScope scope(random);
  Divided net;
  nn::parallelize_module(net, mesh["tp"],
                         {{"norm", nn::SequenceParallel{}},
                          {"first", nn::ColwiseParallel{.input_layouts = nn::Shard(0)}},
                          {"second", nn::RowwiseParallel{}}});
  train(net, nn::DistributedDataParallel(net, mesh["dp"]));
  const NamedTensors whole = net.full_state_dict();
  must(whole.empty() == (rank % 2 != 0), "the first rank of a pair alone must have it");
  return net.second.weight.detach();
}

void ddp() { compare("three steps", trained); }

void fsdp() { compare("three steps of parts", trained_in_parts); }

void tensor_parallel() { compare("three steps of layers that are divided", trained_together); }

// Until something ends it; a file says that it has begun.
void trains_on() {
  Communicator& group = distributed::world();
  for (bool first = true;; first = false) {
    trained(group, group.rank());
    if (first) std::ofstream("trains_" + std::to_string(group.rank())) << "yes\n";
  }
}

// What goes wrong. Rank 1, or the last, does it.
void mismatch() {
  Communicator& group = distributed::world();
  group.all_reduce(zeros({4, group.rank() == group.size() - 1 ? 2 : 3}));
}

// Each pair in a group of its own, for what ranks have sent before they knew stays under way. The
// last rank makes the second call; of some of these MPI itself would notice nothing.
void mismatches() {
  Communicator& world = distributed::world();
  const Call calls[][2] = {
      {[](Communicator& end, int) { return end.all_reduce(zeros({1 << 20})), zeros({}); },
       [](Communicator& end, int) { return end.all_reduce(zeros({1 << 19})), zeros({}); }},
      {[](Communicator& end, int) { return end.all_reduce(zeros({8})), zeros({}); },
       [](Communicator& end, int) {
         return end.all_reduce(zeros({8}, {.dtype = i32})), zeros({});
       }},
      {[](Communicator& end, int) { return end.all_reduce(zeros({8})), zeros({}); },
       [](Communicator& end, int) { return end.all_gather(zeros({8})); }},
      {[](Communicator& end, int) { return end.all_reduce(zeros({3000})), zeros({}); },
       [](Communicator& end, int) { return end.broadcast(zeros({3000})), zeros({}); }},
      {[](Communicator& end, int) { return end.broadcast(zeros({5})), zeros({}); },
       [](Communicator& end, int) { return end.broadcast(zeros({5}), end.size() - 1), zeros({}); }},
      {[](Communicator& end, int) {
         return end.all_reduce_coalesced({zeros({400'000}), zeros({9})}), zeros({});
       },
       [](Communicator& end, int) {
         return end.all_reduce_coalesced({zeros({9}), zeros({400'000})}), zeros({});
       }},
      {[](Communicator& end, int) {
         return end.reduce_scatter(zeros({12, 1000}));
       },
       [](Communicator& end, int) { return end.barrier(), zeros({}); }},
  };
  for (const auto& [usual, other] : calls) {
    const auto group = world.duplicate();
    const bool differs = world.rank() == world.size() - 1;
    std::string text;
    try {
      (differs ? other : usual)(*group, world.rank());
    } catch (const RankError& error) {
      must(false, std::string("no error of the group: ") + error.what());
    } catch (const Error& error) {
      text = error.what();
    }
    must(text.find(": ranks must make the same call, got rank 0: ") != std::string::npos,
         "the difference must be named");
    try {
      group->barrier();
      must(false, "a group whose ranks have differed must refuse more");
    } catch (const RankError&) {
    }
    world.barrier();
  }
}

void beside() {
  Communicator& group = distributed::world();
  if (group.rank() == group.size() - 1)
    group.duplicate();
  else
    group.barrier();
}

void networks() {
  Communicator& group = distributed::world();
  nn::Sequential net(nn::Linear(4, 3), nn::Linear(3, group.rank() + 1));
  const nn::DistributedDataParallel parallel(net, group);
}

// A rank that isn't in the group of the others' call, and one that is.
void splits_late() {
  Communicator& world = distributed::world();
  const auto group = world.split(world.rank() == 0);
  if (world.rank() == world.size() - 1) sleep(30);
  group->barrier();
}

void fall_out(const std::function<void()>& how) {
  Communicator& group = distributed::world();
  group.barrier();
  if (group.rank() == group.size() - 1) {
    const distributed::ActivityScope activity("waiting for a batch");
    how();
  }
  const ModuleScope scope("net.norm");
  group.all_reduce(zeros({4}));
}

// Rank 0 has done its work, and waits at its end for the last rank, which fails. Open MPI gives a
// terminal to write to; others give a pipe, where a line alone isn't written.
void fails_last() {
  Communicator& group = distributed::world();
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  std::printf("rank %d has done its work\n", group.rank());
  group.barrier();
  if (group.rank() == 0) return;
  sleep(1);
  fail("disk", "must have room", "none");
}

// The others end at once.
void rank_1_goes_on(void (*work)()) {
  distributed::world().barrier();
  if (distributed::get_rank() == 1) work();
}

// Rank 1 does what takes longer than the timeout, and the others know it.
void meet_after(void (*work)(), double patience = 60) {
  if (distributed::get_rank() == 1) work();
  distributed::world().barrier(patience);
}

const std::pair<const char*, void (*)()> kScenes[] = {
    {"values", values},
    {"pieces", pieces},
    {"duplicates", duplicates},
    {"splits", splits},
    {"splits_late", splits_late},
    {"ddp", ddp},
    {"fsdp", fsdp},
    {"tensor_parallel", tensor_parallel},
    {"trains_on", trains_on},
    {"mismatch", mismatch},
    {"mismatches", mismatches},
    {"beside", beside},
    {"networks", networks},
    {"killed", [] { fall_out([] { raise(SIGKILL); }); }},
    {"killed_unseen",
     [] {
       fall_out([] {
         kill(getppid(), SIGSTOP);  // mpirun
         raise(SIGKILL);
       });
     }},
    {"stopped", [] { fall_out([] { raise(SIGSTOP); }); }},
    {"stopped_last", [] { rank_1_goes_on([] { raise(SIGSTOP); }); }},
    {"works_on", [] { rank_1_goes_on([] { sleep(4); }); }},
    {"works_apart", [] { meet_after([] { sleep(4); }); }},
    {"stopped_apart", [] { meet_after([] { raise(SIGSTOP); }); }},
    {"late_apart", [] { meet_after([] { sleep(30); }, 3); }},
    {"late", [] { fall_out([] { sleep(30); }); }},
    {"leaves", [] { fall_out([] { exit(0); }); }},
    {"patient", [] { distributed::world().barrier(); }},
    {"fails_last", fails_last},
    {"throws", [] { fall_out([] { fail("disk", "must have room", "none"); }); }},
};

// As a program of a user's: who fails says so, and ends the others.
int run(const char* name) {
  try {
    for (const auto& [scene, function] : kScenes)
      if (std::strcmp(scene, name) == 0) function();
    return 0;
  } catch (const RankError& error) {
    if (!error.is_heard()) std::fprintf(stderr, "%s\n", error.what());
    distributed::write_collectives(".");
    return 4;
  } catch (const Error& error) {
    const std::string rank = "rank " + std::to_string(distributed::get_rank());
    std::fprintf(stderr, "%s: %s\n", rank.c_str(), error.what());
    distributed::world().abort(rank + ": " + error.what());
    return 3;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (std::strcmp(argv[1], "late") == 0) distributed::init_process_group({.start_timeout = 2});
  if (std::strcmp(argv[1], "stopped_first") == 0) distributed::init_process_group({.timeout = 2});
  if (std::strcmp(argv[1], "patient") == 0) distributed::init_process_group({.start_timeout = 5});
  aorta::init(argc, argv);
  if (argc > 2) distributed::init_process_group();
  distributed::world().set_timeout(2);
  if (std::strcmp(argv[1], "count") == 0) {
    std::printf("%d of %d\n", distributed::get_rank(), distributed::get_world_size());
    return 0;
  }
  return run(argv[1]);
} catch (const aorta::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 5;
}

// A rank of those that the table `parallel` measures, under mpirun: does the steps that it is asked
// for (peer.h has the protocol). The first reads standard input and passes each line on; the others
// read theirs from FOLDER/rank_N.
//
//     mpirun -n COUNT rank FOLDER
#include <aorta/core/comm.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/init.h>
#include <aorta/core/process/process_group.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/transformer.h>
#include <aorta/rpc/rpc.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/steps.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace {

using namespace aorta;
using namespace aorta::bench;

Training training_of(const std::string& name, const std::vector<int64_t>& sizes) {
  if (name == "mlp") return mlp_training(sizes.at(0));
  if (name == "deeplab") return deeplab_training(sizes.at(0), sizes.at(1), false);
  if (name == "char_gpt") return char_gpt_training(sizes.at(0), sizes.at(1), sizes.at(2));
  fail("rank", "the work must be all_reduce, rpc, mlp, deeplab or char_gpt", "'", name, "'");
}

// A training step, or a collective.
using Step = std::function<Tensor()>;

// The larger ones of all ranks' numbers: again and again they stay what they are.
Step all_reduce_of(int64_t elements) {
  const Tensor tensor = make({elements}, -1, 1, distributed::get_rank());
  return [tensor] {
    distributed::world().all_reduce(tensor, ReduceOp::max);
    return tensor;
  };
}

Tensor negative(const Tensor& x) { return -x; }

// A call of the next rank, there and back.
Step call_of(int64_t elements) {
  static const bool begun = [] {
    distributed::rpc::init_rpc("worker" + std::to_string(distributed::get_rank()));
    return true;
  }();
  check(begun, "rank", "calls must be possible", begun);
  const int next = (distributed::get_rank() + 1) % distributed::get_world_size();
  const Tensor tensor = make({elements}, -1, 1, distributed::get_rank());
  return [=] { return distributed::rpc::rpc_sync<&negative>(next, tensor); };
}

// What is called of a network whose parameters are divided, each layer of a transformer by itself.
void shard(nn::AnyModule& net, Communicator& group) {
  for (nn::Module* const module : net->modules())
    if (dynamic_cast<nn::TransformerEncoderLayer*>(module)) nn::fully_shard(*module, group);
  nn::fully_shard(*net, group);
}

// "deeplab 8 112": what is done, and its sizes; "part 2 deeplab 8 112": by one process, with its
// part of the batch in 2; "sharded char_gpt 32 64 128": with parts of the parameters.
Step step_of(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  Communicator& group = distributed::world();
  int parts = group.size();
  if (name == "part") words >> parts >> name;
  const bool is_sharded = name == "sharded";
  if (is_sharded) words >> name;
  std::vector<int64_t> sizes;
  for (int64_t size = 0; words >> size;) sizes.push_back(size);
  if (name == "all_reduce") return all_reduce_of(sizes.at(0));
  if (name == "rpc") return call_of(sizes.at(0));
  const auto training = std::make_shared<Training>(training_of(name, sizes));
  std::shared_ptr<nn::DistributedDataParallel<nn::AnyModule>> parallel;
  if (!is_sharded) {
    parallel =
        std::make_shared<nn::DistributedDataParallel<nn::AnyModule>>(training->module, group);
    training->forward = [&parallel = *parallel](const Tensor& x) { return parallel(x); };
  }
  training->begin(training->input.dim() == 4);
  if (is_sharded) {
    shard(training->module, group);
    training->forward = [&net = training->module](const Tensor& x) { return net(x); };
  }
  training->take_part(group.rank(), parts);
  return [training, parallel] { return training->step(); };
}

std::string numbers(const std::vector<double>& values) {
  return fmt::format("{}", fmt::join(values, "\t"));
}

std::string answer(std::map<std::string, Step>& works, const std::vector<std::string>& request) {
  const std::string& command = request[0];
  if (command == "hello") return "";
  if (command == "threads") return set_num_threads(std::stoi(request.at(1))), "";
  if (command == "define") return works[request.at(1)] = step_of(request.at(3)), "";
  if (command == "values") return numbers(sample(works.at(request.at(1))()));
  if (command == "drop") return works.erase(request.at(1)), "";
  check(command == "time" || command == "waits", "rank", "the request must be one of peer.h's", "'",
        command, "'");
  const Step& step = works.at(request.at(1));
  distributed::world().barrier();
  if (command == "waits") {
    Profiler profiler;
    for (int64_t i = std::stoll(request.at(2)); i > 0; --i) step();
    profiler.stop();
    return numbers({100 * collective_share(profiler)});
  }
  const double start = seconds_now();
  for (int64_t i = std::stoll(request.at(2)); i > 0; --i) step();
  return numbers({seconds_now() - start});
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  return fields;
}

}  // namespace

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  check(argc == 2, "rank", "it is started by bench parallel, with a folder", argc - 1,
        " arguments");
  distributed::world().set_timeout(60);
  const int rank = distributed::get_rank();
  const auto pipe = [&](int other) { return fmt::format("{}/rank_{}", argv[1], other); };
  std::vector<std::ofstream> others;
  for (int other = 1; rank == 0 && other < distributed::get_world_size(); ++other)
    others.emplace_back(pipe(other));
  std::ifstream told;
  if (rank > 0) told.open(pipe(rank));
  std::map<std::string, Step> works;
  for (std::string line; std::getline(rank == 0 ? std::cin : told, line);) {
    for (std::ofstream& other : others) other << line << std::endl;
    std::string said;
    try {
      const std::string values = answer(works, split(line));
      said = values.empty() ? "ok" : "ok\t" + values;
    } catch (const std::exception& error) {
      said = std::string("error\t") + error.what();
    }
    if (rank == 0) std::cout << said << std::endl;
  }
}

// A rank of those that the table `parallel` measures, under mpirun: does the steps that it is asked
// for (peer.h has the protocol). The first reads standard input and passes each line on; the others
// read theirs from FOLDER/rank_N.
//
//     mpirun -n COUNT rank FOLDER
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/init.h>
#include <aorta/core/process/process_group.h>
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

// "deeplab 8 112": a network and its sizes.
Training training_of(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  int64_t a = 0, b = 0, c = 0;
  words >> name >> a >> b >> c;
  if (name == "mlp") return mlp_training(a);
  if (name == "deeplab") return deeplab_training(a, b, false);
  if (name == "char_gpt") return char_gpt_training(a, b, c);
  fail("rank", "the step must be mlp, deeplab or char_gpt", "'", text, "'");
}

using Parallel = nn::DistributedDataParallel<nn::AnyModule>;

struct Work {
  explicit Work(const std::string& step)
      : training(training_of(step)), parallel(training.module, distributed::world()) {
    Communicator& group = distributed::world();
    training.forward = [this](const Tensor& x) { return parallel(x); };
    training.begin(training.input.dim() == 4);
    training.take_part(group.rank(), group.size());
  }

  Training training;
  Parallel parallel;
};

std::string numbers(const std::vector<double>& values) {
  return fmt::format("{}", fmt::join(values, "\t"));
}

std::string answer(std::map<std::string, std::unique_ptr<Work>>& works,
                   const std::vector<std::string>& request) {
  const std::string& command = request[0];
  if (command == "hello") return "";
  if (command == "threads") return set_num_threads(std::stoi(request.at(1))), "";
  if (command == "define") return works[request.at(1)] = std::make_unique<Work>(request.at(3)), "";
  if (command == "values") return numbers(sample(works.at(request.at(1))->training.step()));
  if (command == "drop") return works.erase(request.at(1)), "";
  check(command == "time", "rank", "the request must be one of peer.h's", "'", command, "'");
  const Training& training = works.at(request.at(1))->training;
  distributed::world().barrier();
  const double start = seconds_now();
  for (int64_t i = std::stoll(request.at(2)); i > 0; --i) training.step();
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
  std::map<std::string, std::unique_ptr<Work>> works;
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

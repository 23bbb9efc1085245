// A table of word vectors that one process has and the others train: each asks it for the vectors
// of its sentences, and the gradients go back to it (a parameter server, Li et al. 2014).
//
//     mpirun -n 3 parameter_server [STEPS = 300]
#include <aorta/aorta.h>
#include <aorta/rpc/distributed_optimizer.h>
#include <aorta/rpc/remote_module.h>

#include <iostream>

using namespace aorta;
namespace rpc = distributed::rpc;
namespace dist_autograd = distributed::autograd;

constexpr int64_t kWords = 500, kLength = 15;

// Sentences of words that speak for something or against it; the label is what most of them say.
std::pair<Tensor, Tensor> sentences(int64_t count, Generator& random) {
  const Tensor words = randint(0, kWords, {count, kLength}, {}, &random);
  const Tensor for_it = remainder(words * 37, 11) < 5;
  return {words, (for_it.sum(1) * 11 > kLength * 5).to(i64)};
}

// What the server does for the others.
nn::EmbeddingBag& table() {
  static nn::EmbeddingBag vectors(kWords, 16);
  return vectors;
}
Tensor look_up(const Tensor& words) { return table()(words); }
rpc::RRef<Tensor> vectors() { return rpc::RRef<Tensor>(table().weight); }

void train(int64_t steps) {
  const std::string name = rpc::get_worker_info().name;
  Generator random(static_cast<uint64_t>(distributed::get_rank()));
  nn::Linear head(16, 2);
  std::vector<rpc::RRef<Tensor>> parameters = {rpc::rpc_sync<vectors>("server")};
  for (const Tensor& own : head.parameters()) parameters.emplace_back(own);
  const distributed::optim::DistributedOptimizer<optim::Adam> optimizer(parameters, {.lr = 0.02});
  for (int64_t step = 1; step <= steps; ++step) {
    const auto [words, labels] = sentences(64, random);
    const dist_autograd::context context;
    const Tensor found = head(rpc::rpc_sync<look_up>("server", words));
    const Tensor loss = nn::cross_entropy(found, labels);
    dist_autograd::backward(context.id(), {loss});
    optimizer.step(context.id());
    if (step % 100 == 0)
      std::cout << name << ", step " << step << ": loss " << loss.item() << std::endl;
  }
  const auto [words, labels] = sentences(1000, random);
  const NoGradGuard no_grad;
  const Tensor right = head(rpc::rpc_sync<look_up>("server", words)).argmax(1) == labels;
  std::cout << name << ": " << 100 * right.to(f32).mean().item() << " % right" << std::endl;
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  distributed::init_process_group();  // of one process, where mpirun hasn't started it
  const int rank = distributed::get_rank();
  rpc::init_rpc(rank == 0 ? "server" : "trainer" + std::to_string(rank));
  if (rank > 0 || distributed::get_world_size() == 1) train(argc > 1 ? std::stoll(argv[1]) : 300);
  rpc::shutdown();  // the server serves until the others are here
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}

// What a training step of a network would take, op by op, before anything is trained: its tensors
// have shapes and no memory.
//
//     plan_step [MODEL = deeplabv3_resnet50] [BATCH = 20] [SIDE = 112]
#include <aorta/aorta.h>

#include <chrono>
#include <iostream>

using namespace aorta;

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const std::string name = argc > 1 ? argv[1] : "deeplabv3_resnet50";
  const int64_t batch = argc > 2 ? std::stoll(argv[2]) : 20;
  const int64_t side = argc > 3 ? std::stoll(argv[3]) : 112;

  const nn::AnyModule net = models::make(name, {});
  net->to("meta");
  optim::SGD optimizer(net->parameters(), {.lr = 0.1, .momentum = 0.9});
  const Tensor images = empty({batch, 3, side, side}, {.device = "meta"});
  const auto step = [&] {
    optimizer.zero_grad();
    net->forward(images).sum().backward();
    optimizer.step();
  };
  step();  // makes the optimizer's state
  const auto start = std::chrono::steady_clock::now();
  const nn::StepPlan plan = nn::plan_step(step);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << plan.table(nn::measure_machine()) << "planned in " << took.count() << " ms\n";
}

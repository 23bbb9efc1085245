// How far a ResNet-18's or -34's gradient in f32 lies from the one in f64, with Winograd's
// algorithm and without, over seeds: the table of docs/accuracy.md. PyTorch's row is
// gradient_error.py's, from the weights and data that this program leaves in FOLDER.
#include <aorta/aorta.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace aorta {
namespace {

struct Step {
  std::vector<Tensor> gradients;
  std::vector<Tensor> positive;  // where ReLUs let their input through
};

Step step_of(nn::Module& net, const Tensor& input, const Tensor& target) {
  Step step;
  const auto look = [&](const nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& out) {
    const NoGradGuard no_grad;
    step.positive.push_back(out.at(0) > 0);
  };
  std::vector<HookHandle> handles;
  for (const auto& [name, module] : net.named_modules()) {
    const bool relu_inside = name == "bn1" || name.ends_with(".bn1");
    if (relu_inside || dynamic_cast<models::BasicBlock*>(module) != nullptr)
      handles.push_back(module->register_forward_hook(look));
  }
  net.zero_grad();
  nn::cross_entropy(net(input), target).backward();
  for (HookHandle& handle : handles) handle.remove();
  for (const Tensor& parameter : net.parameters()) step.gradients.push_back(parameter.grad());
  return step;
}

struct Errors {
  std::vector<double> gradient, flips;

  void add(const Step& step, const Step& wanted) {
    double error = 0, norm = 0, count = 0;
    for (size_t i = 0; i < wanted.gradients.size(); ++i) {
      error += sum(square(step.gradients[i].to(f64) - wanted.gradients[i])).item<double>();
      norm += sum(square(wanted.gradients[i])).item<double>();
    }
    for (size_t i = 0; i < wanted.positive.size(); ++i)
      count += sum((step.positive[i] != wanted.positive[i]).to(f64)).item<double>();
    gradient.push_back(std::sqrt(error / norm));
    flips.push_back(count);
  }

  void print(const char* name) const {
    std::vector<double> sorted = gradient;
    std::sort(sorted.begin(), sorted.end());
    const size_t half = sorted.size() / 2;
    const double median =
        sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    const auto without = std::count(flips.begin(), flips.end(), 0);
    fmt::print("| {} | {:.1e} | {:.1e} | {} of {} |\n", name, median, sorted.back(), without,
               flips.size());
  }
};

void measure(const std::string& name, int64_t size, int64_t batch, int seeds,
             const std::string& folder) {
  Errors direct, winograd;
  for (int seed = 0; seed < seeds; ++seed) {
    manual_seed(static_cast<uint64_t>(seed));
    const nn::AnyModule net = models::make(name, {.num_classes = 10});
    const Tensor input = randn({batch, 3, size, size}), target = randint(0, 10, {batch});
    if (!folder.empty()) {
      NamedTensors all = net->state_dict();
      all.push_back({"input", input});
      all.push_back({"target", target});
      save(all, fmt::format("{}/{}.safetensors", folder, seed));
    }
    set_winograd(false);
    const Step slow = step_of(*net, input, target);
    set_winograd(true);
    const Step fast = step_of(*net, input, target);
    net->zero_grad();
    net->to(f64);
    const Step wanted = step_of(*net, input.to(f64), target);
    direct.add(slow, wanted);
    winograd.add(fast, wanted);
  }
  direct.print("Aorta, AORTA_WINOGRAD=0");
  winograd.print("Aorta");
}

}  // namespace
}  // namespace aorta

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  if (argc < 5 || argc > 6) {
    fmt::print(stderr, "usage: gradient_error resnet18|resnet34 SIZE BATCH SEEDS [FOLDER]\n");
    return 2;
  }
  aorta::measure(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                 argc == 6 ? argv[5] : "");
}

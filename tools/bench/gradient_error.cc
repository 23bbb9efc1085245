// How far a ResNet-18's or -34's gradient in f32 lies from the one in f64, with Winograd's
// algorithm and without, over seeds: the tables of docs/accuracy.md. Behind the whole gradient's
// error stands each part's: the largest of its layers' medians. PyTorch's row is
// gradient_error.py's, from the weights and data that this program leaves in FOLDER.
#include <aorta/aorta.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace aorta {
namespace {

struct Step {
  NamedTensors gradients;
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
  for (const auto& [path, parameter] : net.named_parameters())
    step.gradients.push_back({path, parameter.grad()});
  return step;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Errors {
  std::vector<double> gradient, flips;
  std::map<std::string, std::vector<double>> layers;  // of each parameter

  void add(const Step& step, const Step& wanted) {
    double error = 0, norm = 0, count = 0;
    for (size_t i = 0; i < wanted.gradients.size(); ++i) {
      const auto& [path, exact] = wanted.gradients[i];
      const double off = sum(square(step.gradients[i].second.to(f64) - exact)).item<double>();
      const double size = sum(square(exact)).item<double>();
      layers[path].push_back(std::sqrt(off / size));
      error += off;
      norm += size;
    }
    for (size_t i = 0; i < wanted.positive.size(); ++i)
      count += sum((step.positive[i] != wanted.positive[i]).to(f64)).item<double>();
    gradient.push_back(std::sqrt(error / norm));
    flips.push_back(count);
  }

  void print(const char* name) const {
    std::map<std::string, double> parts;  // conv1, bn1, layer1, ...
    for (const auto& [path, errors] : layers) {
      double& largest = parts[path.substr(0, path.find('.'))];
      largest = std::max(largest, median(errors));
    }
    const auto without = std::count(flips.begin(), flips.end(), 0);
    fmt::print("| {} | {:.1e} | {:.1e} | {} of {} |", name, median(gradient),
               *std::max_element(gradient.begin(), gradient.end()), without, flips.size());
    for (const auto& [part, error] : parts) fmt::print(" {} {:.1e}", part, error);
    fmt::print("\n");
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

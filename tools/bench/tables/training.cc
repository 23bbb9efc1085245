// Whole training steps: zero_grad, forward, loss, backward, SGD. Both sides start from the same
// numbers; what is compared is the loss of their first step.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace aorta::bench {
namespace {

// Parameter i is make(.., seed i), in +-1 / sqrt(fan_in); vectors are left as they start (norms at
// 1 and 0), but for biases beside a matrix or a kernel, which are 0 on both sides.
void fill(nn::Module& module) {
  int64_t seed = 0;
  for (const auto& [name, parameter] : module.named_parameters()) {
    const NoGradGuard no_grad;
    if (parameter.dim() > 1) {
      const double bound =
          1 / std::sqrt(static_cast<double>(parameter.numel() / parameter.size(0)));
      parameter.copy_(make(parameter.shape(), -bound, bound, seed));
    } else if (name.size() >= 4 && name.compare(name.size() - 4, 4, "bias") == 0) {
      parameter.zero_();
    }
    ++seed;
  }
}

constexpr const char* kFill =
    "def fill(m):\n"
    "    for i, (n, p) in enumerate(m.named_parameters()):\n"
    "        if p.dim() > 1:\n"
    "            b = (p.numel() // p.shape[0]) ** -0.5\n"
    "            p.data.copy_(make(p.shape, -b, b, i))\n"
    "        elif n.endswith('bias'):\n"
    "            p.data.zero_()\n"
    "    return m\n";

// A network, its data and its optimizer. Copies share them.
struct Training {
  nn::AnyModule module;
  Tensor input, target;
  double momentum;
  bool bf16;
  std::function<Tensor(const Tensor& output, const Tensor& target)> loss;
  std::shared_ptr<optim::SGD> optimizer = {};

  void begin(bool channels_last) {
    fill(*module);
    if (channels_last) {
      module->to(MemoryFormat::channels_last);
      input = input.contiguous(MemoryFormat::channels_last);
    }
    optimizer = std::make_shared<optim::SGD>(module->parameters(),
                                             optim::SGDOptions{.lr = 1e-5, .momentum = momentum});
  }

  Tensor step() const {
    optimizer->zero_grad();
    Tensor output;
    if (bf16) {
      const Autocast scope(DType::bf16);
      output = module(input).to(DType::f32);
    } else {
      output = module(input);
    }
    const Tensor value = loss(output, target);
    value.backward();
    optimizer->step();
    return value.detach();
  }
};

Tensor squares(const Tensor& output, const Tensor& target) { return nn::mse_loss(output, target); }

Row mlp_row(int64_t hidden, double target) {
  return {.name = fmt::format("784-{}-10 with sigmoids, batch 10, f32", hidden),
          .target = at_most(target),
          .make = [hidden] {
            auto training = std::make_shared<Training>(
                Training{nn::Sequential(nn::Linear(784, hidden), nn::Sigmoid(),
                                        nn::Linear(hidden, 10), nn::Sigmoid()),
                         make({10, 784}, 0, 1, 100), make({10, 10}, 0, 1, 101), 0, false, squares});
            training->begin(false);
            return Case{.ours = aorta_side([training] { return training->step(); }),
                        .reference = libtorch_side(fmt::format("step {}", hidden))};
          }};
}

// Several lines of Python as one.
std::string one_line(const std::string& program) {
  std::string literal;
  for (const char c : program) {
    if (c == '\n') {
      literal += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return "exec(\"" + literal + "\")";
}

// `model` and `loss` are Python; the input is a batch of images of `size`.
std::string torch_setup(const std::string& model, int64_t batch, int64_t size, bool bf16,
                        const std::string& target, const std::string& loss) {
  return one_line(fmt::format(
      "torch.set_grad_enabled(True)\nimport torchvision\n{}{}\n"
      "m = fill(m).to(memory_format=torch.channels_last)\n"
      "x = make(({}, 3, {}, {}), -1, 1, 100).contiguous(memory_format=torch.channels_last)\n"
      "y = {}\n"
      "optimizer = torch.optim.SGD(m.parameters(), lr=1e-5, momentum=0.9)\n"
      "def step():\n"
      "    optimizer.zero_grad()\n"
      "    with torch.autocast('cpu', dtype=torch.bfloat16, enabled={}):\n"
      "        out = m(x)\n"
      "    loss = {}\n"
      "    loss.backward()\n"
      "    optimizer.step()\n"
      "    return loss.detach()\n",
      kFill, model, batch, size, size, target, bf16 ? "True" : "False", loss));
}

// ResNet-18 as it is used for images of 32x32: a 3x3 stem and no max pool.
Row resnet_row(const Plan& plan, int threads, bool bf16) {
  const int64_t batch = plan.size(128, 2);
  return {.name = fmt::format("ResNet-18, 32x32, batch {}, {}", batch, bf16 ? "bf16" : "f32"),
          .threads = threads,
          .target = bf16 ? Target{} : at_most(0.75),
          .tolerance = bf16 ? 2e-2 : 1e-3,
          .make = [batch, bf16] {
            models::ResNet net(models::kResNet18, 10);
            net.conv1 = nn::Conv2d(3, 64, 3, {.padding = 1, .bias = false});
            net.maxpool = nn::Sequential();
            auto training = std::make_shared<Training>(Training{
                std::move(net), make({batch, 3, 32, 32}, -1, 1, 100), remainder(arange(batch), 10),
                0.9, bf16, [](const Tensor& output, const Tensor& target) {
                  return nn::cross_entropy(output, target);
                }});
            training->begin(true);
            return Case{
                .ours = aorta_side([training] { return training->step(); }),
                .reference = torch_side(
                    torch_setup("m = torchvision.models.resnet18(num_classes=10)\n"
                                "m.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)\n"
                                "m.maxpool = torch.nn.Identity()",
                                batch, 32, bf16, fmt::format("torch.arange({}) % 10", batch),
                                "F.cross_entropy(out.float(), y)"),
                    "step()")};
          }};
}

// The segmenter: one output, dropout off on both sides.
Row deeplab_row(const Plan& plan, int threads, bool bf16) {
  const int64_t batch = plan.size(20, 2), size = plan.size(112, 32);
  return {
      .name = fmt::format("DeepLabV3-ResNet50, {0}x{0}, batch {1}, {2}", size, batch,
                          bf16 ? "bf16" : "f32"),
      .threads = threads,
      .target = at_most(bf16 ? 0.75 : 0.70),
      .tolerance = bf16 ? 2e-2 : 1e-3,
      .make = [batch, size, bf16] {
        models::DeepLabV3 net(models::kResNet50, {.num_classes = 1});
        net.apply([](nn::Module& module) {
          if (auto* dropout = dynamic_cast<nn::Dropout*>(&module)) dropout->options.p = 0;
        });
        auto training = std::make_shared<Training>(
            Training{std::move(net), make({batch, 3, size, size}, -1, 1, 100),
                     gt(make({batch, 1, size, size}, 0, 1, 101), 0.5).to(DType::f32), 0.9, bf16,
                     [](const Tensor& output, const Tensor& target) {
                       return nn::binary_cross_entropy_with_logits(output, target);
                     }});
        training->begin(true);
        return Case{
            .ours = aorta_side([training] { return training->step(); }),
            .reference = torch_side(
                torch_setup(
                    "m = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, "
                    "weights_backbone=None, num_classes=1)\n"
                    "for d in m.modules():\n"
                    "    if isinstance(d, torch.nn.Dropout): d.p = 0.0\n"
                    "m.train()",
                    batch, size, bf16,
                    fmt::format("(make(({0}, 1, {1}, {1}), 0, 1, 101) > 0.5).float()", batch, size),
                    "F.binary_cross_entropy_with_logits(out['out'].float(), y)"),
                "step()")};
      }};
}

}  // namespace

Rows training_rows(const Plan& plan) {
  Rows rows;
  rows.push_back(mlp_row(plan.size(30, 30), 0.25));
  rows.push_back(mlp_row(plan.size(80000, 100), 0.35));
  for (const int threads : plan.threads) {
    for (const bool bf16 : {false, true}) {
      rows.push_back(resnet_row(plan, threads, bf16));
      rows.push_back(deeplab_row(plan, threads, bf16));
    }
  }
  return rows;
}

}  // namespace aorta::bench

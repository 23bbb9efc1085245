#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/steps.h>
#include <fmt/format.h>

#include <cmath>

namespace aorta::bench {
namespace {

constexpr int64_t kCharacters = 65, kHeads = 4, kLayers = 2;

struct CharGpt : nn::Module {
  CharGpt(int64_t length, int64_t width)
      : token(*this, "token", kCharacters, width),
        position(*this, "position", length, width),
        blocks(*this, "blocks",
               nn::TransformerEncoderLayer(width, kHeads,
                                           {.dim_feedforward = 4 * width,
                                            .dropout = 0,
                                            .activation = nn::TransformerActivation::gelu,
                                            .batch_first = true,
                                            .norm_first = true}),
               kLayers, nn::LayerNorm(width)),
        head(*this, "head", width, kCharacters) {}
  Tensor forward(const Tensor& text) const override {
    return head(blocks(token(text) + position(arange(text.size(1), {.device = text.device()})),
                       {.is_causal = true}));
  }
  nn::Embedding token, position;
  nn::TransformerEncoder blocks;
  nn::Linear head;
};

constexpr const char* kTorchCharGpt =
    "class CharGpt(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.token = torch.nn.Embedding({0}, {2})\n"
    "        self.position = torch.nn.Embedding({1}, {2})\n"
    "        layer = torch.nn.TransformerEncoderLayer({2}, {3}, 4 * {2}, 0.0, 'gelu', "
    "batch_first=True, norm_first=True)\n"
    "        self.blocks = torch.nn.TransformerEncoder(layer, {4}, torch.nn.LayerNorm({2}), "
    "enable_nested_tensor=False)\n"
    "        self.head = torch.nn.Linear({2}, {0})\n"
    "        self.register_buffer('mask', "
    "torch.nn.Transformer.generate_square_subsequent_mask({1}))\n"
    "    def forward(self, text):\n"
    "        x = self.token(text) + self.position(torch.arange(text.shape[1], "
    "device=text.device))\n"
    "        return self.head(self.blocks(x, self.mask, is_causal=True))\n"
    "m = CharGpt()";

// Characters (batch, length), from a formula.
Tensor characters(int64_t batch, int64_t length, int64_t seed) {
  return floor(make({batch, length}, 0, kCharacters, seed)).to(i64);
}
std::string torch_characters(int64_t batch, int64_t length, int64_t seed) {
  return fmt::format("make(({}, {}), 0, {}, {}).floor().long()", batch, length, kCharacters, seed);
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

std::string torch_images(int64_t batch, int64_t size) {
  return fmt::format("make(({0}, 3, {1}, {1}), -1, 1, 100)", batch, size);
}

}  // namespace

void fill(nn::Module& module) {
  int64_t seed = 0;
  for (const auto& [name, parameter] : module.named_parameters()) {
    const NoGradGuard no_grad;
    if (parameter.dim() > 1) {
      const double bound =
          1 / std::sqrt(static_cast<double>(parameter.numel() / parameter.size(0)));
      parameter.copy_(make(parameter.shape(), -bound, bound, seed));
    } else if (name.ends_with("bias")) {
      parameter.zero_();
    }
    ++seed;
  }
}

void Training::begin(bool channels_last, Device device) {
  fill(*module);
  module->to(device);
  input = input.to(device);
  target = target.to(device);
  if (channels_last) {
    module->to(MemoryFormat::channels_last);
    input = input.contiguous(MemoryFormat::channels_last);
  }
  if (!forward) forward = [module = module](const Tensor& x) { return module(x); };
  optimizer = std::make_shared<optim::SGD>(module->parameters(),
                                           optim::SGDOptions{.lr = 1e-5, .momentum = momentum});
}

void Training::take_part(int rank, int size) {
  const int64_t each = input.size(0) / size;
  for (Tensor* tensor : {&input, &target}) {
    const Tensor part = tensor->slice(0, rank * each, (rank + 1) * each);
    *tensor =
        is_channels_last(part) ? part.contiguous(MemoryFormat::channels_last) : part.contiguous();
  }
}

Tensor Training::step(const Tensor& inputs, const Tensor& targets) const {
  optimizer->zero_grad();
  Tensor output;
  if (bf16) {
    const Autocast scope(DType::bf16);
    output = forward(inputs).to(DType::f32);
  } else {
    output = forward(inputs);
  }
  const Tensor value = loss(output, targets);
  value.backward();
  optimizer->step();
  return value.detach();
}

Training mlp_training(int64_t hidden) {
  return {.module = nn::Sequential(nn::Linear(784, hidden), nn::Sigmoid(), nn::Linear(hidden, 10),
                                   nn::Sigmoid()),
          .input = make({10, 784}, 0, 1, 100),
          .target = make({10, 10}, 0, 1, 101),
          .loss = [](const Tensor& output,
                     const Tensor& target) { return nn::mse_loss(output, target); },
          .momentum = 0};
}

TorchTraining torch_mlp(int64_t hidden) {
  return {.model = fmt::format("m = torch.nn.Sequential(torch.nn.Linear(784, {0}), "
                               "torch.nn.Sigmoid(), torch.nn.Linear({0}, 10), torch.nn.Sigmoid())",
                               hidden),
          .input = "make((10, 784), 0, 1, 100)",
          .target = "make((10, 10), 0, 1, 101)",
          .loss = "F.mse_loss(out, y)",
          .momentum = 0,
          .channels_last = false};
}

Training resnet_training(int64_t batch, bool bf16) {
  models::ResNet net(models::kResNet18, 10);
  net.conv1 = nn::Conv2d(3, 64, 3, {.padding = 1, .bias = false});
  net.maxpool = nn::Sequential();
  return {.module = std::move(net),
          .input = make({batch, 3, 32, 32}, -1, 1, 100),
          .target = remainder(arange(batch), 10),
          .loss = [](const Tensor& output,
                     const Tensor& target) { return nn::cross_entropy(output, target); },
          .bf16 = bf16};
}

TorchTraining torch_resnet(int64_t batch, bool bf16) {
  return {.model =
              "import torchvision\n"
              "m = torchvision.models.resnet18(num_classes=10)\n"
              "m.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)\n"
              "m.maxpool = torch.nn.Identity()",
          .input = torch_images(batch, 32),
          .target = fmt::format("torch.arange({}) % 10", batch),
          .loss = "F.cross_entropy(out.float(), y)",
          .bf16 = bf16};
}

Training deeplab_training(int64_t batch, int64_t size, bool bf16) {
  models::DeepLabV3 net(models::kResNet50, {.num_classes = 1});
  net.apply([](nn::Module& module) {
    if (auto* dropout = dynamic_cast<nn::Dropout*>(&module)) dropout->options.p = 0;
  });
  return {.module = std::move(net),
          .input = make({batch, 3, size, size}, -1, 1, 100),
          .target = gt(make({batch, 1, size, size}, 0, 1, 101), 0.5).to(DType::f32),
          .loss =
              [](const Tensor& output, const Tensor& target) {
                return nn::binary_cross_entropy_with_logits(output, target);
              },
          .bf16 = bf16};
}

TorchTraining torch_deeplab(int64_t batch, int64_t size, bool bf16) {
  return {.model =
              "import torchvision\n"
              "m = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, "
              "weights_backbone=None, num_classes=1)\n"
              "for d in m.modules():\n"
              "    if isinstance(d, torch.nn.Dropout): d.p = 0.0\n"
              "m.train()",
          .input = torch_images(batch, size),
          .target = fmt::format("(make(({0}, 1, {1}, {1}), 0, 1, 101) > 0.5).float()", batch, size),
          .loss = "F.binary_cross_entropy_with_logits(out['out'].float(), y)",
          .bf16 = bf16};
}

Training unet_3d_training(int64_t batch, int64_t frames, int64_t size) {
  return {.module = models::UNet3d(),
          .input = make({batch, 3, frames, size, size}, -1, 1, 100),
          .target = gt(make({batch, 1, frames - 2, size, size}, 0, 1, 101), 0.5).to(DType::f32),
          .loss = [](const Tensor& output, const Tensor& target) {
            return nn::binary_cross_entropy_with_logits(output, target);
          }};
}

TorchTraining torch_unet_3d(int64_t batch, int64_t frames, int64_t size) {
  const auto clips = [&](int64_t channels, int64_t length) {
    return fmt::format("{}, {}, {}, {}, {}", batch, channels, length, size, size);
  };
  return {.model =
              "import os, sys\n"
              "sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "
              "'../../tests/fixtures'))\n"
              "from make_models import UNet3d\n"
              "torch.set_default_dtype(torch.float32)\n"  // make_models works in f64
              "m = UNet3d(3, 1, 16, 4)",
          .input = fmt::format("make(({}), -1, 1, 100)", clips(3, frames)),
          .target = fmt::format("(make(({}), 0, 1, 101) > 0.5).float()", clips(1, frames - 2)),
          .loss = "F.binary_cross_entropy_with_logits(out, y)"};
}

Training char_gpt_training(int64_t batch, int64_t length, int64_t width) {
  return {.module = CharGpt(length, width),
          .input = characters(batch, length, 100),
          .target = characters(batch, length, 101),
          .loss = [](const Tensor& output, const Tensor& target) {
            return nn::cross_entropy(output.flatten(0, 1), target.flatten());
          }};
}

TorchTraining torch_char_gpt(int64_t batch, int64_t length, int64_t width) {
  return {.model = fmt::format(kTorchCharGpt, kCharacters, length, width, kHeads, kLayers),
          .input = torch_characters(batch, length, 100),
          .target = torch_characters(batch, length, 101),
          .loss = "F.cross_entropy(out.flatten(0, 1), y.flatten())",
          .channels_last = false};
}

std::string torch_setup(const TorchTraining& training) {
  std::string made = fmt::format("{}\nm = fill(m)\nx, y = {}, {}\n", training.model, training.input,
                                 training.target);
  if (training.distributed || training.sharded) {
    made +=
        "d = torch.distributed\n"
        "x, y = (t.chunk(d.get_world_size())[d.get_rank()] for t in (x, y))\n";
  }
  made += fmt::format("m, x, y = m.to('{0}'), x.to('{0}'), y.to('{0}')\n", training.device);
  if (training.channels_last) {
    made +=
        "m = m.to(memory_format=torch.channels_last)\n"
        "x = x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x\n";
  }
  if (training.compiled) made += "m = torch.compile(m)\n";
  if (training.distributed) made += "m = torch.nn.parallel.DistributedDataParallel(m)\n";
  if (training.sharded) {
    made +=
        "from torch.distributed.fsdp import fully_shard\n"
        "mesh = d.device_mesh.init_device_mesh('cpu', (d.get_world_size(),))\n"
        "for part in m.modules():\n"
        "    if isinstance(part, torch.nn.TransformerEncoderLayer): fully_shard(part, mesh=mesh)\n"
        "fully_shard(m, mesh=mesh)\n";
  }
  return one_line("torch.set_grad_enabled(True)\n" + made +
                  fmt::format("optimizer = torch.optim.SGD(m.parameters(), lr=1e-5, momentum={})\n"
                              "def step():\n"
                              "    optimizer.zero_grad()\n"
                              "    with torch.autocast('{}', dtype=torch.bfloat16, enabled={}):\n"
                              "        out = m(x)\n"
                              "    loss = {}\n"
                              "    loss.backward()\n"
                              "    optimizer.step()\n"
                              "    return loss.detach()\n",
                              training.momentum, training.device, training.bf16 ? "True" : "False",
                              training.loss));
}

}  // namespace aorta::bench

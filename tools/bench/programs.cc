#include <aorta/aorta.h>
#include <aorta/tools/bench/programs.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/steps.h>

#include <memory>

namespace aorta::bench {
namespace {

using Step = std::function<Tensor()>;

// Whole numbers from 0 to `bound` - 1, from a formula.
Tensor integers(const Shape& shape, double bound, int64_t seed) {
  return floor(make(shape, 0, bound, seed)).to(i64);
}

// zero_grad, forward and loss with autocast where it is asked for, backward, clipping, step.
template <class Optimizer, class Loss>
Step step_of(nn::AnyModule net, const typename Optimizer::Options& options, bool bf16, Loss loss_of,
             double clip = 0) {
  const auto optimizer = std::make_shared<Optimizer>(net->parameters(), options);
  return [=] {
    optimizer->zero_grad();
    Tensor loss;
    {
      const Autocast scope(bf16 ? DType::bf16 : DType::f32);
      loss = loss_of();
    }
    loss.backward();
    if (clip > 0) optim::clip_grad_norm_(net->parameters(), clip);
    optimizer->step();
    return loss.detach();
  };
}

// A network of images in channels_last, trained by SGD with momentum.
Step image_step(nn::AnyModule net, const Sizes& sizes, bool bf16,
                const std::function<Tensor(const Tensor& output)>& loss) {
  fill(*net);
  net->to(MemoryFormat::channels_last);
  const Tensor x =
      make({sizes[0], 3, sizes[1], sizes[1]}, -1, 1, 100).contiguous(MemoryFormat::channels_last);
  return step_of<optim::SGD>(net, {.lr = 1e-5, .momentum = 0.9}, bf16,
                             [=] { return loss(net(x)); });
}

Step resnet_step(const models::ResNetLayout& kind, const Sizes& sizes, bool bf16) {
  const Tensor y = remainder(arange(sizes[0]), 10);
  return image_step(models::ResNet(kind, 10), sizes, bf16,
                    [=](const Tensor& output) { return nn::cross_entropy(output, y); });
}

Step unet_small_step(const Sizes& sizes, bool bf16) {
  const Tensor y = gt(make({sizes[0], 1, sizes[1], sizes[1]}, 0, 1, 101), 0.5).to(DType::f32);
  return image_step(
      models::UNet({.num_classes = 1, .base_channels = 16}), sizes, bf16,
      [=](const Tensor& output) { return nn::binary_cross_entropy_with_logits(output, y); });
}

// EchoNet-Dynamic's network of clips and its loss: the square of what the ejection fraction is off.
Step r2plus1d_step(const Sizes& sizes, bool bf16) {
  nn::AnyModule net = models::VideoResNet(models::kR2Plus1D18, 1);
  fill(*net);
  net->to(MemoryFormat::channels_last);
  const Tensor x = make({sizes[0], 3, sizes[1], sizes[2], sizes[2]}, -1, 1, 100)
                       .contiguous(MemoryFormat::channels_last);
  const Tensor y = make({sizes[0], 1}, 30, 70, 101);
  return step_of<optim::SGD>(net, {.lr = 1e-6, .momentum = 0.9}, bf16,
                             [=] { return nn::mse_loss(net(x).to(f32), y); });
}

// A frame through DeepLabV3-ResNet50 without gradients.
Step inference_step(const Sizes& sizes, bool) {
  const auto net = std::make_shared<models::DeepLabV3>(
      models::kResNet50, models::SegmentationOptions{.num_classes = 1});
  fill(*net);
  net->to(MemoryFormat::channels_last);
  net->eval();
  const Tensor x =
      make({sizes[0], 3, sizes[1], sizes[1]}, -1, 1, 100).contiguous(MemoryFormat::channels_last);
  return [=] {
    const NoGradGuard no_grad;
    return (*net)(x);
  };
}

// The char-GPT of nanoGPT's size for Shakespeare: 6 layers of 6 heads, 384 wide, 256 long.
struct GptBlock : nn::Module {
  explicit GptBlock(int64_t width)
      : ln_1(*this, "ln_1", width, {.bias = false}),
        qkv(*this, "qkv", width, 3 * width, {.bias = false}),
        proj(*this, "proj", width, width, {.bias = false}),
        ln_2(*this, "ln_2", width, {.bias = false}),
        fc(*this, "fc", width, 4 * width, {.bias = false}),
        out(*this, "out", 4 * width, width, {.bias = false}) {}
  Tensor forward(const Tensor& input) const override {
    const int64_t n = input.size(0), length = input.size(1), width = input.size(2);
    std::vector<Tensor> parts = split(qkv(ln_1(input)), width, 2);
    for (Tensor& part : parts) part = part.view({n, length, 6, width / 6}).transpose(1, 2);
    const Tensor y =
        scaled_dot_product_attention(parts[0], parts[1], parts[2], {.is_causal = true});
    const Tensor x = input + proj(y.transpose(1, 2).reshape({n, length, width}));
    return x + out(gelu(fc(ln_2(x))));
  }
  nn::LayerNorm ln_1;
  nn::Linear qkv, proj;
  nn::LayerNorm ln_2;
  nn::Linear fc, out;
};
struct Gpt : nn::Module {
  Gpt(int64_t characters, int64_t length, int64_t width)
      : wte(*this, "wte", characters, width),
        wpe(*this, "wpe", length, width),
        ln_f(*this, "ln_f", width, {.bias = false}),
        head(*this, "head", width, characters, {.bias = false}) {
    for (int i = 0; i < 6; ++i) blocks.push_back(GptBlock(width));
    wte.weight = head.weight;
  }
  Tensor forward(const Tensor& text) const override {
    Tensor x = wte(text) + wpe(arange(text.size(1)));
    for (const auto& block : blocks) x = block(x);
    return head(ln_f(x));
  }
  nn::Embedding wte, wpe;
  nn::ModuleList blocks{*this, "blocks"};
  nn::LayerNorm ln_f;
  nn::Linear head;
};
Step char_gpt_step(const Sizes& sizes, bool bf16) {
  nn::AnyModule net = Gpt(65, sizes[1], 384);
  fill(*net);
  const Shape shape{sizes[0], sizes[1]};
  const Tensor x = integers(shape, 65, 100), y = integers(shape, 65, 101);
  return step_of<optim::AdamW>(
      net, {.lr = 1e-4, .betas = {0.9, 0.99}}, bf16,
      [=] { return nn::cross_entropy(net(x).flatten(0, 1), y.flatten()); }, 1);
}

struct ViT : nn::Module {
  explicit ViT(int64_t width)
      : patch(*this, "patch", 3, width, 4, {.stride = 4}),
        cls(*this, "cls", zeros({1, 1, width})),
        pos(*this, "pos", zeros({1, 65, width})),
        norm(*this, "norm", width),
        head(*this, "head", width, 10) {
    for (int i = 0; i < 6; ++i) {
      layers.push_back(nn::TransformerEncoderLayer(width, 3,
                                                   {.dim_feedforward = 4 * width,
                                                    .dropout = 0,
                                                    .activation = nn::TransformerActivation::gelu,
                                                    .batch_first = true,
                                                    .norm_first = true}));
    }
  }
  Tensor forward(const Tensor& images) const override {
    const Tensor patches = patch(images).flatten(2).transpose(1, 2);
    Tensor x = cat({cls.expand({images.size(0), -1, -1}), patches}, 1) + pos;
    for (const auto& layer : layers) x = layer(x);
    return head(norm(x.select(1, 0)));
  }
  nn::Conv2d patch;
  nn::Parameter cls, pos;
  nn::ModuleList layers{*this, "layers"};
  nn::LayerNorm norm;
  nn::Linear head;
};
Step vit_step(const Sizes& sizes, bool bf16) {
  const int64_t batch = sizes[0];
  nn::AnyModule net = ViT(192);
  fill(*net);
  const Tensor x = make({batch, 3, 32, 32}, -1, 1, 100), y = remainder(arange(batch), 10);
  return step_of<optim::AdamW>(net, {.lr = 1e-5, .weight_decay = 0.05}, bf16, [=] {
    return nn::cross_entropy(net(x), y, {.label_smoothing = 0.1});
  });
}

// PyTorch's word_language_model: two layers of 512, 35 words, of 10,000. The state goes on.
template <class Rnn, class State>
struct LanguageModel : nn::Module {
  Tensor forward(const Tensor& text) const override {
    const auto y = rnn(encoder(text), state);
    if constexpr (std::is_same_v<State, LstmState>) {
      state = {y.state.h.detach(), y.state.c.detach()};
    } else {
      state = y.h.detach();
    }
    return decoder(y.output);
  }
  nn::Embedding encoder{*this, "encoder", 10000, 512};
  Rnn rnn{*this, "rnn", 512, 512, {.num_layers = 2}};
  nn::Linear decoder{*this, "decoder", 512, 10000};
  mutable State state;
};
template <class Rnn, class State>
Step language_model_step(const Sizes& sizes, bool bf16) {
  nn::AnyModule net = LanguageModel<Rnn, State>();
  fill(*net);
  const Shape shape{sizes[1], sizes[0]};
  const Tensor x = integers(shape, 10000, 100), y = integers(shape, 10000, 101);
  return step_of<optim::SGD>(
      net, {.lr = 1e-3}, bf16, [=] { return nn::cross_entropy(net(x).flatten(0, 1), y.flatten()); },
      0.25);
}

// Radford et al. 2016, 64 planes.
struct Dcgan {
  static nn::ConvTranspose2d up(int64_t in, int64_t out, int64_t stride, int64_t padding) {
    return nn::ConvTranspose2d(in, out, 4, {.stride = stride, .padding = padding, .bias = false});
  }
  static nn::Conv2d down(int64_t in, int64_t out, int64_t stride, int64_t padding) {
    return nn::Conv2d(in, out, 4, {.stride = stride, .padding = padding, .bias = false});
  }
  static Tensor bce(const Tensor& logits, double target) {
    return nn::binary_cross_entropy_with_logits(logits, full_like(logits, target));
  }
  nn::Sequential G{up(100, 512, 1, 0),   nn::BatchNorm2d(512),
                   nn::ReLU(true),       up(512, 256, 2, 1),
                   nn::BatchNorm2d(256), nn::ReLU(true),
                   up(256, 128, 2, 1),   nn::BatchNorm2d(128),
                   nn::ReLU(true),       up(128, 64, 2, 1),
                   nn::BatchNorm2d(64),  nn::ReLU(true),
                   up(64, 3, 2, 1),      nn::Tanh()};
  nn::Sequential D{down(3, 64, 2, 1),    nn::LeakyReLU(0.2, true), down(64, 128, 2, 1),
                   nn::BatchNorm2d(128), nn::LeakyReLU(0.2, true), down(128, 256, 2, 1),
                   nn::BatchNorm2d(256), nn::LeakyReLU(0.2, true), down(256, 512, 2, 1),
                   nn::BatchNorm2d(512), nn::LeakyReLU(0.2, true), down(512, 1, 1, 0)};
  Tensor real, noise;
  DType dtype;
  std::unique_ptr<optim::Adam> of_g, of_d;

  Tensor step() {
    Tensor loss_d, loss_g, made;
    of_d->zero_grad();
    {
      const Autocast scope(dtype);
      made = G(noise);
      loss_d = bce(D(real), 1) + bce(D(made.detach()), 0);
    }
    loss_d.backward();
    of_d->step();
    of_g->zero_grad();
    {
      const Autocast scope(dtype);
      loss_g = bce(D(made), 1);
    }
    loss_g.backward();
    of_g->step();
    return (loss_d + loss_g).detach();
  }
};
Step dcgan_step(const Sizes& sizes, bool bf16) {
  const int64_t batch = sizes[0];
  const auto gan = std::make_shared<Dcgan>();
  fill(gan->G);
  fill(gan->D);
  gan->real = make({batch, 3, 64, 64}, -1, 1, 100);
  gan->noise = make({batch, 100, 1, 1}, -1, 1, 101);
  gan->dtype = bf16 ? DType::bf16 : DType::f32;
  const optim::AdamOptions options{.lr = 1e-6, .betas = {0.5, 0.999}};
  gan->of_g = std::make_unique<optim::Adam>(gan->G.parameters(), options);
  gan->of_d = std::make_unique<optim::Adam>(gan->D.parameters(), options);
  return [gan] { return gan->step(); };
}

// PyTorch's example of a variational autoencoder: 784, 400, 20.
struct Vae : nn::Module {
  nn::Linear fc1{*this, "fc1", 784, 400}, fc21{*this, "fc21", 400, 20},
      fc22{*this, "fc22", 400, 20}, fc3{*this, "fc3", 20, 400}, fc4{*this, "fc4", 400, 784};
};
Step vae_step(const Sizes& sizes, bool bf16) {
  const int64_t batch = sizes[0];
  const auto net = std::make_shared<Vae>();
  fill(*net);
  const Tensor x = make({batch, 784}, 0, 1, 100), noise = make({batch, 20}, -1, 1, 101);
  const auto optimizer =
      std::make_shared<optim::Adam>(net->parameters(), optim::AdamOptions{.lr = 1e-6});
  return [=] {
    optimizer->zero_grad();
    Tensor image, mean, log_variance;
    {
      const Autocast scope(bf16 ? DType::bf16 : DType::f32);
      const Tensor h = net->fc1(x).relu();
      mean = net->fc21(h);
      log_variance = net->fc22(h);
      const Tensor z = mean + noise * (0.5 * log_variance).exp();
      image = net->fc4(net->fc3(z).relu()).sigmoid();
    }
    const Tensor error = nn::binary_cross_entropy(image.to(f32), x, {.reduction = Reduction::sum});
    mean = mean.to(f32);
    log_variance = log_variance.to(f32);
    const Tensor loss = error - 0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum();
    loss.backward();
    optimizer->step();
    return loss.detach();
  };
}

Step autoencoder_step(const Sizes& sizes, bool bf16) {
  const int64_t batch = sizes[0];
  const nn::ConvTransposeOptions twice{.stride = 2, .padding = 1, .output_padding = 1};
  nn::AnyModule net = nn::Sequential{nn::Conv2d(1, 16, 3, {.stride = 2, .padding = 1}),
                                     nn::ReLU(),
                                     nn::Conv2d(16, 32, 3, {.stride = 2, .padding = 1}),
                                     nn::ReLU(),
                                     nn::Conv2d(32, 64, 7),
                                     nn::ConvTranspose2d(64, 32, 7),
                                     nn::ReLU(),
                                     nn::ConvTranspose2d(32, 16, 3, twice),
                                     nn::ReLU(),
                                     nn::ConvTranspose2d(16, 1, 3, twice),
                                     nn::Sigmoid()};
  fill(*net);
  const Tensor x = make({batch, 1, 28, 28}, 0, 1, 100);
  return step_of<optim::Adam>(net, {.lr = 1e-6}, bf16, [=] { return nn::mse_loss(net(x), x); });
}

// Kim 2014: 56 words of 20,000, windows of 3, 4 and 5.
struct TextCnn : nn::Module {
  TextCnn() {
    for (const int64_t kernel : {3, 4, 5}) convs.push_back(nn::Conv1d(128, 100, kernel));
  }
  Tensor forward(const Tensor& text) const override {
    const Tensor x = embed(text).transpose(1, 2);
    std::vector<Tensor> parts;
    for (const auto& conv : convs) parts.push_back(conv(x).relu().amax(2));
    return fc(cat(parts, 1));
  }
  nn::Embedding embed{*this, "embed", 20000, 128, {.padding_idx = 0}};
  nn::ModuleList convs{*this, "convs"};
  nn::Linear fc{*this, "fc", 300, 2};
};
Step text_cnn_step(const Sizes& sizes, bool bf16) {
  const int64_t batch = sizes[0];
  nn::AnyModule net = TextCnn();
  fill(*net);
  const Tensor x = integers({batch, 56}, 20000, 100), y = remainder(arange(batch), 2);
  return step_of<optim::Adam>(net, {.lr = 1e-6}, bf16,
                              [=] { return nn::cross_entropy(net(x), y); });
}

}  // namespace

const std::vector<Program>& programs() {
  static const std::vector<Program> all{
      {"resnet18",
       "ResNet-18, {0}x{0}",
       {16, 224},
       {2, 64},
       0.5,
       0.65,
       [](const Sizes& sizes, bool bf16) { return resnet_step(models::kResNet18, sizes, bf16); }},
      {"resnet50",
       "ResNet-50, {0}x{0}",
       {8, 224},
       {4, 96},
       0.55,
       0.65,
       [](const Sizes& sizes, bool bf16) { return resnet_step(models::kResNet50, sizes, bf16); }},
      {"r2plus1d_18",
       "R(2+1)D-18, {0}x{1}x{1}",
       {8, 32, 112},
       {2, 4, 32},
       0.6,
       0.7,
       r2plus1d_step,
       false,
       2},
      {"unet_small", "unet_small, {0}x{0}", {20, 112}, {2, 32}, 0.3, 0, unet_small_step},
      {"char_gpt",
       "char-GPT, 6 layers of 384, {0} long",
       {12, 256},
       {2, 16},
       0.6,
       0.65,
       char_gpt_step},
      {"vit", "ViT, 32x32 by 4, 6 layers of 192", {64}, {2}, 0.5, 0.5, vit_step},
      {"lstm",
       "LSTM language model, 2 x 512, {0} long",
       {20, 35},
       {2, 3},
       0.5,
       0,
       language_model_step<nn::LSTM, LstmState>},
      {"gru",
       "GRU language model, 2 x 512, {0} long",
       {20, 35},
       {2, 3},
       0.5,
       0,
       language_model_step<nn::GRU, Tensor>},
      {"dcgan", "DCGAN, 64x64", {32}, {2}, 0.5, 0.55, dcgan_step},
      {"vae", "VAE, 784-400-20", {128}, {2}, 0.3, 0, vae_step},
      {"autoencoder", "autoencoder, 28x28", {64}, {2}, 0.3, 0, autoencoder_step},
      {"text_cnn", "text CNN, 56 words", {50}, {2}, 0.3, 0, text_cnn_step},
      {"inference",
       "DeepLabV3-ResNet50, {0}x{0}, inference",
       {1, 112},
       {1, 32},
       0.6,
       0,
       inference_step,
       true},
  };
  return all;
}

}  // namespace aorta::bench

// Fast style transfer (Johnson, Alahi, Fei-Fei 2016): a network repaints images in a style, in one
// pass. To fixed features what it paints must look as the image and, in correlations of features
// (Gram matrices), as the style.
//
//     style_transfer [STEPS = 400] [PICTURE = style_transfer.png] [VGG16.safetensors = by chance]
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

nn::Sequential conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  const nn::ConvOptions same{
      .stride = stride, .padding = kernel / 2, .padding_mode = PadMode::reflect};
  return nn::Sequential(nn::Conv2d(in, out, kernel, same),
                        nn::InstanceNorm2d(out, {.affine = true}));
}
struct Residual : nn::Sequential {
  explicit Residual(int64_t w) : Sequential(conv(w, w, 3), nn::ReLU(), conv(w, w, 3)) {}
  Tensor forward(const Tensor& x) const override { return x + Sequential::forward(x); }
};
nn::Sequential make_painter(int64_t w) {  // (N, 3, H, W) -> the same, in [0, 1]
  return nn::Sequential(conv(3, w, 9), nn::ReLU(), conv(w, 2 * w, 3, 2), nn::ReLU(),
                        Residual(2 * w), Residual(2 * w), nn::Upsample({.scale_factor = {2}}),
                        conv(2 * w, w, 3), nn::ReLU(), conv(w, 3, 9), nn::Sigmoid());
}
nn::Sequential make_features(int64_t w) {  // the first layers of VGG-16, whose width is 64
  nn::Sequential net;
  for (int64_t in = 3; const int64_t out : {w, w, 2 * w, 2 * w, 4 * w, 4 * w, 4 * w}) {
    if (in > 3 && in != out) net.push_back(nn::MaxPool2d(2));
    net.push_back(nn::Conv2d(std::exchange(in, out), out, 3, {.padding = 1}));
    net.push_back(nn::ReLU());
  }
  for (const Tensor& x : net.parameters())
    if (x.requires_grad_(false).dim() > 1) nn::init::kaiming_normal_(x);
  return net;
}
std::vector<Tensor> look(const nn::Sequential& features, const Tensor& images) {
  std::vector<Tensor> maps{(images - tensor({0.485f, 0.456f, 0.406f}).view(3, 1, 1)) / 0.225};
  for (int64_t i = 0; i < 16; ++i) maps.push_back(features[i](maps.back()));
  return {maps[4], maps[9], maps[16]};  // relu1_2, relu2_2, relu3_3
}
Tensor gram(const Tensor& maps) {
  const Tensor rows = maps.flatten(2);
  return rows.matmul(rows.transpose(1, 2)) / rows[0].numel();
}
Tensor style_loss(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  const auto off = [&](size_t i) { return (gram(a[i]) - gram(b[i])).square().mean(); };
  return off(0) + off(1) + off(2);
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  nn::Sequential features = make_features(argc > 3 ? 64 : 16), painter = make_painter(8);
  if (argc > 3) models::load_weights(features, argv[3], {.strict = false});
  const Tensor x = arange(48, {.dtype = f32}), y = x.unsqueeze(1);
  const Tensor waves = (0.9 * (x + y)).sin(), colour = tensor({0.5f, 0.2f, -0.5f});
  const Tensor style = 0.5 + waves * colour.view(1, 3, 1, 1);
  const auto wanted = look(features, style);
  optim::Adam optimizer(painter.parameters(), {.lr = 3e-3});
  float left = 1;  // of the distance of the images' style from the style; a running mean
  for (int step = 1; step <= (argc > 1 ? std::stoi(argv[1]) : 400); ++step) {
    const Tensor r = rand({8, 8, 1, 1});  // where a disc is, its colour and that around it
    const Tensor to_x = x - 48 * r.narrow(1, 0, 1), to_y = y - 48 * r.narrow(1, 1, 1);
    const Tensor disc = to_x.square() + to_y.square() < 200;
    const Tensor image = where(disc, r.narrow(1, 2, 3), r.narrow(1, 5, 3)), made = painter(image);
    const auto before = look(features, image), after = look(features, made);
    const Tensor content = nn::mse_loss(after[1], before[1]), off = style_loss(after, wanted);
    optimizer.zero_grad();
    (content + 1000 * off).backward();
    optimizer.step();
    left = 0.95f * left + 0.05f * (off / style_loss(before, wanted)).item<float>();
    if (step % 50 == 0)
      std::cout << "step " << step << ": style " << 100 * left << " % as far as the images'\n";
    data::write_png((255 * cat({image[0], made[0], style[0]}, 2)).to(u8),
                    argc > 2 ? argv[2] : "style_transfer.png");
  }
}

// Super-resolution by sub-pixel convolution (Shi et al. 2016): a network that sees a small image
// computes the pixels between its own, and PixelShuffle lays them out.
//
//     super_resolution [STEPS = 600] [FOLDER = .]      writes super_resolution.png
//
// The images, drawn here, are discs and bars. Whoever has no network interpolates.
#include <aorta/aorta.h>

#include <cmath>
#include <iostream>

using namespace aorta;
constexpr int64_t kScale = 3, kSide = 48;

struct SuperResolution : nn::Module {
  explicit SuperResolution(int64_t scale)
      : conv1(*this, "conv1", 1, 32, 5, {.padding = 2}),
        conv2(*this, "conv2", 32, 32, 3, {.padding = 1}),
        conv3(*this, "conv3", 32, scale * scale, 3, {.padding = 1}),
        shuffle(*this, "shuffle", scale) {}
  // (N, 1, H, W) -> (N, 1, scale H, scale W)
  Tensor forward(const Tensor& x) const override {
    const Tensor each = x.expand(-1, shuffle.upscale_factor * shuffle.upscale_factor, -1, -1);
    return shuffle(each + conv3(conv2(conv1(x).relu()).relu()));
  }
  nn::Conv2d conv1, conv2, conv3;
  nn::PixelShuffle shuffle;
};

// (count, 1, 48, 48) in [0, 1]: a disc and a slanted bar each.
Tensor draw(int64_t count) {
  const Tensor x = arange(kSide, {.dtype = f32}), y = x.unsqueeze(1);
  std::vector<Tensor> images;
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> r = rand({6}).to_vector<float>();
    const Tensor to_x = x - 48 * r[0], to_y = y - 48 * r[1];
    const Tensor disc = to_x.square() + to_y.square() < 20 + 150 * r[2];
    const Tensor along = std::cos(3.14f * r[3]) * (x - 48 * r[4]);
    const Tensor bar = (along + std::sin(3.14f * r[3]) * (y - 48 * r[5])).abs() < 2.5;
    images.push_back((0.4 + 0.6 * disc.to(f32)) * (1 - 0.8 * bar.to(f32)));
  }
  return stack(images).unsqueeze(1);
}

// The peak signal-to-noise ratio of images in [0, 1], in dB.
double psnr(const Tensor& x, const Tensor& y) {
  return -10 * std::log10(mse_loss(x, y).item<double>());
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 600;
  const std::string folder = argc > 2 ? argv[2] : ".";
  const SuperResolution net(kScale);
  optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  for (int step = 1; step <= steps; ++step) {
    const Tensor large = draw(16), small = avg_pool2d(large, kScale);
    const Tensor loss = nn::mse_loss(net(small), large);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 50 == 0) std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
  }
  const NoGradGuard no_grad;
  const Tensor large = draw(32), small = avg_pool2d(large, kScale), made = net(small);
  const Tensor plain =
      interpolate(small, {.scale_factor = {kScale}, .mode = InterpolateMode::bicubic});
  std::cout << "network: " << psnr(made, large) << " dB, bicubic: " << psnr(plain, large)
            << " dB\n";
  const Tensor rows = cat({plain[0][0], made[0][0], large[0][0]}, 1).clamp(0, 1);
  data::write_png((255 * rows).to(u8), folder + "/super_resolution.png");
}

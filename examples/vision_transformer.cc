// A Vision Transformer (Dosovitskiy et al. 2021) on the MNIST digits: an image is a sequence of
// patches, and a class token in front of them gathers what the label needs.
//
//     vision_transformer [EPOCHS = 5] [FOLDER = what AORTA_MNIST names] [WIDTH = 64]
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

struct VisionTransformer : nn::Module {
  VisionTransformer(int64_t side, int64_t patch_side, int64_t width, int64_t heads, int64_t layers,
                    int64_t classes)
      : patch(*this, "patch", 1, width, patch_side, {.stride = patch_side}),
        class_token(*this, "class_token", zeros({1, 1, width})),
        position(*this, "position",
                 0.02 * randn({1, 1 + (side / patch_side) * (side / patch_side), width})),
        encoder(*this, "encoder",
                nn::TransformerEncoderLayer(width, heads,
                                            {.dim_feedforward = 4 * width,
                                             .dropout = 0,
                                             .activation = nn::TransformerActivation::gelu,
                                             .batch_first = true,
                                             .norm_first = true}),
                layers, nn::LayerNorm(width)),
        head(*this, "head", width, classes) {}
  // (N, 1, side, side) -> (N, classes)
  Tensor forward(const Tensor& images) const override {
    const Tensor patches = patch(images).flatten(2).transpose(1, 2);
    const Tensor x = cat({class_token.expand(images.size(0), -1, -1), patches}, 1) + position;
    return head(encoder(x).select(1, 0));
  }
  nn::Conv2d patch;
  nn::Parameter class_token, position;
  nn::TransformerEncoder encoder;
  nn::Linear head;
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 5;
  const std::string folder = argc > 2 ? argv[2] : "mnist";
  const auto digits = data::make_dataset<data::Mnist>(folder, data::Split::train);
  const auto unseen = data::make_dataset<data::Mnist>(folder, data::Split::test);
  data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true});
  const VisionTransformer net(28, 7, argc > 3 ? std::stoi(argv[3]) : 64, 4, 4, 10);
  optim::AdamW optimizer(net.parameters(), {.weight_decay = 0.05});
  optim::OneCycleLR schedule(optimizer, {.max_lr = {2e-3}, .total_steps = epochs * loader.size()});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (const auto& batch : loader) {
      optimizer.zero_grad();
      nn::cross_entropy(net(batch["image"]), batch["label"], {.label_smoothing = 0.1}).backward();
      optimizer.step();
      schedule.step();
    }
    const NoGradGuard no_grad;
    int64_t right = 0;
    for (const auto& batch : data::DataLoader(unseen, {.batch_size = 1000}))
      right += (net(batch["image"]).argmax(1) == batch["label"]).sum().item<int64_t>();
    std::cout << "epoch " << epoch << ": " << 100.0 * right / unseen->size()
              << " % of the test set right" << std::endl;
  }
}

// Fine-tuning: a ResNet-18 with torchvision's weights gets a new head, which learns new classes
// from eight images each; the rest of it stays as it is. Then it is shipped as fine_tuned.onnx.
//
//     fine_tune [WEIGHTS.safetensors = what the program first learns, of others] [STEPS = 60]
//
// torchvision's come from Python:
//     save_file(torchvision.models.resnet18(weights="DEFAULT").state_dict(),
//     "resnet18.safetensors")
//
// The images, made here, are stripes, and their direction is the class: the first weights know 0,
// 36, ... degrees, and the new head tells those halfway between.
#include <aorta/aorta.h>
#include <aorta/onnx/onnx.h>

#include <iostream>

using namespace aorta;
constexpr int64_t kClasses = 5, kSide = 32;

struct Images {
  Tensor image, label;  // (N, 3, 32, 32), (N)
};
Images draw(int64_t count, double offset) {
  const Tensor label = arange(count) % kClasses;
  const Tensor angle = ((label + offset) * (3.14159 / kClasses)).view(count, 1, 1, 1);
  const Tensor x = arange(kSide, {.dtype = f32}), y = x.unsqueeze(1);
  const Tensor along = (angle.cos() * x + angle.sin() * y) * (0.6 + 0.4 * rand({count, 1, 1, 1}));
  const Tensor stripes = (along + 6.28 * rand({count, 1, 1, 1})).sin();
  const Tensor colours = randn({count, 3, 1, 1}), noise = randn({count, 3, kSide, kSide});
  return {randn({count, 3, 1, 1}) + colours * stripes + 0.3 * noise, label};
}

float right(const nn::Module& net, const Images& images) {
  const NoGradGuard no_grad;
  return 100 * (net(images.image).argmax(1) == images.label).to(f32).mean().item<float>();
}

// ResNet-18 as it was trained, but for a new head, which alone learns.
nn::AnyModule with_new_head(const std::string& weights) {
  const nn::AnyModule net = models::make("resnet18", {.num_classes = kClasses});
  models::load_weights(*net, weights, {.leave_out = {"fc"}});
  net->requires_grad_(false);
  net->get_submodule("fc").requires_grad_();
  net->eval();  // batch norm keeps its statistics
  return net;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const std::string weights = argc > 1 ? argv[1] : "resnet18.safetensors";
  const int steps = argc > 2 ? std::stoi(argv[2]) : 60;
  if (argc < 2) {
    const nn::AnyModule net = models::make("resnet18", {.num_classes = kClasses});
    optim::Adam optimizer(net->parameters(), {.lr = 1e-3});
    for (int step = 0; step < 60; ++step) {
      const Images images = draw(32, 0);
      optimizer.zero_grad();
      nn::cross_entropy(net(images.image), images.label).backward();
      optimizer.step();
    }
    save(net->state_dict(), weights);
  }
  const nn::AnyModule net = with_new_head(weights);
  const Images few = draw(8 * kClasses, 0.5), unseen = draw(200, 0.5);
  optim::Adam optimizer(net->get_submodule("fc").parameters(), {.lr = 1e-2});
  for (int step = 1; step <= steps; ++step) {
    const Tensor loss = nn::cross_entropy(net(few.image), few.label);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 20 == 0)
      std::cout << "step " << step << ": loss " << loss.item<float>() << ", " << right(*net, unseen)
                << " % of other images right" << std::endl;
  }
  onnx::save(net, few.image, "fine_tuned.onnx");
  const onnx::Model shipped = onnx::load("fine_tuned.onnx");
  std::cout << "from the file: " << right(shipped, unseen) << " % of other images right\n";
}

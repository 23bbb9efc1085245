// A Siamese network (Hadsell, Chopra and LeCun 2006): one network maps digits to points so that
// those of one class lie near each other, and others a margin apart. For pairs of the two classes
// that it never saw, 8 and 9, that is true more often than by chance.
//
//     siamese [STEPS = 600] [FOLDER = what AORTA_MNIST names]
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;
constexpr int64_t kPairs = 64, kSeen = 8;

struct Siamese : nn::ModuleOf<Siamese> {
  // Images (N, 1, 28, 28) -> points (N, 16).
  Tensor points(const Tensor& x) const { return fc(conv2(conv1(x).relu()).relu().flatten(1)); }
  // The distances (N) of the points of both images.
  Tensor forward(const Tensor& a, const Tensor& b) const {
    return ((points(a) - points(b)).square().sum(1) + 1e-6).sqrt();
  }
  nn::Conv2d conv1{*this, "conv1", 1, 16, 5, {.stride = 2}};
  nn::Conv2d conv2{*this, "conv2", 16, 32, 5, {.stride = 2}};
  nn::Linear fc{*this, "fc", 32 * 4 * 4, 16};
};

// Squares of the distances of equal pairs, and of what others lack to the margin.
Tensor contrastive_loss(const Tensor& distance, const Tensor& equal, double margin = 1) {
  return where(equal, distance.square(), (margin - distance).relu().square()).mean();
}

struct Pairs {
  Tensor a, b, equal;
};
// Half of them of one class; classes from `low` on, before `high`. `by_class` has images by label.
Pairs draw(const std::vector<Tensor>& by_class, int64_t low, int64_t high, int64_t count) {
  std::vector<Tensor> a, b;
  const Tensor equal = arange(count) % 2 == 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = randint(low, high, {}).item<int64_t>();
    const int64_t other = randint(1, high - low, {}).item<int64_t>();
    const Tensor& from = by_class[first];
    const Tensor& to = by_class[i % 2 ? low + (first - low + other) % (high - low) : first];
    a.push_back(from[randint(from.size(0), {}).item<int64_t>()]);
    b.push_back(to[randint(to.size(0), {}).item<int64_t>()]);
  }
  return {stack(a), stack(b), equal};
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 600;
  const data::Mnist digits(argc > 2 ? argv[2] : "mnist");
  std::vector<Tensor> by_class;
  for (int64_t i = 0; i < 10; ++i) by_class.push_back(digits.images()[digits.labels() == i]);
  const Siamese net;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  for (int step = 1; step <= steps; ++step) {
    const auto [a, b, equal] = draw(by_class, 0, kSeen, kPairs);
    const Tensor loss = contrastive_loss(net(a, b), equal);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
  }
  const NoGradGuard no_grad;
  for (const int64_t low : {int64_t{0}, kSeen}) {
    const auto [a, b, equal] = draw(by_class, low, low ? 10 : kSeen, 1000);
    const Tensor right = (net(a, b) < 0.5) == equal;
    std::cout << (low ? "new classes: " : "its classes: ")
              << 100 * right.to(f32).mean().item<float>() << " % of the pairs right\n";
  }
}

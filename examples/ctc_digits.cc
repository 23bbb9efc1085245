// Reads lines of one to five handwritten digits (Graves et al. 2006): the network isn't told where
// in a line a digit stands, the CTC loss sums over all places. The GRU sees lines packed.
//
//     ctc_digits [STEPS = 600] [FOLDER = what AORTA_MNIST names]
#include <aorta/aorta.h>

#include <algorithm>
#include <iostream>

using namespace aorta;
constexpr int64_t kMost = 5, kBlank = 10;

struct Lines {  // images (N, 1, 28, W), how many columns each has; digits (N, 5), how many each has
  Tensor images, steps, digits, lengths;
};
Lines draw(const Tensor& all, const Tensor& classes, int64_t count) {
  const Tensor images = zeros({count, 1, 28, 28 * kMost}), digits = zeros({count, kMost}).to(i64);
  const Tensor lengths = randint(1, kMost + 1, {count}), steps = zeros({count}).to(i64);
  for (int64_t n = 0; n < count; ++n) {
    int64_t place = 0;
    for (int64_t i = 0; i < lengths[n].item<int64_t>(); ++i) {
      const int64_t which = randint(all.size(0), {}).item<int64_t>();
      const Tensor room = images[n].narrow(2, place, 28);
      room.copy_(maximum(room, all[which]));
      digits[n][i].copy_(classes[which]);
      steps[n].fill_((place + 28) / 4);
      place += randint(20, 29, {}).item<int64_t>();
    }
  }
  return {images, steps, digits, lengths};
}

struct Reader : nn::ModuleOf<Reader> {
  // Images (N, 1, 28, W) -> log-probabilities (T, N, 11) of digits and the blank, T <= W / 4.
  Tensor forward(const Tensor& images, const Tensor& steps) const {
    const Tensor maps = conv2(conv1(images).relu()).relu();        // (N, 32, 7, W / 4)
    const Tensor columns = maps.flatten(1, 2).permute({2, 0, 1});  // (T, N, 224)
    const auto packed = nn::pack_padded_sequence(columns, steps, false, false);
    return fc(nn::pad_packed_sequence(gru(packed).output).output).log_softmax(-1);
  }
  nn::Conv2d conv1{*this, "conv1", 1, 16, 5, {.stride = 2, .padding = 2}};
  nn::Conv2d conv2{*this, "conv2", 16, 32, 5, {.stride = 2, .padding = 2}};
  nn::GRU gru{*this, "gru", 224, 64, {.bidirectional = true}};
  nn::Linear fc{*this, "fc", 128, 11};
};

// The likeliest class of each step, without repetitions and then without blanks.
std::vector<int64_t> read(const Tensor& log_probs) {
  std::vector<int64_t> best = log_probs.argmax(-1).to_vector<int64_t>();
  best.erase(std::unique(best.begin(), best.end()), best.end());
  best.erase(std::remove(best.begin(), best.end(), kBlank), best.end());
  return best;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const std::string folder = argc > 2 ? argv[2] : "mnist";
  const data::Mnist seen(folder, data::Split::train), unseen(folder, data::Split::test);
  const Tensor all = seen.images(), classes = seen.labels();
  const Reader net;
  optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  for (int step = 1; step <= (argc > 1 ? std::stoi(argv[1]) : 600); ++step) {
    const auto [images, steps, digits, lengths] = draw(all, classes, 64);
    const Tensor loss = nn::ctc_loss(net(images, steps), digits, steps, lengths, {kBlank});
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
  }
  const NoGradGuard no_grad;
  const auto [images, steps, digits, lengths] = draw(unseen.images(), unseen.labels(), 500);
  const Tensor log_probs = net(images, steps);
  int right = 0;
  for (int64_t n = 0; n < 500; ++n)
    right += read(log_probs.select(1, n).narrow(0, 0, steps[n].item<int64_t>())) ==
             digits[n].narrow(0, 0, lengths[n].item<int64_t>()).to_vector<int64_t>();
  std::cout << right / 5.0 << " % of unseen lines read without a mistake\n";
}

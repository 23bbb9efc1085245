// Sine waves of unknown phase, continued: two LSTM cells learn to name the next value, by L-BFGS
// over the whole batch.
//
//     time_series [STEPS = 5] [WIDTH = 32] [LENGTH = 200]      writes time_series.svg
//
// A wave that was never seen goes on for 100 values, each from those that the network named before.
#include <aorta/aorta.h>
#include <aorta/report/plot.h>

#include <iostream>
#include <numbers>

using namespace aorta;

struct Waves : nn::ModuleOf<Waves> {
  explicit Waves(int64_t width)
      : first(*this, "first", 1, width),
        second(*this, "second", width, width),
        out(*this, "out", width, 1) {}
  // x (N, T) to the values that follow each of them, and `future` more: (N, T + future).
  Tensor forward(const Tensor& x, int64_t future) const {
    LstmState a, b;
    std::vector<Tensor> values;
    for (int64_t t = 0; t < x.size(1) + future; ++t) {
      a = first(t < x.size(1) ? x.narrow(1, t, 1) : values.back(), a);
      b = second(a.h, b);
      values.push_back(out(b.h));
    }
    return cat(values, 1);
  }
  nn::LSTMCell first, second;
  nn::Linear out;
};

// Waves (N, length) with a period of 40 values, from places of their own.
Tensor waves(int64_t count, int64_t length) {
  const Tensor start = 40 * rand({count, 1}, {.dtype = f64});
  return sin(2 * std::numbers::pi / 40 * (start + arange(length, {.dtype = f64})));
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 5;
  const int64_t width = argc > 2 ? std::stol(argv[2]) : 32;
  const int64_t length = argc > 3 ? std::stol(argv[3]) : 200, future = 100;
  const Tensor seen = waves(32, length + 1), unseen = waves(3, length + future);
  Waves net(width);
  net.to(f64);
  optim::LBFGS optimizer(net.parameters(), {.lr = 0.8});
  const Tensor input = seen.narrow(1, 0, length), target = seen.narrow(1, 1, length);
  Tensor last;
  for (int step = 1; step <= steps; ++step) {
    const Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor error = nn::mse_loss(net(input, 0), target);
      error.backward();
      return error;
    });
    const NoGradGuard no_grad;
    const Tensor named = net(unseen.narrow(1, 0, length), future - 1);
    last = named.narrow(1, length - 1, future);
    const Tensor off = nn::mse_loss(last, unseen.narrow(1, length, future));
    std::cout << "step " << step << ": loss " << loss.item<double>() << ", of the future "
              << off.item<double>() << std::endl;
  }
  report::Plot plot({"A wave goes on", {"value"}, {""}});
  const auto x = arange(future, {.dtype = f64}).to_vector<double>();
  plot.line("the wave", x, unseen[0].narrow(0, length, future).to_vector<double>());
  if (last.defined()) plot.line("the network", x, last[0].to_vector<double>());
  plot.save("time_series.svg");
  std::cout << "wrote time_series.svg\n";
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}

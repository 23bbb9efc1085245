// A spectrogram, and the way back: Adam looks for a signal with the same magnitudes, whose phases
// are told nowhere, by gradients through the short-time Fourier transform.
//
//     spectrogram [STEPS = 200] [LENGTH = 8000]      writes spectrogram.svg
//
// The signal is a tone that climbs from 500 Hz to 2500 Hz, at 8000 numbers a second.
#include <aorta/aorta.h>
#include <aorta/report/plot.h>

#include <iostream>
#include <numbers>

using namespace aorta;

constexpr int64_t kRate = 8000, kWindow = 256, kHop = kWindow / 4;

// (F, T): how loud each frequency is in each frame.
Tensor spectrogram(const Tensor& signal, const Tensor& window) {
  return abs(stft(signal, kWindow, {.window = window}));
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 200;
  const int64_t length = argc > 2 ? std::stol(argv[2]) : 8000;
  const Tensor time = arange(length) / static_cast<double>(kRate);
  const double climb = 2000.0 * kRate / static_cast<double>(length);  // Hz a second
  const Tensor tone = sin(2 * std::numbers::pi * (500 * time + climb / 2 * square(time)));
  const Tensor window = hann_window(kWindow), wanted = spectrogram(tone, window);
  const Tensor loudest = argmax(wanted, 0);
  for (const int64_t frame : {wanted.size(1) / 4, 3 * wanted.size(1) / 4}) {
    std::cout << "at " << frame * kHop * 1000 / kRate
              << " ms: " << loudest[frame].item<int64_t>() * kRate / kWindow << " Hz\n";
  }

  const Tensor signal = (0.01 * randn({length})).requires_grad_();
  optim::Adam optimizer({signal}, {.lr = 0.02});
  std::vector<double> at, errors;
  for (int step = 0; step <= steps; ++step) {
    optimizer.zero_grad();
    const Tensor error = nn::mse_loss(spectrogram(signal, window), wanted);
    error.backward();
    at.push_back(step);
    errors.push_back(error.item<double>());
    if (step % 50 == 0) std::cout << "step " << step << ": error " << errors.back() << std::endl;
    optimizer.step();
  }
  report::Plot plot({"A signal from its spectrogram", {"step"}, {"error"}});
  plot.line("error", at, errors);
  plot.save("spectrogram.svg");
  std::cout << "wrote spectrogram.svg\n";
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}

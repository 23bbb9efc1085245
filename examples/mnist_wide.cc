// From which width on does it pay to split a mini-batch over threads, or to use a GPU? Steps of the
// 784-N-10 sigmoid network on random images: serial, on one thread; split over threads, each taking
// its samples forward and backward before gradients are added and one update is made; and on CUDA.
//
//     mnist_wide [LARGEST N = 80000] [FOLDER = .]      writes mnist_wide_BATCH.svg
#include <aorta/aorta.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include <aorta/tools/report/plot.h>

using namespace aorta;
using Clock = std::chrono::steady_clock;

// Milliseconds a step: the fastest of at least 6, and of a fifth of a second's.
double time_step(int64_t width, int64_t batch, int64_t threads, Device device) {
  nn::Sequential net{nn::Linear(784, width), nn::Sigmoid(), nn::Linear(width, 10), nn::Sigmoid()};
  net.to(device);
  optim::SGD optimizer(net.parameters(), {.lr = 1e-3});
  const auto parts = tensor_split(rand({batch, 784}, {.device = device}), threads);
  double best = 1e9;
  for (double total = 0, runs = 0; runs < 6 || total < 200; ++runs) {
    const auto start = Clock::now();
    optimizer.zero_grad();
    autograd::OrderedBackward passes;  // adds the gradients of the parts, in their order
    const auto pass = [&](size_t i) { passes.backward(i, sum(square(net(parts[i])))); };
    std::vector<std::jthread> others;
    for (size_t i = 1; i < parts.size(); ++i) others.emplace_back(pass, i);
    pass(0);
    others.clear();  // waits for them
    optimizer.step();
    synchronize(device);
    const double time = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    best = std::min(best, time), total += time;
  }
  return best;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const double largest = argc > 1 ? std::stod(argv[1]) : 80000;
  const std::string folder = argc > 2 ? argv[2] : ".";
  std::printf("%u CPUs; CUDA: %s\n", std::thread::hardware_concurrency(),
              cuda::is_available() ? "yes" : cuda::unavailable_reason().c_str());
  set_num_threads(1);  // of a kernel
  std::vector<double> widths{30, 100, 300, 1000, 3000, 10000, 30000, 80000}, serial(widths.size());
  while (widths.size() > 1 && widths.back() > largest) widths.pop_back();
  for (const int64_t batch : {5, 10}) {
    const std::string size = std::to_string(batch);
    const auto log = report::Scale::log;
    report::Plot plot(
        {"784-N-10, mini-batches of " + size, {"N", log}, {"time a mini-batch (ms)", log}});
    std::printf("\nms a mini-batch of %s, gain over serial\n%-10s", size.c_str(), "N");
    for (const double n : widths) std::printf("%17.0f", n);
    const auto measure = [&](const std::string& way, int64_t threads, Device device) {
      std::printf("\n%-10s", way.c_str());
      std::vector<double> times;
      double begin = 0;  // the N from which on it is faster
      for (size_t i = 0; i < widths.size(); ++i) {
        times.push_back(time_step(widths[i], batch, threads, device));
        if (way == "serial") serial[i] = times[i];
        const double gain = 100 * (1 - times[i] / serial[i]);
        std::printf("%9.3f %5.0f %%", times[i], gain);
        begin = gain <= 0 ? 0 : begin > 0 ? begin : widths[i];
      }
      plot.line(way, widths, times);
      if (way != "serial") std::printf(begin > 0 ? "  from N = %.0f" : "  never", begin);
    };
    measure("serial", 1, {});
    for (int64_t i = 2; i <= batch; ++i)  // up to a thread a sample
      measure(std::to_string(i) + " threads", i, {});
    if (cuda::is_available()) measure("CUDA", 1, "cuda");
    const std::string file = folder + "/mnist_wide_" + size + ".svg";
    std::printf("\nwrote %s\n", file.c_str());
    plot.save(file);
  }
}

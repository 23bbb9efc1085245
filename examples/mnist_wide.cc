// From which width N on does it pay to split a mini-batch over threads, or to use a GPU? Times
// steps of the 784-N-10 sigmoid network on random images; each thread takes its samples forward and
// backward, then gradients are added and one update is made. Serial is one pass on one thread.
//
//     mnist_wide [LARGEST N = 80000] [FOLDER = .]      writes mnist_wide_BATCH.svg
#include <aorta/aorta.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <aorta/report/plot.h>

using namespace aorta;
using Clock = std::chrono::steady_clock;

// Milliseconds a step, of many the fastest.
double time_step(int64_t width, int64_t batch, int parts, int threads, Device device) {
  nn::Sequential net{nn::Linear(784, width), nn::Sigmoid(), nn::Linear(width, 10), nn::Sigmoid()};
  net.to(device);
  optim::SGD optimizer(net.parameters(), {.lr = 1e-3});
  const auto images = tensor_split(rand({batch, 784}, {.device = device}), parts);
  double best = 1e9;
  for (int64_t run = 0; run < std::clamp<int64_t>(30000 / width, 6, 100); ++run) {
    const auto start = Clock::now();
    optimizer.zero_grad();
    autograd::OrderedBackward passes;  // adds the gradients of the parts, in their order
    const auto work = [&](int first) {
      for (int i = first; i < parts; i += threads) passes.backward(i, sum(square(net(images[i]))));
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
    others.clear();  // waits for them
    optimizer.step();
    synchronize(device);
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const std::string folder = argc > 2 ? argv[2] : ".";
  std::printf("%u CPUs; CUDA: %s\n", std::thread::hardware_concurrency(),
              cuda::is_available() ? "yes" : cuda::unavailable_reason().c_str());
  set_num_threads(1);  // of a kernel
  std::vector<double> widths{30, 100, 300, 1000, 3000, 10000, 30000, 80000}, serial(widths.size());
  if (argc > 1) std::erase_if(widths, [&](double n) { return n > std::stod(argv[1]); });
  for (const int batch : {5, 10}) {
    const std::string size = std::to_string(batch), file = folder + "/mnist_wide_" + size + ".svg";
    const auto log = report::Scale::log;
    report::Plot plot({"784-N-10, batch " + size, {"N", log}, {"time a mini-batch (ms)", log}});
    std::printf("\nms a mini-batch of %s, gain over serial\n%-10s", size.c_str(), "N");
    for (const double n : widths) std::printf("%17.0f", n);
    const auto measure = [&](const std::string& way, int parts, int threads, Device device) {
      std::printf("\n%-10s", way.c_str());
      std::vector<double> times;
      double begin = 0;  // the N from which on it is faster
      for (size_t i = 0; i < widths.size(); ++i) {
        times.push_back(time_step(widths[i], batch, parts, threads, device));
        if (way == "serial") serial[i] = times[i];
        const double gain = 100 * (1 - times[i] / serial[i]);
        std::printf("%9.3f %5.0f %%", times[i], gain);
        begin = gain <= 0 ? 0 : begin > 0 ? begin : widths[i];
      }
      plot.line(way, widths, times);
      if (way != "serial") std::printf(begin > 0 ? "  from N = %.0f" : "  never", begin);
    };
    measure("serial", 1, 1, {});
    measure("one by one", batch, 1, {});
    for (int i = 1; i <= 12; ++i)  // those beyond the samples start and have nothing to do
      measure(std::to_string(i) + " threads", std::min(i, batch), i, {});
    if (cuda::is_available()) measure("CUDA", 1, 1, "cuda");
    std::printf("\nwrote %s\n", file.c_str());
    plot.save(file);
  }
}

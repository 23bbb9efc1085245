// The matrix product from three loops to the library's kernel: each step's speed and its error.
//   matmul [SIZE] [SECONDS]    product of (SIZE, SIZE) matrices, each step measured for SECONDS
#include <aorta/examples/matmul/matmul.h>

#include <aorta/aorta.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

using namespace aorta;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest time of a call, in seconds: it is what the kernel takes when nothing disturbs it.
template <class F>
double best_time(double seconds, const F& call) {
  double best = INFINITY;
  for (const double end = now() + seconds; best == INFINITY || now() < end;) {
    const double start = now();
    call();
    best = std::min(best, now() - start);
  }
  return best;
}

struct Step {
  const char* name;
  void (*multiply)(const steps::Product&);
  bool runs;
};

}  // namespace

int main(int argc, char** argv) {
  init(argc, argv);
  const int64_t size = argc > 1 ? std::stoll(argv[1]) : 1024;
  const double seconds = argc > 2 ? std::stod(argv[2]) : 2;
  const Tensor a = rand({size, size}) - 0.5, b = rand({size, size}) - 0.5;
  const Tensor exact = matmul(a.to(f64), b.to(f64));
  const double work = 2.0 * size * size * size;
  const bool v3 = steps::has_v3(), v4 = steps::has_v4();
  const Step list[] = {
      {"1 three loops", steps::loops, true},   {"2 order", steps::order, true},
      {"3 registers", steps::registers, true}, {"4 instructions", steps::instructions, v3},
      {"5 width", steps::width, v4},           {"6 caches", steps::caches, v3},
      {"7 packing", steps::packing, v3},       {"8 threads", steps::threads, v3}};
  bool right = true;
  const auto report = [&](const char* name, const Tensor& c, double time) {
    const double error = amax(abs(c.to(f64) - exact)).item<double>();
    std::printf("%-16s %9.3f ms %8.2f GF/s   error %.1e\n", name, time * 1e3, work / time * 1e-9,
                error);
    right = right && error < 1e-6 * static_cast<double>(size);
  };
  for (const Step& step : list) {
    if (!step.runs) {
      std::printf("%-16s this CPU lacks the instructions\n", step.name);
      continue;
    }
    const Tensor c = full({size, size}, NAN);
    const steps::Product product{size,           size, size, a.data<float>(), b.data<float>(),
                                 c.data<float>()};
    report(step.name, c, best_time(seconds, [&] { step.multiply(product); }));
  }
  for (const int threads : {1, get_num_threads()}) {
    const int before = get_num_threads();
    set_num_threads(threads);
    Tensor c;
    const double time = best_time(seconds, [&] { c = matmul(a, b); });
    report(threads == 1 ? "9 matmul, 1" : "9 matmul, all", c, time);
    set_num_threads(before);
  }
  std::printf(right ? "every step is right\n" : "a step is wrong\n");
  return right ? 0 : 1;
}

// LibTorch's side of the rows that C++ users feel: ops so small that the call is what they cost.
// Not part of the build: the benchmark compiles it against the package of AORTA_PEER_PYTHON at
// first use, and drives it as it drives peer.py (peer.h has the protocol).
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The numbers of make() in sides.h.
torch::Tensor make(int64_t count, double low, double high, int64_t seed) {
  torch::Tensor values = torch::empty({count});
  for (int64_t i = 0; i < count; ++i) {
    uint32_t h = static_cast<uint32_t>(i + 1000003 * seed) * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    values.data_ptr<float>()[i] = static_cast<float>(low + (high - low) * ((h >> 8) * 0x1p-24));
  }
  return values;
}

struct Work {
  std::function<double(int64_t)> time;
  std::function<torch::Tensor()> result;
};

template <class F>
Work work(F f) {
  return {[f](int64_t repetitions) {
            const double start = now();
            for (int64_t i = 0; i < repetitions; ++i) f();
            return now() - start;
          },
          f};
}

// Runs f with gradients on.
template <class F>
Work recorded(F f) {
  return work([f] {
    const torch::AutoGradMode enabled(true);
    return f();
  });
}

// The gradient of the last of `count` adds in a chain.
torch::Tensor chain(const torch::Tensor& parameter, const torch::Tensor& b, int count) {
  torch::Tensor c = parameter + b;
  for (int i = 1; i < count; ++i) c = c + b;
  c.sum().backward();
  const torch::Tensor gradient = parameter.grad();
  parameter.mutable_grad() = torch::Tensor();
  return gradient;
}

Work mlp() {
  const torch::Tensor x = make(7840, 0, 1, 1).view({10, 784});
  const torch::Tensor w1 = make(30 * 784, -0.1, 0.1, 2).view({30, 784}).requires_grad_();
  const torch::Tensor w2 = make(300, -0.1, 0.1, 3).view({10, 30}).requires_grad_();
  return recorded([=] {
    const torch::Tensor hidden = torch::sigmoid(torch::linear(x, w1));
    torch::sigmoid(torch::linear(hidden, w2)).square().sum().backward();
    const torch::Tensor gradient = w2.grad();
    w1.mutable_grad() = torch::Tensor();
    w2.mutable_grad() = torch::Tensor();
    return gradient;
  });
}

// A training step of 784-hidden-10 with sigmoids, batch 10; see tables/training.cc.
Work step(int64_t hidden) {
  torch::nn::Linear first(784, hidden), second(hidden, 10);
  {
    const torch::NoGradGuard no_grad;
    const double a = 1 / std::sqrt(784.0), b = 1 / std::sqrt(static_cast<double>(hidden));
    first->weight.copy_(make(hidden * 784, -a, a, 0).view({hidden, 784}));
    second->weight.copy_(make(10 * hidden, -b, b, 2).view({10, hidden}));
    first->bias.zero_();
    second->bias.zero_();
  }
  std::vector<torch::Tensor> parameters = first->parameters();
  for (const torch::Tensor& parameter : second->parameters()) parameters.push_back(parameter);
  auto optimizer = std::make_shared<torch::optim::SGD>(parameters, torch::optim::SGDOptions(1e-5));
  const torch::Tensor x = make(7840, 0, 1, 100).view({10, 784});
  const torch::Tensor y = make(100, 0, 1, 101).view({10, 10});
  return recorded([x, y, optimizer, first = first.ptr(), second = second.ptr()] {
    optimizer->zero_grad();
    const torch::Tensor hidden = torch::sigmoid(first->forward(x));
    const torch::Tensor output = torch::sigmoid(second->forward(hidden));
    const torch::Tensor loss = torch::mse_loss(output, y);
    loss.backward();
    optimizer->step();
    return loss.detach();
  });
}

Work define(const std::string& name) {
  if (name.rfind("step ", 0) == 0) return step(std::stoll(name.substr(5)));
  const torch::Tensor a = make(8, -1, 1, 1), b = make(8, -1, 1, 2);
  const torch::Tensor p = a.clone().requires_grad_();
  if (name == "add 8 recorded") return recorded([=] { return p + b; });
  if (name == "mul 8 recorded") return recorded([=] { return p * b; });
  if (name == "chain 8") return recorded([=] { return chain(p, b, 1000); });
  if (name == "mlp") return mlp();
  if (name == "add 8") return work([=] { return a + b; });
  if (name == "relu 8") return work([=] { return torch::relu(a); });
  if (name == "slice 8") return work([=] { return a.slice(0, 2, 6); });
  if (name == "sum 8") return work([=] { return a.sum(); });
  throw std::runtime_error("no such case: " + name);
}

// As sample() in sides.h.
void print_values(const torch::Tensor& result) {
  const torch::Tensor flat = result.reshape({-1}).to(torch::kDouble);
  const int64_t count = flat.numel();
  std::printf("ok\t%lld\t%.17g", static_cast<long long>(count), flat.mean().item<double>());
  for (int64_t k = 0; k < 16; ++k)
    std::printf("\t%.17g", flat[k * (count - 1) / 15].item<double>());
  std::printf("\n");
}

void answer(std::map<std::string, Work>& works, const std::vector<std::string>& fields) {
  const std::string& command = fields.at(0);
  if (command == "values") return print_values(works.at(fields.at(1)).result());
  if (command == "time") {
    std::printf("ok\t%.17g\n", works.at(fields.at(1)).time(std::stoll(fields.at(2))));
    return;
  }
  if (command == "threads") torch::set_num_threads(std::stoi(fields.at(1)));
  if (command == "define") works[fields.at(1)] = define(fields.at(3));
  if (command == "drop") works.erase(fields.at(1));
  std::printf("ok\n");
}

}  // namespace

int main() {
  const torch::NoGradGuard no_grad;
  std::map<std::string, Work> works;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    try {
      answer(works, fields);
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::printf("error\t%s\n", text.substr(0, text.find('\n')).c_str());
    }
    std::fflush(stdout);
  }
}

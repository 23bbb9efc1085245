#pragma once

#include <aorta/core/ops/random.h>
#include <aorta/data/loader.h>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace aorta::data {

/// What goes wrong with a sample.
enum class Trouble {
  none,
  error,         // aorta::Error
  out_of_range,  // another exception
  segfault,      // SIGSEGV
  abort,         // SIGABRT
  kill,          // SIGKILL
  exit,          // exit code 3
  stop,          // SIGSTOP
  sleep,         // reads on for a minute
  once,          // SIGKILL the first time only, told by the file `flag`
};

/// Sample i: "index" i, "noise" two random numbers, "block" 40 bytes that are i modulo 256.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, Trouble trouble = Trouble::none, int64_t troubled = 0,
                   const std::string& flag = "", double seconds = 0)
      : size_(size), trouble_(trouble), troubled_(troubled), flag_(flag), seconds_(seconds) {}

  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override {
    return {{"index", i64, {}}, {"noise", f64, {2}}, {"block", u8, {5, 8}}};
  }
  void read(int64_t index, Sample& sample, Generator& random) const override {
    sample.set_file("number_" + std::to_string(index));
    if (seconds_ > 0) usleep(static_cast<useconds_t>(1e6 * seconds_));
    if (index == troubled_) make_trouble();
    *sample["index"].data<int64_t>() = index;
    auto* noise = sample["noise"].data<double>();
    noise[0] = random.next_uniform();
    noise[1] = rand({}, {.dtype = f64}).item<double>();  // of the default generator
    sample["block"].fill_(index % 256);
  }

 private:
  void make_trouble() const {
    switch (trouble_) {
      case Trouble::none:
        return;
      case Trouble::error:
        fail("numbers", "index must be readable", troubled_);
      case Trouble::out_of_range:
        throw std::out_of_range("no such number");
      case Trouble::segfault:
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        return;
      case Trouble::abort:
        signal(SIGABRT, SIG_DFL);
        std::abort();
      case Trouble::kill:
        raise(SIGKILL);
        return;
      case Trouble::exit:
        _exit(3);
      case Trouble::stop:
        raise(SIGSTOP);
        return;
      case Trouble::sleep:
        std::this_thread::sleep_for(std::chrono::minutes(1));
        return;
      case Trouble::once:
        if (access(flag_.c_str(), F_OK) != 0) return;
        unlink(flag_.c_str());
        raise(SIGKILL);
    }
  }

  int64_t size_;
  Trouble trouble_;
  int64_t troubled_;
  std::string flag_;
  double seconds_;
};

/// All that an epoch gives, as text: what must be equal for any number of workers.
inline std::string text_of(const Batch& batch) {
  std::string text;
  for (const auto& [name, tensor] : batch.tensors()) {
    text += name + to_string(tensor.shape());
    for (const double value : tensor.to_vector<double>()) text += " " + std::to_string(value);
    text += "\n";
  }
  return text;
}
inline std::string text_of(DataLoader& loader) {
  std::string text;
  for (const auto& batch : loader) text += text_of(batch);
  return text;
}

}  // namespace aorta::data

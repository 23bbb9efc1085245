#include <aorta/tests/data/worker_scenarios.h>

#include <aorta/tests/data/worker_datasets.h>

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include <aorta/tests/data/worker_processes.h>

namespace aorta::data {
namespace {

std::string text_of_loader(StartMethod method, int workers) {
  DataLoader loader(make_dataset<Numbers>(40),
                    {.batch_size = 4, .num_workers = workers, .seed = 6, .start_method = method});
  return text_of(loader);
}

// Says its processes, then reads on until it is ended.
int train_for_ever(StartMethod method) {
  DataLoader loader(
      make_dataset<Numbers>(1 << 30, Trouble::none, 0, "", 0.001),
      {.batch_size = 4,
       .sampler = std::make_shared<RandomSampler>(
           1 << 30, RandomSamplerOptions{.replacement = true, .num_samples = 1 << 20}),
       .num_workers = 2,
       .start_method = method});
  auto it = loader.begin();
  *it;
  // The second worker may begin late on a busy machine.
  for (int i = 0; i < 10'000 && descendants().size() != 4; ++i) *++it;
  for (const ProcessEntry& process : descendants()) std::printf("%d ", process.pid);
  std::puts("");
  std::fflush(stdout);
  for (;; ++it) *it;
}

bool interrupted = false;

// Ctrl-C reaches the whole group; the program alone decides what to do about it.
int interrupt() {
  signal(SIGINT, [](int) { interrupted = true; });
  DataLoader loader(make_dataset<Numbers>(40, Trouble::none, 0, "", 0.005),
                    {.batch_size = 4, .num_workers = 2, .seed = 6});
  std::string text;
  int batches = 0;
  for (const auto& batch : loader) {
    if (batches++ == 2) kill(0, SIGINT);
    text += text_of(batch);
  }
  return interrupted && text == text_of_loader(StartMethod::automatic, 0) ? 0 : 1;
}

int zygote_dies(int number, bool in_epoch) {
  std::vector<int> zygote;
  within(5, [&] { return !(zygote = pids_of("aorta-zygote")).empty(); });
  if (zygote.size() != 1) return 2;
  const std::string expected = text_of_loader(StartMethod::automatic, 0);
  if (!in_epoch) {
    kill(zygote[0], number);
    usleep(50'000);
    // Later loaders fork the program itself.
    return text_of_loader(StartMethod::automatic, 2) == expected ? 0 : 1;
  }
  DataLoader loader(make_dataset<Numbers>(40, Trouble::none, 0, "", 0.005),
                    {.batch_size = 4, .num_workers = 2, .seed = 6});
  std::string text;
  int batches = 0;
  for (const auto& batch : loader) {
    if (batches++ == 2) kill(zygote[0], number);
    text += text_of(batch);
  }
  return text == expected ? 0 : 1;
}

int no_zygote_is_an_error() {
  within(5, [] { return !pids_of("aorta-zygote").empty(); });
  kill(pids_of("aorta-zygote").at(0), SIGKILL);
  usleep(50'000);
  try {
    text_of_loader(StartMethod::zygote, 2);
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
    return 0;
  }
  return 1;
}

// Programs that don't begin with aorta::init().
int no_init(StartMethod method) {
  try {
    const std::string expected = text_of_loader(StartMethod::automatic, 0);
    return text_of_loader(method, 2) == expected && text_of_loader(method, 2) == expected ? 0 : 1;
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
    return 2;
  }
}

// Threads of OpenMP that the program has used don't exist in its copy.
double threaded_sum() {
  double sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 1000; ++i) sum += i;
  return sum;
}

struct Threaded : Dataset {
  int64_t size() const override { return 8; }
  std::vector<TensorSpec> specs() const override { return {{"sum", f64, {}}}; }
  void read(int64_t, Sample& sample, Generator&) const override {
    // What Aorta's own kernels do, and a region that takes the number of threads it is given.
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
    sample["sum"].fill_(sum + 0 * matmul(rand({300, 300}), rand({300, 300})).at<float>({0, 0}));
  }
};

int openmp_in_workers(StartMethod method) {
  threaded_sum();
  DataLoader loader(method == StartMethod::zygote
                        ? make_dataset<Threaded>()
                        : std::shared_ptr<const Threaded>(std::make_shared<Threaded>()),
                    {.batch_size = 8, .num_workers = 2, .timeout = 20, .start_method = method});
  const Batch batch = *loader.begin();
  return batch["sum"].to_vector<double>() == std::vector<double>(8, 499500.) ? 0 : 1;
}

// The hang that workers avoid: the copy waits for threads that it doesn't have.
int openmp_after_plain_fork() {
  threaded_sum();
  const pid_t pid = fork();
  if (pid == 0) _exit(threaded_sum() == 499500 ? 0 : 1);
  const bool ended = within(3, [&] { return waitpid(pid, nullptr, WNOHANG) == pid; });
  if (!ended) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return ended ? 0 : 1;
}

// A ring of several times the /dev/shm that containers have.
int large_ring() {
  struct Large : Dataset {
    int64_t size() const override { return 6; }
    std::vector<TensorSpec> specs() const override { return {{"x", u8, {64 << 20}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      sample["x"].fill_(index);
    }
  };
  struct statvfs shm;
  if (statvfs("/dev/shm", &shm) != 0) return 1;
  std::cout << (shm.f_blocks * shm.f_frsize >> 20) << " MiB of /dev/shm\n";
  DataLoader loader(std::make_shared<Large>(), {.num_workers = 2});
  int64_t index = 0;
  for (const auto& batch : loader) {
    const Tensor x = batch["x"][0];
    if (x[0].item<int64_t>() != index || x[x.size(0) - 1].item<int64_t>() != index) return 1;
    ++index;
  }
  return index == 6 ? 0 : 1;
}

bool put(const std::string& path, int64_t number) {
  return static_cast<bool>(std::ofstream(path) << number << std::flush);
}

// A memory group of this process's own, while it lives.
class MemoryGroup {
 public:
  explicit MemoryGroup(int64_t bytes) {
    for (const auto& [root, limit] : {std::pair("/sys/fs/cgroup/memory", "/memory.limit_in_bytes"),
                                      std::pair("/sys/fs/cgroup", "/memory.max")}) {
      root_ = root;
      folder_ = root_ + "/aorta_test_" + std::to_string(getpid());
      if (mkdir(folder_.c_str(), 0755) != 0) continue;
      made_ = put(folder_ + limit, bytes) && put(folder_ + "/cgroup.procs", getpid());
      if (made_) return;
      rmdir(folder_.c_str());
    }
  }
  ~MemoryGroup() {
    if (made_ && put(root_ + "/cgroup.procs", getpid())) rmdir(folder_.c_str());
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  bool made() const { return made_; }

 private:
  std::string root_, folder_;
  bool made_ = false;
};

// One sample wants more than the group has; the others are read.
int memory_limit() {
  struct Greedy : Dataset {
    int64_t size() const override { return 8; }
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      if (index == 3) memset(ones({1 << 30}, {.dtype = u8}).data(), 1, 1 << 30);
      sample["x"].fill_(index);
    }
  };
  const MemoryGroup group(256 << 20);
  if (!group.made()) return kCannotBeHad;
  // Forks of this process are in its group; the zygote began before.
  DataLoader loader(std::make_shared<Greedy>(),
                    {.num_workers = 2, .start_method = StartMethod::fork});
  std::string read;
  auto it = loader.begin();
  while (it != loader.end()) {
    try {
      read += std::to_string((*it)["x"].item<int64_t>());
    } catch (const Error& error) {
      std::cout << error.what() << "\n";
    }
    ++it;
  }
  std::cout << "read " << read << "\n";
  return 0;
}

// The numbers 0, 1, 2 and so on, from each worker.
struct Endless : IterableDataset {
  std::vector<TensorSpec> specs() const override { return {{"index", i64, {}}}; }
  std::unique_ptr<SampleStream> stream(int64_t) const override {
    struct Stream : SampleStream {
      int64_t count = 0;
      bool next(Sample& sample, Generator&) override {
        sample["index"].fill_(count++);
        return true;
      }
    };
    return std::make_unique<Stream>();
  }
};

// Leaves in the middle of an epoch whose iterator is held to the end: `way` is "map|stream
// zygote|fork persistent|once return|exit|throw".
int leave(const std::string& way) {
  const auto has = [&](const char* word) { return way.find(word) != std::string::npos; };
  const DataLoaderOptions options{
      .batch_size = 4,
      .num_workers = 2,
      .pin_memory = false,
      .persistent_workers = has("persistent"),
      .start_method = has("zygote") ? StartMethod::zygote : StartMethod::fork};
  static DataLoader loader = has("map") ? DataLoader(make_dataset<Numbers>(1'000'000), options)
                                        : DataLoader(make_dataset<Endless>(), options);
  static auto it = loader.begin();
  for (int i = 0; i < 10'000 && (i < 3 || descendants().size() != 4); ++i, ++it) *it;
  for (const ProcessEntry& process : descendants()) std::printf("%d ", process.pid);
  std::puts("");
  std::fflush(stdout);
  if (has("exit")) std::exit(6);
  if (has("throw")) {
    signal(SIGABRT, SIG_DFL);
    throw std::runtime_error("it leaves");
  }
  return 5;
}

// Each loader is one that would be warned of.
int warnings() {
  for (int i = 0; i < 2; ++i) {
    DataLoader loader(make_dataset<Numbers>(4), {.num_workers = 1000, .pin_memory = true});
  }
  DataLoader plain(make_dataset<Numbers>(4), {.pin_memory = true});
  return (*plain.begin())["index"].is_pinned();
}

}  // namespace

int run_scenario(const std::string& name) {
  if (name == "warnings") return warnings();
  if (name.starts_with("leave ")) return leave(name);
  if (name == "for_ever_zygote") return train_for_ever(StartMethod::zygote);
  if (name == "for_ever_fork") return train_for_ever(StartMethod::fork);
  if (name == "interrupt") return interrupt();
  for (const int number : {SIGKILL, SIGSEGV, SIGABRT, SIGSTOP}) {
    if (name == "zygote_before_" + std::to_string(number)) return zygote_dies(number, false);
    if (name == "zygote_during_" + std::to_string(number)) return zygote_dies(number, true);
  }
  if (name == "no_zygote") return no_zygote_is_an_error();
  if (name == "no_init") return no_init(StartMethod::automatic);
  if (name == "no_init_zygote") return no_init(StartMethod::zygote);
  if (name == "no_init_spawn") return no_init(StartMethod::spawn);
  if (name == "openmp_zygote") return openmp_in_workers(StartMethod::zygote);
  if (name == "openmp_fork") return openmp_in_workers(StartMethod::fork);
  if (name == "openmp_plain_fork") return openmp_after_plain_fork();
  if (name == "large_ring") return large_ring();
  if (name == "memory_limit") return memory_limit();
  std::fprintf(stderr, "there is no scenario %s\n", name.c_str());
  return 99;
}

}  // namespace aorta::data

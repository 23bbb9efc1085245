#include <aorta/core/process/limits.h>
#include <aorta/tests/data/worker_datasets.h>
#include <aorta/tests/data/worker_scenarios.h>

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <aorta/tests/data/worker_processes.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

/// A scenario of worker_scenarios.cc as a program in a process group of its own.
class Program {
 public:
  /// `before` is a shell command; the scenario runs where it succeeds, in mounts of its own.
  explicit Program(const std::string& scenario, const std::string& before = "") {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      char self[4096] = {};
      if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) _exit(97);
      if (before.empty())
        execl(self, "worker_test", "--scenario", scenario.c_str(), nullptr);
      else
        execlp("unshare", "unshare", "-Urm", "sh", "-c",
               ("{ " + before + "; } || exit " + std::to_string(kCannotBeHad) +
                "; exec \"$0\" --scenario \"$1\"")
                   .c_str(),
               self, scenario.c_str(), nullptr);
      _exit(98);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~Program() {
    if (!ended_) {
      ::kill(-pid_, SIGKILL);
      wait();
    }
    close(output_);
  }

  std::string line() {
    std::string text;
    for (char c = 0; read(output_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  std::string rest() {
    std::string text;
    char part[4096];
    for (ssize_t n = 0; (n = read(output_, part, sizeof part)) > 0;)
      text.append(part, static_cast<size_t>(n));
    return text;
  }
  void kill(int number) { ::kill(pid_, number); }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  bool ended_ = false;
};

int exit_code_of(const std::string& scenario, std::string* said = nullptr,
                 const std::string& before = "") {
  Program program(scenario, before);
  const std::string text = program.rest();
  if (said) *said = text;
  const int status = program.wait();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(WorkerProgram, KilledItLeavesNoProcess) {
  for (const char* scenario : {"for_ever_zygote", "for_ever_fork"})
    for (const int number : {SIGKILL, SIGTERM, SIGSEGV}) {
      Program program(scenario);
      std::istringstream text(program.line());
      std::vector<int> pids;
      for (int pid = 0; text >> pid;) pids.push_back(pid);
      ASSERT_EQ(pids.size(), 4u) << scenario;  // zygote, nursery, two workers
      for (const int pid : pids) EXPECT_TRUE(is_alive(pid));
      program.kill(number);
      program.wait();
      for (const int pid : pids) EXPECT_TRUE(within(2, [&] { return !is_alive(pid); })) << pid;
    }
}

TEST(WorkerProgram, EndsWithItsWorkersHoweverItLeaves) {
  for (const std::string data : {"map", "stream"})
    for (const std::string start : {"zygote", "fork"})
      for (const std::string stay : {"persistent", "once"})
        for (const auto& [how, code] :
             {std::pair("return", 5), std::pair("exit", 6), std::pair("throw", 1000 + SIGABRT)}) {
          std::string said;
          EXPECT_EQ(exit_code_of("leave " + data + " " + start + " " + stay + " " + how, &said),
                    code);
          std::istringstream text(said);
          std::vector<int> pids;
          for (int pid = 0; text >> pid;) pids.push_back(pid);
          EXPECT_EQ(pids.size(), 4u) << said;  // zygote, nursery, two workers
          for (const int pid : pids) EXPECT_TRUE(within(2, [&] { return !is_alive(pid); })) << how;
        }
}

TEST(WorkerProgram, InterruptedItDecidesItself) { EXPECT_EQ(exit_code_of("interrupt"), 0); }

TEST(WorkerProgram, IsWarnedOnceOfTooManyWorkersAndOfPinningWithoutAGpu) {
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU";
  std::string said;
  EXPECT_EQ(exit_code_of("warnings", &said), 0);
  const std::string cpus = std::to_string(available_cpus());
  EXPECT_EQ(said, "aorta: data_loader: 1000 workers for " + cpus + " CPUs may be slower than " +
                      cpus +
                      "\naorta: data_loader: pin_memory must have a GPU to copy to, got none; it "
                      "changes nothing\n");
}

TEST(WorkerProgram, GoesOnWithoutItsZygote) {
  for (const int number : {SIGKILL, SIGSEGV, SIGABRT}) {
#if defined(__SANITIZE_ADDRESS__)
    if (number == SIGSEGV) continue;  // the sanitizer looks at it for longer than the epoch takes
#endif
    std::string said;
    EXPECT_EQ(exit_code_of("zygote_before_" + std::to_string(number), &said), 0);
    EXPECT_NE(said.find("processes are forked from the program itself"), std::string::npos) << said;
    EXPECT_EQ(exit_code_of("zygote_during_" + std::to_string(number), &said), 0) << said;
    EXPECT_NE(said.find("it is started again"), std::string::npos) << said;
  }
  // One that doesn't answer is given up, too; it isn't needed while workers run.
  EXPECT_EQ(exit_code_of("zygote_before_" + std::to_string(SIGSTOP)), 0);
  EXPECT_EQ(exit_code_of("zygote_during_" + std::to_string(SIGSTOP)), 0);
}

TEST(WorkerProgram, SaysSoWhenTheZygoteIsAskedForAndGone) {
  std::string said;
  EXPECT_EQ(exit_code_of("no_zygote", &said), 0);
  EXPECT_NE(said.find("start_process: the zygote must be there, got the zygote (pid "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("was killed by signal 9 (SIGKILL)"), std::string::npos) << said;
}

TEST(WorkerProgram, WithoutInitSaysOnceThatItForks) {
  std::string said;
  EXPECT_EQ(exit_code_of("no_init", &said), 0);
  EXPECT_EQ(said,
            "aorta: no call of aorta::init(argc, argv), main's first statement; processes are "
            "forked from the program itself\n");
  said.clear();
  EXPECT_EQ(exit_code_of("no_init_spawn", &said), 2);
  EXPECT_NE(
      said.find("StartMethod::spawn needs aorta::init(argc, argv), main's first statement, got "
                "no call of it\n"),
      std::string::npos)
      << said;
  said.clear();
  EXPECT_EQ(exit_code_of("no_init_zygote", &said), 2);
  EXPECT_NE(said.find("StartMethod::zygote needs a zygote, got no call of aorta::init(argc, argv), "
                      "main's first statement\n"),
            std::string::npos)
      << said;
}

#if !defined(__SANITIZE_THREAD__)
TEST(WorkerProgram, OpenMPHangsInAPlainForkAndNotInWorkers) {
  EXPECT_EQ(exit_code_of("openmp_plain_fork"), 1);
  EXPECT_EQ(exit_code_of("openmp_zygote"), 0);
  EXPECT_EQ(exit_code_of("openmp_fork"), 0);
}
#endif

TEST(WorkerResources, AThousandLoadersLeaveNoDescriptorAndNoProcess) {
  const auto dataset = make_dataset<Numbers>(4);
  size_t before = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int loaders = 100;  // a fork takes a sanitizer's program 40 ms
#else
  const int loaders = 1000;
#endif
  for (int i = 0; i < loaders; ++i) {
    DataLoader loader(dataset, {.batch_size = 2,
                                .num_workers = 1,
                                .start_method = i % 4 ? StartMethod::zygote : StartMethod::fork});
    EXPECT_EQ((*loader.begin())["index"].size(0), 2);
    if (i == 10) before = open_descriptors();
  }
  EXPECT_LE(open_descriptors(), before);
  EXPECT_EQ(descendants().size(), 1u);  // the zygote
}

// Many file names, which no worker makes copies of by reading them.
class Names : public Dataset {
 public:
  explicit Names(int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      names_.push_back("/data/videos/0X" + std::to_string(i * 7919) + "_of_a_patient.avi");
  }
  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  std::vector<TensorSpec> specs() const override { return {{"length", i64, {}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override {
    const std::string copy = names_[static_cast<size_t>(index)];
    sample["length"].fill_(static_cast<int64_t>(copy.size()));
  }

 private:
  std::vector<std::string> names_;
};

TEST(WorkerResources, MemoryIsFlatOverFiftyEpochs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator keeps what is freed";
#endif
  const auto total = [] {
    int64_t kib = pss_kib(getpid());
    for (const ProcessEntry& process : descendants()) kib += pss_kib(process.pid);
    return kib;
  };
  // On a machine that is busy a worker may begin long after the other: waits until nothing changes.
  const auto settled = [&] {
    int64_t now = total();
    for (int same = 0; same < 5;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const int64_t before = std::exchange(now, total());
      same = now == before ? same + 1 : 0;
    }
    return now;
  };
  for (const StartMethod method : {StartMethod::zygote, StartMethod::fork}) {
    const auto sampler = std::make_shared<RandomSampler>(
        1'000'000, RandomSamplerOptions{.replacement = true, .num_samples = 20'000});
    DataLoader loader(make_dataset<Names>(1'000'000), {.batch_size = 500,
                                                       .sampler = sampler,
                                                       .num_workers = 2,
                                                       .persistent_workers = true,
                                                       .start_method = method});
    int64_t after_two = 0;
    for (int epoch = 0; epoch < 50; ++epoch) {
      for (const auto& batch : loader) batch["length"].size(0);
      if (epoch == 1) after_two = settled();
    }
    EXPECT_LT(settled() - after_two, 1024) << "KiB more";  // of 100 MiB of names
  }
}

TEST(WorkerResources, TheRingDoesntNeedDevShm) {
  struct Large : Dataset {
    int64_t size() const override { return 4; }
    std::vector<TensorSpec> specs() const override { return {{"x", u8, {32 << 20}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      sample["x"].fill_(index);
    }
  };
  DataLoader loader(std::make_shared<Large>(), {.num_workers = 1});
  auto it = loader.begin();
  EXPECT_EQ((*it)["x"][0][7].item<int64_t>(), 0);
  // What processes share is mapped with the flag s; the program itself may lie in /dev/shm.
  int64_t largest = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char flags[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, flags), 3)
        << line;
    if (flags[3] != 's') continue;
    largest = std::max(largest, static_cast<int64_t>(end - begin));
    EXPECT_EQ(line.find(" /dev/shm/"), std::string::npos) << line;
  }
  EXPECT_GE(largest, 32 << 20);  // the ring
}

TEST(WorkerProgram, NeedsNoMoreDevShmThanContainersHave) {
  std::string said;
  const int code =
      exit_code_of("large_ring", &said, "mount -t tmpfs -o size=64m tmpfs /dev/shm 2>/dev/null");
  if (code == kCannotBeHad || said.rfind("unshare: ", 0) == 0)
    GTEST_SKIP() << "/dev/shm can't be mounted here: " << said;
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(said.rfind("64 MiB of /dev/shm\n", 0), 0u) << said;
}

TEST(WorkerProgram, AWorkerThatTakesAllMemoryIsAnErrorOfItsSample) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more memory than the group has";
#endif
  std::string said;
  const int code = exit_code_of("memory_limit", &said);
  if (code == kCannotBeHad) GTEST_SKIP() << "a memory group can't be made here";
  EXPECT_EQ(code, 0) << said;
  EXPECT_NE(said.find("was killed by signal 9 (SIGKILL) when memory ran out"), std::string::npos)
      << said;
  EXPECT_NE(said.find("read 0124567\n"), std::string::npos) << said;
}

TEST(WorkerResources, ARingThatDoesntFitIsAnErrorBeforeAnythingStarts) {
  struct Huge : Dataset {
    int64_t size() const override { return 4; }
    std::vector<TensorSpec> specs() const override { return {{"x", u8, {int64_t{1} << 40}}}; }
    void read(int64_t, Sample&, Generator&) const override {}
  };
  DataLoader loader(std::make_shared<Huge>(), {.num_workers = 2});
  EXPECT_EQ(error_of([&] { loader.begin(); })
                .rfind("data_loader: shared memory must fit into what the machine has free, got "
                       "6291456 MiB wanted, ",
                       0),
            0u);
}

}  // namespace
}  // namespace aorta::data

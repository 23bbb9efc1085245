#include <aorta/core/process/limits.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace aorta {
namespace {

// A root folder with files as Linux shows them.
class Root {
 public:
  Root() : path_(testing::TempDir() + "limits_root/") {
    std::filesystem::remove_all(path_);
    write("proc/meminfo", "MemTotal: 2000 kB\nMemFree: 100 kB\nMemAvailable:    1000 kB\n");
  }
  ~Root() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  operator const std::string&() const { return path_; }

 private:
  std::string path_;
};

TEST(Limits, WithoutControlGroupsAreTheMachines) {
  const Root root;
  EXPECT_EQ(available_memory_bytes(root), 1000 * 1024);
  EXPECT_EQ(out_of_memory_kills(root), 0);
  EXPECT_EQ(available_cpus(root), available_cpus("/nowhere/"));
}

TEST(Limits, OfVersionTwoCountAtEveryLevel) {
  const Root root;
  root.write("proc/self/cgroup", "0::/user/job\n");
  const std::string job = "sys/fs/cgroup/user/job/", user = "sys/fs/cgroup/user/";
  root.write(job + "memory.max", "max\n");
  root.write(job + "memory.current", "5000\n");
  root.write(user + "memory.max", "600000\n");
  root.write(user + "memory.current", "200000\n");
  root.write(user + "memory.stat", "anon 1\ninactive_file 50000\nactive_file 7\n");
  EXPECT_EQ(available_memory_bytes(root), 600000 - 200000 + 50000);
  root.write(job + "memory.max", "10000\n");
  EXPECT_EQ(available_memory_bytes(root), 5000);
  root.write(job + "memory.current", "20000\n");
  EXPECT_EQ(available_memory_bytes(root), 0);
  root.write(job + "memory.events", "low 0\nhigh 4\noom 2\noom_kill 3\n");
  EXPECT_EQ(out_of_memory_kills(root), 3);
  root.write(user + "cpu.max", "max 100000\n");
  const int all = available_cpus(root);
  root.write(user + "cpu.max", "50000 100000\n");
  EXPECT_EQ(available_cpus(root), 1);
  root.write(user + "cpu.max", "150000 100000\n");
  EXPECT_EQ(available_cpus(root), std::min(all, 2));  // rounded up
}

TEST(Limits, OfVersionOneCount) {
  const Root root;
  root.write("proc/self/cgroup", "5:cpuset:/\n4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n");
  const std::string memory = "sys/fs/cgroup/memory/box/";
  root.write(memory + "memory.limit_in_bytes", "300000\n");
  root.write(memory + "memory.usage_in_bytes", "100000\n");
  root.write(memory + "memory.stat", "inactive_file 9\ntotal_inactive_file 1000\n");
  root.write(memory + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  EXPECT_EQ(available_memory_bytes(root), 201000);
  EXPECT_EQ(out_of_memory_kills(root), 7);
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(available_cpus(root), 1);
}

}  // namespace
}  // namespace aorta

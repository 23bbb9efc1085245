#include <aorta/aorta.h>
#include <aorta/apps/echo/doctor.h>
#include <aorta/apps/echo/failure.h>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include <aorta/tests/apps/echo/test_files.h>

namespace aorta::echo {
namespace {

using Status = Finding::Status;

Finding found(const std::string& name, const DoctorOptions& options = {}) {
  const std::vector<Finding> findings = examine(options);
  const auto place = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.name == name; });
  EXPECT_NE(place, findings.end()) << name;
  return place == findings.end() ? Finding() : *place;
}

TEST(Doctor, LooksAtEverythingAndHasAFixForWhatIsNotWell) {
  std::vector<std::string> names;
  for (const Finding& finding : examine({})) {
    names.push_back(finding.name);
    EXPECT_FALSE(finding.text.empty()) << finding.name;
    EXPECT_EQ(finding.text.find('\n'), std::string::npos) << finding.text;
    EXPECT_EQ(finding.fix.empty(), finding.status == Status::ok) << to_string(finding);
  }
  std::vector<std::string> wanted{"CPU",        "threads", "memory", "shared memory",
                                  "open files", "disk",    "GPU",    "CUDA"};
  if (cuda::is_available()) wanted.push_back("cuDNN");
  for (const char* name : {"libjpeg-turbo", "libpng", "zlib", "OpenCV", "DCMTK", "AORTA_ECHO"})
    wanted.push_back(name);
  EXPECT_EQ(names, wanted);
  EXPECT_TRUE(found("zlib").text.starts_with("1.")) << found("zlib").text;
  EXPECT_NE(found("libjpeg-turbo").text.find("libjpeg.so"), std::string::npos);
  EXPECT_EQ(found("shared memory").status, Status::ok);
  EXPECT_EQ(found("CUDA").status == Status::ok, cuda::is_available());
}

TEST(Doctor, KnowsTheThreadsAndTheirCpus) {
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  const int threads = get_num_threads();
  set_num_threads(CPU_COUNT(&cpus) + 5);
  const Finding many = found("threads");
  set_num_threads(threads);
  EXPECT_EQ(many.status, Status::warn);
  EXPECT_TRUE(many.text.starts_with(std::to_string(CPU_COUNT(&cpus) + 5) + " of numeric kernels"));
  EXPECT_NE(many.fix.find("OMP_NUM_THREADS="), std::string::npos);
}

TEST(Doctor, WarnsOfFewOpenFiles) {
  struct rlimit limit {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  struct rlimit few = limit;
  few.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Finding finding = found("open files");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(finding.status, Status::warn);
  EXPECT_EQ(finding.text, "200");
  EXPECT_TRUE(to_string(finding).starts_with("warn    open files     200; fix: ulimit -n "));
}

TEST(Doctor, FailsWithoutAFolderToWrite) {
  const DoctorOptions nowhere{.folder = "/nowhere/at/all"};
  EXPECT_EQ(found("disk", nowhere).status, Status::missing);
  ::testing::internal::CaptureStdout();
  std::string text;
  try {
    doctor(nowhere);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::environment);
    text = failure.what();
  }
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(text, "disk: \"/nowhere/at/all\" must be writable, got No such file or directory");
  EXPECT_NE(
      out.find("missing disk           \"/nowhere/at/all\" must be writable, got No such file"),
      std::string::npos);
}

TEST(Doctor, LooksAtTheDataFolder) {
  const char* before = std::getenv("AORTA_ECHO");
  const std::string kept = before ? before : "";
  const TestFolder folder;
  folder.write("FileList.csv", "");
  setenv("AORTA_ECHO", folder.str().c_str(), 1);
  const Finding partial = found("AORTA_ECHO");
  unsetenv("AORTA_ECHO");
  const Finding none = found("AORTA_ECHO");
  if (before) setenv("AORTA_ECHO", kept.c_str(), 1);
  EXPECT_EQ(partial.text, folder.str() + " has no VolumeTracings.csv");
  EXPECT_EQ(none.status, Status::warn);
  EXPECT_EQ(none.text, "isn't set");
}

}  // namespace
}  // namespace aorta::echo

// Every call that cuda/ makes has failed in this program, and no other: the sources are read for
// what they call. Those of NCCL fail here; the others in the tests beside.
#include <aorta/core/comm.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

class NcclFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override { emulated::inject_nothing(); }
  static DeviceBackend& gpu() { return backend(DeviceType::cuda); }

  /// All collectives, on two ranks; what each says. Results are read where none is to fail: those
  /// of a collective that is aborted are any, or nothing was written.
  static std::vector<std::string> work(bool good = false) {
    auto errors = on_ranks(2, {.timeout = 10}, [&](Communicator& end) {
      const std::string text = error_of([&] {
        const Device device(DeviceType::cuda, end.rank());
        const Tensor x = full({6}, end.rank() + 1.0, {.device = device});
        end.all_reduce(x);
        end.broadcast(x, 1);
        const Tensor gathered = end.all_gather(x.narrow(0, 0, 2)),
                     scattered = end.reduce_scatter(x);
        end.all_reduce(x);
        if (!good) return synchronize(device);
        EXPECT_EQ(gathered.to_vector<double>(), std::vector<double>(4, 3));
        EXPECT_EQ(scattered.to_vector<double>(), std::vector<double>(3, 6));
        EXPECT_EQ(x.to_vector<double>(), std::vector<double>(6, 6));
      });
      if (text == kNoError) return;
      end.abort(text);
      throw Error(text);
    });
    for (int i = 0; i < 20000 && emulated::living_communicators() > lost; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    EXPECT_EQ(emulated::living_communicators(), lost);
    return errors;
  }

  static inline int lost = 0;  // communicators that can't even be aborted, which are NCCL's then
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The functions of CUDA and of its libraries that return a status, as our headers declare them.
std::set<std::string> calls_with_status() {
  static const std::regex kDeclaration(
      R"((?:cudaError_t|cublasStatus_t|cudnnStatus_t|cufftResult|cusolverStatus_t|ncclResult_t)\s+(\w+)\()");
  std::set<std::string> names;
  const std::filesystem::path folder = "tests/cuda/emulated";
  std::vector<std::filesystem::path> headers{folder / "kernel.h"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "include"))
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  for (const auto& header : headers) {
    const std::string text = text_of(header);
    for (std::sregex_iterator i(text.begin(), text.end(), kDeclaration), end; i != end; ++i)
      names.insert((*i)[1]);
  }
  names.erase("cudaGetLastError");  // what it returns is another call's
  return names;
}

/// The calls among `calls` that cuda/ names in its code.
std::set<std::string> called_by_sources(const std::set<std::string>& calls) {
  static const std::regex kName(R"(\b(?:cuda|cublasLt|cudnn|cufft|cusolverDn|nccl)[A-Z]\w*)"),
      kComment("//.*");
  std::set<std::string> names;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("cuda")) {
    const std::string extension = entry.path().extension();
    if (extension != ".cc" && extension != ".cu" && extension != ".cuh" && extension != ".h")
      continue;
    ++files;
    const std::string text = std::regex_replace(text_of(entry.path()), kComment, "");
    for (std::sregex_iterator i(text.begin(), text.end(), kName), end; i != end; ++i)
      if (calls.contains(i->str())) names.insert(i->str());
  }
  EXPECT_GT(files, 60);
  return names;
}

/// When all tests of this program have run: what failed in one of them, beside what is called.
class AllCallsHaveFailed : public testing::Environment {
 public:
  void TearDown() override {
    const auto& tests = *testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count() || tests.Failed()) return;
    const std::set<std::string> failed = emulated::failed_calls();
    const std::set<std::string> called = called_by_sources(calls_with_status());
    const auto without = [](const std::set<std::string>& a, const std::set<std::string>& b) {
      std::set<std::string> rest;
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
      return rest;
    };
    EXPECT_GT(called.size(), 50u);
    EXPECT_EQ(without(called, failed), std::set<std::string>()) << "called, and never failed";
    EXPECT_EQ(without(failed, called), std::set<std::string>()) << "failed, and never called";
  }
};
[[maybe_unused]] const auto* const kEnvironment =
    testing::AddGlobalTestEnvironment(new AllCallsHaveFailed);

}  // namespace

TEST_F(NcclFaults, EachCallFailsInTurn) {
  emulated::inject("cudaDeviceGetPCIBusId", 1, cudaErrorInvalidDevice);  // asked once, and kept
  for (const std::string& error : work()) {
    EXPECT_EQ(
        error,
        "Communicator: CUDA must succeed, got cudaErrorInvalidDevice (invalid device ordinal)");
  }
  emulated::inject_nothing();
  EXPECT_EQ(work(true), no_errors(2));
  emulated::take_calls();
  EXPECT_EQ(work(true), no_errors(2));
  int failed = 0;
  for (const auto& [call, count] : emulated::take_calls()) {
    if (!call.starts_with("nccl")) continue;
    const int random = 1 + static_cast<int>(emulated::random_below(static_cast<uint64_t>(count)));
    for (const int nth : std::set<int>{1, 2, random}) {
      SCOPED_TRACE(call + " " + std::to_string(nth));
      const int64_t in_use[] = {gpu().memory_stats(0).bytes_in_use,
                                gpu().memory_stats(1).bytes_in_use};
      emulated::inject(call, nth, cudaErrorLaunchFailure);
      const auto errors = work();
      emulated::inject_nothing();
      failed += errors != no_errors(2);
      for (const std::string& error : errors) {
        if (error == kNoError) continue;
        EXPECT_TRUE(std::regex_search(
            error, std::regex("^(all_reduce|broadcast|all_gather|reduce_scatter|Communicator)\\b")))
            << error;
        EXPECT_NE(error.find(", got unhandled cuda error"), std::string::npos) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      }
      for (int device = 0; device < 2; ++device) {
        synchronize(Device(DeviceType::cuda, device));
        EXPECT_EQ(gpu().memory_stats(device).bytes_in_use, in_use[device]);
      }
      EXPECT_EQ(work(true), no_errors(2)) << "the next group";
    }
  }
  EXPECT_GT(failed, 10);
}

// The last: what can't be aborted stays.
TEST_F(NcclFaults, AnAbortFailsToo) {
  emulated::inject("ncclAllReduce", 1, cudaErrorLaunchFailure);
  emulated::inject("ncclCommAbort", 1, cudaErrorLaunchFailure);
  lost = 1;
  for (const std::string& error : work())
    EXPECT_TRUE(error.ends_with("NCCL must take it, got unhandled cuda error")) << error;
  emulated::inject_nothing();
  EXPECT_EQ(work(true), no_errors(2)) << "the next group";
}

}  // namespace aorta

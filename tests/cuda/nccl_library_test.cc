// NCCL itself, as far as it goes without a GPU: the library is found, has what this room calls, and
// makes ids.
#include <aorta/cuda/nccl.h>

#include <gtest/gtest.h>

#include <cstring>

namespace aorta::cuda {

TEST(NcclLibrary, IsFoundAndMakesIds) {
  const NcclLibrary& library = nccl_library();
  ASSERT_EQ(library.state.problem, "");
  EXPECT_GE(library.state.version, 22700);
  ncclUniqueId one, other;
  ASSERT_EQ(library.calls.get_unique_id(&one), ncclSuccess);
  ASSERT_EQ(library.calls.get_unique_id(&other), ncclSuccess);
  EXPECT_NE(std::memcmp(&one, &other, sizeof one), 0);
}

// What it says of a call that can't be: rank 1 of 1. It looks at the arguments, or for a GPU,
// first.
TEST(NcclLibrary, SaysWhatIsWrong) {
  const NcclCalls& calls = nccl_library().calls;
  ncclUniqueId id;
  ASSERT_EQ(calls.get_unique_id(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = calls.init_rank(&comm, 1, id, 1, &config);
  EXPECT_TRUE(result == ncclInvalidArgument || result == ncclUnhandledCudaError) << result;
  EXPECT_STRNE(calls.get_error_string(result), "");
  EXPECT_STRNE(calls.get_last_error(nullptr), "");
  EXPECT_EQ(comm, nullptr);
}

}  // namespace aorta::cuda

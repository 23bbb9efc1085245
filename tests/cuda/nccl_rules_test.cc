// Rules of NCCL that a communicator of one rank meets.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <utility>

inline void PrintTo(ncclResult_t result, std::ostream* out) {
  const char* const names[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                               "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                               "ncclRemoteError",   "ncclInProgress"};
  const bool known = result >= 0 && result < ncclNumResults;
  *out << (known ? names[result] : "unknown") << " = " << static_cast<int>(result);
}

namespace aorta::rules {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr size_t kCount = 256;

struct Calls {
  decltype(&ncclGetUniqueId) get_unique_id = Symbol{kName, "ncclGetUniqueId"};
  decltype(&ncclCommInitAll) comm_init_all = Symbol{kName, "ncclCommInitAll"};
  decltype(&ncclCommInitRank) comm_init_rank = Symbol{kName, "ncclCommInitRank"};
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = Symbol{kName, "ncclCommInitRankConfig"};
  decltype(&ncclCommFinalize) comm_finalize = Symbol{kName, "ncclCommFinalize"};
  decltype(&ncclCommDestroy) comm_destroy = Symbol{kName, "ncclCommDestroy"};
  decltype(&ncclCommAbort) comm_abort = Symbol{kName, "ncclCommAbort"};
  decltype(&ncclCommGetAsyncError) comm_get_async_error = Symbol{kName, "ncclCommGetAsyncError"};
  decltype(&ncclCommCount) comm_count = Symbol{kName, "ncclCommCount"};
  decltype(&ncclCommCuDevice) comm_cu_device = Symbol{kName, "ncclCommCuDevice"};
  decltype(&ncclCommUserRank) comm_user_rank = Symbol{kName, "ncclCommUserRank"};
  decltype(&ncclGroupStart) group_start = Symbol{kName, "ncclGroupStart"};
  decltype(&ncclGroupEnd) group_end = Symbol{kName, "ncclGroupEnd"};
  decltype(&ncclAllReduce) all_reduce = Symbol{kName, "ncclAllReduce"};
  decltype(&ncclReduce) reduce = Symbol{kName, "ncclReduce"};
  decltype(&ncclBroadcast) broadcast = Symbol{kName, "ncclBroadcast"};
  decltype(&ncclReduceScatter) reduce_scatter = Symbol{kName, "ncclReduceScatter"};
  decltype(&ncclAllGather) all_gather = Symbol{kName, "ncclAllGather"};
  decltype(&ncclSend) send = Symbol{kName, "ncclSend"};
  decltype(&ncclRecv) recv = Symbol{kName, "ncclRecv"};
};

/// What needs no device.
class NcclLibrary : public LibraryRules {
 protected:
  void SetUp() override {
    if (!nccl.comm_init_rank_config) GTEST_SKIP() << kName << " isn't found";
  }
  const Calls nccl;
};

class Nccl : public Rules {
 protected:
  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    if (!nccl.comm_init_rank_config) GTEST_SKIP() << kName << " isn't found";
    data = static_cast<float*>(device_memory(2 * kCount * sizeof(float)));
    ASSERT_EQ(cudaMemsetAsync(data, 0, 2 * kCount * sizeof(float), nullptr), cudaSuccess);
    stream = new_stream();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void TearDown() override {
    if (comm_) {
      cudaDeviceSynchronize();
      nccl.comm_abort(std::exchange(comm_, nullptr));
    }
    Rules::TearDown();
  }

  /// The communicator of a case: one rank on device 0.
  ncclComm_t comm() {
    if (!comm_) {
      EXPECT_EQ(nccl.comm_init_rank(&comm_, 1, id(), 0), ncclSuccess);
    }
    return comm_;
  }
  /// The case ends it.
  ncclComm_t comm_to_end() {
    comm();
    return std::exchange(comm_, nullptr);
  }
  ncclUniqueId id() {
    ncclUniqueId made{};
    EXPECT_EQ(nccl.get_unique_id(&made), ncclSuccess);
    return made;
  }
  ncclResult_t init(int ranks, int rank) {
    ncclComm_t made = nullptr;
    const ncclResult_t result = nccl.comm_init_rank(&made, ranks, id(), rank);
    EXPECT_EQ(made, nullptr);
    return result;
  }
  ncclResult_t all_reduce(ncclComm_t given, ncclDataType_t type = ncclFloat32,
                          ncclRedOp_t op = ncclSum, size_t count = kCount) {
    return nccl.all_reduce(data, data, count, type, op, given, stream);
  }

  const Calls nccl;
  float* data = nullptr;
  cudaStream_t stream = nullptr;

 private:
  ncclComm_t comm_ = nullptr;
};

}  // namespace

// ---- Communicators.

TEST_F(Nccl, OneOfNoRanks) { EXPECT_EQ(init(0, 0), ncclInvalidArgument); }

TEST_F(Nccl, OneOfFewerThanNoRanks) { EXPECT_EQ(init(-1, 0), ncclInvalidArgument); }

TEST_F(Nccl, ARankPastTheLast) { EXPECT_EQ(init(1, 1), ncclInvalidArgument); }

TEST_F(Nccl, ARankBelowZero) { EXPECT_EQ(init(1, -1), ncclInvalidArgument); }

TEST_F(Nccl, AConfigurationOfAnotherSize) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.size = 1;
  ncclComm_t made = nullptr;
  EXPECT_EQ(nccl.comm_init_rank_config(&made, 1, id(), 0, &config), ncclInvalidArgument);
}

TEST_F(Nccl, AConfigurationThatIsNone) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.magic = 0;
  ncclComm_t made = nullptr;
  EXPECT_EQ(nccl.comm_init_rank_config(&made, 1, id(), 0, &config), ncclInvalidArgument);
}

TEST_F(Nccl, OneOfADeviceThatIsNone) {
  ncclComm_t made = nullptr;
  const int device = devices();
  EXPECT_EQ(nccl.comm_init_all(&made, 1, &device), ncclInvalidArgument);
}

TEST_F(Nccl, TwoRanksOfOneDevice) {
  ncclComm_t made[2] = {};
  const int list[2] = {0, 0};
  EXPECT_EQ(nccl.comm_init_all(made, 2, list), ncclInvalidUsage);
}

TEST_F(Nccl, WhatACommunicatorIs) {
  int ranks = 0, rank = -1, device = -1;
  EXPECT_EQ(nccl.comm_count(comm(), &ranks), ncclSuccess);
  EXPECT_EQ(nccl.comm_user_rank(comm(), &rank), ncclSuccess);
  EXPECT_EQ(nccl.comm_cu_device(comm(), &device), ncclSuccess);
  EXPECT_EQ(ranks, 1);
  EXPECT_EQ(rank, 0);
  EXPECT_EQ(device, 0);
}

TEST_F(Nccl, OneWithoutAnError) {
  ncclResult_t error = ncclInternalError;
  EXPECT_EQ(nccl.comm_get_async_error(comm(), &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
}

TEST_F(Nccl, FinalizedAndDestroyed) {
  const ncclComm_t ended = comm_to_end();
  EXPECT_EQ(nccl.comm_finalize(ended), ncclSuccess);
  EXPECT_EQ(nccl.comm_destroy(ended), ncclSuccess);
}

TEST_F(Nccl, DestroyedAlone) { EXPECT_EQ(nccl.comm_destroy(comm_to_end()), ncclSuccess); }

TEST_F(Nccl, Aborted) { EXPECT_EQ(nccl.comm_abort(comm_to_end()), ncclSuccess); }

TEST_F(Nccl, FinalizedTwice) {
  EXPECT_EQ(nccl.comm_finalize(comm()), ncclSuccess);
  EXPECT_EQ(nccl.comm_finalize(comm()), ncclInvalidArgument);
}

TEST_F(Nccl, UsedAfterItsEnd) {
  stricter_in_own_process(ncclInvalidArgument, [&] {
    EXPECT_EQ(nccl.comm_finalize(comm()), ncclSuccess);
    return all_reduce(comm());
  });
}

TEST_F(Nccl, AskedForItsErrorAfterItsEnd) {
  EXPECT_EQ(nccl.comm_finalize(comm()), ncclSuccess);
  ncclResult_t error = ncclInternalError;
  EXPECT_EQ(nccl.comm_get_async_error(comm(), &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
}

TEST_F(Nccl, CountedAfterItsEnd) {
  EXPECT_EQ(nccl.comm_finalize(comm()), ncclSuccess);
  int ranks = 0;
  EXPECT_EQ(nccl.comm_count(comm(), &ranks), ncclSuccess);
  EXPECT_EQ(ranks, 1);
}

TEST_F(NcclLibrary, NoneIsFinalized) { EXPECT_EQ(nccl.comm_finalize(nullptr), ncclSuccess); }

TEST_F(NcclLibrary, NoneIsDestroyed) { EXPECT_EQ(nccl.comm_destroy(nullptr), ncclSuccess); }

TEST_F(NcclLibrary, NoneIsAborted) { EXPECT_EQ(nccl.comm_abort(nullptr), ncclSuccess); }

TEST_F(NcclLibrary, NoneIsAskedForItsError) {
  ncclResult_t error = ncclSuccess;
  EXPECT_EQ(nccl.comm_get_async_error(nullptr, &error), ncclInvalidArgument);
}

TEST_F(NcclLibrary, NoneIsCounted) {
  int ranks = 0;
  EXPECT_EQ(nccl.comm_count(nullptr, &ranks), ncclInvalidArgument);
}

TEST_F(Nccl, OneThatDoesNotBlockIsAskedUntilItIsMade) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t made = nullptr;
  const ncclResult_t result = nccl.comm_init_rank_config(&made, 1, id(), 0, &config);
  EXPECT_TRUE(result == ncclSuccess || result == ncclInProgress) << result;
  ASSERT_NE(made, nullptr);
  ncclResult_t error = ncclInProgress;
  while (error == ncclInProgress) ASSERT_EQ(nccl.comm_get_async_error(made, &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
  EXPECT_EQ(nccl.comm_abort(made), ncclSuccess);
}

// ---- Collectives.

TEST_F(Nccl, CollectivesOfOneRank) {
  EXPECT_EQ(all_reduce(comm()), ncclSuccess);
  EXPECT_EQ(nccl.reduce(data, data, kCount, ncclFloat32, ncclMax, 0, comm(), stream), ncclSuccess);
  EXPECT_EQ(nccl.broadcast(data, data, kCount, ncclFloat32, 0, comm(), stream), ncclSuccess);
  EXPECT_EQ(nccl.all_gather(data, data, kCount, ncclFloat32, comm(), stream), ncclSuccess);
  EXPECT_EQ(nccl.reduce_scatter(data, data + kCount, kCount, ncclFloat32, ncclSum, comm(), stream),
            ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(Nccl, OfNothing) { EXPECT_EQ(all_reduce(comm(), ncclFloat32, ncclSum, 0), ncclSuccess); }

TEST_F(Nccl, OfNoCommunicator) { EXPECT_EQ(all_reduce(nullptr), ncclInvalidArgument); }

TEST_F(Nccl, OfAnUnknownType) { EXPECT_EQ(all_reduce(comm(), ncclNumTypes), ncclInvalidArgument); }

TEST_F(Nccl, OfAnUnknownOperation) {
  EXPECT_EQ(all_reduce(comm(), ncclFloat32, ncclNumOps), ncclInvalidArgument);
}

TEST_F(Nccl, ABroadcastFromARootPastTheLast) {
  EXPECT_EQ(nccl.broadcast(data, data, kCount, ncclFloat32, 1, comm(), stream),
            ncclInvalidArgument);
}

TEST_F(Nccl, ABroadcastFromARootBelowZero) {
  EXPECT_EQ(nccl.broadcast(data, data, kCount, ncclFloat32, -1, comm(), stream),
            ncclInvalidArgument);
}

TEST_F(Nccl, AReductionToARootPastTheLast) {
  EXPECT_EQ(nccl.reduce(data, data, kCount, ncclFloat32, ncclSum, 1, comm(), stream),
            ncclInvalidArgument);
}

TEST_F(Nccl, SentToARankPastTheLast) {
  EXPECT_EQ(nccl.send(data, kCount, ncclFloat32, 1, comm(), stream), ncclInvalidArgument);
}

TEST_F(Nccl, ReceivedFromARankPastTheLast) {
  EXPECT_EQ(nccl.recv(data, kCount, ncclFloat32, 1, comm(), stream), ncclInvalidArgument);
}

TEST_F(Nccl, ARefusedOneLeavesNoErrorOfTheRuntime) {
  EXPECT_EQ(all_reduce(comm(), ncclNumTypes), ncclInvalidArgument);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Nccl, ARefusedOneLeavesNoAsyncError) {
  EXPECT_EQ(all_reduce(comm(), ncclNumTypes), ncclInvalidArgument);
  ncclResult_t error = ncclInternalError;
  EXPECT_EQ(nccl.comm_get_async_error(comm(), &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
}

TEST_F(Nccl, OfNullPointers) {
  in_own_process(ncclUnhandledCudaError, [&] {
    return nccl.all_reduce(nullptr, data, kCount, ncclFloat32, ncclSum, comm(), stream);
  });
}

TEST_F(Nccl, OfRangesThatOverlap) {
  stricter(nccl.all_reduce(data, data + kCount / 2, kCount, ncclFloat32, ncclSum, comm(), stream),
           ncclInvalidArgument);
}

TEST_F(Nccl, OnAnotherDevicesStream) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const ncclComm_t made = comm();
  cudaSetDevice(1);
  const cudaStream_t other = new_stream();
  cudaSetDevice(0);
  EXPECT_EQ(nccl.all_reduce(data, data, kCount, ncclFloat32, ncclSum, made, other),
            ncclInvalidArgument);
}

// ---- Groups.

TEST_F(NcclLibrary, AGroupEndsThatWasNotBegun) { EXPECT_EQ(nccl.group_end(), ncclInvalidUsage); }

TEST_F(NcclLibrary, AGroupOfNothing) {
  EXPECT_EQ(nccl.group_start(), ncclSuccess);
  EXPECT_EQ(nccl.group_end(), ncclSuccess);
}

TEST_F(Nccl, AGroupOfTwo) {
  comm();
  EXPECT_EQ(nccl.group_start(), ncclSuccess);
  EXPECT_EQ(all_reduce(comm()), ncclSuccess);
  EXPECT_EQ(all_reduce(comm()), ncclSuccess);
  EXPECT_EQ(nccl.group_end(), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(Nccl, AGroupSendsToItself) {
  comm();
  EXPECT_EQ(nccl.group_start(), ncclSuccess);
  EXPECT_EQ(nccl.send(data, kCount, ncclFloat32, 0, comm(), stream), ncclSuccess);
  EXPECT_EQ(nccl.recv(data + kCount, kCount, ncclFloat32, 0, comm(), stream), ncclSuccess);
  EXPECT_EQ(nccl.group_end(), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(Nccl, AGroupThatMakesACommunicatorAndCommunicates) {
  stricter_in_own_process(ncclInvalidUsage, [&] {
    comm();
    const ncclUniqueId other = id();
    ncclComm_t made = nullptr;
    nccl.group_start();
    all_reduce(comm());
    return nccl.comm_init_rank(&made, 1, other, 0);
  });
}

}  // namespace aorta::rules

// Bugs in calls of NCCL. The numbers are those of the list of cases in README.md.
#include <aorta/tests/cuda/emulated/planted.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>

namespace aorta::emulated {
namespace {

constexpr int kRanks = 3;
constexpr Mode kModes[] = {Mode::eager, Mode::lazy, Mode::random, Mode::threads};

/// One rank's communicator, stream and memory of 64 numbers, in each rank's device.
struct Rank {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *send = nullptr, *receive = nullptr;
};

class PlantedCollectives : public Planted {
 protected:
  PlantedCollectives() { settings().patience = 300; }

  /// Ranks whose numbers are 1, 2 and 3.
  std::vector<Rank> clique() {
    std::vector<ncclComm_t> comms(kRanks);
    EXPECT_EQ(ncclCommInitAll(comms.data(), kRanks, nullptr), ncclSuccess);
    std::vector<Rank> ranks(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      cudaSetDevice(r);
      const float own = static_cast<float>(r + 1);
      ranks[static_cast<size_t>(r)] = {comms[static_cast<size_t>(r)], new_stream(),
                                       on_device(std::vector<float>(64, own)),
                                       on_device(std::vector<float>(64))};
    }
    cudaSetDevice(0);
    return ranks;
  }

  /// `call(rank, number)` for each rank in one group; what the group ends with.
  template <class Call>
  static ncclResult_t together(std::vector<Rank>& ranks, const Call& call) {
    ncclGroupStart();
    for (int r = 0; r < kRanks; ++r) call(ranks[static_cast<size_t>(r)], r);
    return ncclGroupEnd();
  }

  static ncclResult_t sum(const Rank& rank, size_t count = 64, ncclRedOp_t op = ncclSum) {
    return ncclAllReduce(rank.send, rank.receive, count, ncclFloat, op, rank.comm, rank.stream);
  }

  static std::vector<float> received(const Rank& rank, int device, size_t count) {
    cudaSetDevice(device);
    std::vector<float> result(count);
    cudaMemcpyAsync(result.data(), rank.receive, count * 4, cudaMemcpyDeviceToHost, rank.stream);
    cudaStreamSynchronize(rank.stream);
    cudaSetDevice(0);
    return result;
  }
};

std::vector<float> repeated(std::initializer_list<float> values, size_t times) {
  std::vector<float> result;
  for (float value : values) result.insert(result.end(), times, value);
  return result;
}

/// The bits of 1, 2, 3 and 6 in each type, as its format defines them.
uint64_t bits_of(ncclDataType_t type, int value) {
  static const std::map<int, std::map<ncclDataType_t, uint64_t>> formats = {
      {1,
       {{ncclFloat16, 0x3c00},
        {ncclBfloat16, 0x3f80},
        {ncclFloat8e4m3, 0x38},
        {ncclFloat8e5m2, 0x3c},
        {ncclFloat32, 0x3f800000},
        {ncclFloat64, 0x3ff0000000000000}}},
      {2,
       {{ncclFloat16, 0x4000},
        {ncclBfloat16, 0x4000},
        {ncclFloat8e4m3, 0x40},
        {ncclFloat8e5m2, 0x40},
        {ncclFloat32, 0x40000000},
        {ncclFloat64, 0x4000000000000000}}},
      {3,
       {{ncclFloat16, 0x4200},
        {ncclBfloat16, 0x4040},
        {ncclFloat8e4m3, 0x44},
        {ncclFloat8e5m2, 0x42},
        {ncclFloat32, 0x40400000},
        {ncclFloat64, 0x4008000000000000}}},
      {6,
       {{ncclFloat16, 0x4600},
        {ncclBfloat16, 0x40c0},
        {ncclFloat8e4m3, 0x4c},
        {ncclFloat8e5m2, 0x46},
        {ncclFloat32, 0x40c00000},
        {ncclFloat64, 0x4018000000000000}}}};
  const auto& known = formats.at(value);
  const auto place = known.find(type);
  return place == known.end() ? static_cast<uint64_t>(value) : place->second;
}

}  // namespace

TEST_F(PlantedCollectives, EveryTypeAndOperation) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const std::map<ncclRedOp_t, int> wanted = {
      {ncclSum, 6}, {ncclProd, 6}, {ncclMax, 3}, {ncclMin, 1}, {ncclAvg, 2}};
  std::vector<Rank> ranks = clique();
  for (int t = 0; t < ncclNumTypes; ++t) {
    const auto type = static_cast<ncclDataType_t>(t);
    const size_t item = kBytes[t];
    const auto filled = [&](int value) {
      std::vector<char> bytes(5 * item);
      const uint64_t bits = bits_of(type, value);
      for (size_t i = 0; i < 5; ++i) std::memcpy(&bytes[i * item], &bits, item);
      return bytes;
    };
    for (const auto& [op, result] : wanted) {
      SCOPED_TRACE(std::to_string(t) + ", " + std::to_string(op));
      std::vector<char*> data(kRanks);
      for (int r = 0; r < kRanks; ++r) {
        cudaSetDevice(r);
        data[static_cast<size_t>(r)] = on_device(filled(r + 1));
      }
      const ncclRedOp_t reduction = op;
      EXPECT_EQ(together(ranks,
                         [&](const Rank& rank, int r) {
                           char* own = data[static_cast<size_t>(r)];
                           ncclAllReduce(own, own, 5, type, reduction, rank.comm, rank.stream);
                         }),
                ncclSuccess);
      for (int r = 0; r < kRanks; ++r) {
        cudaSetDevice(r);
        EXPECT_EQ(on_host(data[static_cast<size_t>(r)], 5 * item), filled(result));
      }
    }
  }
  EXPECT_EQ(found(), "");
}

TEST_F(PlantedCollectives, EachGivesWhatItIsCalled) {
  for (const Mode mode : kModes) {
    Streams::get().set_mode(mode);
    SCOPED_TRACE(static_cast<int>(mode));
    std::vector<Rank> ranks = clique();
    const auto each = [&](size_t count, const std::vector<std::vector<float>>& wanted,
                          const auto& call) {
      EXPECT_EQ(together(ranks, call), ncclSuccess);
      for (int r = 0; r < kRanks; ++r) {
        EXPECT_EQ(received(ranks[static_cast<size_t>(r)], r, count),
                  wanted[static_cast<size_t>(r)]);
      }
    };
    const auto all = [](const std::vector<float>& value) {
      return std::vector<std::vector<float>>(kRanks, value);
    };
    each(64, all(repeated({6}, 64)), [](const Rank& rank, int) { sum(rank); });
    each(6, all(repeated({1, 2, 3}, 2)), [](const Rank& rank, int) {
      ncclAllGather(rank.send, rank.receive, 2, ncclFloat, rank.comm, rank.stream);
    });
    each(2, all(repeated({6}, 2)), [](const Rank& rank, int) {
      ncclReduceScatter(rank.send, rank.receive, 2, ncclFloat, ncclSum, rank.comm, rank.stream);
    });
    each(4, all(repeated({3}, 4)), [](const Rank& rank, int r) {  // who has no root's needs nothing
      ncclBroadcast(r == 2 ? rank.send : nullptr, rank.receive, 4, ncclFloat, 2, rank.comm,
                    rank.stream);
    });
    each(4, {repeated({3}, 4), repeated({6}, 4), repeated({3}, 4)}, [](const Rank& rank, int r) {
      ncclReduce(rank.send, r == 1 ? rank.receive : nullptr, 4, ncclFloat, ncclSum, 1, rank.comm,
                 rank.stream);
    });
    each(4, {repeated({3}, 4), repeated({1}, 4), repeated({2}, 4)}, [](const Rank& rank, int r) {
      ncclSend(rank.send, 4, ncclFloat, (r + 1) % kRanks, rank.comm, rank.stream);
      ncclRecv(rank.receive, 4, ncclFloat, (r + 2) % kRanks, rank.comm, rank.stream);
    });
    for (const Rank& rank : ranks) EXPECT_EQ(ncclCommDestroy(rank.comm), ncclSuccess);
    EXPECT_EQ(found(), "");
  }
}

// In place: where a rank's own part lies in the whole.
TEST_F(PlantedCollectives, PlacesThatOverlap) {
  std::vector<Rank> ranks = clique();
  EXPECT_EQ(together(ranks,
                     [](const Rank& rank, int r) {
                       ncclAllGather(rank.send + 4 * r, rank.send, 4, ncclFloat, rank.comm,
                                     rank.stream);
                       ncclReduceScatter(rank.send, rank.send + 4 * r, 4, ncclFloat, ncclMax,
                                         rank.comm, rank.stream);
                     }),
            ncclSuccess);
  EXPECT_EQ(found(), "");
  const Rank& rank = ranks[0];
  const char* const rule = "what is sent and received is one place, or shares nothing";
  EXPECT_EQ(ncclAllReduce(rank.send, rank.send + 1, 8, ncclFloat, ncclSum, rank.comm, rank.stream),
            ncclInvalidArgument);
  EXPECT_TRUE(finds(rule));
  ncclAllGather(rank.send + 1, rank.send, 4, ncclFloat, rank.comm, rank.stream);
  EXPECT_TRUE(finds(rule));
  ncclReduceScatter(rank.send, rank.send + 4, 4, ncclFloat, ncclSum, rank.comm, rank.stream);
  EXPECT_TRUE(finds(rule));
}

// 25: ranks whose calls don't match. NCCL hangs, or gives a wrong end of the array.
TEST_F(PlantedCollectives, CallsThatDiffer) {
  const char* const rule = "all ranks call the same collectives in the same order";
  const auto differ = [&](const auto& call) {
    std::vector<Rank> ranks = clique();
    EXPECT_EQ(together(ranks, call), ncclInvalidUsage);
    EXPECT_TRUE(finds(rule));
    ncclResult_t error = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(ranks[2].comm, &error), ncclSuccess);
    EXPECT_EQ(error, ncclInvalidUsage) << "it is everybody's";
  };
  differ([](const Rank& rank, int r) { sum(rank, r == 1 ? 32 : 64); });
  differ([](const Rank& rank, int r) { sum(rank, 64, r == 1 ? ncclMax : ncclSum); });
  differ([](const Rank& rank, int r) {
    ncclAllReduce(rank.send, rank.receive, 8, r == 1 ? ncclInt32 : ncclFloat, ncclSum, rank.comm,
                  rank.stream);
  });
  differ([](const Rank& rank, int r) {
    ncclBroadcast(rank.send, rank.receive, 8, ncclFloat, r == 1 ? 1 : 0, rank.comm, rank.stream);
  });
  differ([](const Rank& rank, int r) {  // the order
    const auto gather = [&] {
      ncclAllGather(rank.send, rank.receive, 8, ncclFloat, rank.comm, rank.stream);
    };
    if (r == 1) gather();
    sum(rank);
    if (r != 1) gather();
  });
}

// 25: and in threads, which NCCL would leave waiting for each other.
TEST_F(PlantedCollectives, CallsOfThreadsThatDiffer) {
  for (const bool same : {true, false}) {
    std::vector<Rank> ranks = clique();
    std::vector<std::thread> threads;
    std::vector<ncclResult_t> results(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      threads.emplace_back([&, r] {
        const auto i = static_cast<size_t>(r);
        results[i] = sum(ranks[i], same || r != 1 ? 64 : 32);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(results, std::vector<ncclResult_t>(kRanks, same ? ncclSuccess : ncclInvalidUsage));
    if (same) {
      EXPECT_EQ(received(ranks[0], 0, 1), std::vector<float>{6});
      EXPECT_EQ(found(), "");
    } else {
      EXPECT_TRUE(finds("AllReduce of 32 float32, sum of rank 1"));
    }
  }
}

// A rank that never calls, and one thread of several ranks without a group: no hang, but a line.
TEST_F(PlantedCollectives, RanksThatNeverCome) {
  std::vector<Rank> ranks = clique();
  EXPECT_EQ(sum(ranks[0]), ncclInternalError);
  EXPECT_TRUE(
      finds("a thread of several ranks does so in a group, got rank 0 at AllReduce of 64 "
            "float32, sum, without rank 1, without rank 2"));
  EXPECT_EQ(sum(ranks[1]), ncclInternalError) << "it is everybody's";
  found();
  ranks = clique();
  EXPECT_EQ(ncclSend(ranks[0].send, 4, ncclFloat, 1, ranks[0].comm, ranks[0].stream),
            ncclInternalError);
  EXPECT_TRUE(finds("rank 0 at Send of 4 float32 to rank 1, which the other side didn't call"));
}

// 25: two communicators, used in another order by each thread.
TEST_F(PlantedCollectives, CommunicatorsInAnotherOrder) {
  std::vector<Rank> first = clique(), second = clique();
  std::vector<std::thread> threads;
  for (size_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      sum(r == 1 ? second[r] : first[r]);
      sum(r == 1 ? first[r] : second[r]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(finds("all ranks call the same in the same order"));
}

TEST_F(PlantedCollectives, SendsAndReceivesThatDiffer) {
  std::vector<Rank> ranks = clique();
  EXPECT_EQ(together(ranks,
                     [](const Rank& rank, int r) {
                       if (r == 0) ncclSend(rank.send, 8, ncclFloat, 1, rank.comm, rank.stream);
                       if (r == 1) ncclRecv(rank.receive, 4, ncclFloat, 0, rank.comm, rank.stream);
                     }),
            ncclInvalidUsage);
  EXPECT_TRUE(finds("a receive has the count and the type of its send"));
}

// 25: what is sent is made on another stream, and nothing orders the two.
TEST_F(PlantedCollectives, ASideStreamWithoutAnEvent) {
  std::vector<Rank> ranks = clique();
  waits_are_missed([&](bool waits) {
    cudaSetDevice(1);
    const cudaStream_t side = new_stream();
    float* own = on_device(std::vector<float>(64));
    start(set_all, 1, 32, side, own, 64, 10.0f);
    if (waits) order(side, ranks[1].stream);
    together(ranks, [&](const Rank& rank, int r) {
      ncclAllReduce(r == 1 ? own : rank.send, rank.receive, 64, ncclFloat, ncclSum, rank.comm,
                    rank.stream);
    });
    std::vector<float> result = received(ranks[0], 0, 64);
    for (int r = 0; r < kRanks; ++r) {
      cudaSetDevice(r);
      cudaDeviceSynchronize();
    }
    cudaSetDevice(0);
    return result;
  });
  EXPECT_EQ(found(), "");
}

// 25: a communicator that is aborted while its calls go on.
TEST_F(PlantedCollectives, AbortedWhileItWaits) {
  settings().patience = 20000;
  std::vector<Rank> ranks = clique();
  ncclResult_t result = ncclSuccess;
  std::thread waiting([&] { result = sum(ranks[0]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ncclCommAbort(ranks[0].comm), ncclSuccess);
  waiting.join();
  EXPECT_EQ(result, ncclInternalError);
  EXPECT_TRUE(finds("no thread is in a call of a communicator that is aborted"));
  EXPECT_EQ(sum(ranks[0]), ncclInvalidArgument);
  EXPECT_TRUE(finds("got an aborted one"));
  settings().patience = 300;
  ncclGroupStart();
  sum(ranks[1]);
  sum(ranks[2]);
  EXPECT_EQ(ncclGroupEnd(), ncclInternalError);
  EXPECT_TRUE(finds("without rank 0"));
}

// What was queued and isn't done when a communicator is aborted gives nothing that may be read, on
// other ranks too.
TEST_F(PlantedCollectives, AbortedBeforeItIsDone) {
  for (int r = 0; r < kRanks; ++r) {
    std::vector<Rank> ranks = clique();
    EXPECT_EQ(together(ranks, [](const Rank& rank, int) { sum(rank); }), ncclSuccess);
    ncclCommAbort(ranks[0].comm);
    received(ranks[static_cast<size_t>(r)], r, 64);
    EXPECT_TRUE(finds("bytes never written")) << r;
  }
}

TEST_F(PlantedCollectives, EndedAfterAnError) {
  std::vector<Rank> ranks = clique();
  together(ranks, [](const Rank& rank, int r) { sum(rank, r == 1 ? 32 : 64); });
  found();
  EXPECT_EQ(ncclCommDestroy(ranks[0].comm), ncclInvalidUsage);
  EXPECT_TRUE(finds("a communicator with an error is ended by ncclCommAbort, got invalid usage"));
  EXPECT_EQ(ncclCommFinalize(ranks[0].comm), ncclInvalidUsage);
  EXPECT_TRUE(finds("a communicator with an error is ended by ncclCommAbort"));
  for (const Rank& rank : ranks) EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
  EXPECT_EQ(found(), "");
}

TEST_F(PlantedCollectives, GroupsThatGoOn) {
  std::vector<Rank> ranks = clique();
  ncclGroupStart();
  for (const Rank& rank : ranks) sum(rank);
  cudaStreamSynchronize(ranks[0].stream);
  cudaDeviceSynchronize();
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(finds("cudaStreamSynchronize: work of a group is waited for after ncclGroupEnd"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_TRUE(finds("a group ends that was started"));

  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t comm = nullptr;
  ncclGroupStart();
  for (const Rank& rank : ranks) sum(rank);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(finds("a group makes communicators, or communicates"));
  ncclGroupStart();
  ncclCommInitRank(&comm, 1, id, 0);
  EXPECT_EQ(
      ncclAllReduce(ranks[0].send, ranks[0].receive, 4, ncclFloat, ncclSum, comm, ranks[0].stream),
      ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(finds("a group makes communicators, or communicates"));

  ncclGroupStart();
  ncclResult_t last = ncclSuccess;
  for (int i = 0; i < 2049; ++i) {
    last = ncclAllReduce(ranks[0].send, ranks[0].receive, 1, ncclFloat, ncclSum, comm,
                         ranks[0].stream);
  }
  EXPECT_EQ(last, ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(finds("a group has at most 2048 calls"));
}

TEST_F(PlantedCollectives, CommunicatorsThatCannotBe) {
  ncclComm_t comm = nullptr, comms[2];
  ncclUniqueId id{};
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);
  EXPECT_TRUE(finds("the id is one that ncclGetUniqueId gave"));
  ncclGetUniqueId(&id);
  ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 1), ncclInvalidUsage);
  EXPECT_TRUE(finds("each rank has a device of its own, got cuda:0 for rank 1 and rank 0"));
  cudaSetDevice(1);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument);
  EXPECT_TRUE(finds("each rank from 0 to one less than their number comes once"));
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclInvalidArgument);
  EXPECT_TRUE(finds("all ranks name one number of ranks"));
  EXPECT_EQ(ncclGroupEnd(), ncclInternalError);
  EXPECT_TRUE(finds("no communicator of rank 1"));
  const int twice[] = {1, 1}, absent[] = {0, 7};
  EXPECT_EQ(ncclCommInitAll(comms, 2, twice), ncclInvalidUsage);
  EXPECT_TRUE(finds("each rank has a device of its own"));
  EXPECT_EQ(ncclCommInitAll(comms, 2, absent), ncclInvalidArgument);
  EXPECT_TRUE(finds("the devices exist"));
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  EXPECT_TRUE(finds("a configuration begins as NCCL_CONFIG_INITIALIZER"));
}

TEST_F(PlantedCollectives, CommunicatorsThatAreNoMore) {
  std::vector<Rank> ranks = clique();
  EXPECT_EQ(together(ranks, [](const Rank& rank, int) { sum(rank); }), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(ranks[0].comm), ncclSuccess);
  EXPECT_EQ(sum(ranks[0]), ncclInvalidArgument);
  EXPECT_TRUE(finds(
      "the communicator is one that was made, and neither finalized nor ended, got a finalized "
      "one"));
  EXPECT_EQ(ncclCommDestroy(ranks[0].comm), ncclSuccess);
  int count = 0;
  EXPECT_EQ(ncclCommCount(ranks[0].comm, &count), ncclInvalidArgument);
  EXPECT_TRUE(finds("got a destroyed one"));
  EXPECT_EQ(ncclCommCount(ranks[1].comm, &count), ncclSuccess);
  EXPECT_EQ(count, kRanks);
  EXPECT_EQ(sum(Rank{}), ncclInvalidArgument);
  EXPECT_TRUE(finds("got none of these"));
}

TEST_F(PlantedCollectives, ArgumentsThatCannotBe) {
  std::vector<Rank> ranks = clique();
  const Rank& rank = ranks[1];
  EXPECT_EQ(sum({rank.comm, ranks[0].stream, rank.send, rank.receive}), ncclInvalidArgument);
  EXPECT_TRUE(finds("the stream is one of the communicator's device"));
  EXPECT_EQ(sum({rank.comm, rank.stream, ranks[0].send, rank.receive}), ncclUnhandledCudaError);
  EXPECT_TRUE(finds("memory is one allocation that the rank's device may touch"));
  EXPECT_EQ(sum(rank, 65), ncclUnhandledCudaError);
  EXPECT_TRUE(finds("260 bytes of memory of cuda:1, 0 bytes into a block of 256"));
  EXPECT_EQ(ncclBroadcast(rank.send, rank.receive, 4, ncclFloat, 3, rank.comm, rank.stream),
            ncclInvalidArgument);
  EXPECT_TRUE(finds("the root or the peer is a rank"));
  EXPECT_EQ(sum(rank, 4, ncclNumOps), ncclInvalidArgument);
  EXPECT_TRUE(finds("the type and the operation are known"));
  cudaSetDevice(1);
  EXPECT_EQ(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(sum(rank), ncclInvalidUsage);
  EXPECT_TRUE(finds("one process with several devices captures no collective"));
}

TEST_F(PlantedCollectives, MemoryThatIsFreedOrUnwritten) {
  for (const bool freed : {true, false}) {
    std::vector<Rank> ranks = clique();
    void* data = nullptr;
    cudaSetDevice(2);
    cudaMalloc(&data, 256);
    ranks[2].send = static_cast<float*>(data);
    cudaSetDevice(0);
    if (freed) start(set_all, 1, 1, ranks[0].stream, ranks[0].send, 1, 1.0f);
    EXPECT_EQ(together(ranks, [](const Rank& rank, int) { sum(rank); }), ncclSuccess);
    if (freed) cudaFree(data);
    cudaStreamSynchronize(ranks[0].stream);
    EXPECT_TRUE(finds(
        std::string("memory is the rank's own, and allocated and written when it is read, got "
                    "rank 2 sends ") +
        (freed ? "freed memory of cuda:2" : "bytes never written")));
  }
}

TEST_F(PlantedCollectives, TwoThreadsUseOneCommunicator) {
  settings().patience = 1000;
  std::vector<Rank> ranks = clique();
  std::thread waiting([&] { sum(ranks[0]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(sum(ranks[0]), ncclInvalidUsage);
  ncclGroupStart();
  sum(ranks[1]);
  sum(ranks[2]);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  waiting.join();
  EXPECT_TRUE(finds("one thread at a time uses a communicator"));
}

TEST_F(PlantedCollectives, CallsThatDoNotBlock) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<Rank> ranks = clique();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclResult_t state = ncclSuccess;
  for (int r = 0; r < kRanks; ++r) {
    cudaSetDevice(r);
    ncclComm_t& comm = ranks[static_cast<size_t>(r)].comm;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, kRanks, id, r, &config),
              r == kRanks - 1 ? ncclSuccess : ncclInProgress);
  }
  EXPECT_EQ(sum(ranks[0]), ncclInProgress);
  EXPECT_EQ(ncclCommGetAsyncError(ranks[0].comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(sum(ranks[0]), ncclInvalidUsage);
  EXPECT_TRUE(finds("a call waits until ncclCommGetAsyncError says no longer ncclInProgress"));
  EXPECT_EQ(ncclCommDestroy(ranks[0].comm), ncclInvalidUsage);
  EXPECT_TRUE(finds("a communicator whose calls go on is aborted"));
  // Its work isn't queued: no event stands for it, and nothing is behind it.
  cudaSetDevice(0);
  const cudaEvent_t event = new_event();
  cudaEventRecord(event, ranks[0].stream);
  EXPECT_TRUE(
      finds("cudaEventRecord: a stream that NCCL still queues work on gets no other, got AllReduce "
            "of 64 float32, sum of rank 0 in progress"));
  cudaStreamSynchronize(ranks[0].stream);
  EXPECT_TRUE(finds("a stream that NCCL still queues work on gets no other"));
  start(set_all, 1, 32, ranks[0].stream, ranks[0].send, 64, 1.0f);
  EXPECT_TRUE(finds("a stream that NCCL still queues work on gets no other"));
  EXPECT_EQ(sum(ranks[1]), ncclInProgress);
  EXPECT_EQ(sum(ranks[2]), ncclSuccess);
  EXPECT_EQ(ncclCommGetAsyncError(ranks[0].comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(received(ranks[1], 1, 1), std::vector<float>{6});
  EXPECT_EQ(found(), "");
  EXPECT_EQ(sum(ranks[0]), ncclInProgress);
  while (state == ncclSuccess || state == ncclInProgress) {
    ASSERT_EQ(ncclCommGetAsyncError(ranks[0].comm, &state), ncclSuccess);
  }
  EXPECT_EQ(state, ncclInternalError);
  EXPECT_TRUE(finds("without rank 1, without rank 2"));
}

// Without blocking a rank is finalized when all are, and only then destroyed.
TEST_F(PlantedCollectives, RanksLeaveTogether) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<ncclComm_t> comms(kRanks);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  for (int r = 0; r < kRanks; ++r) {
    cudaSetDevice(r);
    ncclCommInitRankConfig(&comms[static_cast<size_t>(r)], kRanks, id, r, &config);
  }
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommFinalize(comms[0]), ncclInProgress);
  EXPECT_EQ(ncclCommFinalize(comms[1]), ncclInProgress);
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(ncclCommDestroy(comms[0]), ncclInvalidUsage);
  EXPECT_TRUE(finds("a communicator whose calls go on is aborted, or asked until they are done"));
  EXPECT_EQ(ncclCommFinalize(comms[2]), ncclSuccess);
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(found(), "");
}

TEST_F(PlantedCollectives, PlacesOfDevices) {
  char place[32];
  EXPECT_EQ(cudaDeviceGetPCIBusId(place, sizeof place, 2), cudaSuccess);
  EXPECT_STREQ(place, "0000:03:00.0");
  EXPECT_EQ(found(), "");
  EXPECT_EQ(cudaDeviceGetPCIBusId(place, 12, 0), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the device exists, and 13 bytes hold its place, got 0, 12"));
  EXPECT_EQ(cudaDeviceGetPCIBusId(place, sizeof place, 3), cudaErrorInvalidDevice);
  EXPECT_TRUE(finds("the device exists, and 13 bytes hold its place"));
}

// An error that CUDA left is NCCL's, and its own results leave none behind.
TEST_F(PlantedCollectives, FaultsAreReturned) {
  std::vector<Rank> ranks = clique();
  Streams::get().sticky = cudaErrorIllegalAddress;
  EXPECT_EQ(sum(ranks[0]), ncclUnhandledCudaError);
  Streams::get().reset();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_STREQ(ncclGetErrorString(ncclUnhandledCudaError), "unhandled cuda error");
}

}  // namespace aorta::emulated

#pragma once

#include <aorta/tests/cuda/emulated/stream.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace aorta::emulated {

/// Where NVIDIA writes down what NCCL's calls demand.
namespace page {
#define AORTA_NCCL "docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/"
inline constexpr const char* kCollectives = AORTA_NCCL "collectives.html";
inline constexpr const char* kGroups = AORTA_NCCL "groups.html";
inline constexpr const char* kCommunicators = AORTA_NCCL "communicators.html";
inline constexpr const char* kFaultTolerance = AORTA_NCCL "communicators.html, Fault Tolerance";
inline constexpr const char* kPointToPoint = AORTA_NCCL "p2p.html";
inline constexpr const char* kInPlace = AORTA_NCCL "inplace.html";
inline constexpr const char* kThreadSafety = AORTA_NCCL "threadsafety.html";
inline constexpr const char* kNcclStreams = AORTA_NCCL "streams.html";
inline constexpr const char* kNcclGraphs = AORTA_NCCL "cudagraph.html";
inline constexpr const char* kNcclTypes =
    "docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html";
inline constexpr const char* kNcclApi =
    "docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/comms.html";
#undef AORTA_NCCL
}  // namespace page

enum class Collective { all_reduce, reduce, broadcast, reduce_scatter, all_gather, send, receive };

/// One rank's part in a communication, as it was called.
struct Part {
  Collective what = Collective::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int peer = 0;  // the root, or the other side
  ncclComm_t comm = nullptr;
  CUstream_st* stream = nullptr;
  bool queued = false;  // all parts are there, and their work is queued
};

/// The communicators of all ranks, which one id made.
struct Clique {
  std::vector<ncclComm_t> comms;  // by rank; null: hasn't come
  // Parts by rank, of the collectives that not all ranks have come to; the first is number `first`.
  std::deque<std::vector<std::shared_ptr<Part>>> meetings;
  uint64_t first = 0;
  // Sends and receives that wait for the other side, by (from, to).
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Part>>> sends, receives;
  ncclResult_t result = ncclSuccess;  // a broken rule is everybody's error

  bool is_complete() const;
};

}  // namespace aorta::emulated

// What a handle points to. One is never given out twice.
struct ncclComm {
  std::shared_ptr<aorta::emulated::Clique> clique;
  int rank = 0, device = 0;
  bool blocking = true;
  bool finalized = false, destroyed = false, aborted = false;
  uint64_t collectives = 0;                                     // calls so far
  std::vector<std::shared_ptr<aorta::emulated::Part>> waiting;  // parts that weren't queued yet
  std::chrono::steady_clock::time_point since;                  // when the oldest of them came
  std::thread::id caller;                                       // whose call goes on
  std::vector<aorta::emulated::Point> work;                     // the last of each stream
};

namespace aorta::emulated {

/// "AllReduce of 64 float32, sum": what has to be the same for all ranks.
std::string text_of(const Part& part);
std::string name_of(ncclDataType_t type);
size_t item_bytes(ncclDataType_t type);
size_t sent_bytes(const Part& part);
size_t received_bytes(const Part& part);

/// What each part receives, from what all send.
std::vector<std::vector<char>> outcome(const std::vector<std::shared_ptr<Part>>& parts);

// Who calls these holds the machine's lock.

/// A rank comes to a communication: the last one queues everybody's work.
void arrive(const std::shared_ptr<Part>& part);
/// A rule was broken: all that wait for this clique are told.
void fail(Clique& clique, ncclResult_t result);
/// Gives up what a communicator waits for, and what of its work isn't done.
void abort(ncclComm& comm);
/// Waits until `done()`, which others bring about; false when they don't within
/// `Settings::patience`.
bool wait_for_ranks(const std::function<bool()>& done);
/// What a rank waits for in vain.
std::string missing_for(const Part& part);

/// Says so when this thread waits for work of a group that it hasn't ended.
void check_no_open_group(const char* call);
/// Says so when a stream is used before NCCL's work is queued there.
void check_no_call_in_progress(const char* call, const CUstream_st& stream);

// These take the machine's lock.

/// Communicators that were made and not ended.
int living_communicators();
/// From now on the network is gone, or is there again: what is queued ends when its communicator is
/// aborted. In `Mode::threads` alone, for in the others a host's thread would be held.
void stall(bool on);

}  // namespace aorta::emulated

#pragma once

#include <aorta/core/device_collectives.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/nccl.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace aorta::cuda {

/// This rank's end of a communicator of NCCL's, with the stream that its work is queued on, and
/// with a thread that looks after that work, for nobody else waits for it: where another rank fails
/// or doesn't come, what NCCL has queued never ends by itself, and holds whoever waits for the
/// device.
///
/// The communicator is one whose calls don't block, as NCCL's guide demands where it may have to be
/// aborted ("Fault Tolerance"): a call that is still under way is asked for until it is queued.
class NcclRank {
 public:
  /// Queues the work of a call; what NCCL says.
  using Queue = std::function<ncclResult_t(ncclComm_t comm, cudaStream_t stream)>;

  /// Joins; waits for the other ranks as long as `call` says.
  static std::shared_ptr<NcclRank> join(const CollectiveCall& call, const std::string& id, int rank,
                                        int size, int device);

  NcclRank(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~NcclRank();
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  /// Queues a collective of these tensors between what the current stream has queued and what it
  /// will. Throws RankError where the group has ended.
  void run(const CollectiveCall& call, const std::vector<Tensor>& tensors, const Queue& queue);
  /// No more calls: what is queued is done, and then, as all ranks leave, the communicator ends.
  void leave();

 private:
  // Work that is queued and, as far as is known, not done.
  struct Pending {
    CollectiveCall call;
    OwnedEvent ready, done;
    int64_t end_ns = 0;  // nanoseconds_now(); 0: it isn't its turn yet
  };

  void begin(const CollectiveCall& call, const std::string& id, int rank, int size);
  void check_alive(const CollectiveCall& call);
  void wait_until_queued(const CollectiveCall& call, ncclResult_t result, const char* what);
  [[noreturn]] void fail_late(const CollectiveCall& call, const char* what);
  void give_up(const std::string& reason);

  static void watch(std::shared_ptr<NcclRank> rank);
  void look_after_work();
  void look_at_first();
  void finish();

  const int device_;
  const cudaStream_t stream_;
  ncclComm_t comm_ = nullptr;  // null: it has ended; held by calls_of(device_)
  std::mutex mutex_;           // of what follows
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  std::string failure_;
  bool leaves_ = false;
  double timeout_ = 0;  // the last call's
};

}  // namespace aorta::cuda

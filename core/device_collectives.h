#pragma once

#include <aorta/core/comm.h>

// What computes collectives between devices, for those that stand in core/comm.h.

namespace aorta {

struct DeviceLibrary;

/// A collective that an engine between devices is to compute.
struct CollectiveCall {
  std::string text;  // CollectiveRecord's call()
  double timeout = 0;
  std::shared_ptr<GroupState> group;
};

/// Collectives between devices, of which each rank has one: what NCCL does between GPUs. Tensors
/// are contiguous, and lie on this rank's device. The work is queued behind that of the current
/// stream, which waits for it; the host doesn't. All ranks make the same calls in the same order,
/// one thread at a time.
class DeviceCollectives {
 public:
  DeviceCollectives() = default;
  virtual ~DeviceCollectives() = default;
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  virtual void all_reduce(const CollectiveCall& call, const Tensor& tensor, ReduceOp op) = 0;
  virtual void broadcast(const CollectiveCall& call, const Tensor& tensor, int root) = 0;
  virtual void all_gather(const CollectiveCall& call, const Tensor& output,
                          const Tensor& input) = 0;
  virtual void reduce_scatter(const CollectiveCall& call, const Tensor& output, const Tensor& input,
                              ReduceOp op) = 0;
};

/// The library of such collectives between GPUs, which a plugin registers.
class CollectiveLibrary {
 public:
  CollectiveLibrary() = default;
  virtual ~CollectiveLibrary() = default;
  CollectiveLibrary(const CollectiveLibrary&) = delete;
  CollectiveLibrary& operator=(const CollectiveLibrary&) = delete;

  virtual DeviceLibrary state() = 0;
  /// What tells a device from all others, those of other machines too.
  virtual std::string identity(int device) = 0;
  /// By which the ranks find each other: one makes it, all of them join with it.
  virtual std::string new_id() = 0;
  /// This rank's end; waits for the others as long as `call` says.
  virtual std::unique_ptr<DeviceCollectives> join(const CollectiveCall& call, const std::string& id,
                                                  int rank, int size, int device) = 0;
};
/// That of this process; null where no plugin has one, or none was loaded.
CollectiveLibrary* collective_library();
/// Called once by a plugin.
void register_collective_library(CollectiveLibrary* library);

}  // namespace aorta

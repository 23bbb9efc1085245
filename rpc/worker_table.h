#pragma once

#include <aorta/rpc/agent.h>

namespace aorta::distributed::rpc::detail {

/// What all processes have told of themselves: their names, and where their tensors on devices go.
class WorkerTable {
 public:
  /// All make theirs together. Throws where two have one name, or run other programs.
  WorkerTable(Communicator& group, const std::string& name, const RpcOptions& options);

  const std::vector<WorkerInfo>& workers() const { return workers_; }
  const std::string& name(int worker) const { return workers_[static_cast<size_t>(worker)].name; }
  /// Where a tensor on `device` of `from` is at `to`: as the sender's map says, or the receiver's,
  /// read backwards. Throws where neither does.
  Device target(Device device, int from, int to) const;

 private:
  using Map = std::vector<std::pair<std::string, std::string>>;  // of devices
  const Map& map(int from, int to) const;

  std::vector<WorkerInfo> workers_;
  std::vector<std::map<std::string, Map>> maps_;  // by rank, for the worker of that name
};

}  // namespace aorta::distributed::rpc::detail

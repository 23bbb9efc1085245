#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/process/function_place.h>
#include <aorta/rpc/worker_table.h>

#include <algorithm>

namespace aorta::distributed::rpc::detail {
namespace {

// The texts of all processes, by rank.
std::vector<std::string> gathered(Communicator& group, const std::string& text) {
  const Tensor lengths = group.all_gather(tensor(static_cast<int64_t>(text.size())));
  const auto* const length = lengths.data<int64_t>();
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.resize(static_cast<size_t>(*std::max_element(length, length + group.size())));
  const Tensor all = group.all_gather(tensor(bytes).view({1, -1}));
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    const auto* const begin = all.data<uint8_t>() + rank * all.size(1);
    texts.emplace_back(begin, begin + length[rank]);
  }
  return texts;
}

}  // namespace

WorkerTable::WorkerTable(Communicator& group, const std::string& name, const RpcOptions& options) {
  std::map<std::string, Map> mine;
  for (const auto& [worker, devices] : options.device_maps)
    for (const auto& [from, to] : devices)
      mine[worker].emplace_back(to_string(from), to_string(to));
  ArgumentWriter writer;
  Portable<std::string>::write(writer, name);
  Portable<std::string>::write(writer, program_identity());
  Portable<std::map<std::string, Map>>::write(writer, mine);
  std::string first_program;
  for (const std::string& text : gathered(group, writer.text())) {
    ArgumentReader reader(text);
    const int rank = static_cast<int>(workers_.size());
    const WorkerInfo worker{Portable<std::string>::read(reader), rank};
    const auto program = Portable<std::string>::read(reader);
    maps_.push_back(Portable<std::map<std::string, Map>>::read(reader));
    if (rank == 0) first_program = program;
    check(program == first_program, "init_rpc", "all processes must run the same program",
          "another one on rank ", rank, " than on rank 0");
    for (const WorkerInfo& other : workers_)
      check(other.name != worker.name, "init_rpc", "each process must have a name of its own",
            worker.name, " of rank ", other.id, " and of rank ", rank);
    workers_.push_back(worker);
  }
  for (const auto& maps : maps_)
    for (const auto& [worker, devices] : maps)
      check(
          std::any_of(workers_.begin(), workers_.end(),
                      [&, &wanted = worker](const WorkerInfo& one) { return one.name == wanted; }),
          "init_rpc", "device_maps must name workers", worker);
}

const WorkerTable::Map& WorkerTable::map(int from, int to) const {
  static const Map none;
  const auto& maps = maps_[static_cast<size_t>(from)];
  const auto found = maps.find(name(to));
  return found == maps.end() ? none : found->second;
}

Device WorkerTable::target(Device device, int from, int to) const {
  if (from == to) return device;
  const std::string here = to_string(device);
  for (const auto& [mine, theirs] : map(from, to))
    if (mine == here) return Device(theirs);
  for (const auto& [theirs, mine] : map(to, from))
    if (mine == here) return Device(theirs);
  fail("rpc", "a tensor that is sent must be on the CPU, or device_maps must say where it goes to",
       here, " for ", name(to));
}

}  // namespace aorta::distributed::rpc::detail

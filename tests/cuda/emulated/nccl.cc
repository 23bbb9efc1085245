// NCCL's calls: communicators, groups, and the checks of what a rank passes.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace aorta::emulated;

namespace {

// Between ncclGroupStart and ncclGroupEnd a thread's calls are noted, and nothing is queued.
struct Group {
  int depth = 0;
  std::vector<std::shared_ptr<Part>> parts;
  std::vector<ncclComm_t> joining;
};
thread_local Group group;

constexpr size_t kMostCalls = 2048;  // of a group (api/group.html)

std::deque<ncclComm>& communicators() {
  static auto* all = new std::deque<ncclComm>;
  return *all;
}

/// Cliques by the number that their id holds.
std::vector<std::shared_ptr<Clique>>& cliques() {
  static auto* all = new std::vector<std::shared_ptr<Clique>>;
  return *all;
}

ncclResult_t refuse(const char* name, const std::string& rule, const std::string& got,
                    const char* page, ncclResult_t result = ncclInvalidArgument) {
  report(name, rule, got, page);
  return result;
}

/// A call of NCCL; its errors are its results, and not the runtime's last error.
template <class Body>
ncclResult_t nccl_call(const char* name, const Body& body) {
  if (closed() != cudaSuccess) return ncclUnhandledCudaError;
  const MachineLock lock;
  if (begin_call(name) != cudaSuccess) return ncclUnhandledCudaError;
  return body();
}

/// Whether a handle can be used: for anything, or as one that is finalized still can, to end it and
/// to ask what it is.
ncclResult_t check_usable(const char* name, ncclComm_t comm, bool finalized_too = false) {
  const auto& all = communicators();
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const ncclComm& one) { return &one == comm; });
  if (!known || comm->destroyed || comm->aborted || (comm->finalized && !finalized_too)) {
    return refuse(name, "the communicator is one that was made, and neither finalized nor ended",
                  !known            ? "none of these"
                  : comm->destroyed ? "a destroyed one"
                  : comm->aborted   ? "an aborted one"
                                    : "a finalized one",
                  page::kCommunicators);
  }
  return ncclSuccess;
}

/// One that doesn't block is finalized when all are: they may need each other until then.
bool others_have_left(const ncclComm& comm) {
  const auto& all = comm.clique->comms;
  return comm.blocking || std::all_of(all.begin(), all.end(), [](const ncclComm* other) {
           return other->finalized || other->destroyed || other->aborted;
         });
}

/// What a communicator's calls so far have come to.
ncclResult_t state_of(ncclComm& comm) {
  if (comm.clique->result != ncclSuccess) return comm.clique->result;
  std::erase_if(comm.waiting, [](const auto& part) { return part->queued; });
  const bool begun = comm.waiting.empty() && comm.clique->is_complete();
  return begun && (!comm.finalized || others_have_left(comm)) ? ncclSuccess : ncclInProgress;
}

ncclResult_t out_of_patience(const char* name, Clique& clique, const std::string& got) {
  refuse(name,
         "all ranks call the same in the same order, and a thread of several ranks does so in a "
         "group",
         got, page::kGroups);
  fail(clique, ncclInternalError);
  return ncclInternalError;
}

ncclResult_t wait_for_part(const char* name, const std::shared_ptr<Part>& part) {
  ncclComm& comm = *part->comm;
  Clique& clique = *comm.clique;
  const bool came =
      wait_for_ranks([&] { return part->queued || clique.result != ncclSuccess || comm.aborted; });
  if (!came) return out_of_patience(name, clique, missing_for(*part));
  if (clique.result != ncclSuccess) return clique.result;
  return part->queued ? ncclSuccess : ncclInternalError;  // another thread aborted it
}

ncclResult_t wait_for_clique(const char* name, ncclComm& comm) {
  Clique& clique = *comm.clique;
  if (!comm.blocking) return state_of(comm);
  const bool came = wait_for_ranks(
      [&] { return clique.is_complete() || clique.result != ncclSuccess || comm.aborted; });
  if (came) return clique.result;
  std::string missing;
  for (size_t r = 0; r < clique.comms.size(); ++r) {
    if (!clique.comms[r]) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
  }
  return out_of_patience(name, clique, "no communicator of rank " + missing);
}

/// All that a thread has noted: every rank comes first, and then it is waited for the others.
ncclResult_t run_group(const char* name) {
  const Group noted = {0, std::exchange(group.parts, {}), std::exchange(group.joining, {})};
  ncclResult_t result = ncclSuccess;
  const auto keep = [&](ncclResult_t part) {
    if (result == ncclSuccess || result == ncclInProgress) result = part ? part : result;
  };
  for (ncclComm_t comm : noted.joining) keep(wait_for_clique(name, *comm));
  for (const auto& part : noted.parts) {
    const ncclComm& comm = *part->comm;
    if (comm.caller != std::thread::id() && comm.caller != std::this_thread::get_id()) {
      return refuse(name, "one thread at a time uses a communicator",
                    "another's call of rank " + std::to_string(comm.rank) + " goes on",
                    page::kThreadSafety, ncclInvalidUsage);
    }
  }
  for (const auto& part : noted.parts) {
    part->comm->caller = std::this_thread::get_id();
    arrive(part);
    if (part->queued || part->comm->blocking) continue;
    if (part->comm->waiting.empty()) part->comm->since = std::chrono::steady_clock::now();
    part->comm->waiting.push_back(part);
  }
  for (const auto& part : noted.parts) {
    keep(part->comm->blocking ? wait_for_part(name, part) : state_of(*part->comm));
  }
  for (const auto& part : noted.parts) part->comm->caller = {};
  return result;
}

/// Memory that a rank sends and receives in one place, or in two that share none.
std::string problem_in_place(const Part& part) {
  const char *send = static_cast<const char*>(part.send),
             *receive = static_cast<const char*>(part.receive);
  const size_t sent = sent_bytes(part), received = received_bytes(part);
  const size_t bytes = part.count * item_bytes(part.type);
  const size_t own = static_cast<size_t>(part.comm->rank) * bytes;
  if (sent == 0 || received == 0) return "";
  if (part.what == Collective::all_gather && send == receive + own) return "";
  if (part.what == Collective::reduce_scatter && receive == send + own) return "";
  const bool moved = part.what == Collective::all_gather || part.what == Collective::reduce_scatter;
  if (!moved && send == receive) return "";
  if (send < receive + received && receive < send + sent) {
    return std::to_string(sent) + " bytes sent, received " + std::to_string(receive - send) +
           " bytes after them";
  }
  return "";
}

ncclResult_t check_memory(const char* name, const Part& part) {
  const auto problem = [&](const void* data, size_t bytes) {
    return bytes == 0 ? ""
                      : Memory::get().problem(data, bytes, Access::named, part.comm->device, false);
  };
  for (const std::string& text :
       {problem(part.send, sent_bytes(part)), problem(part.receive, received_bytes(part))}) {
    if (!text.empty()) {
      return refuse(name, "memory is one allocation that the rank's device may touch", text,
                    page::kCollectives, ncclUnhandledCudaError);
    }
  }
  if (const std::string text = problem_in_place(part); !text.empty()) {
    return refuse(name, "what is sent and received is one place, or shares nothing", text,
                  page::kInPlace);
  }
  return ncclSuccess;
}

/// The rules that one rank's call has by itself.
ncclResult_t check_part(const char* name, const Part& part) {
  if (const ncclResult_t result = check_usable(name, part.comm); result) return result;
  ncclComm& comm = *part.comm;
  if (!comm.blocking && state_of(comm) == ncclInProgress) {
    return refuse(name, "a call waits until ncclCommGetAsyncError says no longer ncclInProgress",
                  "rank " + std::to_string(comm.rank), page::kCommunicators, ncclInvalidUsage);
  }
  if (std::count(group.joining.begin(), group.joining.end(), part.comm)) {
    return refuse(name, "a group makes communicators, or communicates", "both", page::kGroups,
                  ncclInvalidUsage);
  }
  const int ranks = static_cast<int>(comm.clique->comms.size());
  if (part.type < 0 || part.type >= ncclNumTypes || part.op < 0 || part.op >= ncclNumOps) {
    return refuse(name, "the type and the operation are known",
                  std::to_string(part.type) + ", " + std::to_string(part.op), page::kNcclTypes);
  }
  if (part.peer < 0 || part.peer >= ranks) {
    return refuse(name, "the root or the peer is a rank",
                  std::to_string(part.peer) + " of " + std::to_string(ranks), page::kCollectives);
  }
  if (!part.stream || part.stream->destroyed || part.stream->device != comm.device) {
    return refuse(name, "the stream is one of the communicator's device",
                  part.stream && !part.stream->destroyed
                      ? "a stream of cuda:" + std::to_string(part.stream->device) +
                            ", the communicator is of cuda:" + std::to_string(comm.device)
                      : "none that lives",
                  page::kNcclStreams);
  }
  if (part.stream->capture) {
    part.stream->capture->invalidate(cudaErrorStreamCaptureUnsupported);
    return refuse(name, "one process with several devices captures no collective", "a capture",
                  page::kNcclGraphs, ncclInvalidUsage);
  }
  return check_memory(name, part);
}

ncclResult_t communicate(const char* name, Part part, cudaStream_t stream) {
  return nccl_call(name, [&] {
    const auto& all = communicators();
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ncclComm& one) { return &one == part.comm; });
    part.stream = Streams::get().find(stream, known ? part.comm->device : current_device());
    if (const ncclResult_t result = check_part(name, part); result) return result;
    if (group.parts.size() >= kMostCalls) {
      return refuse(name, "a group has at most 2048 calls", "one more", page::kGroups,
                    ncclInvalidUsage);
    }
    group.parts.push_back(std::make_shared<Part>(part));
    return group.depth > 0 ? ncclSuccess : run_group(name);
  });
}

// An id is a number behind a word that says whose it is.
constexpr char kMark[] = "aorta-emulated";

std::shared_ptr<Clique> clique_of(const ncclUniqueId& id) {
  size_t number = 0;
  std::memcpy(&number, id.internal + sizeof kMark, sizeof number);
  const bool ours = std::memcmp(id.internal, kMark, sizeof kMark) == 0;
  return ours && number < cliques().size() ? cliques()[number] : nullptr;
}

ncclUniqueId new_id() {
  ncclUniqueId id{};
  const size_t number = cliques().size();
  std::memcpy(id.internal, kMark, sizeof kMark);
  std::memcpy(id.internal + sizeof kMark, &number, sizeof number);
  cliques().push_back(std::make_shared<Clique>());
  return id;
}

/// Makes the communicator of one rank; others may still have to come.
ncclResult_t join(const char* name, ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank,
                  int device) {
  const auto bad = [&](const std::string& rule, const std::string& got,
                       ncclResult_t result = ncclInvalidArgument) {
    return refuse(name, rule, got, page::kCommunicators, result);
  };
  *comm = nullptr;
  const std::shared_ptr<Clique> clique = clique_of(id);
  if (!clique) return bad("the id is one that ncclGetUniqueId gave", "");
  if (clique->comms.empty()) clique->comms.resize(static_cast<size_t>(std::max(ranks, 0)));
  const std::string of = " of " + std::to_string(ranks);
  if (ranks < 1 || clique->comms.size() != static_cast<size_t>(ranks)) {
    return bad("all ranks name one number of ranks",
               std::to_string(ranks) + " after " + std::to_string(clique->comms.size()));
  }
  if (rank < 0 || rank >= ranks || clique->comms[static_cast<size_t>(rank)]) {
    return bad("each rank from 0 to one less than their number comes once",
               std::to_string(rank) + of);
  }
  for (ncclComm_t other : clique->comms) {
    if (!other || other->device != device) continue;
    return bad("each rank has a device of its own",
               "cuda:" + std::to_string(device) + " for rank " + std::to_string(rank) +
                   " and rank " + std::to_string(other->rank),
               ncclInvalidUsage);
  }
  *comm = &communicators().emplace_back();
  (*comm)->clique = clique;
  (*comm)->rank = rank;
  (*comm)->device = device;
  clique->comms[static_cast<size_t>(rank)] = *comm;
  return ncclSuccess;
}

/// After an error there is only one way to end it.
ncclResult_t check_whole(const char* name, const ncclComm& comm) {
  if (comm.clique->result == ncclSuccess) return ncclSuccess;
  return refuse(name, "a communicator with an error is ended by ncclCommAbort",
                ncclGetErrorString(comm.clique->result), page::kNcclApi, ncclInvalidUsage);
}

/// All that it queued is done.
void flush(ncclComm& comm) {
  for (const Point& point : comm.work) Streams::get().finish(point);
  comm.work.clear();
}

}  // namespace

namespace aorta::emulated {

int living_communicators() {
  const MachineLock lock;
  const auto& all = communicators();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [](const ncclComm& comm) {
    return !comm.destroyed && !comm.aborted;
  }));
}

void check_no_call_in_progress(const char* call, const CUstream_st& stream) {
  for (const ncclComm& comm : communicators()) {
    for (const auto& part : comm.waiting) {
      if (part->stream != &stream || part->queued || comm.aborted) continue;
      report(call, "a stream that NCCL still queues work on gets no other",
             text_of(*part) + " of rank " + std::to_string(comm.rank) + " in progress",
             page::kNcclApi);
      return;
    }
  }
}

void check_no_open_group(const char* call) {
  if (group.depth == 0 || group.parts.empty()) return;
  report(call, "work of a group is waited for after ncclGroupEnd",
         std::to_string(group.parts.size()) + " calls of a group that goes on", page::kGroups);
}

}  // namespace aorta::emulated

extern "C" {

cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  const char* const name = "cudaDeviceGetPCIBusId";
  return call(name, [&] {
    const bool there = device >= 0 && device < settings().devices;
    if (!there || size < 13) {
      return broken(name, "the device exists, and 13 bytes hold its place",
                    std::to_string(device) + ", " + std::to_string(size), page::kDevice,
                    there ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    }
    std::snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
  });
}

ncclResult_t ncclGetVersion(int* version) {
  if (is_injected("ncclGetVersion")) return ncclUnhandledCudaError;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call("ncclGetUniqueId", [&] {
    *id = new_id();
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  const char* const texts[] = {"no error",
                               "unhandled cuda error",
                               "unhandled system error",
                               "internal error",
                               "invalid argument",
                               "invalid usage",
                               "remote process exited or there was a network error",
                               "NCCL operation in progress"};
  return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const char* const name = "ncclCommInitRankConfig";
  return nccl_call(name, [&] {
    const ncclConfig_t plain = NCCL_CONFIG_INITIALIZER;
    if (config && (config->size != plain.size || config->magic != plain.magic)) {
      return refuse(name, "a configuration begins as NCCL_CONFIG_INITIALIZER", "",
                    page::kCommunicators);
    }
    if (!group.parts.empty()) {
      return refuse(name, "a group makes communicators, or communicates", "both", page::kGroups,
                    ncclInvalidUsage);
    }
    const ncclResult_t result = join(name, comm, ranks, id, rank, current_device());
    if (result != ncclSuccess) return result;
    (*comm)->blocking = !config || config->blocking != 0;
    group.joining.push_back(*comm);
    return group.depth > 0 ? ncclSuccess : run_group(name);
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  const char* const name = "ncclCommInitAll";
  return nccl_call(name, [&] {
    const ncclUniqueId id = new_id();
    for (int i = 0; i < devices; ++i) {
      const int device = list ? list[i] : i;
      if (device < 0 || device >= settings().devices) {
        return refuse(name, "the devices exist", std::to_string(device), page::kCommunicators);
      }
      if (const ncclResult_t result = join(name, &comms[i], devices, id, i, device); result) {
        return result;
      }
    }
    return ncclSuccess;
  });
}

// None is ended without an error, here and below (NCCL 2.28).
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return nccl_call("ncclCommFinalize", [&] {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t result = check_usable("ncclCommFinalize", comm); result) return result;
    if (const ncclResult_t result = check_whole("ncclCommFinalize", *comm); result) return result;
    flush(*comm);
    comm->finalized = true;
    return state_of(*comm);
  });
}

// What is queued is done first; what waits for another rank never would be.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const char* const name = "ncclCommDestroy";
  return nccl_call(name, [&] {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t result = check_usable(name, comm, true); result) return result;
    if (const ncclResult_t result = check_whole(name, *comm); result) return result;
    if (state_of(*comm) == ncclInProgress) {
      return refuse(name,
                    "a communicator whose calls go on is aborted, or asked until they are done",
                    "rank " + std::to_string(comm->rank), page::kCommunicators, ncclInvalidUsage);
    }
    flush(*comm);
    comm->destroyed = true;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return nccl_call("ncclCommAbort", [&] {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t result = check_usable("ncclCommAbort", comm, true); result) {
      return result;
    }
    if (comm->caller != std::thread::id() && comm->caller != std::this_thread::get_id()) {
      refuse("ncclCommAbort",
             "no thread is in a call of a communicator that is aborted, so its calls don't block",
             "rank " + std::to_string(comm->rank), page::kFaultTolerance);
    }
    abort(*comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const char* const name = "ncclCommGetAsyncError";
  return nccl_call(name, [&] {
    if (const ncclResult_t result = check_usable(name, comm, true); result) return result;
    *error = state_of(*comm);
    const auto patience = std::chrono::milliseconds(settings().patience);
    if (*error == ncclInProgress && !comm->waiting.empty() &&
        std::chrono::steady_clock::now() - comm->since > patience) {
      *error = out_of_patience(name, *comm->clique, missing_for(*comm->waiting.front()));
    }
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return nccl_call("ncclCommCount", [&] {
    const ncclResult_t result = check_usable("ncclCommCount", comm, true);
    if (!result) *count = static_cast<int>(comm->clique->comms.size());
    return result;
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return nccl_call("ncclCommCuDevice", [&] {
    const ncclResult_t result = check_usable("ncclCommCuDevice", comm, true);
    if (!result) *device = comm->device;
    return result;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return nccl_call("ncclCommUserRank", [&] {
    const ncclResult_t result = check_usable("ncclCommUserRank", comm, true);
    if (!result) *rank = comm->rank;
    return result;
  });
}

ncclResult_t ncclGroupStart() {
  return nccl_call("ncclGroupStart", [&] {
    ++group.depth;
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_call("ncclGroupEnd", [&] {
    if (group.depth == 0) {
      return refuse("ncclGroupEnd", "a group ends that was started", "", page::kGroups,
                    ncclInvalidUsage);
    }
    return --group.depth > 0 ? ncclSuccess : run_group("ncclGroupEnd");
  });
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclAllReduce",
                     {Collective::all_reduce, send, receive, count, type, op, 0, comm}, stream);
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclReduce", {Collective::reduce, send, receive, count, type, op, root, comm},
                     stream);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclBroadcast",
                     {Collective::broadcast, send, receive, count, type, ncclSum, root, comm},
                     stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclReduceScatter",
                     {Collective::reduce_scatter, send, receive, count, type, op, 0, comm}, stream);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclAllGather",
                     {Collective::all_gather, send, receive, count, type, ncclSum, 0, comm},
                     stream);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return communicate("ncclSend",
                     {Collective::send, send, nullptr, count, type, ncclSum, peer, comm}, stream);
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return communicate("ncclRecv",
                     {Collective::receive, nullptr, receive, count, type, ncclSum, peer, comm},
                     stream);
}
}

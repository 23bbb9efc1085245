// cuDNN's calls that aren't about descriptors: handles, and the execution of a plan.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/cudnn_descriptors.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace aorta::emulated;

namespace {

/// One plan, as it was when cudnnBackendExecute was called.
struct Call {
  CudnnGraph graph;
  int engine;
  std::map<int64_t, void*> pointers;
  std::map<int64_t, float> values;  // of tensors by value, as they were
  void* workspace;
  int64_t workspace_bytes;
  int device;
  uint64_t number;  // of all executions
};

/// Who works in which workspace, up to which point of a stream.
struct Use {
  uintptr_t begin;
  int64_t bytes;
  CUstream_st* stream;
  uint64_t count, number;
};

std::vector<Use>& uses() {
  static auto* all = new std::vector<Use>;
  return *all;
}

int64_t id_of(const CudnnDescriptor& tensor) {
  return tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
}

/// A piece of a tensor without gaps, in bytes from where the tensor begins.
struct Stretch {
  int64_t first;
  size_t bytes;
};

std::vector<Stretch> stretches_of(const CudnnDescriptor& tensor) {
  const auto dims = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride and size, the nearest numbers first
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) return {};
    if (dims[d] > 1 && strides[d] != 0) steps.emplace_back(strides[d], dims[d]);
  }
  std::sort(steps.begin(), steps.end());
  const int64_t item = cudnn_item_bytes(tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  int64_t bytes = item;
  std::vector<int64_t> firsts{0};
  for (const auto& [stride, size] : steps) {
    if (firsts.size() == 1 && stride * item == bytes) {
      bytes *= size;
      continue;
    }
    const size_t count = firsts.size();
    for (int64_t i = 1; i < size; ++i)
      for (size_t f = 0; f < count; ++f) firsts.push_back(firsts[f] + i * stride * item);
  }
  std::vector<Stretch> all;
  for (const int64_t first : firsts) all.push_back({first, static_cast<size_t>(bytes)});
  return all;
}

char* begin_of(const Call& call, const CudnnDescriptor& tensor) {
  return static_cast<char*>(call.pointers.at(id_of(tensor)));
}

std::string problem_of_memory(const Call& call, bool when_it_runs) {
  const Memory& memory = Memory::get();
  for (const CudnnDescriptor* t : call.graph.tensors()) {
    if (cudnn_is_value(*t)) continue;
    const bool written = call.graph.writes(*t);
    const Access access = !when_it_runs ? Access::named : written ? Access::write : Access::read;
    for (const Stretch& stretch : stretches_of(*t)) {
      const std::string problem = memory.problem(begin_of(call, *t) + stretch.first, stretch.bytes,
                                                 access, call.device, false);
      if (!problem.empty()) return "tensor " + std::to_string(id_of(*t)) + " in " + problem;
    }
  }
  if (call.workspace_bytes == 0) return "";
  const std::string problem =
      memory.problem(call.workspace, static_cast<size_t>(call.workspace_bytes),
                     when_it_runs ? Access::write : Access::named, call.device, false);
  return problem.empty() ? "" : "the workspace in " + problem;
}

/// Work of other streams in the same workspace, queued before and not done when this has its turn:
/// nothing orders the two.
bool shares_workspace(const Call& call, const CUstream_st& stream) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(call.workspace);
  return std::any_of(uses().begin(), uses().end(), [&](const Use& use) {
    return use.stream != &stream && use.number < call.number && use.stream->done < use.count &&
           use.begin < begin + static_cast<uintptr_t>(call.workspace_bytes) &&
           begin < use.begin + static_cast<uintptr_t>(use.bytes);
  });
}

void run_plan(const Call& call, const CUstream_st& stream) {
  const char* const name = "cudnnBackendExecute";
  if (const std::string problem = problem_of_memory(call, true); !problem.empty()) {
    report(name, "tensors lie in memory of the device that is allocated and written", problem,
           page::kCudnnExecute);
    Streams::get().sticky = cudaErrorIllegalAddress;
    return;
  }
  if (call.workspace_bytes > 0) {
    if (shares_workspace(call, stream)) {
      report(name, "a workspace is one stream's until its work there is done", "",
             page::kCudnnExecute);
    }
    // It belongs to the call, whatever lay there.
    show_write(call.workspace, static_cast<size_t>(call.workspace_bytes));
    std::memset(call.workspace, 0xa5, static_cast<size_t>(call.workspace_bytes));
  }
  const auto each_stretch = [&](bool written, const auto& show) {
    for (const CudnnDescriptor* t : call.graph.tensors()) {
      if (cudnn_is_value(*t) || call.graph.writes(*t) != written) continue;
      for (const Stretch& stretch : stretches_of(*t))
        show(begin_of(call, *t) + stretch.first, stretch.bytes);
    }
  };
  each_stretch(false, [](char* data, size_t bytes) { show_read(data, bytes); });
  each_stretch(true, [](char* data, size_t bytes) { show_write(data, bytes); });
  std::map<int64_t, void*> pointers = call.pointers;
  std::map<int64_t, float> values = call.values;
  for (auto& [id, value] : values) pointers[id] = &value;
  cudnn_compute(call.graph, call.engine, pointers);
  each_stretch(true, [](char* data, size_t bytes) {
    Memory::get().set_written(reinterpret_cast<uintptr_t>(data), bytes);
  });
}

/// Marks a handle, which one thread uses at a time, while a call has it.
class Busy {
 public:
  Busy(const char* call, cudnnHandle_t handle) : handle_(handle) {
    const std::lock_guard lock(mutex());
    if (handle->busy) {
      cudnn_refuse(call, "a handle is used by one thread at a time", "", page::kCudnnThreads,
                   CUDNN_STATUS_BAD_PARAM);
    }
    handle->busy = true;
  }
  ~Busy() {
    const std::lock_guard lock(mutex());
    handle_->busy = false;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  Unseen unseen_;
  cudnnHandle_t handle_;
};

/// What is wrong with a call's pointers; nothing where they are good.
cudnnStatus_t status_of_pack(const char* name, const CudnnDescriptor& pack, Call& call) {
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = pack.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i) call.pointers[ids[i]] = data[i];
  for (const CudnnDescriptor* t : call.graph.tensors()) {
    const int64_t id = id_of(*t);
    const auto found = call.pointers.find(id);
    if (found == call.pointers.end() || !found->second) {
      return cudnn_refuse(name, "a variant pack names each tensor that isn't virtual",
                          "none for " + std::to_string(id), page::kCudnnPack,
                          CUDNN_STATUS_BAD_PARAM);
    }
    const uintptr_t address = reinterpret_cast<uintptr_t>(found->second);
    if (cudnn_is_value(*t)) {
      if (Memory::get().device_of(address) >= 0) {
        return cudnn_refuse(name, "a tensor by value lies in the host's memory",
                            std::to_string(id) + " in " + Memory::get().describe(address),
                            page::kCudnnTensor, CUDNN_STATUS_BAD_PARAM);
      }
      call.values[id] = *static_cast<const float*>(found->second);
      continue;
    }
    const auto alignment =
        static_cast<uintptr_t>(t->one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
    if (address % alignment != 0) {
      return cudnn_refuse(name, "a pointer is aligned as its tensor says",
                          "tensor " + std::to_string(id) + " at ..." +
                              std::to_string(address % 256) + ", said " + std::to_string(alignment),
                          page::kCudnnTensor, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    }
  }
  call.workspace_bytes = cudnn_workspace(call.graph, call.engine);
  call.workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (call.workspace_bytes == 0) return CUDNN_STATUS_SUCCESS;
  if (!call.workspace) {
    return cudnn_refuse(name, "a plan that needs a workspace gets one",
                        "none of " + std::to_string(call.workspace_bytes), page::kCudnnPack,
                        CUDNN_STATUS_BAD_PARAM);
  }
  if (reinterpret_cast<uintptr_t>(call.workspace) % 16 != 0) {
    return cudnn_refuse(name, "a workspace is aligned to 16 bytes", "", page::kCudnnPack,
                        CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(const char* name, cudnnHandle_t handle, const CudnnDescriptor& plan,
                      const CudnnDescriptor& pack) {
  static uint64_t executions = 0;
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return cudnn_refuse(name, "a plan is executed with a variant pack", "", page::kCudnnExecute,
                        CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  }
  if (!plan.finalized || !pack.finalized) {
    return cudnn_refuse(name, "what is executed is finalized before", "", page::kCudnnExecute,
                        CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  }
  if (plan.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)->device != handle->device) {
    return cudnn_refuse(name, "a plan runs with a handle of its device", "", page::kCudnnPlan,
                        CUDNN_STATUS_BAD_PARAM);
  }
  if (handle->device != current_device()) {
    return cudnn_refuse(name, "a handle is used while its device is current",
                        std::to_string(current_device()), page::kCudnnHandle,
                        CUDNN_STATUS_BAD_PARAM);
  }
  CUstream_st* const stream = Streams::get().find(handle->stream, handle->device);
  if (!stream || stream->destroyed) {
    return cudnn_refuse(name, "the stream of a handle was not destroyed", "", page::kCudnnHandle,
                        CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
  }
  Call call{.graph = {},
            .engine = plan.engine,
            .pointers = {},
            .values = {},
            .workspace = nullptr,
            .workspace_bytes = 0,
            .device = handle->device,
            .number = ++executions};
  call.graph.read(*plan.graph);
  if (const cudnnStatus_t status = status_of_pack(name, pack, call);
      status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (const std::string problem = problem_of_memory(call, false); !problem.empty()) {
    return cudnn_refuse(name, "tensors lie in memory of the device", problem, page::kCudnnExecute,
                        CUDNN_STATUS_BAD_PARAM);
  }
  if (Streams::get().queue(*stream, {name, [call, stream] { run_plan(call, *stream); }, {}}) !=
      cudaSuccess) {
    set_cudnn_error("not queued");
    return CUDNN_STATUS_EXECUTION_FAILED_CUDART;
  }
  std::erase_if(uses(), [](const Use& use) { return use.stream->done >= use.count; });
  if (call.workspace_bytes > 0 && !stream->capture) {
    uses().push_back({reinterpret_cast<uintptr_t>(call.workspace), call.workspace_bytes, stream,
                      stream->queued, call.number});
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 91900; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART:
      return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    default:
      return "CUDNN_STATUS_BAD_PARAM";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  const MachineLock lock;
  if (cudnn_stopped("cudnnCreate")) return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new cudnnContext{.device = current_device()};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream_handle) {
  const char* const name = "cudnnSetStream";
  const Busy busy(name, handle);
  const MachineLock lock;
  if (cudnn_stopped(name)) return CUDNN_STATUS_INTERNAL_ERROR;
  CUstream_st* const stream = Streams::get().find(stream_handle, handle->device);
  if (!stream || stream->destroyed || stream->device != handle->device) {
    return cudnn_refuse(name, "the stream of a handle is one of its device", "", page::kCudnnHandle,
                        CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
  }
  handle->stream = stream_handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  const char* const name = "cudnnBackendExecute";
  const Busy busy(name, handle);
  const MachineLock lock;
  if (cudnn_stopped(name)) return CUDNN_STATUS_EXECUTION_FAILED_CUDART;
  const CudnnDescriptor* const plan = cudnn_descriptor(name, page::kCudnnExecute, plan_handle);
  const CudnnDescriptor* const pack = cudnn_descriptor(name, page::kCudnnExecute, pack_handle);
  if (!plan || !pack) return CUDNN_STATUS_BAD_PARAM;
  return execute(name, handle, *plan, *pack);
}
}

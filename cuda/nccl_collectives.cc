#include <aorta/core/check.h>
#include <aorta/cuda/nccl_rank.h>

#include <array>
#include <fstream>

namespace aorta::cuda {
namespace {

// Bools are bytes of 0 and 1.
ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i64:
      return ncclInt64;
    case DType::i32:
      return ncclInt32;
    case DType::u8:
    case DType::boolean:
      return ncclUint8;
    case DType::c64:
    case DType::c128:
      break;
  }
  fail("Communicator", "NCCL must have the dtype", dtype);
}

ncclRedOp_t op_of(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::sum:
      return dtype == DType::boolean ? ncclMax : ncclSum;
    case ReduceOp::mean:
      return ncclAvg;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
  }
  fail("Communicator", "NCCL must have the reduction", op);
}

size_t count_of(const Tensor& tensor) { return static_cast<size_t>(tensor.numel()); }
size_t bytes_of(const Tensor& tensor) { return static_cast<size_t>(tensor.nbytes()); }

class NcclCollectives final : public DeviceCollectives {
 public:
  explicit NcclCollectives(std::shared_ptr<NcclRank> rank) : rank_(std::move(rank)) {}
  ~NcclCollectives() override { rank_->leave(); }

  void all_reduce(const CollectiveCall& call, const Tensor& tensor, ReduceOp op) override {
    if (tensor.numel() == 0) return;
    rank_->run(call, {tensor}, [&](ncclComm_t comm, cudaStream_t stream) {
      const DType dtype = tensor.dtype();
      return nccl().all_reduce(tensor.data(), tensor.data(), count_of(tensor), type_of(dtype),
                               op_of(op, dtype), comm, stream);
    });
  }

  void broadcast(const CollectiveCall& call, const Tensor& tensor, int root) override {
    if (tensor.numel() == 0) return;
    rank_->run(call, {tensor}, [&](ncclComm_t comm, cudaStream_t stream) {
      return nccl().broadcast(tensor.data(), tensor.data(), bytes_of(tensor), ncclUint8, root, comm,
                              stream);
    });
  }

  void all_gather(const CollectiveCall& call, const Tensor& output, const Tensor& input) override {
    if (input.numel() == 0) return;
    rank_->run(call, {output, input}, [&](ncclComm_t comm, cudaStream_t stream) {
      return nccl().all_gather(input.data(), output.data(), bytes_of(input), ncclUint8, comm,
                               stream);
    });
  }

  void reduce_scatter(const CollectiveCall& call, const Tensor& output, const Tensor& input,
                      ReduceOp op) override {
    if (input.numel() == 0) return;
    rank_->run(call, {output, input}, [&](ncclComm_t comm, cudaStream_t stream) {
      const DType dtype = input.dtype();
      return nccl().reduce_scatter(input.data(), output.data(), count_of(output), type_of(dtype),
                                   op_of(op, dtype), comm, stream);
    });
  }

 private:
  static const NcclCalls& nccl() { return nccl_library().calls; }

  const std::shared_ptr<NcclRank> rank_;
};

// The machine, until it is started again, and the place on its bus.
std::string find_identity(int device) {
  std::string machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  char bus[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "Communicator");
  return machine + "/" + bus;
}

class Library final : public CollectiveLibrary {
 public:
  DeviceLibrary state() override { return nccl_library().state; }

  std::string identity(int device) override {
    static std::array<std::once_flag, kMaxDevices> found;
    static std::array<std::string, kMaxDevices> identities;
    const auto place = static_cast<size_t>(device);
    std::call_once(found[place], [&] { identities[place] = find_identity(device); });
    return identities[place];
  }

  std::string new_id() override {
    ncclUniqueId id;
    const ncclResult_t result = nccl_library().calls.get_unique_id(&id);
    check(result == ncclSuccess, "Communicator", "NCCL must make an id",
          nccl_library().calls.get_error_string(result));
    return {id.internal, sizeof id.internal};
  }

  std::unique_ptr<DeviceCollectives> join(const CollectiveCall& call, const std::string& id,
                                          int rank, int size, int device) override {
    return std::make_unique<NcclCollectives>(NcclRank::join(call, id, rank, size, device));
  }
};

}  // namespace

void register_collectives() {
  static Library library;
  register_collective_library(&library);
}

}  // namespace aorta::cuda

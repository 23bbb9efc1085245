#pragma once

// Graphs of cuDNN's operations, and the plans that its engines make of them.

#include <aorta/core/dtype.h>
#include <aorta/cuda/cudnn.h>

#include <initializer_list>
#include <memory>
#include <vector>

namespace aorta::cuda {

inline constexpr int64_t kMostCudnnWorkspace = int64_t{1} << 30;
inline constexpr int64_t kWidestLoad = 16;  // bytes that engines load at once

/// The kinds of problems whose plans are kept together, by keys that begin with one.
enum class CudnnKind : int64_t { convolution, attention, attention_backward };

/// Where a plan will run.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  /// Instead of a handle, a finalized description of a GPU: plans are made without one, to be
  /// looked at.
  cudnnBackendDescriptor_t device = nullptr;
};

/// A tensor of a graph; strides in elements.
struct CudnnTensor {
  int64_t id;
  std::vector<int64_t> dims, strides;
  cudnnDataType_t type;
  int64_t alignment = kWidestLoad;              // in bytes
  bool is_virtual = false, is_a_value = false;  // lies in no memory; in the host's, a number
};

/// What a graph is made of, finalized.
using CudnnParts = std::shared_ptr<const std::vector<CudnnDescriptor>>;

/// A graph as it is made. Its parts are told by their numbers.
class CudnnGraph {
 public:
  explicit CudnnGraph(const char* op) : op_(op) {}

  /// A descriptor to set and to add.
  CudnnDescriptor make(cudnnBackendDescriptorType_t type) const { return {type, op_}; }
  /// Finalizes it.
  size_t add(CudnnDescriptor part);
  size_t add_tensor(const CudnnTensor& tensor);
  /// The operations of a graph stand in the order in which they are added.
  void add_operation(CudnnDescriptor operation) {
    operations_.push_back(add(std::move(operation)));
  }
  /// A function of one, two or three tensors, computed in `precision`; along `axis` where it
  /// counts. Writes `to`, and returns it.
  size_t add_pointwise(cudnnPointwiseMode_t mode, std::initializer_list<size_t> from, size_t to,
                       cudnnDataType_t precision = CUDNN_DATA_FLOAT, int64_t axis = -1);
  const CudnnDescriptor& operator[](size_t part) const { return parts_[part]; }

  /// All parts, the graph of operations behind them; null where cuDNN has none of this pattern.
  CudnnParts finish(const CudnnTarget& target) &&;

 private:
  const char* op_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<size_t> operations_;
};

/// What engines may do.
struct CudnnPermits {
  bool f32 = false;   // what is multiplied is f32: tensor cores are TF32's then
  bool tf32 = false;  // which is allowed
  bool deterministic = false, winograd = false;
  int64_t workspace = kMostCudnnWorkspace;  // bytes at most
};

/// Where the tensors of a graph lie, by their ids: numbers in the host's memory.
struct CudnnPointers {
  std::vector<int64_t> ids;
  std::vector<const void*> data;

  void add(int64_t id, const void* pointer) {
    ids.push_back(id);
    data.push_back(pointer);
  }
};

/// A plan of cuDNN's by one of its engines, and what it was made from.
class CudnnEngine {
 public:
  /// Asks cuDNN's heuristics, and walks along their list: the first `most` that take the graph and
  /// do nothing that they may not. Errors name `op`.
  static std::vector<std::unique_ptr<CudnnEngine>> find(const CudnnParts& graph,
                                                        const CudnnPermits& permits,
                                                        const CudnnTarget& target, const char* op,
                                                        size_t most);

  /// Its number among those of its kind.
  int64_t index() const { return index_; }
  /// Bytes that it needs while it runs.
  int64_t workspace() const { return workspace_; }
  /// Queues it on the handle's stream. `workspace` is null where it needs none.
  void run(const CudnnPointers& pointers, void* workspace, cudnnHandle_t handle,
           const char* op) const;

 private:
  CudnnEngine(CudnnParts graph, CudnnParts made_from, CudnnDescriptor plan, int64_t index);

  CudnnParts graph_, made_from_;
  CudnnDescriptor plan_;
  int64_t index_, workspace_;
};

/// What cuDNN calls f32 and the half types.
cudnnDataType_t cudnn_type(DType dtype);

}  // namespace aorta::cuda

#pragma once

#include <aorta/nn/module.h>
#include <aorta/nn/parallel/collective_thread.h>

#include <exception>
#include <functional>
#include <memory>

namespace aorta::nn {

/// The options of DistributedDataParallel, with PyTorch's names and defaults.
struct DistributedDataParallelOptions {
  double bucket_cap_mb = 25;  // MiB of gradients reduced together; of the first and the last 1
  bool find_unused_parameters = false;  // those that get no gradient count as zeros
  bool broadcast_buffers = true;        // each call in training takes rank 0's buffers
  /// Gradients are rounded to bf16 before they are sent, added up in f32 (by NCCL in bf16), and
  /// their mean is rounded again: half of the bytes, and 8 bits of each. PyTorch's
  /// bf16_compress_hook.
  bool bf16_gradients = false;
};

/// Brings the gradients of a module to their mean over a group, bucket by bucket while a backward
/// pass runs. What DistributedDataParallel does beside calling its module.
class GradientReducer {
 public:
  /// Takes rank 0's parameters and buffers. Throws where the ranks' modules differ, and names the
  /// first tensor that does, and where another reducer has one of the parameters.
  GradientReducer(Module& module, Communicator& group,
                  const DistributedDataParallelOptions& options);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Takes rank 0's buffers, in training and where gradients are recorded.
  void before_forward();
  /// Whether backward passes reduce.
  void set_sync(bool sync) { syncs_ = sync; }
  bool syncs() const { return syncs_; }
  /// For how long backward passes have waited at their ends for reductions, in all; of GPUs' work
  /// the host doesn't wait.
  double waited_seconds() const { return waited_seconds_; }
  /// The parameters of each bucket by name, in the order in which they are reduced.
  std::vector<std::vector<std::string>> buckets() const;

 private:
  struct Parameter {
    std::string name;
    Tensor tensor;
    size_t bucket = 0;
    bool ready = false;  // in this pass
    Tensor mean = {};    // of the others' gradients, where this rank has none
    HookHandle hook;
  };
  struct Bucket {
    std::string name;  // "bucket 0"
    std::vector<size_t> parameters = {};
    size_t missing = 0;
    Device device = {};
    std::shared_ptr<CollectiveThread::Task> task = {};  // under way
  };

  class Claim;

  void make_buckets();
  void begin_pass();
  void on_gradient(size_t parameter);
  void end_pass(const std::exception_ptr& error);
  void finish();
  void reduce_rest();
  std::string reason_of(const std::exception& failure) const;
  void give_up(const std::string& reason);
  void launch(Bucket& bucket);
  void reduce(Bucket& bucket);
  void join_tasks();

  Module& module_;
  Communicator& group_;
  const DistributedDataParallelOptions options_;
  std::unique_ptr<Claim> claim_;  // on the parameters, which no other reducer may have
  std::vector<Parameter> parameters_;
  std::vector<Bucket> buckets_;
  bool syncs_ = true;
  bool in_pass_ = false;
  double waited_seconds_ = 0;
  size_t next_ = 0;                           // the bucket that is reduced next
  std::unique_ptr<CollectiveThread> thread_;  // that reduces
};

/// While it lives, backward passes reduce nothing.
class NoSync {
 public:
  explicit NoSync(GradientReducer& reducer) : reducer_(reducer), outer_(reducer.syncs()) {
    reducer.set_sync(false);
  }
  ~NoSync() { reducer_.set_sync(outer_); }
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  GradientReducer& reducer_;
  const bool outer_;
};

}  // namespace aorta::nn

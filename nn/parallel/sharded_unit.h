#pragma once

#include <aorta/autograd/gradients.h>
#include <aorta/autograd/shard.h>
#include <aorta/nn/parallel/collective_thread.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/parametrization_list.h>

#include <any>
#include <memory>
#include <optional>

namespace aorta::nn {

/// The parameters that fully_shard gathers together: those of a module and of the modules inside
/// it that are no units of their own. They lie behind one another, each rank's rows of all of them.
///
/// Which unit comes behind this one, in forward and in backward passes, is what it was the last
/// time: that one is gathered while this one computes. Gradients are reduced while the pass goes
/// on, and come to the leaves at its end.
class ShardedUnit final : public std::enable_shared_from_this<ShardedUnit> {
 public:
  ShardedUnit(Module& module, Communicator& group, const FullyShardOptions& options);
  /// That of `module` itself, or null.
  static ShardedUnit* of(const Module& module);

  /// The parameters are whole from here on, in this module.
  void enter(const Module& module);
  void leave();
  void set_requires_gradient_sync(bool sync) { syncs_ = sync; }
  /// What lives as long as the module, and not as a graph that has its parameters.
  void set_owner(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

 private:
  struct Part {
    std::string name;
    Tensor leaf;
    const autograd::Shard* shard = nullptr;
    int64_t start = 0;      // element of a rank's row in what is gathered
    Tensor unreduced = {};  // the sum of whole gradients that no pass has reduced
  };
  // A view of a gathered parameter, as the graph keeps it.
  struct View {
    size_t memory = 0;
    Shape shape;
    Strides strides;
    int64_t offset = 0;
    int64_t versions = 0;  // of the leaves
  };
  using Tensors = std::vector<Tensor>;
  // What runs beside the program, and what it makes; `versions` of the leaves when it began.
  struct Errand {
    std::shared_ptr<CollectiveThread::Task> task;
    std::shared_ptr<Tensors> result;
    int64_t versions = 0;
  };
  // What was gathered, of which versions of the leaves, and the versions of the memory then.
  struct Gathered {
    Tensors memory = {};
    int64_t versions = 0;
    std::vector<uint32_t> written = {};
  };
  // The order of this thread's units in a pass, and what is gathered ahead: of one unit at most.
  struct Order {
    std::weak_ptr<ShardedUnit> last, ahead;
    Errand errand;
  };
  static Order& order_of(bool backward);

  int64_t versions() const;
  bool requires_gradient() const;
  void check_alike() const;
  bool has_module() const { return !owner_.expired(); }
  DType gathered_dtype() const;
  Device device() const;
  Errand launch(std::function<Tensors(Communicator& group)> work) const;
  Tensors result_of(const Errand& errand, const char* what) const;
  // What is gathered: one piece of memory for all parameters, or one each.
  Tensors gather(Communicator& group, const Tensor& mine) const;
  Tensor own_rows() const;
  Errand begin_gathering() const;
  Gathered obtain();
  static void end_order(bool backward);
  Tensor whole(const Tensors& memory, size_t part) const;
  Tensors recorded(const Tensors& memory);
  std::any pack(const Tensor& tensor) const;
  Tensor unpack(const std::any& packed);
  void watch_pass();
  void reduce(autograd::Gradients& gradients);
  Tensors whole_gradients(autograd::Gradients& gradients, bool reduces);
  Tensors reduced(Communicator& group, const Tensors& gradients,
                  const std::vector<bool>& wanted) const;
  bool may_come_late() const;
  void deliver();

  Communicator& group_;
  const FullyShardOptions options_;
  const std::string name_;  // the module's type
  std::string subject_;     // which unit it is, on all ranks
  std::weak_ptr<const void> owner_;
  Device device_;  // on which the module was
  std::vector<Part> parts_;
  int64_t elements_ = 0;  // of each rank
  bool syncs_ = true;
  // While the module runs: the members, what they were, and the memory of what they are.
  std::vector<std::pair<Tensor*, Tensor>> places_;
  Gathered now_;
  std::optional<CommunicatorScope> scope_;
  std::optional<autograd::SavedTensorsHooks> hooks_;
  Gathered again_;                      // for the backward pass that runs
  Errand reduction_;                    // that a backward pass has left, if any
  std::weak_ptr<ShardedUnit> next_[2];  // in forward and in backward passes
  bool is_in_pass_ = false;
};

/// The unit of a module, while the module and its copies live.
class ShardedScope final : public detail::RunningScope {
 public:
  explicit ShardedScope(std::shared_ptr<ShardedUnit> unit) : unit_(std::move(unit)) {}
  void enter(const Module& module) override { unit_->enter(module); }
  void leave() override { unit_->leave(); }
  ShardedUnit& unit() const { return *unit_; }

 private:
  const std::shared_ptr<ShardedUnit> unit_;
};

}  // namespace aorta::nn

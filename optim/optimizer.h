#pragma once

#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/io/state.h>
#include <aorta/core/list.h>
#include <aorta/core/tensor.h>
#include <aorta/optim/options.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace aorta::optim {

/// What the state of a parameter that has made a step may hold: tensors that it must have, those
/// that it may have, and numbers. Nothing named: whatever there is.
struct StateNames {
  std::vector<const char*> required = {}, optional = {}, values = {};
  bool none = false;  // no tensor at all
  /// For a rule whose state has shapes of its own, the shape of a state by name and the parameter's
  /// shape; none where there is no such state.
  std::optional<Shape> (*shape_of)(std::string_view name, const Shape& parameter) = nullptr;
};

/// Which gradients a rule takes.
enum class GradientKinds : uint8_t { dense, any, sparse };

struct CapturedRuns;
struct GroupData;

/// One parameter of a step, for optimizers that are written with tensor ops.
class Slot {
 public:
  Slot(GroupData& group, size_t group_index, size_t place);

  Tensor parameter;  // to be written in place
  Tensor gradient;   // to be read; undefined where it is sparse
  std::optional<autograd::SparseGradient> sparse_gradient;  // coalesced
  int64_t step;  // of this parameter, 1 at its first: steps without a gradient don't count
  size_t group;  // index of its group

  /// State that lasts from step to step and is part of state(): a tensor of the parameter's shape,
  /// f64 for f64 and else f32, filled with `initial` at first.
  Tensor state(const char* name, double initial = 0);
  /// State of another shape, zeros at first, for a rule whose StateNames say so.
  Tensor state(const char* name, const Shape& shape);
  /// A number of the same kind.
  double& value(const char* name, double initial = 0);

 private:
  GroupData& data_;
  size_t place_;
};

/// Changes parameters by their gradients, in groups with options of their own. State is indexed by
/// the parameter's position and lies in one piece of memory a kind and group; gradients are read,
/// never written. A parameter without a gradient is left alone, and its step isn't counted.
///
///     optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
///     for (...) {
///       optimizer.zero_grad();
///       loss_of(net).backward();   // several of these without zero_grad() add their gradients up
///       optimizer.step();
///     }
///
/// Parameters are leaves of f32, f64, f16 or bf16, each once, in any layout. Arithmetic and state
/// of half types are f32. One step is one pass over a group's memory; it bumps the parameters'
/// versions, so that a graph that still needs their old values says so. Not for several threads at
/// once.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One step from the gradients in grad().
  void step();
  /// look_ahead(), then `closure` (computes and returns the loss, with gradients), then a step.
  virtual Tensor step(const std::function<Tensor()>& closure);
  /// A step unless `loss`, one number, is NaN or infinite: then parameters and state stay as they
  /// are. Waits for no device where the rule is fused, so that a captured step may have it; steps
  /// are counted either way then, as the host doesn't know.
  void step_if_finite(const Tensor& loss);
  /// Takes the gradients away, or fills them with zeros.
  void zero_grad(bool set_to_none = true);

  /// Moves the parameters to where the rule takes its gradient, before the forward pass; step()
  /// goes on from where they were. Only the paper's Nesterov does anything. look_back() undoes it.
  virtual void look_ahead() {}
  virtual void look_back() {}

  size_t group_count() const { return groups_.size(); }
  const std::vector<Tensor>& parameters(size_t group = 0) const;
  /// The learning rate of a group; 1 for a rule without.
  double lr(size_t group = 0) const;
  void set_lr(double lr, size_t group = 0);
  /// What a schedule starts from: the learning rate that the first schedule found.
  std::optional<double>& initial_lr(size_t group);
  /// The options of a group by name.
  Fields fields(size_t group) const;
  /// What a group's rule takes; where another gradient comes, step() throws and changes nothing.
  virtual GradientKinds gradient_kinds(size_t) const { return GradientKinds::dense; }

  /// Everything: state.POSITION.NAME tensors and numbers, param_groups.GROUP.OPTION values. The
  /// tensors are the optimizer's own; save or clone them before the next step.
  virtual State state() const;
  /// state() with whole tensors in host memory where parameters are parts (nn::fully_shard): on
  /// rank 0, and nothing on the others. All ranks call it.
  State full_state() const;
  /// Takes over what state() gave, of an optimizer with the same groups, or full_state(), of which
  /// it takes its parts. Everything is checked before anything changes. Training goes on bit for
  /// bit.
  virtual void restore(const State& state);
  State state_dict() const { return state(); }
  void load_state_dict(const State& state) { restore(state); }

 protected:
  Optimizer();
  /// Checks the parameters and adds their group.
  void add_group(List<Tensor> parameters);
  GroupData& data(size_t group) const { return *groups_[group]; }
  /// Throws when there is no such group.
  void check_group(size_t group) const;

  /// A step of one group. Gradients aren't recorded.
  virtual void step_group(size_t group) = 0;
  /// update(*this, slot) for each parameter of the group with a gradient.
  void each_slot(size_t group, void (*update)(Optimizer& self, Slot& slot));
  virtual void list_fields(size_t group, Fields& fields) const = 0;
  /// Throws when options of a group are out of range; called before each step.
  virtual void check_options(size_t group) const = 0;
  /// What a restored state may hold.
  virtual StateNames state_names(size_t) const { return {}; }
  /// Throws when there is nothing that could be saved now.
  virtual void check_at_rest(const char*) const {}

 private:
  friend class GradScaler;
  friend class OptimizerRef;
  // Leaves a step out: nothing changes and nothing is counted. The rule's state gets its memory, as
  // a step that is captured later needs it.
  void skip_step();
  void take_step(const Tensor& must_be_finite);
  void step_groups(CapturedRuns* captured, const Tensor& must_be_finite);
  void check_gradients(size_t group) const;
  std::vector<std::unique_ptr<GroupData>> groups_;
  std::shared_ptr<const void> lifetime_;  // ends with it
};

/// What a schedule has of its optimizer.
class OptimizerRef {
 public:
  OptimizerRef(Optimizer& optimizer)  // NOLINT: implicit
      : optimizer_(optimizer), lifetime_(optimizer.lifetime_) {}
  /// Throws when the optimizer is gone.
  Optimizer& get() const {
    check(!lifetime_.expired(), "lr_scheduler", "the optimizer must live longer than its schedule",
          "one that is gone");
    return optimizer_;
  }

 private:
  Optimizer& optimizer_;
  std::weak_ptr<const void> lifetime_;
};

/// An optimizer whose groups have options of type O, a plain struct of `Option`s that lists its
/// fields and checks itself.
template <class O>
class OptimizerOf : public Optimizer {
 public:
  using Options = O;
  /// Parameters with options of their own: those that they name.
  struct Group {
    std::vector<Tensor> parameters;
    O options = {};
  };

  explicit OptimizerOf(List<Tensor> parameters, const O& options = {}) : defaults_(options) {
    add_param_group(std::move(parameters), options);
  }
  /// Groups have what they don't name from `options`:
  /// `SGD({{biases, {.weight_decay = 0}}, {weights}}, {.lr = 0.1, .weight_decay = 1e-4})`.
  explicit OptimizerOf(List<Group> groups, const O& options = {}) : defaults_(options) {
    check(!groups.empty(), "optimizer", "there must be a group", "none");
    for (Group& group : groups)
      add_param_group(std::move(group.parameters), std::move(group.options));
  }

  template <class Net>
  requires requires(const Net& net) { net.parameters(); }
  explicit OptimizerOf(const Net&, const O& = {}) {
    static_assert(sizeof(Net) == 0, "an optimizer takes the tensors: net.parameters()");
  }

  /// A group; what its options don't name is as the optimizer was given it.
  void add_param_group(List<Tensor> parameters, O options = {}) {
    O defaults = defaults_, standard;
    fields_of(options).inherit(fields_of(defaults), fields_of(standard));
    if constexpr (requires { options.complete(); }) options.complete();
    options.check();
    add_group(std::move(parameters));
    fields_of(options).name_all();
    options_.push_back(std::make_unique<O>(std::move(options)));
  }

  /// The options of a group; they may be changed between steps.
  O& options(size_t group = 0) {
    check_group(group);
    return *options_[group];
  }
  const O& options(size_t group = 0) const {
    check_group(group);
    return *options_[group];
  }

 protected:
  void list_fields(size_t group, Fields& fields) const override {
    options_.at(group)->fields(fields);
  }
  void check_options(size_t group) const override { options_.at(group)->check(); }

 private:
  static Fields fields_of(O& options) {
    Fields fields;
    options.fields(fields);
    return fields;
  }
  O defaults_;
  std::vector<std::unique_ptr<O>> options_;
};

/// An optimizer of one's own, written with tensor ops; state() and restore(), groups, schedules and
/// the oracle come with it. The whole of one:
///
///     struct SignOptions {
///       optim::Option<double> lr = optim::Default(1e-3), beta = optim::Default(0.9);
///       void fields(optim::Fields& f) { f("lr", lr), f("beta", beta); }
///       void check() const { aorta::check(lr >= 0, "sign", "lr must be at least 0", lr); }
///     };
///     struct SignMomentum : optim::CustomOptimizer<SignOptions> {
///       using CustomOptimizer::CustomOptimizer;
///       void update(optim::Slot& slot, const SignOptions& o) override {
///         const Tensor m = slot.state("momentum");
///         lerp_(m, slot.gradient, 1 - o.beta);
///         sub_(slot.parameter, o.lr * sign(m));
///       }
///     };
///     SignMomentum optimizer(net.parameters(), {.lr = 0.01});
template <class O>
class CustomOptimizer : public OptimizerOf<O> {
 public:
  using OptimizerOf<O>::OptimizerOf;

 protected:
  /// One parameter's step. Gradients aren't recorded.
  virtual void update(Slot& slot, const O& options) = 0;

 private:
  void step_group(size_t group) final {
    this->each_slot(group, [](Optimizer& self, Slot& slot) {
      auto& mine = static_cast<CustomOptimizer&>(self);
      mine.update(slot, mine.options(slot.group));
    });
  }
};

}  // namespace aorta::optim

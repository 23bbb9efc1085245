#pragma once

#include <aorta/nn/parametrize.h>

#include <list>
#include <mutex>

namespace aorta::nn::detail {

/// What computes one member of a module, and of what.
class ParametrizationList : public Module {
 public:
  ParametrizationList(const std::string& member, bool is_parameter, std::vector<Tensor> originals);
  void push_back(AnyModule step);
  Tensor value() const;

  std::string member;
  bool is_parameter;
  std::vector<Tensor> originals;
  std::vector<AnyModule> steps;
  Tensor* place = nullptr;  // the member, while the module runs

 private:
  void append_members(Members& members) const override;
};

/// What changes a module while it runs: gives parameters of it, and of those inside it, other
/// values.
class RunningScope {
 public:
  RunningScope() = default;
  virtual ~RunningScope() = default;
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;
  virtual void enter(const Module& module) = 0;
  virtual void leave() = 0;
  /// Whether the module computes with this rank's parts of parameters (nn::parallelize_module).
  virtual bool computes_with_parts() const { return false; }
};

/// The members of one module that have their values while it runs: those that are computed, behind
/// what `scopes` do, one after another. A copy of the module computes its own.
class Parametrizations {
 public:
  Parametrizations() = default;
  Parametrizations(const Parametrizations& other) : lists(other.lists), scopes(other.scopes) {}
  static const std::shared_ptr<Parametrizations>& of(const Module& module) {
    return module.parametrizations_;
  }
  /// Makes the place for them where there is none.
  static Parametrizations& in(Module& module);
  /// What computes module.name, or null.
  static ParametrizationList* find(const Module& module, const std::string& name);
  /// The module's members as if nothing computed them; with undefined ones.
  static Module::Members all_members(const Module& module);

  /// The module runs: its members have their values from here on, and no other thread runs it.
  void enter(const Module& module);
  void leave();

  std::list<ParametrizationList> lists;
  std::vector<std::shared_ptr<RunningScope>> scopes;

 private:
  void compute(const Module& module);

  std::recursive_mutex mutex_;
  int depth_ = 0;  // of calls inside each other
};

/// The value of module.name, whether it is computed or not.
Tensor value_of(const char* op, const Module& module, const Text& name);

}  // namespace aorta::nn::detail

#pragma once

#include <aorta/core/storage.h>

#include <string>

namespace aorta {

/// The names of the modules that are running, innermost last: an immutable list that graph nodes
/// and error messages share.
class ModulePath {
 public:
  ModulePath(Ref<ModulePath> parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}
  /// "layer1.0.conv".
  std::string to_string() const;
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<int32_t> count_{1};
  Ref<ModulePath> parent_;
  std::string name_;
};

/// Where this thread is; null outside every module.
const Ref<ModulePath>& module_path();

/// While it lives, this thread is inside the module `name` of the present one.
class ModuleScope {
 public:
  explicit ModuleScope(std::string name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  Ref<ModulePath> outer_;
};

}  // namespace aorta

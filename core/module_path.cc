#include <aorta/core/module_path.h>

namespace aorta {
namespace {

thread_local constinit Ref<ModulePath> current;

}  // namespace

std::string ModulePath::to_string() const {
  if (!parent_) return name_;
  return parent_->to_string() + "." + name_;
}

const Ref<ModulePath>& module_path() { return current; }

ModuleScope::ModuleScope(std::string name) : outer_(current) {
  current = Ref<ModulePath>::adopt(new ModulePath(outer_, std::move(name)));
}

ModuleScope::~ModuleScope() { current = std::move(outer_); }

}  // namespace aorta

#include <aorta/autograd/grad_mode.h>
#include <aorta/nn/parallel/replica.h>

namespace aorta::nn {
namespace {

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides() &&
         a.requires_grad() == b.requires_grad();
}

bool same_place(const Tensor& a, const Tensor& b) {
  return a.shares_storage(b) && a.storage_offset() == b.storage_offset() && same_layout(a, b);
}

}  // namespace

Replica::Kept& Replica::kept(const Tensor& original, bool is_parameter) {
  Kept& kept = kept_[&original.impl()];
  kept.used = true;
  kept.original = original;
  const bool is_here = original.device() == device_;
  if (is_parameter && is_here) {
    if (!kept.mine.defined() || !same_place(kept.mine, original)) {
      kept.mine = original.detach();
      if (original.requires_grad()) kept.mine.requires_grad_();
    }
  } else if (!is_parameter && is_here && shares_buffers_) {
    kept.mine = original;
  } else if (!kept.mine.defined() || !same_layout(kept.mine, original) ||
             kept.from != original.storage() || kept.version != original.version() ||
             kept.my_version != kept.mine.version()) {
    copy(kept);
  }
  return kept;
}

void Replica::copy(Kept& kept) {
  const Tensor& original = kept.original;
  kept.from = original.storage();
  kept.version = original.version();
  if (kept.mine.defined() && same_layout(kept.mine, original)) {
    kept.mine.detach().copy_(original.detach());
  } else {
    kept.mine = original.detach().to({.device = device_, .copy = true});
    if (original.requires_grad()) kept.mine.requires_grad_();
  }
  kept.my_version = kept.mine.version();
}

void Replica::bind(Module& copy) {
  const NoGradGuard no_grad;
  for (auto& [impl, kept] : kept_) kept.used = false;
  for (const auto& [name, module] : copy.named_modules()) {
    const Module::Members members = module->members();
    for (const auto& [member, tensor] : members.parameters) *tensor = kept(*tensor, true).mine;
    for (const auto& [member, tensor] : members.buffers) *tensor = kept(*tensor, false).mine;
  }
  std::erase_if(kept_, [](const auto& entry) { return !entry.second.used; });
}

const Tensor& Replica::parameter(const Tensor& of_module) const {
  return kept_.at(&of_module.impl()).mine;
}

}  // namespace aorta::nn

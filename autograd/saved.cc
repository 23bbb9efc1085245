#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/saved.h>
#include <aorta/core/ops/creation.h>

namespace aorta::autograd {
namespace {

thread_local std::shared_ptr<const PackHooks> hooks;

// Unpacks a shared_ptr<const Rebuild>.
const std::shared_ptr<const PackHooks>& rebuilding() {
  static const auto hooks = std::make_shared<const PackHooks>(
      PackHooks{{}, [](const std::any& packed) {
                  return std::any_cast<const std::shared_ptr<const Rebuild>&>(packed)->elements();
                }});
  return hooks;
}

// While a hook runs, what it computes is saved as it is: hooks don't call themselves.
struct HooksOutside {
  HooksOutside() : hooks(std::move(autograd::hooks)) {}
  ~HooksOutside() { autograd::hooks = hooks; }
  const std::shared_ptr<const PackHooks> hooks;
};

std::string text_of(const GradientSpec& spec) {
  return to_string(spec.shape) + " " + to_string(spec.dtype) + " on " + to_string(spec.device);
}

}  // namespace

SavedTensorsHooks::SavedTensorsHooks(decltype(PackHooks::pack) pack,
                                     decltype(PackHooks::unpack) unpack) {
  check(pack && unpack, "SavedTensorsHooks", "pack and unpack must be functions", "an empty one");
  hooks = std::make_shared<const PackHooks>(PackHooks{std::move(pack), std::move(unpack), hooks});
}

SavedTensorsHooks::~SavedTensorsHooks() { hooks = std::shared_ptr<const PackHooks>(hooks->outer); }

SaveOnCpu::SaveOnCpu(bool pin_memory)
    : SavedTensorsHooks(
          [pin_memory](const Tensor& tensor) {
            const Tensor host = tensor.device().is_cpu() ? tensor.clone() : tensor.cpu();
            return std::any(std::pair(pin_memory ? host.pin_memory() : host, tensor.device()));
          },
          [](const std::any& packed) {
            const auto& [host, device] = std::any_cast<const std::pair<Tensor, Device>&>(packed);
            return host.to(device, host.is_pinned());
          }) {}

Tensor Value::as_tensor(const Tensor& like) const {
  if (!is_number()) return tensor;
  // Not rounded to a half type: a 0-d tensor of the same kind leaves the result's dtype alone.
  return full({}, number, {.dtype = compute_dtype(like.dtype()), .device = like.device()});
}

Saved::Saved(const Tensor& tensor, int input) : place_(static_cast<int16_t>(input)) {
  if (!tensor.defined()) return;
  check(!tensor.impl().inference || grad_mode().inference, "autograd",
        "a tensor made in inference mode can't be saved for a gradient; clone it first",
        tensor.shape());
  edge_ = edge_of(tensor);
  is_leaf_ = edge_.node && edge_.node->is_leaf();
  keep(tensor);
}

Saved Saved::output(const Tensor& tensor, int output) {
  Saved saved;
  saved.place_ = static_cast<int16_t>(-1 - output);
  saved.keep(tensor);
  return saved;
}

bool Saved::pack(const Tensor& tensor) {
  const NoGradGuard no_grad;
  const HooksOutside outside;
  for (auto one = outside.hooks; one; one = one->outer) {
    std::any value = one->pack(tensor.detach());
    check(tensor.version() == version_, "SavedTensorsHooks", "pack must not write to its tensor",
          tensor.shape());
    if (!value.has_value()) continue;
    packed_ = std::make_shared<const Packed>(Packed{one, spec_of(tensor), std::move(value)});
    is_leaf_ = false;
    return true;
  }
  return false;
}

void Saved::keep(const Tensor& tensor) {
  version_ = tensor.version();
  if (hooks && pack(tensor)) return;
  if (std::shared_ptr<const Rebuild> rebuild = rebuild_of(tensor)) {
    packed_ =
        std::make_shared<const Packed>(Packed{rebuilding(), spec_of(tensor), std::move(rebuild)});
    return;
  }
  // A leaf's history never changes. Another tensor's may, when it is written in place, and would
  // then lead back to this node: the alias doesn't follow.
  tensor_ = is_leaf_ ? tensor : tensor.detach();
}

Tensor Saved::get(Node& node) const {
  Tensor tensor = tensor_;
  if (packed_) {
    const NoGradGuard no_grad;
    const HooksOutside outside;
    tensor = packed_->hooks->unpack(packed_->value);
    if (!tensor.defined() || spec_of(tensor) != packed_->spec) {
      fail(node.description(), "unpack must give what was packed, by shape, dtype and device",
           tensor.defined() ? text_of(spec_of(tensor)) : "nothing", " for ",
           text_of(packed_->spec));
    }
  } else if (tensor.defined() && tensor.version() != version_) [[unlikely]] {
    const bool is_output = place_ < 0;
    fail(node.description(), "a tensor saved for the gradient must not be changed in place",
         is_output ? "output " : "input ", is_output ? -1 - place_ : place_, " of shape ",
         tensor.shape(), " at version ", tensor.version(), ", saved at ", version_);
  }
  if (is_leaf_ || !tensor.defined() || !grad_enabled()) return tensor;
  if (place_ < 0) {
    node.retain();
    return with_edge(tensor, {Ref<Node>::adopt(&node), static_cast<uint32_t>(-1 - place_)});
  }
  return edge_.node ? with_edge(tensor, edge_) : tensor;
}

}  // namespace aorta::autograd

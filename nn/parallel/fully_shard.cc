#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/parallel/sharded_unit.h>

namespace aorta::nn {
namespace {

constexpr const char* kOp = "fully_shard";

void cast(std::vector<Tensor>& tensors, DType dtype) {
  for (Tensor& tensor : tensors)
    if (tensor.defined() && is_floating(tensor.dtype())) tensor = tensor.to(dtype);
}

}  // namespace

void fully_shard(Module& module, Communicator& group, const FullyShardOptions& options) {
  check(!ShardedUnit::of(module), kOp, "a module must be sharded once", module.type_name());
  const auto unit = std::make_shared<ShardedUnit>(module, group, options);
  const auto scope = std::make_shared<ShardedScope>(unit);
  unit->set_owner(scope);
  detail::Parametrizations::in(module).scope = scope;
  const MixedPrecisionPolicy& policy = options.mp_policy;
  if (policy.param_dtype && policy.cast_forward_inputs) {
    module.register_forward_pre_hook(
        [dtype = *policy.param_dtype](const Module&, std::vector<Tensor>& inputs) {
          cast(inputs, dtype);
        });
  }
  if (policy.output_dtype) {
    module.register_forward_hook(
        [dtype = *policy.output_dtype](const Module&, const std::vector<Tensor>&,
                                       std::vector<Tensor>& outputs) { cast(outputs, dtype); });
  }
}

bool is_fully_sharded(const Module& module) { return ShardedUnit::of(module) != nullptr; }

void set_requires_gradient_sync(Module& module, bool requires_gradient_sync) {
  bool any = false;
  for (const Module* const one : module.modules()) {
    ShardedUnit* const unit = ShardedUnit::of(*one);
    if (!unit) continue;
    any = true;
    unit->set_requires_gradient_sync(requires_gradient_sync);
  }
  check(any, "set_requires_gradient_sync", "the module must be sharded, or one inside it",
        module.type_name());
}

}  // namespace aorta::nn

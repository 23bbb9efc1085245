#include <aorta/nn/container.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/embedding_bag.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/parallel/sharded_unit.h>

namespace aorta::nn {
namespace {

constexpr const char* kOp = "fully_shard";

void cast(std::vector<Tensor>& tensors, DType dtype) {
  for (Tensor& tensor : tensors)
    if (tensor.defined() && is_floating(tensor.dtype())) tensor = tensor.to(dtype);
}

// What would compute with a part what the whole table is for: it isn't a leaf where the layer runs.
template <class Table>
void refuse_table(const Module& module) {
  const auto* const table = dynamic_cast<const Table*>(&module);
  if (!table) return;
  check(!table->options.max_norm, kOp, "an embedding must not limit its rows", "max_norm of ",
        table->options.max_norm.value_or(0));
  check(!table->options.sparse, kOp, "an embedding's gradient must be dense", "a sparse one");
}

}  // namespace

void fully_shard(Module& module, Communicator& group, const FullyShardOptions& options) {
  check(!ShardedUnit::of(module), kOp, "a module must be sharded once", module.type_name());
  check(!dynamic_cast<const ModuleList*>(&module) && !dynamic_cast<const ModuleDict*>(&module), kOp,
        "a module must be one that is called", module.type_name());
  for (const Module* const inside : module.modules()) {
    refuse_table<Embedding>(*inside);
    refuse_table<EmbeddingBag>(*inside);
  }
  const auto unit = std::make_shared<ShardedUnit>(module, group, options);
  const auto scope = std::make_shared<ShardedScope>(unit);
  unit->set_owner(scope);
  auto& scopes = detail::Parametrizations::in(module).scopes;
  scopes.insert(scopes.begin(), scope);  // others compute with what it gathers
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

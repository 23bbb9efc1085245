#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/core/empty.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/parallel/sharded_unit.h>

#include <algorithm>
#include <exception>

namespace aorta::nn {
namespace {

constexpr const char* kOp = "fully_shard";

// Units of this thread whose modules run.
thread_local constinit int running_units = 0;

// The module's parameters, and those of the modules inside that aren't sharded by themselves.
void each_parameter(Module& module, const std::string& prefix,
                    const std::function<void(const std::string& name, Tensor* place)>& visit) {
  const Module::Members members = module.members();
  for (const auto& [name, place] : members.parameters) visit(prefix + name, place);
  for (const auto& [name, child] : members.modules)
    if (!ShardedUnit::of(*child)) each_parameter(*child, prefix + name + ".", visit);
}

// A tensor of its own in memory that others see too.
Tensor alias(const Tensor& memory, const Shape& shape, const Strides& strides, int64_t offset) {
  return {memory.storage(), memory.dtype(), shape, strides, memory.impl().offset + offset};
}

}  // namespace

ShardedUnit* ShardedUnit::of(const Module& module) {
  const auto& computed = detail::Parametrizations::of(module);
  return computed ? dynamic_cast<ShardedUnit*>(computed->scope.get()) : nullptr;
}

ShardedUnit::ShardedUnit(Module& module, Communicator& group, const FullyShardOptions& options)
    : group_(group), options_(options), name_(module.type_name()) {
  each_parameter(module, "", [&](const std::string& name, const Tensor* leaf) {
    check(!autograd::shard_of(*leaf), kOp,
          "parameters that are one must be sharded together, with a module that has all of them",
          name_, " and ", name);
    const bool known = std::any_of(parts_.begin(), parts_.end(),
                                   [&](const Part& part) { return part.leaf.is_same(*leaf); });
    if (!known) parts_.push_back({.name = name, .leaf = *leaf});
  });
  for (const Part& part : parts_) {
    check(is_floating(part.leaf.dtype()), kOp, "parameters must be floating", part.name, " of ",
          part.leaf.dtype());
    const Tensor& first = parts_[0].leaf;
    check(part.leaf.dtype() == first.dtype() && part.leaf.device() == first.device(), kOp,
          "parameters that are gathered together must be of one dtype and device", part.name,
          " of ", part.leaf.dtype(), " on ", part.leaf.device(), " beside ", first.dtype(), " on ",
          first.device());
  }
  for (const auto& dtype : {options.mp_policy.param_dtype, options.mp_policy.reduce_dtype,
                            options.mp_policy.output_dtype})
    check(!dtype || is_floating(*dtype), kOp, "the dtypes of mp_policy must be floating",
          dtype.value_or(DType::f32));
  if (!parts_.empty()) device_ = parts_[0].leaf.device();
  const NoGradGuard no_grad;
  // One by one, so that where the ranks' modules differ the error names the tensor.
  NamedTensors buffers = module.named_buffers();
  if (device_.type != DeviceType::meta) {
    for (const Part& part : parts_) {
      const ModuleScope scope(part.name);
      group.broadcast(part.leaf);
    }
    for (const auto& [name, buffer] : buffers) {
      const ModuleScope scope(name);
      group.broadcast(buffer);
    }
    group.barrier();
  }
  for (Part& part : parts_) {
    autograd::make_shard(part.leaf, group);
    if (options.cpu_offload) autograd::set_data(part.leaf, part.leaf.detach().cpu());
    part.shard = autograd::shard_of(part.leaf);
    part.start = elements_;
    elements_ += part.shard->elements();
  }
}

DType ShardedUnit::gathered_dtype() const {
  return options_.mp_policy.param_dtype.value_or(parts_[0].leaf.dtype());
}

int64_t ShardedUnit::versions() const {
  int64_t sum = 0;
  for (const Part& part : parts_) sum += part.leaf.version();
  return sum;
}

ShardedUnit::Tensors ShardedUnit::gather() const {
  if (parts_.empty()) return {};
  const NoGradGuard no_grad;
  const Device device = options_.cpu_offload ? device_ : parts_[0].leaf.device();
  const TensorOptions like{.dtype = gathered_dtype(), .device = device};
  const ModuleScope scope(parts_[0].name);
  const Tensor mine = zeros({elements_}, like);
  for (const Part& part : parts_) part.shard->rows_in(mine, part.start).copy_(part.leaf.detach());
  if (group_.size() == 1) return {mine};
  const int64_t size = group_.size();
  const Tensor all =
      device.type == DeviceType::meta ? empty({size * elements_}, like) : group_.all_gather(mine);
  if (parts_.size() == 1) return {all};
  Tensors memory;
  for (const Part& part : parts_) {
    const int64_t count = part.shard->elements();
    memory.push_back(empty({size, count}, like));
    memory.back().copy_(all.view({size, elements_}).narrow(1, part.start, count));
  }
  return memory;
}

Tensor ShardedUnit::whole(const Tensors& memory, size_t part) const {
  const autograd::Shard& shard = *parts_[part].shard;
  const bool is_one = memory.size() == 1;
  Strides strides = shard.strides();
  if (shard.whole().empty()) strides = {};
  return alias(memory[is_one ? 0 : part], shard.whole(), strides, is_one ? parts_[part].start : 0);
}

// The whole parameters, with the gathering as their history.
ShardedUnit::Tensors ShardedUnit::recorded(const Tensors& memory) {
  Tensors all;
  std::vector<const Tensor*> leaves;
  bool any = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    all.push_back(whole(memory, i));
    leaves.push_back(&parts_[i].leaf);
    any |= parts_[i].leaf.requires_grad();
  }
  if (!any || !grad_enabled()) return all;
  const auto node = autograd::make_node(
      kOp, leaves, all.size(),
      [self = shared_from_this()](autograd::Gradients& gradients) { self->reduce(gradients); });
  for (size_t i = 0; i < all.size(); ++i) {
    if (parts_[i].leaf.requires_grad())
      autograd::set_history(all[i], node, static_cast<uint32_t>(i));
    else
      node->outputs()[i] = autograd::spec_of(all[i]);
  }
  return all;
}

void ShardedUnit::enter(const Module& module) {
  // Traversing changes no module.
  std::vector<std::pair<Tensor*, size_t>> places;
  each_parameter(const_cast<Module&>(module), "", [&](const std::string& name, Tensor* place) {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const Part& one) { return one.leaf.is_same(*place); });
    check(
        part != parts_.end(), kOp,
        "parameters must be those that the module was sharded with, none new, none of a clone and "
        "none of a module outside",
        name);
    places.emplace_back(place, static_cast<size_t>(part - parts_.begin()));
  });
  memory_ = again_.empty() ? gather() : again_;
  const Tensors all = recorded(memory_);
  for (const auto& [place, part] : places) {
    places_.emplace_back(place, *place);
    *place = all[part];
  }
  const bool reshards = options_.reshard_after_forward.value_or(running_units > 0);
  ++running_units;
  scope_.emplace(&group_);
  if (!reshards || !grad_enabled()) return;
  hooks_.emplace([self = shared_from_this()](const Tensor& tensor) { return self->pack(tensor); },
                 [self = shared_from_this()](const std::any& view) { return self->unpack(view); });
}

void ShardedUnit::leave() {
  --running_units;
  hooks_.reset();
  scope_.reset();
  for (const auto& [place, leaf] : places_) *place = leaf;
  places_.clear();
  memory_.clear();
}

// The graph keeps what a saved parameter is, and not the parameter.
std::any ShardedUnit::pack(const Tensor& tensor) const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!memory_[i].shares_storage(tensor) || tensor.dtype() != memory_[i].dtype()) continue;
    return View{.memory = i,
                .shape = tensor.shape(),
                .strides = tensor.strides(),
                .offset = tensor.impl().offset - memory_[i].impl().offset,
                .versions = versions()};
  }
  return {};
}

Tensor ShardedUnit::unpack(const std::any& packed) {
  const auto& view = std::any_cast<const View&>(packed);
  check(view.versions == versions(), kOp,
        "parameters must stay as they are between the forward and the backward pass",
        "changed ones");
  watch_pass();
  if (again_.empty()) again_ = gather();
  return alias(again_[view.memory], view.shape, view.strides, view.offset);
}

// Who fails in a pass ends the group, for the others would wait.
void ShardedUnit::watch_pass() {
  if (std::exchange(is_in_pass_, true)) return;
  autograd::after_backward([self = shared_from_this()](const std::exception_ptr& error) {
    self->is_in_pass_ = false;
    self->again_.clear();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const RankError&) {
    } catch (const std::exception& failure) {
      self->group_.abort("rank " + std::to_string(self->group_.rank()) + ": " + failure.what());
    }
  });
}

// With what earlier passes have left; undefined where there is none.
ShardedUnit::Tensors ShardedUnit::whole_gradients(autograd::Gradients& gradients) {
  Tensors all(parts_.size());
  std::string missing;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Tensor& left = parts_[i].unreduced;
    if (gradients.has_output(i)) all[i] = gradients.output(i);
    if (!syncs_) {
      if (all[i].defined()) left = left.defined() ? left + all[i] : all[i].clone();
      continue;
    }
    if (left.defined()) all[i] = all[i].defined() ? left + all[i] : left;
    left = {};
    if (!all[i].defined() && gradients.wanted(i))
      missing += (missing.empty() ? "" : ", ") + parts_[i].name;
  }
  check(missing.empty() || options_.find_unused_parameters, kOp,
        "every parameter must get a gradient, or find_unused_parameters be set", "none of ",
        missing, " in ", name_);
  return all;
}

void ShardedUnit::reduce(autograd::Gradients& gradients) {
  watch_pass();
  check(!grad_enabled(), kOp, "a gradient of a gradient can't be had of sharded parameters",
        "create_graph");
  again_.clear();
  const Tensors all = whole_gradients(gradients);
  if (!syncs_) {
    for (size_t i = 0; i < parts_.size(); ++i) gradients.leave_out(i);
    return;
  }
  const Tensor& first = parts_[0].leaf;
  const Device device = options_.cpu_offload ? device_ : first.device();
  const auto count = static_cast<int64_t>(parts_.size());
  const int64_t flags = options_.find_unused_parameters ? count : 0;
  const int64_t size = group_.size();
  // A row a rank: its rows of all parameters, and which of them have a gradient here.
  Tensor mean = zeros(
      {size, elements_ + flags},
      {.dtype = options_.mp_policy.reduce_dtype.value_or(gathered_dtype()), .device = device});
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!all[i].defined()) continue;
    parts_[i].shard->spread(all[i], mean, parts_[i].start);
    if (flags > 0) mean.select(1, elements_ + static_cast<int64_t>(i)).fill_(1);
  }
  const ModuleScope scope(parts_[0].name);
  if (size > 1 && device.type != DeviceType::meta)
    mean = group_.reduce_scatter(mean, ReduceOp::mean);
  std::vector<double> used(parts_.size(), 1);
  if (flags > 0) used = mean[0].narrow(0, elements_, flags).to(DType::f64).to_vector<double>();
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (used[i] == 0) gradients.leave_out(i);
    if (!gradients.wanted(i) || used[i] == 0) continue;
    const Tensor& leaf = parts_[i].leaf;
    const Tensor gradient = empty_strided(leaf.shape(), leaf.strides(),
                                          {.dtype = leaf.dtype(), .device = leaf.device()});
    gradient.copy_(parts_[i].shard->rows_in(mean, parts_[i].start));
    gradients.input(i) = gradient;
  }
}

}  // namespace aorta::nn

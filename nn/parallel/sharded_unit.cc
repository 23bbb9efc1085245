#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/empty.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/recording.h>
#include <aorta/nn/parallel/sharded_unit.h>

#include <algorithm>
#include <exception>
#include <utility>

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

// The current stream is going to read memory that another one's ops have made.
void record_stream(const Tensor& tensor) {
  if (tensor.defined() && tensor.is_cuda())
    backend(tensor.device().type).record_stream(tensor.storage()->data(), {tensor.device()});
}

// A tensor of its own in memory that others see too.
Tensor alias(const Tensor& memory, const Shape& shape, const Strides& strides, int64_t offset) {
  return {memory.storage(), memory.dtype(), shape, strides, memory.impl().offset + offset};
}

}  // namespace

ShardedUnit* ShardedUnit::of(const Module& module) {
  const auto& computed = detail::Parametrizations::of(module);
  if (!computed) return nullptr;
  for (const auto& scope : computed->scopes)
    if (const auto* const sharded = dynamic_cast<const ShardedScope*>(scope.get()))
      return &sharded->unit();
  return nullptr;
}

ShardedUnit::ShardedUnit(Module& module, Communicator& group, const FullyShardOptions& options)
    : group_(group), options_(options), name_(module.type_name()) {
  each_parameter(module, "", [&](const std::string& name, const Tensor* leaf) {
    check(
        !autograd::gathered_shard_of(*leaf), kOp,
        "modules inside must be sharded first, and a parameter that several have with all of them",
        name_, " and ", name);
    const bool known = std::any_of(parts_.begin(), parts_.end(),
                                   [&](const Part& part) { return part.leaf.is_same(*leaf); });
    if (!known) parts_.push_back({.name = name, .leaf = *leaf});
  });
  for (const Part& part : parts_)
    check(is_floating(part.leaf.dtype()), kOp, "parameters must be floating", part.name, " of ",
          part.leaf.dtype());
  check_alike();
  for (const auto& dtype : {options.mp_policy.param_dtype, options.mp_policy.reduce_dtype,
                            options.mp_policy.output_dtype})
    check(!dtype || is_floating(*dtype), kOp, "the dtypes of mp_policy must be floating",
          dtype.value_or(DType::f32));
  if (!parts_.empty()) device_ = parts_[0].leaf.device();
  subject_ = "part ";
  aorta::detail::append(subject_,
                        group.size() > 1 ? CollectiveThread::of(group).next_number() : int64_t{0});
  if (!parts_.empty()) subject_ += " with " + parts_[0].name;
  const NoGradGuard no_grad;
  // One by one, so that where the ranks' modules differ the error names the tensor.
  NamedTensors buffers = module.named_buffers();
  if (device_.type != DeviceType::meta) {
    for (const Part& part : parts_) {
      const ModuleScope scope(part.name);
      const CollectiveSubject subject(autograd::part_text(part.leaf));
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

bool ShardedUnit::requires_gradient() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.leaf.requires_grad(); });
}

int64_t ShardedUnit::versions() const {
  int64_t sum = 0;
  for (const Part& part : parts_) sum += part.leaf.version();
  return sum;
}

Device ShardedUnit::device() const {
  return options_.cpu_offload ? device_ : parts_[0].leaf.device();
}

ShardedUnit::Errand ShardedUnit::launch(std::function<Tensors(Communicator&)> work) const {
  kernel::refuse_in_capture(kOp, "a captured step must have whole parameters", "parts of them");
  const auto result = std::make_shared<Tensors>();
  return {CollectiveThread::of(group_).launch(
              device(),
              [result, self = shared_from_this(), work = std::move(work)](Communicator& group) {
                const CollectiveSubject subject(self->subject_);
                *result = work(group);
              }),
          result, versions()};
}

ShardedUnit::Tensors ShardedUnit::result_of(const Errand& errand, const char* what) const {
  {
    const ProfilerRange range(what, {}, " waits");
    errand.task->join();
  }
  for (const Tensor& tensor : *errand.result) record_stream(tensor);
  return std::move(*errand.result);
}

// By who calls: it may write to its parameters while others gather.
Tensor ShardedUnit::own_rows() const {
  const NoGradGuard no_grad;
  const Tensor rows = zeros({elements_}, {.dtype = gathered_dtype(), .device = device()});
  for (const Part& part : parts_) part.shard->rows_in(rows, part.start).copy_(part.leaf.detach());
  return rows;
}

ShardedUnit::Tensors ShardedUnit::gather(Communicator& group, const Tensor& mine) const {
  const NoGradGuard no_grad;
  record_stream(mine);
  const TensorOptions like{.dtype = mine.dtype(), .device = mine.device()};
  const ModuleScope scope(parts_[0].name);
  const int64_t size = group.size();
  if (size == 1) return {mine};
  const Tensor all = like.device.type == DeviceType::meta ? empty({size * elements_}, like)
                                                          : group.all_gather(mine);
  if (parts_.size() == 1) return {all};
  Tensors memory;
  for (const Part& part : parts_) {
    const int64_t count = part.shard->elements();
    memory.push_back(empty({size, count}, like));
    memory.back().copy_(all.view({size, elements_}).narrow(1, part.start, count));
  }
  return memory;
}

ShardedUnit::Order& ShardedUnit::order_of(bool backward) {
  static thread_local Order orders[2];
  return orders[backward];
}

// What was gathered ahead and wasn't wanted goes.
void ShardedUnit::end_order(bool backward) {
  Order& order = order_of(backward);
  if (order.errand.task) order.errand.task->settle();
  order = {};
}

// Module::to may have made them differ.
void ShardedUnit::check_alike() const {
  if (parts_.empty()) return;
  const Tensor& first = parts_[0].leaf;
  for (const Part& part : parts_)
    check(part.leaf.dtype() == first.dtype() && part.leaf.device() == first.device(), kOp,
          "parameters that are gathered together must be of one dtype and device", part.name,
          " of ", part.leaf.dtype(), " on ", part.leaf.device(), " beside ", first.dtype(), " on ",
          first.device());
}

ShardedUnit::Errand ShardedUnit::begin_gathering() const {
  return launch([this, mine = own_rows()](Communicator& group) { return gather(group, mine); });
}

// The gathered parameters; those of the unit that came next the last time are under way then.
ShardedUnit::Gathered ShardedUnit::obtain() {
  if (parts_.empty()) return {};
  check_alike();
  const bool backward = autograd::is_in_backward();
  Order& order = order_of(backward);
  const auto self = shared_from_this();
  if (const auto last = order.last.lock(); last && last != self) {
    last->next_[backward] = self;
    // Where no reduction comes, or nobody knows when.
    if (!last->requires_gradient() || !autograd::backward_accumulates()) last->again_ = {};
  }
  order.last = self;
  Gathered mine{.versions = versions()};
  if (group_.size() == 1 || device().type == DeviceType::meta) {
    mine.memory = gather(group_, own_rows());
  } else {
    Errand errand = std::exchange(order.errand, {});
    // Another unit's goes, and values that the program has changed meanwhile, on all ranks alike.
    if (errand.task && (order.ahead.lock() != self || errand.versions != mine.versions)) {
      errand.task->settle();
      errand = {};
    }
    if (!errand.task) errand = begin_gathering();
    const auto next = next_[backward].lock();
    if (next && next->has_module() && &next->group_ == &group_) {
      next->check_alike();
      order.ahead = next;
      order.errand = next->begin_gathering();
    }
    mine.memory = result_of(errand, "all_gather");
  }
  for (const Tensor& tensor : mine.memory) mine.written.push_back(tensor.version());
  return mine;
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
  for (size_t i = 0; i < parts_.size(); ++i) all.push_back(whole(memory, i));
  if (!requires_gradient() || !grad_enabled()) return all;
  const auto reduce = [self = shared_from_this()](autograd::Gradients& gradients) {
    self->reduce(gradients);
  };
  const auto node =
      autograd::FunctionNode<decltype(reduce)>::make(kOp, all.size(), all.size(), reduce);
  for (size_t i = 0; i < all.size(); ++i) {
    node->edges()[i] = autograd::edge_of(parts_[i].leaf);
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
  now_ = again_.memory.empty() ? obtain() : again_;
  if (autograd::is_in_backward()) {  // which needs them again, where a part is computed again
    watch_pass();
    again_ = now_;
  }
  const Tensors all = recorded(now_.memory);
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
  if (--running_units == 0 && !autograd::is_in_backward()) end_order(false);
  hooks_.reset();
  scope_.reset();
  for (const auto& [place, leaf] : places_) *place = leaf;
  places_.clear();
  now_ = {};
}

// The graph keeps what a saved parameter is, and not the parameter.
std::any ShardedUnit::pack(const Tensor& tensor) const {
  for (size_t i = 0; i < now_.memory.size(); ++i) {
    const Tensor& memory = now_.memory[i];
    if (!memory.shares_storage(tensor) || tensor.dtype() != memory.dtype()) continue;
    check(memory.version() == now_.written[i], kOp,
          "a module must not write to its parameters, which are gathered anew", name_);
    return View{.memory = i,
                .shape = tensor.shape(),
                .strides = tensor.strides(),
                .offset = tensor.impl().offset - memory.impl().offset,
                .versions = now_.versions};
  }
  return {};
}

Tensor ShardedUnit::unpack(const std::any& packed) {
  const auto& view = std::any_cast<const View&>(packed);
  watch_pass();
  check(view.versions == versions(), kOp,
        "parameters must stay as they are between the forward and the backward pass",
        "changed ones");
  if (again_.memory.empty()) again_ = obtain();
  return alias(again_.memory[view.memory], view.shape, view.strides, view.offset);
}

// Who fails in a pass ends the group, for the others would wait.
void ShardedUnit::watch_pass() {
  if (std::exchange(is_in_pass_, true)) return;
  autograd::after_backward([self = shared_from_this()](const std::exception_ptr& error) {
    self->is_in_pass_ = false;
    self->again_ = {};
    end_order(true);
    try {
      if (error) std::rethrow_exception(error);
      self->deliver();
    } catch (const RankError&) {
      if (!error) throw;
    } catch (const std::exception& failure) {
      self->group_.abort("rank " + std::to_string(self->group_.rank()) + ": " + failure.what());
      if (!error) throw;
    }
    self->reduction_ = {};
  });
}

// With what earlier passes have left for grad(), where this one adds to it; undefined where there
// is none. Where they aren't reduced they are left too.
ShardedUnit::Tensors ShardedUnit::whole_gradients(autograd::Gradients& gradients, bool reduces) {
  const DType dtype = options_.mp_policy.reduce_dtype.value_or(gathered_dtype());
  Tensors all(parts_.size());
  std::string missing;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!gradients.wanted(i)) continue;
    Tensor& left = parts_[i].unreduced;
    if (gradients.has_output(i)) all[i] = gradients.output(i);
    if (!reduces) {
      if (all[i].defined())
        left = left.defined() ? left + all[i].to(dtype)
                              : all[i].to(ToOptions{.dtype = dtype, .copy = true});
      continue;
    }
    if (left.defined() && autograd::backward_adds()) {
      all[i] = all[i].defined() ? left + all[i].to(dtype) : left;
      left = {};
    }
    if (!all[i].defined()) missing += (missing.empty() ? "" : ", ") + parts_[i].name;
  }
  check(missing.empty() || options_.find_unused_parameters, kOp,
        "every parameter must get a gradient, or find_unused_parameters be set", "none of ",
        missing, " in ", name_);
  return all;
}

// The rows of this rank of the mean of all ranks' gradients, as the leaves want them; undefined
// where no rank has one.
ShardedUnit::Tensors ShardedUnit::reduced(Communicator& group, const Tensors& gradients,
                                          const std::vector<bool>& wanted) const {
  const NoGradGuard no_grad;
  const auto count = static_cast<int64_t>(parts_.size());
  const int64_t flags = options_.find_unused_parameters ? count : 0;
  // A row a rank: its rows of all parameters, and which of them have a gradient here.
  Tensor mean = zeros(
      {group.size(), elements_ + flags},
      {.dtype = options_.mp_policy.reduce_dtype.value_or(gathered_dtype()), .device = device()});
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    record_stream(gradients[i]);
    parts_[i].shard->spread(gradients[i], mean, parts_[i].start);
    if (flags > 0) mean.select(1, elements_ + static_cast<int64_t>(i)).fill_(1);
  }
  const ModuleScope scope(parts_[0].name);
  if (group.size() > 1 && !mean.is_meta()) mean = group.reduce_scatter(mean, ReduceOp::mean);
  std::vector<double> used(parts_.size(), 1);
  if (flags > 0 && !mean.is_meta())
    used = mean[0].narrow(0, elements_, flags).to(DType::f64).to_vector<double>();
  Tensors rows(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Tensor& leaf = parts_[i].leaf;
    if (used[i] == 0 || !wanted[i]) continue;
    rows[i] = empty_strided(leaf.shape(), leaf.strides(),
                            {.dtype = leaf.dtype(), .device = leaf.device()});
    rows[i].copy_(parts_[i].shard->rows_in(mean, parts_[i].start));
  }
  return rows;
}

// Whether the leaves want nothing of a gradient before the pass ends.
bool ShardedUnit::may_come_late() const {
  return autograd::backward_accumulates() &&
         std::none_of(parts_.begin(), parts_.end(), [](const Part& part) {
           const autograd::LeafNode* const node = autograd::leaf_node(part.leaf, false);
           return node && node->existing_hooks();
         });
}

void ShardedUnit::reduce(autograd::Gradients& gradients) {
  watch_pass();
  check(!grad_enabled(), kOp, "a gradient of a gradient can't be had of sharded parameters",
        "create_graph");
  again_ = {};
  const bool reduces = syncs_ || !autograd::backward_adds();
  Tensors all = whole_gradients(gradients, reduces);
  if (!reduces) {
    for (size_t i = 0; i < parts_.size(); ++i) gradients.leave_out(i);
    return;
  }
  deliver();  // the module has run twice
  std::vector<bool> wanted;
  for (size_t i = 0; i < parts_.size(); ++i) wanted.push_back(gradients.wanted(i));
  Tensors rows;
  if (group_.size() == 1 || device().type == DeviceType::meta) {
    rows = reduced(group_, all, wanted);
  } else {
    reduction_ = launch([this, all = std::move(all), wanted](Communicator& group) {
      return reduced(group, all, wanted);
    });
    if (may_come_late()) {
      for (size_t i = 0; i < parts_.size(); ++i) gradients.leave_out(i);
      return;
    }
    rows = result_of(std::exchange(reduction_, {}), "reduce_scatter");
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!rows[i].defined()) gradients.leave_out(i);
    if (gradients.wanted(i)) gradients.input(i) = rows[i];
  }
}

void ShardedUnit::deliver() {
  if (!reduction_.task) return;
  Tensors rows = result_of(std::exchange(reduction_, {}), "reduce_scatter");
  for (size_t i = 0; i < parts_.size(); ++i)
    if (rows[i].defined())
      autograd::leaf_node(parts_[i].leaf, true)->accumulate(std::move(rows[i]), false);
}

}  // namespace aorta::nn

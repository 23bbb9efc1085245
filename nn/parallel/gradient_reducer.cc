#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/clock.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/nn/parallel/gradient_reducer.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

namespace aorta::nn {
namespace {

constexpr double kMebibyte = 1 << 20;
// The first bucket is small, so that reducing begins early, and the last, which nothing hides.
constexpr double kSmallBucket = 1 * kMebibyte;

// The leaves' nodes, of all reducers.
struct Claimed {
  std::mutex mutex;
  std::unordered_set<const autograd::Node*> nodes;
};
Claimed& claimed() {
  static Claimed* const instance = new Claimed;
  return *instance;
}

// The gradient, in the order of the parameter's memory, and nobody else's memory: only the caller
// and the parameter have it.
Tensor like(const Tensor& parameter, const Tensor& gradient) {
  const Strides wanted = dense_strides(parameter.shape(), parameter.strides());
  bool is_like = gradient.storage()->use_count() == 1 && gradient.impl().count.load() == 2;
  for (int d = 0; d < gradient.dim(); ++d)
    is_like &= gradient.size(d) == 1 || gradient.stride(d) == wanted[d];
  if (is_like) return gradient.detach();
  const Tensor copy = empty_like(parameter.detach());
  copy.copy_(gradient.detach());
  return copy;
}

}  // namespace

// Two reducers of one parameter would each make a mean of its gradient, at the same time.
class GradientReducer::Claim {
 public:
  ~Claim() {
    const std::lock_guard lock(claimed().mutex);
    for (const Ref<autograd::Node>& node : nodes_) claimed().nodes.erase(node.get());
  }
  void add(const std::string& name, const Tensor& parameter) {
    const Ref<autograd::Node> node = autograd::edge_of(parameter).node;
    const std::lock_guard lock(claimed().mutex);
    check(claimed().nodes.insert(node.get()).second, "DistributedDataParallel",
          "a parameter must be of one DistributedDataParallel alone", "another one's ", name);
    nodes_.push_back(node);
  }

 private:
  std::vector<Ref<autograd::Node>> nodes_;
};

GradientReducer::GradientReducer(Module& module, Communicator& group,
                                 const DistributedDataParallelOptions& options)
    : module_(module),
      group_(group),
      options_(options),
      claim_(std::make_unique<Claim>()),
      thread_(std::make_unique<CollectiveThread>(group)) {
  check(options.bucket_cap_mb > 0, "DistributedDataParallel", "bucket_cap_mb must be positive",
        options.bucket_cap_mb);
  for (const Tensor& parameter : module.parameters())
    if (autograd::gathered_shard_of(parameter))
      autograd::check_whole("DistributedDataParallel", parameter);
  const NoGradGuard no_grad;
  // One by one, so that where the ranks' modules differ the error names the tensor.
  for (const auto& tensors : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& [name, tensor] : tensors) {
      const ModuleScope scope(name);
      const CollectiveSubject subject(autograd::part_text(tensor));
      group.broadcast(tensor);
    }
  }
  group.barrier();
  for (const auto& [name, tensor] : module.named_parameters())
    if (tensor.requires_grad()) parameters_.push_back({.name = name, .tensor = tensor, .hook = {}});
  for (const Parameter& parameter : parameters_) claim_->add(parameter.name, parameter.tensor);
  check(!parameters_.empty(), "DistributedDataParallel",
        "the module must have a parameter that requires a gradient", "none");
  make_buckets();
  for (size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].hook = parameters_[i].tensor.register_post_accumulate_grad_hook(
        [this, i](const Tensor&) { on_gradient(i); });
}

GradientReducer::~GradientReducer() {
  for (Parameter& parameter : parameters_) parameter.hook.remove();
  thread_.reset();
}

// The last parameters first, for their gradients come first; a bucket has one dtype and device.
void GradientReducer::make_buckets() {
  const double cap = options_.bucket_cap_mb * kMebibyte, small = std::min(kSmallBucket, cap);
  size_t of_last = 0;  // bucket: the parameters that fit in a small one
  for (double sum = 0; of_last < parameters_.size(); ++of_last) {
    sum += static_cast<double>(parameters_[of_last].tensor.nbytes());
    if (sum > small) break;
  }
  double bytes = 0;
  for (size_t i = parameters_.size(); i-- > 0;) {
    const Tensor& tensor = parameters_[i].tensor;
    const double most = buckets_.size() <= 1 ? small : cap;
    const Tensor* last =
        buckets_.empty() ? nullptr : &parameters_[buckets_.back().parameters.back()].tensor;
    if (!last || bytes >= most || i + 1 == of_last || last->dtype() != tensor.dtype() ||
        last->device() != tensor.device()) {
      buckets_.push_back(
          {.name = "bucket " + std::to_string(buckets_.size()), .device = tensor.device()});
      bytes = 0;
    }
    buckets_.back().parameters.push_back(i);
    parameters_[i].bucket = buckets_.size() - 1;
    bytes += static_cast<double>(tensor.nbytes());
  }
}

std::vector<std::vector<std::string>> GradientReducer::buckets() const {
  std::vector<std::vector<std::string>> names;
  for (const Bucket& bucket : buckets_) {
    names.emplace_back();
    for (const size_t i : bucket.parameters) names.back().push_back(parameters_[i].name);
  }
  return names;
}

void GradientReducer::before_forward() {
  if (options_.broadcast_buffers && syncs_ && grad_enabled() && module_.is_training())
    kernel::broadcast_together(module_.buffers(), group_, 0);
}

void GradientReducer::begin_pass() {
  thread_->group().set_timeout(group_.timeout());
  autograd::after_backward([this](const std::exception_ptr& error) { end_pass(error); });
  in_pass_ = true;
  next_ = 0;
  for (Parameter& parameter : parameters_) parameter.ready = false;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters.size();
}

void GradientReducer::on_gradient(size_t index) {
  if (!syncs_) return;
  if (!in_pass_) begin_pass();
  Parameter& parameter = parameters_[index];
  check(!autograd::sparse_grad(parameter.tensor), "DistributedDataParallel",
        "gradients must be dense", "a sparse one of ", parameter.name);
  if (parameter.ready) return;
  parameter.ready = true;
  --buckets_[parameter.bucket].missing;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
    Bucket& bucket = buckets_[next_];
    // Nothing of the pass is left to hide it: who would wait for the thread does it.
    if (next_ + 1 == buckets_.size() && bucket.device.is_cpu()) break;
    launch(bucket);
    ++next_;
  }
}

// Behind one that fails the others fail too.
void GradientReducer::launch(Bucket& bucket) {
  bucket.task = thread_->launch(bucket.device, [this, &bucket](Communicator& group) {
    try {
      reduce(bucket);
    } catch (const std::exception& error) {
      group.abort(reason_of(error));
      throw;
    }
  });
}

void GradientReducer::join_tasks() {
  for (Bucket& bucket : buckets_)
    if (const auto task = std::exchange(bucket.task, nullptr)) task->join();
}

// The bucket's gradients, those of parameters without one as zeros, become their mean. They lie as
// the parameters do, which the ranks compare.
void GradientReducer::reduce(Bucket& bucket) {
  const ProfilerRange range(bucket.name.c_str());
  List<Tensor> means;
  for (const size_t i : bucket.parameters) {
    Parameter& parameter = parameters_[i];
    const Tensor gradient = parameter.tensor.grad();
    if (!gradient.defined()) parameter.mean = zeros_like(parameter.tensor.detach());
    means.push_back(gradient.defined() ? like(parameter.tensor, gradient) : parameter.mean);
    if (options_.bf16_gradients && is_floating(means.back().dtype()))
      means.back() = means.back().to(DType::bf16);
  }
  const ModuleScope scope(parameters_[bucket.parameters.front()].name);
  kernel::all_reduce_together(means, thread_->group(), ReduceOp::mean);
  for (size_t i = 0; i < means.size(); ++i) {
    const Parameter& parameter = parameters_[bucket.parameters[i]];
    const Tensor gradient = parameter.tensor.grad();
    const Tensor target = gradient.defined() ? gradient.detach() : parameter.mean;
    if (!target.shares_storage(means[i])) target.copy_(means[i]);
  }
}

void GradientReducer::end_pass(const std::exception_ptr& error) {
  in_pass_ = false;
  try {
    if (error) std::rethrow_exception(error);
    finish();
  } catch (const std::exception& failure) {
    give_up(reason_of(failure));
    throw;
  }
}

// What the other ranks are told: another rank's failure as it came.
std::string GradientReducer::reason_of(const std::exception& failure) const {
  if (dynamic_cast<const RankError*>(&failure)) return failure.what();
  return "rank " + std::to_string(group_.rank()) + ": " + failure.what();
}

// The error that is under way says more than those that follow from it.
void GradientReducer::give_up(const std::string& reason) {
  thread_->group().abort(reason);
  group_.abort(reason);
  for (Bucket& bucket : buckets_) {
    try {
      if (const auto task = std::exchange(bucket.task, nullptr)) task->settle();
    } catch (const Error&) {
    }
  }
}

// What backward hasn't hidden: buckets under way, and those that are left.
void GradientReducer::reduce_rest() {
  const ProfilerRange range("all_reduce", {}, " waits");
  const NoGradGuard no_grad;
  const double start = seconds_now();
  for (; next_ < buckets_.size(); ++next_) {
    Bucket& bucket = buckets_[next_];
    if (!bucket.device.is_cpu()) {
      launch(bucket);
      continue;
    }
    join_tasks();
    reduce(bucket);
  }
  join_tasks();
  waited_seconds_ += seconds_now() - start;
}

void GradientReducer::finish() {
  std::string missing;
  size_t count = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.ready || ++count > 10) continue;
    missing += (count > 1 ? ", " : "") + parameter.name;
  }
  if (count > 10) missing += " and " + std::to_string(count - 10) + " more";
  check(count == 0 || options_.find_unused_parameters, "DistributedDataParallel",
        "every parameter must get a gradient, or find_unused_parameters be set", "none of ",
        missing);
  reduce_rest();
  if (!options_.find_unused_parameters) return;
  std::vector<uint8_t> ready;
  // A gradient that a pass under no_sync left counts, though this pass brought none.
  for (const Parameter& parameter : parameters_)
    ready.push_back(parameter.ready || parameter.tensor.grad().defined());
  const Tensor used = tensor(ready);
  thread_->group().all_reduce(used, ReduceOp::max);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    const Tensor mean = std::exchange(parameters_[i].mean, {});
    if (parameter.grad().defined() || !used.at<uint8_t>({static_cast<int64_t>(i)})) continue;
    // Memory of the other stream, which this one is going to read.
    backend(mean.device().type).record_stream(mean.storage()->data(), {mean.device()});
    parameter.set_grad(mean);
  }
}

}  // namespace aorta::nn

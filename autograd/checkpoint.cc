#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/replay_scope.h>
#include <aorta/autograd/saved.h>
#include <aorta/core/comm.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/random.h>
#include <aorta/core/recording.h>

#include <mutex>

namespace aorta::autograd {
namespace {

// One saved tensor: what it must look like, and its elements once they have been computed again.
// It belongs to the node that saved it, and goes when that has run.
struct SavedTensor {
  GradientSpec spec;
  Tensor tensor;
};

thread_local std::vector<ReplayScope::Enter> scopes;

// The scopes are entered from the outermost on, and left the other way round.
class Entered {
 public:
  explicit Entered(const std::vector<ReplayScope::Enter>& scopes) {
    for (const ReplayScope::Enter& enter : scopes) entered_.push_back(enter());
  }
  ~Entered() {
    while (!entered_.empty()) entered_.pop_back();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  std::vector<std::shared_ptr<void>> entered_;
};

class Replay : public std::enable_shared_from_this<Replay> {
 public:
  explicit Replay(std::function<std::vector<Tensor>()> function)
      : function_(std::move(function)),
        random_(std::make_shared<GeneratorState>(default_generator().state())),
        autocast_(autocast_dtype()),
        group_(current_communicator()),
        around_(replay_scopes()) {
    // Each launch of a captured step draws others, and again the same.
    if (kernel::Recording* const launches = kernel::Recording::current()) {
      launches->before_launch([random = random_, source = &default_generator(),
                               lifetime = default_generator().lifetime()] {
        if (!lifetime.expired()) *random = source->state();  // or the draw says that it is gone
      });
    }
  }

  std::vector<Tensor> run() {
    const SavedTensorsHooks hooks(
        [self = shared_from_this()](const Tensor& tensor) { return std::any(self->add(tensor)); },
        [self = shared_from_this()](const std::any& place) {
          return self->tensor_of(*std::any_cast<const std::shared_ptr<SavedTensor>&>(place));
        });
    return function_();
  }

 private:
  std::shared_ptr<SavedTensor> add(const Tensor& tensor) {
    auto place = std::make_shared<SavedTensor>();
    place->spec = {tensor.shape(), tensor.dtype(), tensor.device()};
    places_.push_back(place);
    return place;
  }

  Tensor tensor_of(SavedTensor& place) {
    const std::lock_guard lock(mutex_);
    if (!place.tensor.defined()) compute_again();
    return place.tensor;
  }

  void compute_again() {
    size_t next = 0;
    const auto generator = std::make_shared<Generator>();
    generator->restore(*random_);
    if (kernel::Recording* const launches = kernel::Recording::current())
      launches->before_launch([generator, random = random_] { generator->restore(*random); });
    // What is around draws numbers of its own, which the function's don't follow.
    Generator others;
    const DefaultGeneratorScope other_numbers(others);
    const Autocast same_dtypes(autocast_);
    const CommunicatorScope same_group(group_);
    const EnableGradGuard recording;
    const Entered around(around_);
    const DefaultGeneratorScope same_numbers(*generator);
    const SavedTensorsHooks hooks(
        [&](const Tensor& tensor) {
          fill(next++, tensor);
          return std::any(tensor);
        },
        [](const std::any& tensor) { return std::any_cast<Tensor>(tensor); });
    function_();
    check(next == places_.size(), "checkpoint",
          "the function must save the same tensors when it runs again", next, " tensors, first ",
          places_.size());
  }

  void fill(size_t index, const Tensor& tensor) {
    check(index < places_.size(), "checkpoint",
          "the function must save the same tensors when it runs again", "more than ",
          places_.size());
    const auto place = places_[index].lock();
    if (!place) return;
    check(tensor.shape() == place->spec.shape && tensor.dtype() == place->spec.dtype &&
              tensor.device() == place->spec.device,
          "checkpoint", "the function must save the same tensors when it runs again",
          tensor.shape(), " ", tensor.dtype(), ", first ", place->spec.shape, " ",
          place->spec.dtype);
    place->tensor = tensor;
  }

  std::function<std::vector<Tensor>()> function_;
  std::shared_ptr<GeneratorState> random_;
  DType autocast_;
  Communicator* group_;
  const std::vector<ReplayScope::Enter> around_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<SavedTensor>> places_;
};

}  // namespace

ReplayScope::ReplayScope(Enter enter) { scopes.push_back(std::move(enter)); }
ReplayScope::~ReplayScope() { scopes.pop_back(); }
const std::vector<ReplayScope::Enter>& replay_scopes() { return scopes; }

std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>()> function) {
  check(bool(function), "checkpoint", "there must be a function", "an empty one");
  if (!grad_enabled()) return function();
  return std::make_shared<Replay>(std::move(function))->run();
}

Tensor checkpoint(std::function<Tensor(const Tensor& input)> function, const Tensor& input) {
  check(bool(function), "checkpoint", "there must be a function", "an empty one");
  check_defined("checkpoint", {{"input", input}});
  return checkpoint(
      [function = std::move(function), input] { return std::vector<Tensor>{function(input)}; })[0];
}

}  // namespace aorta::autograd

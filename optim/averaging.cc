#include <aorta/optim/averaging.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/recording.h>
#include <aorta/optim/multi_tensor.h>

namespace aorta::optim {
namespace {

constexpr const char* kAveragedModel = "averaged_model";

std::string name_of(size_t i) { return "averages." + std::to_string(i); }

}  // namespace

AveragedModel::AveragedModel(const List<Tensor>& tensors, const AverageOptions& options)
    : options_(options) {
  check(!tensors.empty(), kAveragedModel, "there must be tensors", "none");
  if (options.ema_decay) {
    check(*options.ema_decay >= 0 && *options.ema_decay <= 1, kAveragedModel,
          "ema_decay must be in [0, 1]", *options.ema_decay);
  }
  for (const Tensor& tensor : tensors) averages_.push_back(tensor.detach().clone());
}

void AveragedModel::check_like(const std::vector<Tensor>& tensors) const {
  check_defined(kAveragedModel, "tensors", tensors);
  check(tensors.size() == averages_.size(), kAveragedModel,
        "there must be as many tensors as averages", tensors.size(), " for ", averages_.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].shape() == averages_[i].shape(), kAveragedModel,
          "tensors must have their averages' shapes", tensors[i].shape(), " for ",
          averages_[i].shape(), " at ", i);
  }
}

void AveragedModel::update_parameters(const List<Tensor>& tensors) {
  check_like(tensors);
  kernel::refuse_in_capture(kAveragedModel, "averages are updated outside of a captured step",
                            "an update within");
  const NoGradGuard no_grad;
  std::vector<Tensor> targets, values;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (n_averaged_ == 0 || !is_floating(averages_[i].dtype())) {
      averages_[i].copy_(tensors[i].detach());
    } else {
      targets.push_back(averages_[i]);
      values.push_back(tensors[i]);
    }
  }
  if (!targets.empty()) {
    UpdateNumbers<double> numbers;
    numbers.mix =
        options_.ema_decay ? 1 - *options_.ema_decay : 1 / (static_cast<double>(n_averaged_) + 1);
    update_all(UpdateRule::average, numbers, targets, values);
  }
  ++n_averaged_;
}

void AveragedModel::copy_to(const List<Tensor>& tensors) const {
  check_like(tensors);
  const NoGradGuard no_grad;
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(averages_[i]);
}

void AveragedModel::swap(const List<Tensor>& tensors) {
  check_like(tensors);
  const NoGradGuard no_grad;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor value = tensors[i].detach().clone();
    tensors[i].copy_(averages_[i]);
    averages_[i].copy_(value);
  }
}

State AveragedModel::state() const {
  State state;
  state.set("n_averaged", State::Value(n_averaged_));
  for (size_t i = 0; i < averages_.size(); ++i) state.set(name_of(i), averages_[i]);
  return state;
}

void AveragedModel::restore(const State& state) {
  std::vector<std::string> names = {"n_averaged"};
  for (size_t i = 0; i < averages_.size(); ++i) names.push_back(name_of(i));
  state.check_names(names);
  const auto count = state.get<int64_t>("n_averaged");
  check(count >= 0, kAveragedModel, "n_averaged must be at least 0", count);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < averages_.size(); ++i) tensors.push_back(state.tensor(name_of(i)));
  check_like(tensors);
  const NoGradGuard no_grad;
  for (size_t i = 0; i < averages_.size(); ++i) averages_[i].copy_(tensors[i].detach());
  n_averaged_ = count;
}

}  // namespace aorta::optim

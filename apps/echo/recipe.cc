#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/run_folder.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace aorta::echo {

std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options,
                                                 const std::vector<Tensor>& parameters) {
  const std::string& name = options.optimizer;
  const double lr = options.lr, decay = options.weight_decay;
  check_positive("--lr", lr);
  check_not_negative("--weight_decay", decay);
  if (name == "sgd" || name == "nesterov")
    return std::make_unique<optim::SGD>(
        parameters,
        optim::SGDOptions{
            .lr = lr, .momentum = 0.9, .weight_decay = decay, .nesterov = name == "nesterov"});
  const auto of = [&]<class Optimizer, class Options>() -> std::unique_ptr<optim::Optimizer> {
    return std::make_unique<Optimizer>(parameters, Options{.lr = lr, .weight_decay = decay});
  };
  if (name == "adagrad") return of.operator()<optim::Adagrad, optim::AdagradOptions>();
  if (name == "adadelta") return of.operator()<optim::Adadelta, optim::AdadeltaOptions>();
  if (name == "rmsprop") return of.operator()<optim::RMSprop, optim::RMSpropOptions>();
  if (name == "adam") return of.operator()<optim::Adam, optim::AdamOptions>();
  if (name == "adamw") return of.operator()<optim::AdamW, optim::AdamWOptions>();
  if (name == "nadam") return of.operator()<optim::NAdam, optim::NAdamOptions>();
  if (name == "adamax") return of.operator()<optim::Adamax, optim::AdamaxOptions>();
  throw Failure(ExitCode::usage,
                "--optimizer: must be sgd, nesterov, adagrad, adadelta, rmsprop, adam, adamw, "
                "nadam or adamax, got " +
                    io::quote(name));
}

Schedule make_schedule(const RunOptions& options, optim::Optimizer& optimizer,
                       int64_t steps_per_epoch) {
  const int64_t epochs = std::max<int64_t>(options.num_epochs, 1);
  const std::string& name = options.schedule;
  if (name == "step") {
    // Without a period it never comes.
    const int64_t period = options.lr_step_period.value_or(int64_t{1} << 40);
    check_positive("--lr_step_period", period);
    return {
        std::make_unique<optim::StepLR>(optimizer, optim::StepLR::Options{.step_size = period})};
  }
  if (options.lr_step_period)
    throw Failure(ExitCode::usage, "--lr_step_period: goes with --schedule step, got " + name);
  if (name == "cosine")
    return {std::make_unique<optim::CosineAnnealingLR>(
        optimizer, optim::CosineAnnealingLR::Options{.T_max = epochs})};
  if (name == "poly")
    return {std::make_unique<optim::PolynomialLR>(
        optimizer, optim::PolynomialLR::Options{.total_iters = epochs, .power = 0.9})};
  if (name == "onecycle") {
    int64_t steps = 0;
    constexpr int64_t kMost = INT64_MAX - 1;
    if (__builtin_mul_overflow(epochs, steps_per_epoch, &steps)) steps = kMost;
    steps = std::min({steps, options.max_steps.value_or(kMost), kMost});
    return {std::make_unique<optim::OneCycleLR>(
                optimizer,
                optim::OneCycleLR::Options{
                    .max_lr = {options.lr}, .total_steps = steps + 1, .cycle_momentum = false}),
            true};
  }
  throw Failure(ExitCode::usage,
                "--schedule: must be step, cosine, poly or onecycle, got " + io::quote(name));
}

data::Transforms augmentation() {
  return data::Transforms{
      data::RandomAffine{
          .degrees = {-15, 15}, .translate = {0.1, 0.1}, .scale = {0.8, 1.25}, .shear = {-5, 5}},
      data::RandomGamma{.gamma = {0.7, 1.4}},
      data::ColorJitter{.brightness = {0.8, 1.2}, .contrast = {0.8, 1.2}},
      data::SpeckleNoise{.std = 0.1},
  };
}

void load_initial_weights(Segmenter& segmenter, const std::string& run_or_file) {
  with_code(ExitCode::data, [&] {
    const std::string path = weights_file(run_or_file);
    if (names_its_network(path)) {
      const Segmenter other = segmenter_of(State::load(path), path);
      check(other.model_name == segmenter.model_name, path,
            "weights must be of the network that is trained, " + segmenter.model_name,
            other.model_name);
      segmenter.net->load_state_dict(other.net->state_dict());
      return;
    }
    const NamedTensors own = segmenter.net->state_dict();
    NamedTensors weights = plain_weights(path);
    for (auto& [name, value] : weights) {
      if (!name.starts_with("classifier.4.") && !name.starts_with("head.")) continue;
      const auto place = std::find_if(own.begin(), own.end(), [&name = name](const auto& entry) {
        return entry.first == name;
      });
      // A head of other classes starts anew.
      if (place != own.end() && place->second.shape() != value.shape()) value = place->second;
    }
    segmenter.net->load_state_dict(weights);
  });
}

std::string pretrained_weights(const std::string& model_name) {
  const bool of_clips = model_name.ends_with("_18");
  if (!of_clips && model_name.find("resnet") == std::string::npos)
    throw Failure(ExitCode::usage,
                  "--pretrained: torchvision must have weights of the network, as of "
                  "deeplabv3_resnet50, deeplabv3_resnet101, fcn_resnet50 and fcn_resnet101, got " +
                      io::quote(model_name));
  const char* data_home = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder =
      (data_home && *data_home ? std::string(data_home)
                               : std::string(home ? home : ".") + "/.local/share") +
      "/aorta";
  const std::string path = folder + "/" + model_name + ".safetensors";
  if (is_there(path)) return path;
  throw Failure(ExitCode::environment,
                "--pretrained: torchvision's weights must be in " + path +
                    ", got no such file; where torchvision is, make it by: mkdir -p " +
                    shell_quoted(folder) +
                    " && python3 -c \"import sys, torchvision, safetensors.torch as s; "
                    "s.save_file(torchvision.models." +
                    (of_clips ? "video." : "segmentation.") + model_name +
                    "(weights='DEFAULT').state_dict(), sys.argv[1])\" " + shell_quoted(path) +
                    (of_clips ? "; --random begins without" : ""));
}

}  // namespace aorta::echo

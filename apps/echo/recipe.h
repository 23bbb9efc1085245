#pragma once

#include <aorta/apps/echo/segmenter.h>
#include <aorta/apps/echo/training_loop.h>
#include <aorta/data/images/transforms.h>

#include <memory>

// What the names on the command line stand for.

namespace aorta::echo {

/// Throws Failure(usage) for a name that isn't known, or a learning rate that isn't positive.
std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options,
                                                 const std::vector<Tensor>& parameters);

Schedule make_schedule(const RunOptions& options, optim::Optimizer& optimizer,
                       int64_t steps_per_epoch);

/// What `--augment` does to a pair of frames and their masks.
data::Transforms augmentation();

/// Loads a run's best weights, a file of weights that aorta-echo wrote, or one of torchvision's
/// names and shapes. A head for another number of classes, and an auxiliary head, are left out.
/// Throws Failure(data).
void load_initial_weights(Segmenter& segmenter, const std::string& run_or_file);
/// Where `--pretrained` looks: `$XDG_DATA_HOME/aorta/MODEL.safetensors`. Throws Failure: usage for
/// a network that torchvision doesn't have, environment, and how to put it there, where it isn't.
std::string pretrained_weights(const std::string& model_name);

}  // namespace aorta::echo

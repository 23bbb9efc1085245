#include <aorta/aorta.h>
#include <aorta/tools/echo/segmenter.h>

#include <sys/stat.h>

#include <algorithm>

namespace aorta::echo {
namespace {

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<float> narrowed(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Tensor Segmenter::normalised(const Tensor& frames) const {
  check(frames.dtype() == u8 && frames.dim() == 4 && frames.size(1) == 3, "segmenter",
        "frames must be u8 (N, 3, H, W)", frames.dtype(), " ", to_string(frames.shape()));
  const NoGradGuard no_grad;
  // (pixel - mean) / std as a product and a sum of each channel.
  const Tensor scale = reshape(tensor(std), {1, 3, 1, 1}),
               centre = reshape(tensor(mean), {1, 3, 1, 1});
  Tensor input = frames.to({.dtype = f32, .memory_format = MemoryFormat::channels_last});
  input -= centre.to(input.device());
  input /= scale.to(input.device());
  return input;
}

Tensor Segmenter::logits(const Tensor& frames) const {
  return net(normalised(frames)).select(1, 0).to(f32);
}

Tensor Segmenter::masks(const Tensor& frames) const {
  const NoGradGuard no_grad;
  const bool training = net->is_training();
  net->eval();
  Tensor masks = (logits(frames) > 0).to(u8);
  net->train(training);
  return masks;
}

State Segmenter::state() const {
  State state;
  state.add("model.", net->state());
  state.set("segmenter.model_name", model_name);
  state.set("segmenter.mean", widened(mean));
  state.set("segmenter.std", widened(std));
  return state;
}

std::vector<std::string> segmenter_names() {
  return {"deeplabv3_resnet50", "deeplabv3_resnet101", "fcn_resnet50", "fcn_resnet101", "unet",
          "unet_small"};
}

Segmenter make_segmenter(const std::string& model_name, std::vector<float> mean,
                         std::vector<float> std) {
  const std::vector<std::string> names = segmenter_names();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  check(std::find(names.begin(), names.end(), model_name) != names.end(), "model_name",
        ("must be one of " + list).c_str(), model_name);
  return {.model_name = model_name,
          .net = models::make(model_name, {.num_classes = 1}),
          .mean = std::move(mean),
          .std = std::move(std)};
}

Segmenter segmenter_of(const State& state, const std::string& name) {
  check(state.contains("segmenter.model_name"), name, "must be a segmenter that aorta-echo wrote",
        "no entry segmenter.model_name");
  Segmenter segmenter = make_segmenter(state.get<std::string>("segmenter.model_name"),
                                       narrowed(state.get<std::vector<double>>("segmenter.mean")),
                                       narrowed(state.get<std::vector<double>>("segmenter.std")));
  segmenter.net->restore(state.with_prefix("model."));
  return segmenter;
}

Segmenter load_segmenter(const std::string& path) {
  struct stat status {};
  std::string file = path;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) file += "/best.safetensors";
  return segmenter_of(State::load(file), file);
}

}  // namespace aorta::echo

#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/safetensors.h>

#include <algorithm>
#include <filesystem>

namespace aorta::echo {
namespace {

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<float> narrowed(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Eval mode while it lives, whatever is thrown: a picture that fails is a warning, and the
/// training goes on.
class EvalMode {
 public:
  explicit EvalMode(nn::Module& net) : net_(net), training_(net.is_training()) { net.eval(); }
  ~EvalMode() { net_.train(training_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  nn::Module& net_;
  const bool training_;
};

}  // namespace

bool Segmenter::takes_clips() const { return echo::takes_clips(model_name); }

Tensor Segmenter::normalised(std::initializer_list<Tensor> parts) const {
  const NoGradGuard no_grad;
  const Tensor& first = *parts.begin();
  const bool clips = takes_clips();
  const char* rule = clips ? "clips must be u8 (N, 3, T, H, W)" : "frames must be u8 (N, 3, H, W)";
  int64_t count = 0;
  for (const Tensor& frames : parts) {
    check(frames.dtype() == u8 && frames.dim() == (clips ? 5 : 4) && frames.size(1) == 3,
          "segmenter", rule, frames.dtype(), " ", to_string(frames.shape()));
    check(!clips || frames.size(2) == this->frames, "segmenter",
          "clips must have as many frames as the network sees", frames.size(2), " for ",
          this->frames);
    for (int64_t dim = 2; dim < first.dim(); ++dim)
      check(frames.size(dim) == first.size(dim), "segmenter", "frames must have one size",
            first.shape(), " and ", frames.shape());
    count += frames.size(0);
  }
  const Device device = first.device();
  // Written once, by the conversion.
  Shape shape = first.shape();
  shape[0] = count;
  shape.erase(1);
  shape.push_back(3);
  Tensor input = movedim(empty(shape, {.dtype = f32, .device = device}), -1, 1);
  int64_t begin = 0;
  for (const Tensor& frames : parts) {
    input.narrow(0, begin, frames.size(0)).copy_(frames);
    begin += frames.size(0);
  }
  // (pixel - mean) / std, of each channel.
  const Shape channels = clips ? Shape{1, 3, 1, 1, 1} : Shape{1, 3, 1, 1};
  input -= on_device(mean, device).view(channels);
  input /= on_device(std, device).view(channels);
  return input;
}

Tensor Segmenter::logits(const Tensor& input) const { return logits_of(net(input)); }

Tensor Segmenter::logits_of(const Tensor& output) {
  return output.flatten(1, -3).select(1, 0).to(f32);
}

Tensor Segmenter::found(const Tensor& frames) const {
  const NoGradGuard no_grad;
  const EvalMode mode(*net);
  return logits(normalised({frames}));
}

Tensor Segmenter::masks(const Tensor& frames) const { return (found(frames) > 0).to(u8); }

Tensor Segmenter::masks_of_input(const Tensor& input) const {
  const NoGradGuard no_grad;
  const EvalMode mode(*net);
  return (logits(input) > 0).to(u8);
}

void Segmenter::try_on(Device device) const {
  net->to(device);
  Shape shape{1, 3, kTriedSide, kTriedSide};
  if (takes_clips()) shape.insert(2, frames);
  masks(zeros(shape, {.dtype = u8, .device = device}));
}

State Segmenter::state() const {
  State state;
  state.add("model.", net->state());
  state.set("segmenter.model_name", model_name);
  state.set("segmenter.mean", widened(mean));
  state.set("segmenter.std", widened(std));
  state.set("segmenter.side", side);
  if (takes_clips()) {
    state.set("segmenter.frames", frames);
    state.set("segmenter.period", period);
  }
  return state;
}

data::Batch with_input(const data::Batch& batch, const Segmenter& segmenter) {
  data::Batch both = batch;
  both.add("input", segmenter.normalised({batch["LargeFrame"], batch["SmallFrame"]}));
  return both;
}

Device device_of(const Segmenter& segmenter) {
  const std::vector<Tensor> parameters = segmenter.net->parameters();
  return parameters.empty() ? Device() : parameters[0].device();
}

data::EchoOptions frames_options(data::EchoSplit split, const Segmenter* segmenter) {
  data::EchoOptions options = data::EchoOptions::segmentation(split);
  if (!segmenter || !segmenter->takes_clips()) return options;
  options.around_traces = true;
  options.length = segmenter->frames;
  options.period = segmenter->period;
  return options;
}

std::vector<std::string> segmenter_names() {
  return {"deeplabv3_resnet50",
          "deeplabv3_resnet101",
          "fcn_resnet50",
          "fcn_resnet101",
          "unet",
          "unet_small",
          "unet_3d"};
}

bool takes_clips(const std::string& model_name) { return model_name == "unet_3d"; }

Segmenter make_segmenter(const std::string& model_name, std::vector<float> mean,
                         std::vector<float> std, int64_t frames, int64_t period) {
  const std::vector<std::string> names = segmenter_names();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  check(std::find(names.begin(), names.end(), model_name) != names.end(), "model_name",
        ("must be one of " + list).c_str(), io::quote(model_name));
  check(frames >= 1 && frames <= kMostClipFrames, "--frames", "must be 1 to 64", frames);
  check(period >= 1, "--period", "must be positive", period);
  const bool clips = takes_clips(model_name);
  return {.model_name = model_name,
          .net = clips ? nn::AnyModule(models::UNet3d({.frames = frames}))
                       : models::make(model_name, {.num_classes = 1}),
          .mean = std::move(mean),
          .std = std::move(std),
          .frames = clips ? frames : 1,
          .period = clips ? period : 1};
}

Segmenter segmenter_of(const State& state, const std::string& name) {
  check(state.contains("segmenter.model_name"), name, "must be a segmenter that aorta-echo wrote",
        state.contains("regressor.model_name") ? "weights of `aorta-echo video`"
                                               : "no entry segmenter.model_name");
  const auto number = [&](const char* key, int64_t otherwise) {
    return state.contains(key) ? state.get<int64_t>(key) : otherwise;
  };
  Segmenter segmenter = make_segmenter(state.get<std::string>("segmenter.model_name"),
                                       narrowed(state.get<std::vector<double>>("segmenter.mean")),
                                       narrowed(state.get<std::vector<double>>("segmenter.std")),
                                       number("segmenter.frames", kClipFrames),
                                       number("segmenter.period", kClipPeriod));
  segmenter.side = number("segmenter.side", kEchoNetSide);
  check(segmenter.side > 0, name, "segmenter.side must be positive", segmenter.side);
  State model = state.with_prefix("model.");
  if (model.empty())  // exported: the network's own names
    for (const auto& [key, tensor] : state.tensors())
      model.set(key, is_floating(tensor.dtype()) ? tensor.to(f32) : tensor);
  segmenter.net->restore(model);
  return segmenter;
}

std::string shipped_weights() {
  namespace fs = std::filesystem;
  constexpr const char* kFile = "left_ventricle.safetensors";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error),
                 folder = program.parent_path();
  const std::string beside = folder / kFile;
  const std::string shared = folder.parent_path() / "share" / "aorta" / kFile;
  for (const std::string& path : {beside, shared})
    if (is_there(path)) return path;
  throw Failure(
      ExitCode::environment,
      "--weights: without it, the segmenter that comes with the program must lie beside it "
      "or in ../share/aorta, got neither " +
          beside + " nor " + shared);
}

std::string weights_file(const std::string& run_or_file) {
  if (is_folder(run_or_file)) return run_or_file + "/best.safetensors";
  const std::string suffix = std::filesystem::path(run_or_file).extension();
  if (suffix == ".pt" || suffix == ".pth")
    fail(run_or_file, "weights must be in a .safetensors or .npz file",
         "PyTorch's; make one by: python3 -c \"import sys, torch, safetensors.torch as s; w = "
         "torch.load(sys.argv[1], map_location='cpu', weights_only=True); w = w.get('state_dict', "
         "w); s.save_file({k: v.contiguous() for k, v in w.items()}, sys.argv[2])\" FILE.pt "
         "FILE.safetensors");
  return run_or_file;
}

bool names_its_network(const std::string& file) {
  return file.ends_with(".safetensors") &&
         safetensors::Reader(file, false).metadata().contains("aorta.state");
}

NamedTensors plain_weights(const std::string& file) {
  NamedTensors weights;
  for (auto& [name, value] : load(file)) {
    std::string key = name.starts_with("module.") ? name.substr(7) : name;  // DataParallel's
    if (!key.starts_with("aux_classifier.")) weights.emplace_back(std::move(key), value);
  }
  return weights;
}

Segmenter load_segmenter(const std::string& run_or_file, const PlainWeights& plain) {
  const std::string file = weights_file(run_or_file);
  if (names_its_network(file)) {
    Segmenter segmenter = segmenter_of(State::load(file), file);
    check(plain.model_name.empty() || plain.model_name == segmenter.model_name, file,
          "--model_name must be the weights' network", plain.model_name, " for ",
          segmenter.model_name);
    return segmenter;
  }
  const NamedTensors weights = plain_weights(file);
  check(!plain.model_name.empty() && plain.statistics, file,
        "weights that don't say their network need --model_name (of evaluate, segment or train)",
        "tensors alone");
  check(!takes_clips(plain.model_name), file,
        "weights that don't say how far apart a clip's frames are become a run first, by "
        "`aorta-echo train --num_epochs 0 --weights FILE --model_name unet_3d --period N`",
        "tensors alone");
  const data::ChannelStatistics statistics = plain.statistics();
  Segmenter segmenter = make_segmenter(plain.model_name, statistics.mean, statistics.std);
  segmenter.net->load_state_dict(weights);
  return segmenter;
}

}  // namespace aorta::echo

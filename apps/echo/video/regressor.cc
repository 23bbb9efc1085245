#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/apps/echo/video/regressor.h>
#include <aorta/core/io/bytes.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

constexpr const char* kPrefix = "regressor.";
/// EchoNet-Dynamic's mean EF, which EchoNet's networks begin with.
constexpr double kFirstValue = 55.6;
constexpr int64_t kMostFrames = 250;  // EchoNet's longest clip

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<float> floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// f32 (N, 3, T, H, W), channels_last.
Tensor empty_clips(const Shape& shape, Device device) {
  return empty({shape[0], shape[2], shape[3], shape[4], 3}, {.dtype = f32, .device = device})
      .permute({0, 4, 1, 2, 3});
}

/// (pixel - mean) / std.
void normalise(Tensor& input, const Regressor& regressor) {
  input -= on_device(regressor.mean, input.device()).view({1, 3, 1, 1, 1});
  input /= on_device(regressor.std, input.device()).view({1, 3, 1, 1, 1});
}

/// The clips of a video u8 (3, F, H, W) that begin at frames first, first + 1, ..., normalised: f32
/// (count, 3, T, H, W), written once, by the conversion.
Tensor clips_of(const Regressor& regressor, const Tensor& video, int64_t first, int64_t count) {
  Tensor input =
      empty_clips({count, 3, regressor.frames, video.size(2), video.size(3)}, video.device());
  for (int64_t k = 0; k < regressor.frames; ++k) {
    const int64_t start = first + k * regressor.period;
    const int64_t there = std::clamp<int64_t>(video.size(1) - start, 0, count);
    const Tensor images = input.select(2, k);
    // The frames k of clips that follow one another do so, too.
    if (there > 0) images.narrow(0, 0, there).copy_(video.narrow(1, start, there).transpose(0, 1));
    if (there == count) continue;
    for (int64_t c = 0; c < 3; ++c)
      images.narrow(0, there, count - there)
          .select(1, c)
          .fill_(std::nearbyint(regressor.mean[static_cast<size_t>(c)]));
  }
  normalise(input, regressor);
  return input;
}

}  // namespace

Tensor Regressor::normalised(const Tensor& clips) const {
  const NoGradGuard no_grad;
  check(clips.dtype() == u8 && clips.dim() == 5 && clips.size(1) == 3, "regressor",
        "clips must be u8 (N, 3, T, H, W)", clips.dtype(), " ", to_string(clips.shape()));
  Tensor input = empty_clips(clips.shape(), clips.device());
  input.copy_(clips);
  normalise(input, *this);
  return input;
}

Tensor Regressor::values(const Tensor& input) const { return net(input).select(1, 0).to(f32); }

int64_t Regressor::places(int64_t video_frames) const {
  return std::max(video_frames, frames * period) - (frames - 1) * period;
}

void Regressor::try_on(Device device) const {
  net->to(device);
  predict(zeros({3, frames, kTriedSide, kTriedSide}, {.dtype = u8}), 0, 1, 1);
}

Tensor Regressor::predict(const Tensor& video, int64_t first, int64_t count,
                          int64_t batch_size) const {
  check(video.dtype() == u8 && video.dim() == 4 && video.size(0) == 3, "regressor",
        "a video must be u8 (3, F, H, W)", video.dtype(), " ", to_string(video.shape()));
  check(first >= 0 && count >= 1 && batch_size >= 1, "regressor",
        "there must be a clip, and a batch of them", count, " from ", first, ", batches of ",
        batch_size);
  const NoGradGuard no_grad;
  const bool training = net->is_training();
  net->eval();
  const Tensor there = video.to(device_of(*this));
  const Tensor result = empty({count}, {.dtype = f32});
  for (int64_t begin = 0; begin < count; begin += batch_size) {
    const int64_t size = std::min(batch_size, count - begin);
    result.narrow(0, begin, size).copy_(values(clips_of(*this, there, first + begin, size)).cpu());
  }
  net->train(training);
  return result;
}

State Regressor::state() const {
  State state;
  state.add("model.", net->state());
  State facts;
  facts.set("model_name", model_name);
  facts.set("mean", doubles(mean));
  facts.set("std", doubles(std));
  facts.set("task", task);
  facts.set("frames", frames);
  facts.set("period", period);
  facts.set("side", side);
  state.add(kPrefix, facts);
  return state;
}

Device device_of(const Regressor& regressor) { return regressor.net->parameters().at(0).device(); }

std::vector<std::string> regressor_names() { return {"r2plus1d_18", "mc3_18", "r3d_18"}; }

void check_regressor(const std::string& model_name, int64_t frames, int64_t period) {
  const std::vector<std::string> names = regressor_names();
  check(std::find(names.begin(), names.end(), model_name) != names.end(), "--model_name",
        "must be r2plus1d_18, mc3_18 or r3d_18", io::quote(model_name));
  check(frames >= 1 && frames <= kMostFrames, "--frames", "must be 1 to 250", frames);
  check(period >= 1, "--period", "must be positive", period);
}

Regressor make_regressor(const std::string& model_name, const data::ChannelStatistics& pixels,
                         const std::string& task, int64_t frames, int64_t period) {
  check_regressor(model_name, frames, period);
  Regressor regressor{.model_name = model_name,
                      .net = models::make(model_name, {.num_classes = 1}),
                      .mean = pixels.mean,
                      .std = pixels.std,
                      .task = task,
                      .frames = frames,
                      .period = period};
  const NoGradGuard no_grad;
  nn::Linear& head = regressor.net.as<models::VideoResNet>().fc;
  // A layer of its own, as EchoNet's, not torchvision's.
  const double bound = 1 / std::sqrt(static_cast<double>(head.in_features));
  nn::init::uniform_(head.weight, -bound, bound);
  head.bias.fill_(kFirstValue);
  return regressor;
}

Regressor regressor_of(const State& state, const std::string& name) {
  const State facts = state.with_prefix(kPrefix);
  check(facts.contains("model_name"), name, "must be weights that `aorta-echo video` wrote",
        state.contains("segmenter.model_name") ? "those of a segmenter"
                                               : "no entry regressor.model_name");
  Regressor regressor = make_regressor(facts.get<std::string>("model_name"),
                                       {.mean = floats(facts.get<std::vector<double>>("mean")),
                                        .std = floats(facts.get<std::vector<double>>("std"))},
                                       facts.get<std::string>("task"), facts.get<int64_t>("frames"),
                                       facts.get<int64_t>("period"));
  if (facts.contains("side")) regressor.side = facts.get<int64_t>("side");
  check(regressor.side > 0, name, "regressor.side must be positive", regressor.side);
  regressor.net->restore(state.with_prefix("model."));
  return regressor;
}

Regressor load_regressor(const std::string& run_or_file) {
  const std::string file = weights_file(run_or_file);
  check(names_its_network(file), file, "must be weights that `aorta-echo video` wrote",
        "tensors alone");
  return regressor_of(State::load(file), file);
}

void load_initial_weights(Regressor& regressor, const std::string& run_or_file) {
  with_code(ExitCode::data, [&] {
    const std::string path = weights_file(run_or_file);
    if (names_its_network(path)) {
      const Regressor other = regressor_of(State::load(path), path);
      check(other.model_name == regressor.model_name, path,
            "weights must be of the network that is trained, " + regressor.model_name,
            other.model_name);
      regressor.net->load_state_dict(other.net->state_dict());
      return;
    }
    NamedTensors weights = plain_weights(path);
    const nn::Linear& head = regressor.net.as<models::VideoResNet>().fc;
    const auto weight = std::find_if(weights.begin(), weights.end(),
                                     [](const auto& one) { return one.first == "fc.weight"; });
    nn::LoadOptions options;
    if (weight != weights.end() && weight->second.shape() != head.weight.shape())
      options.leave_out = {"fc"};
    regressor.net->load_state_dict(weights, options);
  });
}

}  // namespace aorta::echo

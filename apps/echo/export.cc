#include <aorta/apps/echo/export.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/load_save.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aorta::echo {

void export_weights(const ExportOptions& options) {
  const bool safetensors = options.output.ends_with(".safetensors");
  if (!safetensors && !options.output.ends_with(".npz"))
    throw Failure(ExitCode::usage,
                  "--output: must end with .safetensors or .npz, got " + io::quote(options.output));
  if (options.dtype != "f32" && options.dtype != "f16")
    throw Failure(ExitCode::usage, "--dtype: must be f32 or f16, got " + io::quote(options.dtype));
  if (!options.overwrite && is_there(options.output))
    throw Failure(ExitCode::storage,
                  options.output + ": the file is there; --overwrite replaces it");
  const Segmenter segmenter =
      with_code(ExitCode::data, [&] { return load_segmenter(options.weights); });
  NamedTensors tensors = segmenter.net->state_dict();
  if (options.dtype == "f16")
    for (auto& [name, tensor] : tensors)
      if (is_floating(tensor.dtype())) tensor = tensor.to(f16);
  catch_interrupts();  // from here on the file is written to its end
  remove_abandoned_beside(options.output);
  with_code(ExitCode::storage, [&] {
    if (!safetensors) return save(tensors, options.output);
    // PyTorch doesn't look at the metadata, from which `evaluate` and `segment` know the network.
    const State whole = segmenter.state();
    State state;
    for (const auto& [name, value] : whole.values()) state.set(name, value);
    for (const auto& [name, tensor] : tensors) state.set(name, tensor);
    state.save(options.output);
  });
  fmt::print("{}: {} of {} tensors\n", options.output, segmenter.model_name, tensors.size());
  fmt::print("input: (frames - mean) / std, pixels 0 to 255, mean {}, std {}\n", segmenter.mean,
             segmenter.std);
  if (safetensors && segmenter.model_name.find("resnet") != std::string::npos)
    fmt::print(
        "PyTorch: net = torchvision.models.segmentation.{}(weights=None, weights_backbone=None, "
        "num_classes=1); net.load_state_dict(safetensors.torch.load_file('{}'))\n",
        segmenter.model_name, options.output);
}

}  // namespace aorta::echo

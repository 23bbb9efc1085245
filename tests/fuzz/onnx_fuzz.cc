#include <aorta/core/ops/creation.h>
#include <aorta/onnx/program.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed = setenv("AORTA_ONNX_PLUGIN", "onnx/libaorta_onnx.so", 0);
#endif

// What was loaded is written again, as its nodes and as the ops that it runs.
void save_again(const aorta::onnx::Model& net, const std::vector<aorta::Tensor>& inputs) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("aorta_onnx_fuzz_" + std::to_string(getpid()) + ".onnx");
  const aorta::onnx::SaveOptions sizes_of_example{.dynamic_batch = false};
  try {
    aorta::onnx::save(net, path);
    aorta::onnx::load(path);
    aorta::onnx::save(
        net, inputs, [&](const std::vector<aorta::Tensor>& x) { return net(x); }, path,
        sizes_of_example);
    aorta::onnx::load(path);
  } catch (const aorta::Error&) {
  }
  std::error_code error;
  std::filesystem::remove(path, error);
}

// Runs the network with ones of the file's shapes, 2 where a size is open; an Error is a good
// answer.
void run(const aorta::onnx::Model& net, const aorta::onnx::ModelProto& model, bool saved) {
  constexpr int64_t kMost = 1 << 12;
  std::vector<aorta::Tensor> inputs;
  for (const std::string& name : net.input_names()) {
    const auto& declared = model.graph.input;
    const auto input = std::find_if(declared.begin(), declared.end(),
                                    [&](const auto& value) { return value.name == name; });
    aorta::Shape shape;
    int64_t elements = 1;
    for (const auto& [size, label] : input->shape) {
      shape.push_back(size < 0 ? 2 : size);
      if (shape[shape.size() - 1] > kMost) return;
      elements *= shape[shape.size() - 1];
      if (elements > kMost) return;
    }
    inputs.push_back(aorta::ones(shape, {.dtype = *aorta::onnx::dtype_of_file(input->elem_type)}));
  }
  try {
    net(inputs);
  } catch (const aorta::Error&) {
    return;
  }
  if (saved) save_again(net, inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Where the plugin isn't there, nothing would be tried.
  const aorta::onnx::PluginTable& plugin = aorta::onnx::plugin("input");
  aorta::fuzz::parse_file(data, size, [&](auto& file) {
    const aorta::onnx::Model net = aorta::onnx::load(file);
    for (const auto& [name, tensor] : net.state_dict()) aorta::io::quote(name + to_string(tensor));
    aorta::onnx::ModelProto model;
    plugin.parse(data, size, model);
    run(net, model, size % 8 == 0);
  });
  return 0;
}

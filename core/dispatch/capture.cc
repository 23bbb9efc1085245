#include <aorta/core/dispatch/capture.h>

#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/recording.h>

#include <algorithm>
#include <exception>

namespace aorta::detail {
namespace {

using kernel::Recording;

constexpr int kEagerCalls =
    2;  // what is made at first use (state, plans, workspaces) is there then

std::vector<Tensor> detached(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = tensor.detach();
  return tensors;
}

/// The stream that a graph is captured on: while it lives, this thread's current one.
class CaptureStream {
 public:
  explicit CaptureStream(Stream stream) : device_(backend(stream.device.type)), stream_(stream) {
    previous_ = device_.current_stream(stream.device.index);
    device_.set_current_stream(stream);
    forget_autocast_casts();  // a graph makes its own, in its memory
  }
  ~CaptureStream() {
    forget_autocast_casts();
    device_.set_current_stream(previous_);
  }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

 private:
  DeviceBackend& device_;
  Stream stream_, previous_;
};

}  // namespace

/// One kind of inputs: calls that ran as they are, then a graph.
struct CapturedSteps::Graph {
  /// What a graph was captured for.
  struct Kind {
    struct Input {
      Shape shape;
      Strides strides;
      DType dtype;
      bool operator==(const Input&) const = default;
    };
    std::vector<Input> inputs;
    DType autocast = autocast_dtype();
    bool grad = grad_mode().enabled;
    bool operator==(const Kind&) const = default;

    explicit Kind(const std::vector<Tensor>& given) {
      for (const Tensor& input : given)
        inputs.push_back({input.shape(), input.strides(), input.dtype()});
    }
  };

  Graph(const std::vector<Tensor>& inputs, Device where) : kind(inputs), device(where) {}
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  bool capture(const std::vector<Tensor>& given, const Step& step);
  std::vector<Tensor> launch(bool first);
  void destroy() noexcept;

  const Kind kind;
  const Device device;
  int calls = 0;
  Stream stream;
  aorta::Graph graph;
  std::unique_ptr<Recording> recording;
  std::vector<Tensor> inputs, outputs;
};

// False where the backend doesn't capture.
bool CapturedSteps::Graph::capture(const std::vector<Tensor>& given, const Step& step) {
  DeviceBackend& backend = aorta::backend(device.type);
  inputs.clear();
  std::vector<uint32_t> versions;
  for (const Tensor& input : given) {
    inputs.push_back(input.clone());
    versions.push_back(inputs.back().version());
  }
  // The graph's memory is its own, and what the calls before have left can't be freed meanwhile.
  backend.empty_cache();
  stream = backend.create_stream(device.index);
  recording = std::make_unique<Recording>(device);
  try {
    if (!backend.begin_capture(stream)) {
      destroy();
      return false;
    }
    std::exception_ptr error;
    try {
      const CaptureStream current(stream);
      const Recording::Scope scope(*recording);
      outputs = detached(step(inputs));
      for (const Tensor& output : outputs)
        check(output.device() == device, "capture", "a step's results must be on its device",
              output.device(), " for ", device);
      // A launch would write the graph's copy, and the caller's tensor stay as it was.
      for (size_t i = 0; i < inputs.size(); ++i) {
        check(inputs[i].version() == versions[i], "capture", "a step must not write its inputs",
              "input ", i, " written");
      }
    } catch (...) {
      error = std::current_exception();
    }
    // The step's own error says more than that of a capture which it has spoiled.
    try {
      graph = backend.end_capture(stream);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    if (error) std::rethrow_exception(error);
  } catch (...) {
    recording->undo();
    destroy();
    throw;
  }
  recording->settle();
  return true;
}

std::vector<Tensor> CapturedSteps::Graph::launch(bool first) {
  DeviceBackend& backend = aorta::backend(device.type);
  recording->prepare_launch(first);
  backend.launch_graph(graph, {device});
  std::vector<Tensor> results;
  for (const Tensor& output : outputs) results.push_back(output.clone());
  return results;
}

void CapturedSteps::Graph::destroy() noexcept {
  if (!stream.handle) return;
  DeviceBackend& backend = aorta::backend(device.type);
  try {
    backend.synchronize_device(device.index);  // a launch may be queued
  } catch (...) {                              // then none runs
  }
  try {
    inputs.clear();
    outputs.clear();
    recording = nullptr;
    backend.destroy_graph(std::exchange(graph, {}), stream);
    backend.destroy_stream(std::exchange(stream, {}));
  } catch (...) {  // a device that is lost
  }
}

CapturedSteps::CapturedSteps() = default;
CapturedSteps::CapturedSteps(CapturedSteps&&) noexcept = default;
CapturedSteps& CapturedSteps::operator=(CapturedSteps&&) noexcept = default;
CapturedSteps::~CapturedSteps() = default;

int CapturedSteps::graphs() const {
  return static_cast<int>(std::count_if(graphs_.begin(), graphs_.end(), [](const auto& graph) {
    return graph->graph.handle != nullptr;
  }));
}

std::vector<Tensor> CapturedSteps::run(const std::vector<Tensor>& inputs, const Step& step) {
  check_defined("capture", "inputs", inputs);
  const Device device = inputs[0].device();
  for (const Tensor& input : inputs) {
    check(input.device() == device, "capture", "a step's inputs must be on one device",
          input.device(), " and ", device);
    check(!needs_gradient(input), "capture", "a step's inputs must not require a gradient",
          input.shape());
  }
  if (!device.is_cuda()) return detached(step(inputs));

  const DeviceGuard guard(device);
  const Graph::Kind kind(inputs);
  auto place = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& graph) {
    return graph->device == device && graph->kind == kind;
  });
  if (place == graphs_.end())
    place = graphs_.insert(place, std::make_unique<Graph>(inputs, device));
  Graph& graph = **place;
  if (graph.calls < kEagerCalls) {
    std::vector<Tensor> results = detached(step(inputs));
    ++graph.calls;  // of those that have made what is made at first use
    return results;
  }
  if (graph.graph.handle) {
    for (size_t i = 0; i < inputs.size(); ++i) graph.inputs[i].detach().copy_(inputs[i]);
    return graph.launch(false);
  }
  if (!graph.capture(inputs, step)) return detached(step(inputs));
  return graph.launch(true);
}

}  // namespace aorta::detail

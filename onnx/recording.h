#pragma once

#include <aorta/core/tracer.h>

#include <map>
#include <string>
#include <vector>

// What a network has run, op by op, by the values that went from one to the next.
namespace aorta::onnx {

/// What a tensor held at a time: written in place it is another value. A constant has its elements
/// as long as the storage has that version.
struct RecordedValue {
  Tensor tensor;
  int call = -1;   // that made it; -1: an input of the network, or a constant
  int input = -1;  // of the network, by number
  uint32_t version = 0;
};

struct RecordedCall {
  TracedCall call;
  std::vector<int> inputs, outputs;  // values; -1 where there is none
  std::string module;                // where it ran: "layer1.0.conv"
};

/// Options of the calls named kWriteView, which the recording adds: `view` was made of `base` by an
/// op of that name with those options, and was then written in place; the output is what `base`
/// holds now. Inputs: base, view.
inline constexpr char kWriteView[] = "write_view";
struct WriteView {
  const char* op;
  std::any options;
};

/// The calls of a thread's ops, in their order, while a TracerScope has it. A tensor is known by
/// its place in memory, so that aliases are one; one that no recorded op made is a constant.
class Recording : public Tracer {
 public:
  void add_input(const Tensor& tensor);
  void add(TracedCall call) override;
  /// The value that a tensor holds now.
  int value_of(const Tensor& tensor);

  const std::vector<RecordedValue>& values() const { return values_; }
  const std::vector<RecordedCall>& calls() const { return calls_; }

  /// Two tensors with one place have the same elements.
  using Place = std::pair<const void*, std::vector<int64_t>>;
  static Place place_of(const Tensor& tensor);

 private:
  struct Entry {
    int value = -1;
    uint32_t version = 0;  // of the storage, when it held that value
    int view = -1;         // the call that made it a view; -1: it is none
  };
  int add_value(const Tensor& tensor, int call);
  int add_call(TracedCall call, std::vector<int> inputs);
  uint32_t& known_version(const Tensor& tensor);
  int current(const Tensor& tensor);
  void note_lost(const Tensor& tensor);
  void note_write(const Tensor& tensor, int value);

  std::vector<RecordedValue> values_;
  std::vector<RecordedCall> calls_;
  std::map<Place, Entry> entries_;
  std::map<const void*, uint32_t> versions_;  // of storages, as far as calls have told
};

}  // namespace aorta::onnx

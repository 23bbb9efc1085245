#include <aorta/data/batch.h>
#include <aorta/data/names.h>

namespace aorta::data {

Batch::Batch(NamedTensors tensors) {
  for (const auto& [name, tensor] : tensors) add(name, tensor);
}

const Tensor& Batch::operator[](std::string_view name) const {
  for (const auto& [other, tensor] : tensors_)
    if (other == name) return tensor;
  fail_unknown_name("batch", name, tensors_, [](const auto& entry) { return entry.first; });
}

bool Batch::contains(std::string_view name) const {
  for (const auto& entry : tensors_)
    if (entry.first == name) return true;
  return false;
}

void Batch::add(const std::string& name, const Tensor& tensor) {
  check(!contains(name), "batch", "names must differ", io::quote(name), " twice");
  check(tensor.defined(), "batch", "tensor must be defined", io::quote(name), " that isn't");
  tensors_.emplace_back(name, tensor);
}

Batch Batch::to(Device device, bool non_blocking) const {
  Batch moved;
  for (const auto& [name, tensor] : tensors_)
    moved.tensors_.emplace_back(name, tensor.to(device, non_blocking));
  return moved;
}

}  // namespace aorta::data

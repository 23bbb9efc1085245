#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/join.h>
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

void Batch::add(const Text& name, const Tensor& tensor) {
  check(!contains(name), "batch", "names must differ", io::quote(name), " twice");
  if (!tensor.defined()) fail("batch", io::quote(name) + " must be defined", "an undefined tensor");
  tensors_.emplace_back(name, tensor);
}

Batch Batch::to(Device device, bool non_blocking) const {
  Batch moved;
  for (const auto& [name, tensor] : tensors_)
    moved.tensors_.emplace_back(name, tensor.to(device, non_blocking));
  return moved;
}

void fail_on_shapes(const std::string& name, const Shape& first, const Shape& other) {
  fail("collate", "samples of a batch must have one shape; give the loader a collate of your own",
       first, " and ", other, " for ", io::quote(name));
}

Batch default_collate(std::span<const Sample> samples) {
  check(!samples.empty(), "collate", "there must be samples", "none");
  Batch batch;
  const std::vector<TensorSpec>& specs = samples[0].specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const Sample& sample : samples) {
      parts.push_back(sample.tensors().at(i));
      if (parts.back().shape() != parts[0].shape())
        fail_on_shapes(specs[i].name, parts[0].shape(), parts.back().shape());
    }
    batch.add(specs[i].name, stack(parts));
  }
  return batch;
}

}  // namespace aorta::data

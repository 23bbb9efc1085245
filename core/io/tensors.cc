#include <aorta/core/check.h>
#include <aorta/core/io/tensors.h>

#include <set>

namespace aorta {

NamedTensors clone(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) copies.emplace_back(name, tensor.clone());
  return copies;
}

}  // namespace aorta

namespace aorta::io {

Tensor to_tensor(const Array& array) {
  auto bytes = array.bytes;
  std::byte* data = bytes->data() + array.offset;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(item_size(array.dtype)) != 0) {
    bytes = FileBytes::copy(bytes->name(), bytes->bytes().subspan(array.offset, array.size_bytes));
    data = bytes->data();
  }
  using Owner = std::shared_ptr<const FileBytes>;
  auto owner = std::make_unique<Owner>(bytes);
  Tensor tensor = from_blob(
      data, Shape(array.shape), {.dtype = array.dtype},
      [](void* context) { delete static_cast<Owner*>(context); }, owner.get());
  owner.release();  // the tensor's now
  return tensor;
}

Tensor to_host(const Tensor& tensor) { return tensor.detach().cpu().contiguous(); }

std::span<const int64_t> sizes(const Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

std::span<const std::byte> contents(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(tensor.nbytes())};
}

void check_names(const NamedTensors& tensors, const std::string& path) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    check(is_utf8(name), path, "tensor names must be UTF-8", quote(name));
    check(names.insert(name).second, path, "tensor names must differ", quote(name), " twice");
    if (!tensor.defined()) fail(path, quote(name) + " must be defined", "an undefined tensor");
  }
}

}  // namespace aorta::io

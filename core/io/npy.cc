#include <aorta/core/io/npy.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/tensors.h>

namespace aorta::npy {

Tensor load(const Text& path) {
  auto file = io::FileBytes::map(path);
  return io::to_tensor(parse(file, 0, file->size(), path));
}

void save(const Tensor& tensor, const Text& path) {
  if (!tensor.defined()) fail(path, "tensor must be defined", "an undefined tensor");
  Tensor source = io::to_host(tensor);
  std::string header = make_header(source.dtype(), io::sizes(source), path);
  io::AtomicFile file(path);
  file.write(header);
  std::span<const std::byte> contents = io::contents(source);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace aorta::npy

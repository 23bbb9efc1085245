#include <aorta/core/io/npy.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/tensors.h>

namespace aorta::npy {

Tensor load(const std::string& path) {
  auto file = io::FileBytes::map(path);
  return io::to_tensor(parse(file, 0, file->size(), path));
}

void save(const Tensor& tensor, const std::string& path) {
  Tensor source = io::to_host(tensor);
  std::string header = make_header(source.dtype(), io::sizes(source), path);
  io::AtomicFile file(path);
  file.write(header);
  std::span<const std::byte> contents = io::contents(source);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace aorta::npy

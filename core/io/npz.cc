#include <aorta/core/check.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/npz.h>

#include <set>

namespace aorta::npz {

NamedTensors load(const std::string& path, const ReadOptions& options) {
  NamedTensors tensors;
  for (const auto& [name, array] : parse(io::FileBytes::map(path), options))
    tensors.emplace_back(name, io::to_tensor(array));
  return tensors;
}

void save(const NamedTensors& tensors, const std::string& path, bool compress) {
  io::check_names(tensors, path);
  io::AtomicFile file(path);
  io::ZipWriter zip(file);
  for (const auto& [name, tensor] : tensors) {
    Tensor source = io::to_host(tensor);
    std::string header =
        npy::make_header(source.dtype(), io::sizes(source), path + ":" + io::quote(name));
    zip.add(name + ".npy", header, io::contents(source), compress);
  }
  zip.finish();
  file.commit();
}

}  // namespace aorta::npz

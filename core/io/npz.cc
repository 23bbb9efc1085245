#include <aorta/core/check.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/npz.h>

namespace aorta::npz {

Reader::Reader(const Text& path, const ReadOptions& options)
    : file_(io::FileBytes::map(path)), options_(options), entries_(read_entries(*file_, options)) {
  for (size_t i = 0; i < entries_.size(); ++i) index_[entries_[i].name] = i;
}

std::vector<std::string> Reader::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

const Entry& Reader::entry(const Text& name) const {
  auto found = index_.find(name);
  check(found != index_.end(), file_->name(), "array must be in the file", io::quote(name));
  return entries_[found->second];
}

Tensor Reader::tensor(const Text& name) const {
  return io::to_tensor(read_array(file_, entry(name), options_));
}

std::string Reader::numpy_dtype(const Text& name) const {
  npy::Header header = read_header(*file_, entry(name));
  return header.kind + std::to_string(header.item_size);
}

NamedTensors load(const Text& path, const ReadOptions& options) {
  Reader reader(path, options);
  NamedTensors tensors;
  for (const std::string& name : reader.names()) tensors.emplace_back(name, reader.tensor(name));
  return tensors;
}

void save(const NamedTensors& tensors, const Text& path, bool compress) {
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

#include <aorta/core/check.h>
#include <aorta/core/io/safetensors.h>

namespace aorta::safetensors {

Reader::Reader(const Text& path, bool verify)
    : file_(io::FileBytes::map(path)), header_(parse_header(file_->bytes(), path)) {
  verify_ = verify && verify_header(file_->bytes(), header_, path);
  for (size_t i = 0; i < header_.tensors.size(); ++i) index_[header_.tensors[i].name] = i;
  for (const auto& [key, value] : header_.metadata)
    if (!is_checksum_key(key)) metadata_[key] = value;
}

std::vector<std::string> Reader::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : header_.tensors) names.push_back(entry.name);
  return names;
}

Tensor Reader::tensor(const Text& name) const {
  auto found = index_.find(name);
  check(found != index_.end(), file_->name(), "tensor must be in the file", io::quote(name));
  const Entry& entry = header_.tensors[found->second];
  if (verify_) verify_tensor(file_->bytes(), header_, entry, file_->name());
  return io::to_tensor(read_array(file_, header_, entry));
}

NamedTensors load(const Text& path, bool verify) {
  Reader reader(path, verify);
  NamedTensors tensors;
  for (const std::string& name : reader.names()) tensors.emplace_back(name, reader.tensor(name));
  return tensors;
}

void save(const NamedTensors& tensors, const Text& path, const Metadata& metadata,
          int keep_previous) {
  io::check_names(tensors, path);
  for (const auto& [key, value] : metadata)
    check(!is_checksum_key(key), path, "metadata key must not be a checksum's", io::quote(key));
  std::vector<Tensor> hosts;
  std::vector<Source> sources;
  for (const auto& [name, tensor] : tensors) {
    const Tensor& host = hosts.emplace_back(io::to_host(tensor));
    sources.push_back({name, host.dtype(), io::sizes(host), io::contents(host)});
  }
  io::AtomicFile file(path, keep_previous);
  write(file, std::move(sources), metadata, path);
  file.commit();
}

}  // namespace aorta::safetensors

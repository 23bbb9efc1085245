#include <aorta/core/io/bytes.h>
#include <aorta/nn/parallel/device_mesh.h>

#include <algorithm>

namespace aorta::nn {
namespace {

constexpr const char* kMesh = "DeviceMesh";

}  // namespace

DeviceMesh::DeviceMesh(Communicator& group, const Shape& sizes, const List<std::string>& names)
    : sizes_(sizes), names_(names.begin(), names.end()) {
  int64_t ranks = 1;
  for (const int64_t size : sizes) {
    check(size >= 1, kMesh, "sizes must be positive", sizes);
    ranks *= size;
  }
  check(ranks == group.size(), kMesh, "sizes must make up the group", sizes, " for ", group.size(),
        " ranks");
  check(names_.size() == static_cast<size_t>(sizes.size()), kMesh,
        "each dimension must have a name", names_.size(), " for ", sizes);
  for (size_t i = 0; i < names_.size(); ++i)
    check(std::count(names_.begin(), names_.end(), names_[i]) == 1, kMesh, "names must differ",
          io::quote(names_[i]), " twice");
  int64_t step = group.size();
  for (const int64_t size : sizes) {
    step /= size;
    // The rank that this one would be at the beginning of the dimension.
    groups_.push_back(group.split(group.rank() - group.rank() / step % size * step));
  }
}

Communicator& DeviceMesh::operator[](const Text& name) const {
  const auto place = std::find(names_.begin(), names_.end(), std::string(name));
  std::string known;
  for (const std::string& one : names_) known += (known.empty() ? "" : ", ") + io::quote(one);
  check(place != names_.end(), kMesh, "the name must be of a dimension",
        io::quote(std::string(name)), " of ", known);
  return *groups_[static_cast<size_t>(place - names_.begin())];
}

}  // namespace aorta::nn

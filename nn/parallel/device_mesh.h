#pragma once

#include <aorta/core/comm.h>

namespace aorta::nn {

/// The ranks of a group as a grid, with a group along each of its dimensions: PyTorch's
/// init_device_mesh. Of 8 ranks,
///
///     nn::DeviceMesh mesh(distributed::world(), {2, 4}, {"dp", "tp"});
///
/// has 4 times 2 ranks along "dp" and 2 times 4 along "tp", whose ranks follow one another: layers
/// are divided among mesh["tp"], batches among mesh["dp"]. All ranks of `group` make it together.
class DeviceMesh {
 public:
  /// Throws unless the sizes' product is group.size() and each dimension has a name of its own.
  DeviceMesh(Communicator& group, const Shape& sizes, const List<std::string>& names);

  /// This rank's end of the group along the dimension of that name.
  Communicator& operator[](const Text& name) const;
  const Shape& shape() const { return sizes_; }

 private:
  Shape sizes_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Communicator>> groups_;  // by dimension
};

}  // namespace aorta::nn

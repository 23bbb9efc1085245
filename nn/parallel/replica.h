#pragma once

#include <aorta/nn/module.h>

#include <map>

namespace aorta::nn {

/// The parameters and buffers that a copy of a module has on another device, kept from one call to
/// the next.
class Replica {
 public:
  /// `shares_buffers`: those of the module itself, which the replica changes as the module would.
  Replica(Device device, bool shares_buffers) : device_(device), shares_buffers_(shares_buffers) {}

  /// Gives `copy`, which shares all tensors with its module, those of this replica, with the values
  /// that the module's have now. Values are copied where ops have written them since (what was
  /// written through data() isn't seen). A parameter on this device is the module's memory under a
  /// history of its own.
  void bind(Module& copy);
  /// The replica's tensor for a parameter of the module; after bind().
  const Tensor& parameter(const Tensor& of_module) const;

 private:
  struct Kept {
    Tensor original;  // also keeps its address from being another's
    Tensor mine;
    Ref<Storage> from;  // what was copied last, and when
    uint32_t version = 0, my_version = 0;
    bool used = true;
  };
  Kept& kept(const Tensor& original, bool is_parameter);
  void copy(Kept& kept);

  Device device_;
  bool shares_buffers_;
  std::map<const TensorImpl*, Kept> kept_;
};

}  // namespace aorta::nn

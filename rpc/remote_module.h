#pragma once

#include <aorta/nn/module.h>
#include <aorta/rpc/rref.h>

namespace aorta::distributed::nn {

namespace detail {

namespace nn = aorta::nn;

template <class M, class... Args>
M make_module(const std::string& device, const Args&... args) {
  M module(args...);
  module.to(Device(device));
  return module;
}

inline Device device_of(const nn::Module& module) {
  const std::vector<Tensor> parameters = module.parameters();
  return parameters.empty() ? Device() : parameters[0].device();
}

template <class T>
T moved(const T& value, Device device) {
  if constexpr (std::is_base_of_v<Tensor, T>) {
    return value.defined() ? value.to(device) : value;
  } else {
    return value;
  }
}

template <class M, class... Args>
auto run_module(const rpc::RRef<M>& module, const Args&... args) {
  M& self = module.local_value();
  const Device device = device_of(self);
  return moved(self(moved(args, device)...), Device());
}

template <class M>
std::vector<rpc::RRef<Tensor>> parameters_of(const rpc::RRef<M>& module, bool recurse) {
  std::vector<rpc::RRef<Tensor>> references;
  for (const Tensor& parameter : module.local_value().parameters(recurse))
    references.emplace_back(parameter);
  return references;
}

}  // namespace detail

/// A module that another process has, and calls of it: PyTorch's torch.distributed.nn.RemoteModule.
///
///     nn::RemoteModule<nn::Linear> head("worker1/cuda:0", 512, 10);
///     Tensor y = head(x);                     // computed there, and back on the CPU
///     rpc::DistributedOptimizer<optim::SGD> optimizer(head.remote_parameters(), {.lr = 0.1});
///
/// Arguments of the constructor and of calls are portable values; tensors go to the module's device
/// and come back to the CPU.
template <class M>
class RemoteModule {
 public:
  /// Makes an M(args...) at `place`: a worker's name, or behind it a slash and a device.
  template <class... Args>
  explicit RemoteModule(const Text& place, const Args&... args)
      : module_(made(place, static_cast<rpc::detail::sent_t<Args>>(args)...)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    return forward_async(args...).wait();
  }
  template <class... Args>
  auto forward(const Args&... args) const {
    return forward_async(args...).wait();
  }
  /// A future of what the module computes.
  template <class... Args>
  auto forward_async(const Args&... args) const {
    return rpc::rpc_async<&detail::run_module<M, rpc::detail::sent_t<Args>...>>(module_.owner(),
                                                                                module_, args...);
  }

  /// References to the parameters, for a DistributedOptimizer.
  std::vector<rpc::RRef<Tensor>> remote_parameters(bool recurse = true) const {
    return rpc::rpc_sync<&detail::parameters_of<M>>(module_.owner(), module_, recurse);
  }
  const rpc::RRef<M>& get_module_rref() const { return module_; }

 private:
  template <class... Args>
  static rpc::RRef<M> made(const std::string& place, const Args&... args) {
    const size_t slash = place.find('/');
    const std::string device = slash == std::string::npos ? "cpu" : place.substr(slash + 1);
    return rpc::remote<&detail::make_module<M, Args...>>(place.substr(0, slash), device, args...);
  }

  rpc::RRef<M> module_;
};

}  // namespace aorta::distributed::nn

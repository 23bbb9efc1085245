#pragma once

#include <aorta/core/comm.h>
#include <aorta/nn/call.h>
#include <aorta/nn/parallel/replica.h>

#include <concepts>
#include <memory>
#include <optional>
#include <tuple>

namespace aorta::nn {

class DeviceThreads;

/// How a DataParallel divides and waits.
struct DataParallelOptions {
  int64_t dim = 0;      // of inputs and outputs: the batch
  double timeout = 60;  // seconds that layers over all replicas (SyncBatchNorm) wait; 0: for ever
};

namespace detail {

/// What a DataParallel does whatever its module's type.
class DataParallelCalls {
 public:
  /// Copies the module for a part, sharing its tensors.
  using Copy = std::function<std::shared_ptr<Module>(size_t part)>;
  /// Calls the part's copy with its inputs.
  using Forward = std::function<std::vector<Tensor>(size_t part, const std::vector<Tensor>&)>;

  DataParallelCalls(const Module& module, std::vector<Device> devices,
                    const DataParallelOptions& options);

  const std::vector<Device>& devices() const { return devices_; }
  /// How many parts a call with these tensors has.
  size_t parts(const std::vector<Tensor>& inputs) const;
  /// The inputs on the first device, with their history: for a call that isn't divided.
  std::vector<Tensor> on_first_device(std::vector<Tensor> inputs) const;
  /// The outputs of all parts, joined on the first device, as one node of the graph. No part is
  /// computed before all have their inputs and the module's values.
  std::vector<Tensor> run(const Module& module, size_t parts, const std::vector<Tensor>& inputs,
                          const Copy& copy, const Forward& forward);

 private:
  void check_place(const Module& module) const;

  std::vector<Device> devices_;
  DataParallelOptions options_;
  std::shared_ptr<DeviceThreads> threads_;  // graphs need them as long as they live
  std::vector<Replica> replicas_;
};

}  // namespace detail

/// A module that computes each batch on several devices at once, on a thread a device:
///
///     nn::DataParallel parallel(net, {"cuda:0", "cuda:1"});
///     Tensor loss = nn::cross_entropy(parallel(images), labels);
///     loss.backward();   // into the parameters of net
///
/// `net`, of which it keeps a reference, lies on the first device; its parameters, state and mode
/// are the ones that count. Each call divides the tensors of its arguments along `dim` into parts
/// of ceil(N / devices) samples, the last may be smaller, and with few samples the last devices get
/// none; nested ones too (see call_module). A tensor without dimensions, and what is no tensor, is
/// copied to each device. Parts run in replicas: copies of `net` made for the call, whose
/// parameters keep their memory from call to call and are copied only when those of `net` have
/// changed. The outputs are joined on the first device, in the order of the parts; those without
/// dimensions become a list of one a part, and what is no tensor is that of the first part.
///
/// A backward pass through the outputs runs each part on its device's thread, and adds the
/// gradients up in the order of the parts: ((g0 + g1) + g2) + ... Gradients of gradients are an
/// error. The parts have random numbers of their own (dropout), a function of the default
/// generator's state and the part's number. BatchNorm computes over a part; its running statistics
/// are those of the first part, and what else a replica changes in itself is lost. An error names
/// the device, the part and the module's path.
///
/// With one device, or one part, the module itself is called, by the calling thread. Devices may be
/// listed twice. One thread at a time may call it.
template <class M>
class DataParallel {
 public:
  DataParallel(M& module, List<Device> devices, const DataParallelOptions& options = {})
      : module_(&module),
        calls_(std::make_unique<detail::DataParallelCalls>(base(module), std::move(devices),
                                                           options)) {
    if constexpr (std::derived_from<M, Module>) module.check_members(&module, sizeof(M));
  }
  DataParallel(M&& module, List<Device> devices,
               const DataParallelOptions& options = {}) = delete;  // it keeps a reference

  M& module() const { return *module_; }
  const std::vector<Device>& devices() const { return calls_->devices(); }

  template <class... Args>
  auto operator()(const Args&... args) const {
    using Output = std::decay_t<decltype((*module_)(args...))>;
    using Given = std::tuple<std::decay_t<const Args&>...>;
    static_assert(!std::is_void_v<Output>, "a module that is computed in parts returns something");
    Given given(args...);
    const std::vector<Tensor> inputs = detail::tensors_in(given);
    const size_t parts = calls_->parts(inputs);
    if (parts == 1) {
      detail::put_tensors(given, calls_->on_first_device(inputs));
      return Output(std::apply(*module_, std::as_const(given)));
    }
    std::vector<std::shared_ptr<M>> replicas(parts);
    std::vector<std::optional<Output>> outputs(parts);
    const std::vector<Tensor> joined = calls_->run(
        base(*module_), parts, inputs,
        [&](size_t part) {
          replicas[part] = std::make_shared<M>(*module_);
          return std::shared_ptr<Module>(replicas[part], &base(*replicas[part]));
        },
        [&](size_t part, const std::vector<Tensor>& tensors) {
          Given of_part(args...);
          detail::put_tensors(of_part, tensors);
          outputs[part].emplace(std::apply(*replicas[part], std::as_const(of_part)));
          return detail::tensors_in(*outputs[part]);
        });
    Output output = *std::move(outputs[0]);
    detail::put_tensors(output, joined);
    return output;
  }

 private:
  static Module& base(M& module) {
    if constexpr (std::derived_from<M, Module>)
      return module;
    else
      return *module;
  }

  M* module_;
  std::unique_ptr<detail::DataParallelCalls> calls_;
};

}  // namespace aorta::nn

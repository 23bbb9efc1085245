#pragma once

#include <aorta/optim/optimizer.h>
#include <aorta/rpc/distributed_autograd.h>
#include <aorta/rpc/rref.h>

#include <map>
#include <mutex>

namespace aorta {

/// The options of an optimizer as a value of a call.
template <class T>
concept lists_options = !lists_members<T> && requires(T & options, optim::Fields& fields) {
  options.fields(fields);
};
template <lists_options T>
struct Portable<T> {
  static void write(ArgumentWriter& writer, const T& value) {
    T copy = value;
    optim::Fields fields;
    copy.fields(fields);
    for (const auto& field : fields.list()) {
      std::visit([&](auto* place) { put(writer, *place); }, field.place);
      put(writer, field.named && *field.named);
    }
  }
  static T read(ArgumentReader& reader) {
    T value{};
    optim::Fields fields;
    value.fields(fields);
    for (const auto& field : fields.list()) {
      std::visit([&](auto* place) { take(reader, *place); }, field.place);
      bool named = false;
      take(reader, named);
      if (field.named) *field.named = named;
    }
    return value;
  }

 private:
  template <class Field>
  static void put(ArgumentWriter& writer, const Field& field) {
    Portable<Field>::write(writer, field);
  }
  template <class Field>
  static void take(ArgumentReader& reader, Field& field) {
    field = Portable<Field>::read(reader);
  }
};

}  // namespace aorta

namespace aorta::distributed::optim {

namespace detail {

/// Steps of several optimizers of one process go one after another.
std::mutex& step_mutex();

/// The part of one process: an optimizer of the parameters that it has.
template <class O>
class LocalOptimizer {
 public:
  LocalOptimizer(const std::vector<rpc::RRef<Tensor>>& parameters,
                 const typename O::Options& options)
      : parameters_(values_of(parameters)), optimizer_(List<Tensor>(parameters_), options) {}

  void step(int64_t context_id) {
    const autograd::Gradients gradients = autograd::get_gradients(context_id);
    const std::lock_guard lock(step_mutex());
    std::vector<Tensor> before;
    for (const Tensor& parameter : parameters_) {
      before.push_back(parameter.grad());
      parameter.set_grad(gradients.contains(parameter) ? gradients[parameter] : Tensor());
    }
    const auto give_back = [&] {
      for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set_grad(before[i]);
    };
    try {
      optimizer_.step();
    } catch (...) {
      give_back();
      throw;
    }
    give_back();
  }

 private:
  static std::vector<Tensor> values_of(const std::vector<rpc::RRef<Tensor>>& parameters) {
    std::vector<Tensor> values;
    for (const rpc::RRef<Tensor>& parameter : parameters) values.push_back(parameter.local_value());
    return values;
  }

  const std::vector<Tensor> parameters_;
  O optimizer_;
};

}  // namespace detail

/// An optimizer of parameters that several processes have: PyTorch's
/// torch.distributed.optim.DistributedOptimizer. Each process steps its own, by the gradients of a
/// context of distributed::autograd; all at once, and grad() stays as it is.
///
///     optim::DistributedOptimizer<aorta::optim::SGD> optimizer(parameters, {.lr = 0.05});
///     optimizer.step(context.id());
template <class O>
class DistributedOptimizer {
 public:
  using Options = typename O::Options;

  explicit DistributedOptimizer(const List<rpc::RRef<Tensor>>& parameters,
                                const Options& options = {}) {
    check(!parameters.empty(), "DistributedOptimizer", "there must be a parameter", "none");
    std::map<int, std::vector<rpc::RRef<Tensor>>> by_owner;
    for (const rpc::RRef<Tensor>& parameter : parameters)
      by_owner[parameter.owner().id].push_back(parameter);
    std::vector<Future<void>> made;
    for (const auto& [owner, own] : by_owner) {
      parts_.push_back(rpc::remote<Part>(owner, own, options));
      made.push_back(rpc::rpc_async<&wait_for>(owner, parts_.back()));
    }
    futures::wait_all(made);
  }

  /// A step of all processes; throws what any of them throws.
  void step(int64_t context_id) const {
    std::vector<Future<void>> steps;
    for (const auto& part : parts_)
      steps.push_back(part.template rpc_async<&Part::step>(context_id));
    futures::wait_all(steps);
  }

 private:
  template <class T>
  using Future = futures::Future<T>;
  using Part = detail::LocalOptimizer<O>;

  static void wait_for(const rpc::RRef<Part>& part) { part.local_value(); }

  std::vector<rpc::RRef<Part>> parts_;
};

}  // namespace aorta::distributed::optim

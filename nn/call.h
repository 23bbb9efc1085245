#pragma once

#include <aorta/autograd/replay_scope.h>
#include <aorta/core/module_path.h>
#include <aorta/nn/module.h>

#include <optional>
#include <tuple>

// Calls of modules with any number of inputs and outputs.

namespace aorta::nn {
namespace detail {

struct AnyField {
  template <class T>
  operator T() const;
};

template <class T, class... Fields>
consteval size_t count_fields() {
  if constexpr (requires { T{Fields()..., AnyField()}; }) {
    return count_fields<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

/// References to the members of a struct without bases and constructors.
template <class T>
auto fields_of(T& t) {
  constexpr size_t count = count_fields<std::remove_const_t<T>>();
  static_assert(count <= 6, "a struct of a module's inputs or outputs has at most 6 members");
  if constexpr (count == 1) {
    auto& [a] = t;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = t;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = t;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = t;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = t;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = t;
    return std::tie(a, b, c, d, e, f);
  } else {
    return std::tie();
  }
}

template <class T>
concept Range = requires(T& t) {
  typename T::value_type;
  t.begin() != t.end();
};
template <class T>
concept Optional = requires(T& t) {
  t.has_value();
  *t;
};
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

/// Whether hooks see tensors in a T: a tensor; or a vector, map, array, pair, tuple, optional or
/// plain struct of what holds some.
template <class Given>
consteval bool holds_tensors() {
  using T = std::remove_cvref_t<Given>;
  if constexpr (std::is_base_of_v<Tensor, T>) {
    return true;
  } else if constexpr (Range<T> || Optional<T>) {
    if constexpr (std::is_same_v<typename T::value_type, T>)
      return false;
    else
      return holds_tensors<typename T::value_type>();
  } else if constexpr (TupleLike<T>) {
    return []<size_t... I>(std::index_sequence<I...>) {
      return (false || ... || holds_tensors<std::tuple_element_t<I, T>>());
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    return holds_tensors<decltype(fields_of(std::declval<T&>()))>();
  } else {
    return false;
  }
}

/// function(tensor) for every tensor in `value`, in order.
template <class T, class Function>
void each_tensor(T& value, const Function& function) {
  if constexpr (!holds_tensors<T>()) {
    return;
  } else if constexpr (std::is_base_of_v<Tensor, T>) {
    function(static_cast<Tensor&>(value));
  } else if constexpr (Range<T>) {
    for (auto& element : value) each_tensor(element, function);
  } else if constexpr (Optional<T>) {
    if (value.has_value()) each_tensor(*value, function);
  } else if constexpr (TupleLike<T>) {
    std::apply([&](auto&... parts) { (each_tensor(parts, function), ...); }, value);
  } else {
    auto fields = fields_of(value);
    each_tensor(fields, function);
  }
}

template <class T>
std::vector<Tensor> tensors_in(T& value) {
  std::vector<Tensor> tensors;
  each_tensor(value, [&](Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

template <class T>
void put_tensors(T& value, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  each_tensor(value, [&](Tensor& tensor) { tensor = tensors[next++]; });
}

/// How forward gets an argument: what holds tensors as a constant, which hooks may have replaced,
/// and all else as the caller gave it.
template <class Arg>
decltype(auto) passed(std::remove_reference_t<Arg>& arg) {
  if constexpr (holds_tensors<Arg>())
    return std::as_const(arg);
  else
    return static_cast<Arg&&>(arg);
}

}  // namespace detail

namespace detail {

/// While it lives, this thread runs the module: errors and the graph have its name, and members
/// that are computed have their values. The first time
/// that one with parameters runs inside of another and is no part of any, stderr says so: nothing
/// would fail, and nothing would train it.
class RunningModule {
 public:
  explicit RunningModule(const Module& module);
  ~RunningModule();
  RunningModule(const RunningModule&) = delete;
  RunningModule& operator=(const RunningModule&) = delete;

 private:
  const Module* outer_;
  std::optional<ModuleScope> scope_;
  std::shared_ptr<Parametrizations> computed_;
  std::optional<autograd::ReplayScope> replay_;
};

}  // namespace detail

/// `module.forward(args...)` with the module's hooks and its name, for the operator() of a module.
/// Hooks see the tensors of the arguments and of the result (holds_tensors), in order, as one list
/// each; forward takes them by value or constant reference, and all else as it likes.
template <class M, class... Args>
auto call_module(const M& module, Args&&... args) {
  const Module& base = module;
  base.check_there();
  if (!base.hooks_) [[likely]] {
    const detail::RunningModule running(base);
    return module.forward(detail::passed<Args>(args)...);
  }
  using Output = std::decay_t<decltype(module.forward(detail::passed<Args>(args)...))>;
  std::tuple<std::conditional_t<detail::holds_tensors<Args>(), std::remove_cvref_t<Args>,
                                std::remove_reference_t<Args>&>...>
  mine(args...);
  std::optional<Output> output;
  const std::vector<Tensor> outputs =
      base.call(detail::tensors_in(mine), [&](const std::vector<Tensor>& inputs) {
        detail::put_tensors(mine, inputs);
        output.emplace(std::apply(
            [&](auto&... parts) { return module.forward(detail::passed<Args>(parts)...); }, mine));
        return detail::tensors_in(*output);
      });
  detail::put_tensors(*output, outputs);
  return *std::move(output);
}

/// The base of a module whose forward isn't one tensor of another: of several, of structs and
/// vectors of tensors, with options; to a struct, pair or vector of tensors.
///
///     struct Vae : nn::ModuleOf<Vae> {
///       struct Output { Tensor image, mean, log_variance; };
///       Output forward(const Tensor& x, const Tensor& noise) const;
///     };
///     auto [image, mean, log_variance] = vae(x, noise);
///
/// Where it takes a tensor alone and gives something else, it takes it by value: `Output
/// forward(Tensor x) const`. In a Sequential there must be a `Tensor forward(const Tensor&) const`
/// too.
template <class M>
class ModuleOf : public Module {
 public:
  using Module::Module;
// Stands between M's own and Module's, so that clang finds nothing virtual that M's would hide.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
  void forward() const = delete;
#pragma GCC diagnostic pop
  template <class... Args>
  auto operator()(Args&&... args) const {
    return call_module(static_cast<const M&>(*this), std::forward<Args>(args)...);
  }
};

}  // namespace aorta::nn

#pragma once

#include <memory>

#include <aorta/tests/siege/hostile.h>

// What the interface's siege calls: functions, by the types of their parameters.
namespace aorta::siege {

/// A call with its arguments.
class Call {
 public:
  virtual ~Call() = default;
  virtual Tensors run() = 0;
  /// Makes this call with other tensors: `f` replaces each.
  virtual std::unique_ptr<Call> with(const std::function<Tensor(const Tensor&)>& f) const = 0;
  /// Its tensors, in order.
  virtual Tensors tensors() const = 0;
};

struct Target {
  std::string name;
  std::function<std::unique_ptr<Call>(Arguments&)> draw;
  /// Calls differ: random numbers, fresh memory.
  bool differs = false;
  /// It makes products whose order the layout decides, and with it whether they leave the range.
  bool ordered_products = false;
  /// Functions that its errors may be about; any where there are none.
  std::vector<std::string> functions = {};
};

template <class R>
Tensors tensors_of(const R& result) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return {result};
  } else if constexpr (std::is_same_v<R, Tensors>) {
    return result;
  } else if constexpr (std::is_same_v<R, bool>) {
    return {};
  } else {
    Tensors all;
    R copy = result;
    detail::for_members(copy, [&](auto& member) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Tensor>) all.push_back(member);
    });
    return all;
  }
}

template <class R, class... A>
class CallOf : public Call {
 public:
  CallOf(R (*f)(A...), Arguments& arguments)
      : f_(f), arguments_{Drawn<std::decay_t<A>>(arguments)...} {}
  Tensors run() override {
    return std::apply(
        [&](auto&... arguments) { return tensors_of<std::decay_t<R>>(f_(arguments.get()...)); },
        arguments_);
  }
  std::unique_ptr<Call> with(const std::function<Tensor(const Tensor&)>& f) const override {
    auto copy = std::make_unique<CallOf>(*this);
    copy->visit([&](Tensor& tensor) { tensor = f(tensor); });
    return copy;
  }
  Tensors tensors() const override {
    Tensors all;
    CallOf copy = *this;
    copy.visit([&](Tensor& tensor) { all.push_back(tensor); });
    return all;
  }

 private:
  template <class F>
  void visit(const F& f) {
    std::apply([&](auto&... arguments) { (arguments.visit(f), ...); }, arguments_);
  }

  R (*f_)(A...);
  std::tuple<Drawn<std::decay_t<A>>...> arguments_;
};

template <class R, class... A>
Target of(const char* name, R (*f)(A...)) {
  return {name, [f](Arguments& a) { return std::make_unique<CallOf<R, A...>>(f, a); }};
}

/// Makes a target of a function that gives other numbers each time.
template <class R, class... A>
Target random_of(const char* name, R (*f)(A...)) {
  Target target = of(name, f);
  target.differs = true;
  return target;
}

/// Makes a target of a function of ordered products.
template <class R, class... A>
Target product_of(const char* name, R (*f)(A...)) {
  Target target = of(name, f);
  target.ordered_products = true;
  return target;
}

/// A layer made from A..., called on a tensor.
template <class M, class... A>
Tensor layer(const A&... arguments, const Tensor& x) {
  M module(arguments...);
  return module(x);
}

template <class M, class... A>
Tensor loss(const A&... arguments, const Tensor& input, const Tensor& target) {
  M module(arguments...);
  return module(input, target);
}

template <class M, class... A>
Tensor loss_of_three(const A&... arguments, const Tensor& a, const Tensor& b, const Tensor& c) {
  M module(arguments...);
  return module(a, b, c);
}

/// The catalogue's calls, with their own numbers.
std::vector<Target> catalog_targets();
/// The public functions of core/ops and the members of Tensor.
std::vector<Target> function_targets();
/// Layers, optimizers, schedules, networks, samplers, with options of every kind.
std::vector<Target> module_targets();
/// Functions with a fault of each kind that the siege is for.
std::vector<Target> planted_targets();

/// One call of the target with hostile arguments, and another with safe copies of them.
void attack(Case& one, const Target& target);

}  // namespace aorta::siege

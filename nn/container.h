#pragma once

#include <aorta/nn/module.h>

namespace aorta::nn {

/// What a container takes: a module, or one in an AnyModule.
template <class M>
concept Containable = std::is_base_of_v<Module, M> || std::is_same_v<M, AnyModule>;

/// What a container refuses by name. Whether a module can be called isn't asked: it may be an owner
/// that is still being declared.
template <class F>
concept PlainFunction = !Containable<F> && std::is_invocable_v<F, const Tensor&>;

/// Modules one after another, named "0", "1", ... or as given:
///
///     nn::Sequential net{nn::Linear(784, 30), nn::Sigmoid(), nn::Linear(30, 10)};
///     nn::Sequential block{{{"conv", nn::Conv2d(3, 8, 3)}, {"relu", nn::ReLU()}}};
///
/// Empty, it gives back its input.
class Sequential : public Module {
 public:
  using Named = std::pair<std::string, AnyModule>;

  Sequential() = default;
  template <class First, class... Rest>
  requires(Containable<First> && (Containable<Rest> && ...) &&
           !(sizeof...(Rest) == 0 &&
             std::is_same_v<First, Sequential>)) explicit Sequential(First first, Rest... rest) {
    push_back(std::move(first));
    (push_back(std::move(rest)), ...);
  }
  template <class... Modules>
  requires(PlainFunction<Modules> || ...) explicit Sequential(const Modules&...) {
    static_assert(sizeof...(Modules) == 0,
                  "a function is no module: take its layer, as nn::ReLU(), or a struct of your own "
                  "with a forward");
  }
  explicit Sequential(List<Named> modules);
  Sequential(Module& owner, const char* name) : Module(owner, name) {}
  template <class... Modules>
  requires(sizeof...(Modules) > 0 && (Containable<Modules> && ...))
      Sequential(Module& owner, const char* name, Modules... modules)
      : Module(owner, name) {
    (push_back(std::move(modules)), ...);
  }
  Sequential(Module& owner, const char* name, List<Named> modules);

  void push_back(AnyModule module);
  void push_back(const Text& name, AnyModule module);
  size_t size() const { return modules_.size(); }
  bool empty() const { return modules_.empty(); }
  /// Negative counts from the end.
  Module& operator[](int64_t i) const;
  /// The module itself as a value, for another container: it shares the parameters.
  AnyModule at(int64_t i) const;
  /// The modules from `begin` to before `end`, as Python's [begin:end], under their names and with
  /// the same parameters: `net.slice(0, -1)` is a classifier without its last layer.
  Sequential slice(int64_t begin, int64_t end) const;
  /// Pairs of a name and a module.
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }
  Tensor forward(const Tensor& input) const override;

 protected:
  void append_members(Members& members) const override;

 private:
  std::vector<Named> modules_;
};

/// Modules by number, named "0", "1", ...
class ModuleList : public Module {
 public:
  using Module::Module;
  ModuleList() = default;
  explicit ModuleList(List<AnyModule> modules) { extend(std::move(modules)); }
  ModuleList(Module& owner, const char* name, List<AnyModule> modules) : Module(owner, name) {
    extend(std::move(modules));
  }
  ModuleList(const ModuleList&) = default;
  ModuleList(ModuleList&&) noexcept = default;
  /// Its modules get the path of this one.
  ModuleList& operator=(ModuleList other);
  void push_back(AnyModule module);
  void extend(List<AnyModule> modules);
  size_t size() const { return modules_.size(); }
  bool empty() const { return modules_.empty(); }
  /// Negative counts from the end.
  AnyModule& operator[](int64_t i);
  const AnyModule& operator[](int64_t i) const;
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 protected:
  void append_members(Members& members) const override;

 private:
  std::vector<AnyModule> modules_;
};

/// Modules by name, in the order in which they were added.
class ModuleDict : public Module {
 public:
  using Module::Module;
  ModuleDict() = default;
  ModuleDict(const ModuleDict&) = default;
  ModuleDict(ModuleDict&&) noexcept = default;
  /// Its modules get the path of this one.
  ModuleDict& operator=(ModuleDict other);
  /// Adds a module, or replaces the one of that name.
  void insert(const Text& name, AnyModule module);
  bool contains(const Text& name) const;
  size_t size() const { return modules_.size(); }
  bool empty() const { return modules_.empty(); }
  /// Throws `ModuleDict: name must be one of its modules, got "x"`.
  AnyModule& operator[](const Text& name);
  const AnyModule& operator[](const Text& name) const;
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 protected:
  void append_members(Members& members) const override;

 private:
  std::vector<std::pair<std::string, AnyModule>> modules_;
};

/// Parameters by number, named "0", "1", ... What is added becomes a parameter, as a member that is
/// one: it must be a leaf, and requires a gradient where it is floating.
class ParameterList : public Module {
 public:
  using Module::Module;
  ParameterList() = default;
  explicit ParameterList(const List<Tensor>& parameters) { extend(parameters); }
  ParameterList(Module& owner, const char* name, const List<Tensor>& parameters)
      : ParameterList(parameters) {
    join(owner, name);
  }
  void append(const Tensor& parameter);
  void extend(const List<Tensor>& parameters);
  size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.empty(); }
  /// Negative counts from the end; assigning replaces the parameter.
  Parameter& operator[](int64_t i);
  const Parameter& operator[](int64_t i) const;
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

 protected:
  void append_members(Members& members) const override;

 private:
  std::vector<Parameter> parameters_;
};

/// Parameters by name, in the order in which they were added.
class ParameterDict : public Module {
 public:
  using Module::Module;
  using Named = std::pair<std::string, Tensor>;
  ParameterDict() = default;
  explicit ParameterDict(const List<Named>& parameters);
  ParameterDict(Module& owner, const char* name, const List<Named>& parameters)
      : ParameterDict(parameters) {
    join(owner, name);
  }
  /// Adds a parameter, or replaces the one of that name.
  void insert(const Text& name, const Tensor& parameter);
  bool contains(const Text& name) const;
  size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.empty(); }
  /// Throws `ParameterDict: name must be one of its parameters, got "x"`.
  Parameter& operator[](const Text& name);
  const Parameter& operator[](const Text& name) const;
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

 protected:
  void append_members(Members& members) const override;

 private:
  std::vector<std::pair<std::string, Parameter>> parameters_;
};

}  // namespace aorta::nn

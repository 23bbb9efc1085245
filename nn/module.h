#pragma once

#include <aorta/autograd/hooks.h>
#include <aorta/core/check.h>
#include <aorta/core/io/state.h>

#include <concepts>
#include <functional>
#include <memory>

namespace aorta::nn {

class Module;
struct ModuleHooks;
namespace detail {
class Parametrizations;
}  // namespace detail

/// A member of a module that training changes: `nn::Parameter weight{*this, "weight", value}`. It
/// requires a gradient when it is of a floating dtype. Without a value it isn't there: no name, no
/// place in the state (a layer without bias).
class Parameter : public Tensor {
 public:
  Parameter() = default;
  Parameter(Module& owner, const char* name, const Tensor& value);
  /// The tensor itself, so that `decoder.weight = encoder.weight` ties two parameters; it must be a
  /// leaf.
  Parameter& operator=(const Tensor& value);
};

/// A member that belongs to the state but isn't trained: running statistics, positions.
class Buffer : public Tensor {
 public:
  enum class Kind : uint8_t {
    persistent,
    optional,  // a state without it is complete
    transient  // never in the state
  };
  Buffer() = default;
  Buffer(Module& owner, const char* name, const Tensor& value, Kind kind = Kind::persistent);
  Buffer& operator=(const Tensor& value);
};

/// What of the module load_state_dict left as it was, and what of the state it had no use for.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};
struct LoadOptions {
  /// Missing and unexpected names are an error.
  bool strict = true;
  /// Parts that keep what they have, by name: {"fc"} is fc.weight and fc.bias. Their names are
  /// reported and no error, whatever the shapes.
  List<std::string> leave_out = {};
  /// The given tensors' memory, dtype and device become the module's, and nothing is copied:
  /// parameters in shared memory that another process has sent.
  bool assign = false;
};

/// The base of layers and networks. A member that is declared with its owner and name is
/// registered, by its offset in the owner:
///
///     struct Net : nn::Module {
///       nn::Linear hidden{*this, "hidden", 784, 128};
///       nn::Linear output{*this, "output", 128, 10};
///       Tensor forward(const Tensor& x) const { return output(relu(hidden(x))); }
///     };
///
/// So it must be a member, directly; modules in a number that is known at run time stand in a
/// Sequential, ModuleList or ModuleDict. A module is a value: a copy has the same layers and shares
/// the parameters, as a copy of a Tensor does; `clone(net)` has parameters of its own.
///
/// A layer has two constructors of the same arguments, one to stand alone and one behind an owner
/// and a name. They are written twice because options in braces, `{.bias = false}`, have no type
/// that a template could pass on.
class Module {
 public:
  Module() = default;
  /// A module that is a member of `owner`.
  Module(Module& owner, const char* name) { join(owner, name); }
  virtual ~Module();

  /// What the module computes of one tensor. A module with another signature is a `ModuleOf`.
// The forward of a ModuleOf hides this one, and is meant to.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
  virtual Tensor forward(const Tensor& input) const;  // of another result: ModuleOf, nn/call.h
#pragma GCC diagnostic pop
  /// forward, with the hooks, and with the module's name in the graph and in front of errors.
  Tensor operator()(const Tensor& input) const;
  template <class... Args>
  void operator()(const Args&...) const requires(sizeof...(Args) != 1) {
    static_assert(sizeof...(Args) == 1,
                  "a module whose forward takes more than one tensor is a `struct Net : "
                  "nn::ModuleOf<Net>`; then net(x, y) calls it");
  }

  /// Lists this module's own, and then those of the modules inside, in the order of their
  /// declaration; a tensor that has several names comes once, under the first. Names are dotted:
  /// "layer1.0.weight".
  NamedTensors named_parameters(bool recurse = true) const;
  NamedTensors named_buffers(bool recurse = true) const;
  std::vector<Tensor> parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  using NamedModules = std::vector<std::pair<std::string, Module*>>;
  NamedModules named_children();
  /// The modules of named_children(), without their names.
  std::vector<Module*> children();
  /// This module, under an empty name, and all inside it, each once.
  NamedModules named_modules();
  /// The modules of named_modules(), without their names.
  std::vector<Module*> modules();
  /// The module of that dotted name; throws `Module: name must be one of its modules, got "x"`.
  Module& get_submodule(const Text& name);

  /// Layers that behave otherwise in training (dropout, batch norm) learn which it is.
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  void zero_grad(bool set_to_none = true);
  void requires_grad_(bool requires_grad = true);
  /// Calls `function` for every module inside and then for this one.
  void apply(const std::function<void(Module& module)>& function);
  /// Gives this module's own parameters and buffers, not those of the modules inside, the values
  /// that a new one starts with, drawn anew. All of a network:
  /// `net.apply([](nn::Module& module) { module.reset_parameters(); })`.
  virtual void reset_parameters() {}

  /// Converts floating parameters and buffers; those of other dtypes only move. The tensors stay
  /// the same objects, with their gradients, so optimizers keep them.
  void to(const ToOptions& options);
  void to(DType dtype) { to(ToOptions{.dtype = dtype}); }
  void to(Device device) { to(ToOptions{.device = device}); }
  /// Lays out the parameters of 4 and 5 dimensions.
  void to(MemoryFormat format) { to(ToOptions{.memory_format = format}); }
  /// Gives parameters and buffers new memory on `device`, whose values are anything: for a network
  /// that was moved to "meta", before its state is loaded or its parameters are reset.
  void to_empty(Device device);
  /// Moves parameters and buffers into memory that other processes see (Tensor::share_memory); what
  /// one of them writes, all read. They stay the same objects here, and gradients stay each
  /// process's own. CPU only.
  void share_memory();

  /// Parameters and buffers by name, with PyTorch's names and shapes; they share memory with the
  /// module. `save(net.state_dict(), "net.safetensors")`.
  NamedTensors state_dict() const;
  /// state_dict() with whole tensors in host memory where the module has parts (nn::fully_shard):
  /// on rank 0, and nothing on the others. All ranks call it.
  NamedTensors full_state_dict() const;
  /// Copies values in (see `assign`), converting their dtype and device: all or, after an error,
  /// none. Where the module has a part of a tensor (nn::fully_shard), it takes it of a whole one.
  /// Throws one line that names what is missing, unexpected, or of another shape.
  LoadReport load_state_dict(const NamedTensors& state, const LoadOptions& options = {});
  /// Copies the values of a checkpoint's part in:
  /// `net.load_state_dict(checkpoint.with_prefix("model."))`.
  template <std::same_as<State> Part>
  void load_state_dict(const Part& state) {
    restore(state);
  }
  State state() const;
  void restore(const State& state);

  /// `hook(module, inputs)` runs before forward and may replace inputs.
  HookHandle register_forward_pre_hook(
      std::function<void(const Module& module, std::vector<Tensor>& inputs)> hook);
  /// `hook(module, inputs, outputs)` runs after forward and may replace outputs.
  HookHandle register_forward_hook(
      std::function<void(const Module& module, const std::vector<Tensor>& inputs,
                         std::vector<Tensor>& outputs)>
          hook);
  /// `hook(grad_inputs, grad_outputs)` runs in a backward pass when the gradients of the inputs are
  /// known, and may replace them; those that nobody asked for are undefined.
  HookHandle register_full_backward_hook(
      std::function<void(std::vector<Tensor>& grad_inputs, const std::vector<Tensor>& grad_outputs)>
          hook);

  /// "Linear".
  virtual std::string type_name() const;
  /// What to_string says in parentheses: "in_features=784, out_features=10".
  virtual std::string extra_repr() const { return {}; }
  /// A table: a line for every module inside with the shape of its output, its parameters and the
  /// multiply-adds of its convolutions and products, for one call with `input` (in eval mode,
  /// without a graph; hooks run). Without an input the names and parameters alone.
  std::string summary(const Tensor& input = {});
  /// Multiply-adds of a call, those of the modules inside apart.
  virtual int64_t multiply_adds(const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs) const;

  struct Members {
    std::vector<std::pair<std::string, Tensor*>> parameters;
    std::vector<std::pair<std::string, Tensor*>> buffers;
    std::vector<Buffer::Kind> kinds;  // of the buffers
    NamedModules modules;
  };
  /// The registered members that have a value, and those that append_members adds.
  Members members() const;

  /// Gives the parameters and buffers memory of their own; two names of one tensor stay so.
  void unshare();
  /// Throws unless every registered member lies in the first `size` bytes from `begin`.
  void check_members(const void* begin, size_t size) const;
  /// The name that errors and the graph know it by; set by its owner.
  const std::string& name() const { return name_; }
  void set_name(Text name) { name_ = std::move(name); }

 protected:
  Module(const Module& other);
  Module(Module&& other) noexcept;
  /// The name stays: it is the owner's.
  Module& operator=(const Module& other);
  Module& operator=(Module&& other) noexcept;

  /// Makes it a member of `owner`; for constructors.
  void join(Module& owner, const char* name);
  /// Containers, and layers with a changing number of parameters, add theirs.
  virtual void append_members(Members& members) const;
  /// Refuses inputs that were never made or were moved from, by their names in forward.
  void check_given(std::initializer_list<NamedOperand> inputs) const;
  /// `forward(inputs)` with hooks and name: for what isn't called `forward`.
  std::vector<Tensor> call(
      std::vector<Tensor> inputs,
      const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& forward) const;

 private:
  friend class Parameter;
  friend class Buffer;
  friend class detail::Parametrizations;
  template <class M, class... Args>
  friend auto call_module(const M& module, Args&&... args);
  enum class Kind : uint8_t { parameter, persistent, optional, transient, module };
  struct Member {
    std::string name;
    Kind kind;
    ptrdiff_t offset;  // of the Tensor or Module, from this Module, in bytes
  };
  void add_member(const char* name, Kind kind, const void* member);
  /// The registered members, also those without a value and those that are computed.
  Members all_members() const;
  ModuleHooks& hooks();

  /// Throws in a module that was moved away: its tensors are elsewhere.
  void check_there() const {
    if (moved_away_) [[unlikely]]
      fail_for_moved();
  }
  [[noreturn]] void fail_for_moved() const;

  std::vector<Member> members_;
  std::string name_;
  bool training_ = true;
  bool moved_away_ = false;
  std::shared_ptr<ModuleHooks> hooks_;
  std::shared_ptr<detail::Parametrizations> parametrizations_;
};

/// PyTorch's picture of a module: a line a layer, indented.
std::string to_string(const Module& module);
using aorta::operator<<;

/// A copy with parameters and buffers of its own, without gradients.
template <class M>
M clone(const M& module) {
  module.check_members(&module, sizeof(M));
  M copy(module);
  copy.unshare();
  return copy;
}

/// A module of any type as a value: what Sequential holds, and what models::make gives. Copies
/// share parameters; `clone(any)` doesn't.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module)  // NOLINT: implicit
      : copy_([](const Module& from) -> Module* { return new M(static_cast<const M&>(from)); }),
        module_(new M(std::move(module))) {
    module_->check_members(static_cast<M*>(module_.get()), sizeof(M));
  }
  AnyModule(const AnyModule& other) : copy_(other.copy_), module_(copy_(*other)) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule other) noexcept {
    copy_ = other.copy_;
    module_ = std::move(other.module_);
    return *this;
  }

  /// Throws where the module has been moved away.
  Module& operator*() const {
    check(module_ != nullptr, "AnyModule", "the module must be there", "one that was moved away");
    return *module_;
  }
  Module* operator->() const { return &**this; }
  Tensor operator()(const Tensor& input) const { return (**this)(input); }
  /// The module as what it is; throws `AnyModule: ...` when it is something else.
  template <class M>
  M& as() const {
    M* module = dynamic_cast<M*>(&**this);
    check(module != nullptr, "AnyModule", "as() must name the module's type", (**this).type_name());
    return *module;
  }

 private:
  Module* (*copy_)(const Module& from);
  std::unique_ptr<Module> module_;
};

template <std::derived_from<Module> Net>
void save(const Net&, const Text&) {
  static_assert(sizeof(Net) == 0, "what is saved is the tensors: save(net.state_dict(), path)");
}

inline AnyModule clone(const AnyModule& module) {
  AnyModule copy(module);
  copy->unshare();
  return copy;
}

}  // namespace aorta::nn

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/integers.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/random.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/parallel/tensor_parallel.h>
#include <aorta/nn/parametrization_list.h>

#include <fnmatch.h>

#include <algorithm>
#include <memory>

namespace aorta::nn {
namespace {

using detail::Redistribution;
using Tensors = std::vector<Tensor>;
using Layouts = std::vector<std::optional<Placement>>;

constexpr const char* kParallelize = "parallelize_module";

// What a module that divides something is to its hooks.
struct Place {
  Communicator* group;
  std::string name;  // in the network, which collectives tell

  Redistribution from(const Placement& before, const Placement& after) const {
    return {.group = group, .from = before, .to = after, .gradient = after, .subject = name};
  }
  // A whole tensor with which each rank computes a part.
  Redistribution shared(const Placement& before) const {
    Redistribution how = from(before, Replicate());
    how.gradient = Partial();
    return how;
  }
};

// The whole tensors that the running modules with PrepareModuleInput were given, and what they were
// made of. Layers inside that compute a part of something with one share its gradient's way: the
// ranks' gradients are added up once, into the rows that each rank has.
struct GivenInputs {
  struct Input {
    Tensor value, source;
    Redistribution how;
    Tensor shared = {};
  };
  std::vector<Input> inputs;
};

std::vector<GivenInputs>& given_inputs() {
  static thread_local std::vector<GivenInputs> stack;
  return stack;
}

bool will_require_grad(const Tensor& source) { return grad_enabled() && source.requires_grad(); }

// An input that comes as `layout` says, whole, for a computation of which this rank does a part.
Tensor shared_input(const Tensor& tensor, const Placement& layout, const Place& place) {
  if (layout == Replicate()) {
    for (GivenInputs& given : given_inputs()) {
      for (GivenInputs::Input& input : given.inputs) {
        if (input.how.group != place.group || !input.value.is_same(tensor)) continue;
        if (!input.shared.defined() ||
            input.shared.requires_grad() != will_require_grad(input.source))
          input.shared = detail::redistributed_as(input.source, input.value, input.how);
        return input.shared;
      }
    }
  }
  return detail::redistribute(tensor, place.shared(layout));
}

bool is_last_dim(const Placement& placement, const Tensor& tensor) {
  return placement.kind() == Placement::Kind::shard &&
         (placement.dim() == -1 || placement.dim() == tensor.dim() - 1);
}

// Lets a module compute with other members while it runs.
class MemberScope : public detail::RunningScope {
 public:
  void leave() override {
    for (const auto& [place, member] : places_) *place = member;
    places_.clear();
  }

 protected:
  void replace(Tensor& place, const Tensor& value) {
    places_.emplace_back(&place, place);
    place = value;
  }

 private:
  std::vector<std::pair<Tensor*, Tensor>> places_;
};

// The bias of a layer whose outputs are added up first.
class LateBias final : public MemberScope {
 public:
  void enter(const Module& module) override {
    auto& layer = const_cast<Linear&>(dynamic_cast<const Linear&>(module));
    bias_ = layer.bias;
    replace(layer.bias, Tensor());
  }
  void leave() override {
    MemberScope::leave();
    bias_ = {};
  }
  const Tensor& bias() const { return bias_; }

 private:
  Tensor bias_;
};

void each_parameter_of(Module& module, const std::function<void(Tensor& place)>& visit) {
  const Module::Members members = module.members();
  for (const auto& [name, place] : members.parameters) visit(*place);
  for (const auto& [name, child] : members.modules) each_parameter_of(*child, visit);
}

// Each rank computes with rows of its own.
class OwnRows final : public MemberScope {
 public:
  explicit OwnRows(Place place) : place_(std::move(place)) {}

  void enter(const Module& module) override {
    each_parameter_of(const_cast<Module&>(module), [this](Tensor& parameter) {
      replace(parameter, detail::redistribute(parameter, place_.shared(Replicate())));
    });
    if (!module.is_training()) return;
    // The ranks' generators stand at one place, and go on from one.
    const GeneratorState state = default_generator().take(1);
    const auto rank = static_cast<uint64_t>(place_.group->rank());
    generator_.restore(
        {state.seed,
         state.stream + (rank + 1) * 0x9E3779B97F4A7C15 + (state.position + 1) * 0xBF58476D1CE4E5B9,
         0});
    scope_.emplace(generator_);
  }
  void leave() override {
    scope_.reset();
    MemberScope::leave();
  }

 private:
  const Place place_;
  Generator generator_;
  std::optional<DefaultGeneratorScope> scope_;
};

class InputScope final : public detail::RunningScope {
 public:
  void enter(const Module&) override { given_inputs().emplace_back(); }
  void leave() override { given_inputs().pop_back(); }
};

void set_scope(Module& module, const Place& place, std::shared_ptr<detail::RunningScope> scope) {
  auto& current = detail::Parametrizations::in(module).scope;
  check(!current, kParallelize, "a module must have one style, and be sharded after it",
        io::quote(place.name), " with another one");
  current = std::move(scope);
}

void divide(const Tensor& parameter, const Place& place, int64_t dim) {
  if (!parameter.defined()) return;
  const autograd::Shard* const shard = autograd::shard_of(parameter);
  if (!shard) return autograd::divide(parameter, *place.group, dim);
  // Two layers may have one weight.
  check(shard->is_computed_with() && &shard->group() == place.group && shard->dim() == dim,
        kParallelize, "a parameter must be divided once", io::quote(place.name), " with a part ",
        parameter.shape(), " of ", shard->full());
}

[[noreturn]] void fail_for_style(const char* style, const Module& module) {
  fail(kParallelize, style + std::string(" is for Linear and Embedding"), module.type_name());
}

void check_table(const Embedding& table, const Place& place) {
  const EmbeddingOptions& options = table.options;
  check(!options.max_norm && !options.sparse && !options.scale_grad_by_freq, kParallelize,
        "a divided Embedding can't have max_norm, sparse or scale_grad_by_freq",
        io::quote(place.name));
}

void add_output_hook(Module& module, std::function<Tensor(const Tensor& output)> change) {
  module.register_forward_hook(
      [change = std::move(change)](const Module&, const Tensors&, Tensors& outputs) {
        outputs[0] = change(outputs[0]);
      });
}

void apply(const ColwiseParallel& style, Module& module, const Place& place) {
  auto* const layer = dynamic_cast<Linear*>(&module);
  auto* const table = dynamic_cast<Embedding*>(&module);
  if (!layer && !table) fail_for_style("ColwiseParallel", module);
  if (table) check_table(*table, place);
  divide(layer ? layer->weight : table->weight, place, layer ? 0 : 1);
  if (layer) divide(layer->bias, place, 0);
  module.register_forward_pre_hook([style, place](const Module&, Tensors& inputs) {
    inputs[0] = shared_input(inputs[0], style.input_layouts, place);
  });
  const int64_t size = layer ? layer->out_features : table->embedding_dim;
  add_output_hook(module, [style, place, size](const Tensor& output) {
    if (is_last_dim(style.output_layouts, output)) return output;
    Redistribution how = place.from(Shard(-1), style.output_layouts);
    how.size = size;
    return detail::redistribute(output, how);
  });
}

void apply_to_layer(const RowwiseParallel& style, Linear& layer, const Place& place) {
  divide(layer.weight, place, 1);
  const auto late = std::make_shared<LateBias>();
  if (layer.bias.defined()) set_scope(layer, place, late);
  layer.register_forward_pre_hook([style, place](const Module&, Tensors& inputs) {
    if (!is_last_dim(style.input_layouts, inputs[0]))
      inputs[0] = detail::redistribute(inputs[0], place.from(style.input_layouts, Shard(-1)));
  });
  add_output_hook(layer, [style, place, late](const Tensor& output) {
    const Tensor sum = detail::redistribute(output, place.from(Partial(), style.output_layouts));
    const Tensor& bias = late->bias();
    if (!bias.defined()) return sum;
    if (style.output_layouts == Replicate()) return sum + bias;
    return sum + detail::redistribute(bias, is_last_dim(style.output_layouts, output)
                                                ? place.from(Replicate(), Shard(0))
                                                : place.shared(Replicate()));
  });
}

// A rank looks up the rows that it has, and gives zeros for the others.
void apply_to_table(const RowwiseParallel& style, Embedding& table, const Place& place) {
  check_table(table, place);
  const int64_t rows = table.num_embeddings, ranks = place.group->size();
  check((ranks - 1) * divide_up(rows, ranks) < rows, kParallelize,
        "each rank must have a row of the table", io::quote(place.name), " of ", rows, " for ",
        ranks, " ranks");
  divide(table.weight, place, 0);
  const int64_t mine = table.weight.size(0);
  const int64_t first =
      std::min(autograd::shard_of(table.weight)->rows() * place.group->rank(), rows);
  if (auto& padding = table.options.padding_idx) {
    const int64_t own = (*padding < 0 ? *padding + rows : *padding) - first;
    padding = own >= 0 && own < mine ? std::optional(own) : std::nullopt;
  }
  const auto is_elsewhere = std::make_shared<Tensor>();
  table.register_forward_pre_hook([=](const Module&, Tensors& inputs) {
    const Tensor words =
        detail::redistribute(inputs[0], place.from(style.input_layouts, Replicate()));
    const Tensor is_here = logical_and(ge(words, first), lt(words, first + mine));
    // One that is nowhere in the table stays, for the layer to refuse it.
    const Tensor is_word = logical_and(ge(words, 0), lt(words, rows));
    inputs[0] = where(is_here, words - first, where(is_word, 0, words)).to(words.dtype());
    *is_elsewhere = logical_not(is_here);
  });
  add_output_hook(table, [=](const Tensor& output) {
    const Tensor own = masked_fill(output, is_elsewhere->unsqueeze(-1), 0);
    *is_elsewhere = {};
    return detail::redistribute(own, place.from(Partial(), style.output_layouts));
  });
}

void apply(const RowwiseParallel& style, Module& module, const Place& place) {
  if (auto* const layer = dynamic_cast<Linear*>(&module))
    apply_to_layer(style, *layer, place);
  else if (auto* const table = dynamic_cast<Embedding*>(&module))
    apply_to_table(style, *table, place);
  else
    fail_for_style("RowwiseParallel", module);
}

void apply(const SequenceParallel&, Module& module, const Place& place) {
  set_scope(module, place, std::make_shared<OwnRows>(place));
}

void check_layouts(const Layouts& layouts, const Layouts& desired, const Place& place) {
  check(layouts.size() == desired.size(), kParallelize,
        "a tensor must have a layout before and after", layouts.size(), " and ", desired.size(),
        " of ", io::quote(place.name));
}

// The tensors as they are wanted.
void prepare(Tensors& tensors, const Layouts& layouts, const Layouts& desired, const Place& place,
             const char* what) {
  check(tensors.size() == layouts.size(), kParallelize, "there must be a layout for each tensor",
        layouts.size(), " for ", tensors.size(), what, io::quote(place.name));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (layouts[i] && desired[i])
      tensors[i] = detail::redistribute(tensors[i], place.from(*layouts[i], *desired[i]));
}

void apply(const PrepareModuleInput& style, Module& module, const Place& place) {
  const Layouts &layouts = style.input_layouts, &desired = style.desired_input_layouts;
  check_layouts(layouts, desired, place);
  set_scope(module, place, std::make_shared<InputScope>());
  module.register_forward_pre_hook([layouts, desired, place](const Module&, Tensors& inputs) {
    const Tensors sources = inputs;
    prepare(inputs, layouts, desired, place, " inputs of ");
    for (size_t i = 0; i < inputs.size(); ++i)
      if (layouts[i] && desired[i] == Replicate())
        given_inputs().back().inputs.push_back(
            {.value = inputs[i], .source = sources[i], .how = place.shared(*layouts[i])});
  });
}

void apply(const PrepareModuleOutput& style, Module& module, const Place& place) {
  const Layouts &layouts = style.output_layouts, &desired = style.desired_output_layouts;
  check_layouts(layouts, desired, place);
  module.register_forward_hook(
      [layouts, desired, place](const Module&, const Tensors&, Tensors& outputs) {
        prepare(outputs, layouts, desired, place, " outputs of ");
      });
}

// Whether a dotted name is of a pattern, part by part.
bool is_of(std::string name, std::string pattern) {
  for (std::string* text : {&name, &pattern}) std::replace(text->begin(), text->end(), '.', '/');
  return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
}

// One by one, so that where the ranks' modules differ the error names the tensor.
void take_values_of_rank_0(const Module& module, Communicator& group) {
  const NoGradGuard no_grad;
  for (const auto& tensors : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& [name, tensor] : tensors) {
      if (tensor.is_meta() || autograd::shard_of(tensor)) continue;
      const ModuleScope scope(name);
      group.broadcast(tensor);
    }
  }
  group.barrier();
}

}  // namespace

void parallelize_module(Module& module, Communicator& group, const ParallelPlan& plan) {
  const Module::NamedModules modules = module.named_modules();
  for (const auto& [pattern, style] : plan)
    check(std::any_of(modules.begin(), modules.end(),
                      [&](const auto& one) { return is_of(one.first, pattern); }),
          kParallelize, "a name must be of a module inside", io::quote(pattern));
  take_values_of_rank_0(module, group);
  for (const auto& [pattern, style] : plan) {
    for (const auto& [name, one] : modules) {
      if (!is_of(name, pattern)) continue;
      const Place place{.group = &group, .name = name};
      std::visit([&](const auto& how) { apply(how, *one, place); }, style);
    }
  }
}

}  // namespace aorta::nn

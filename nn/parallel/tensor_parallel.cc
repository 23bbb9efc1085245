#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
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
#include <set>

namespace aorta::nn {
namespace {

using detail::Redistribution;
using Tensors = std::vector<Tensor>;
using Layouts = std::vector<std::optional<Placement>>;

constexpr const char* kParallelize = "parallelize_module";

// Where a module of a plan is.
struct Place {
  Communicator* group;
  std::string name;

  // The collectives tell which layer they are of: where the module runs in the network.
  Redistribution from(const Placement& before, const Placement& after) const {
    const Ref<ModulePath>& path = module_path();
    return {.group = group,
            .from = before,
            .to = after,
            .gradient = after,
            .subject = path ? path->to_string() : name};
  }
  // A whole tensor with which each rank computes a part.
  Redistribution shared(const Placement& before) const {
    Redistribution how = from(before, Replicate());
    how.gradient = Partial();
    return how;
  }
};

// The whole tensors that a running module with PrepareModuleInput was given, and what they were
// made of. Layers inside that compute a part of something with one share its gradient's way: the
// ranks' gradients are added up once, into the rows that each rank has.
class GivenInputs {
 public:
  void add(const Tensor& value, const Tensor& source, const Redistribution& how) {
    inputs_.push_back({value, source, how, value.version(), value.requires_grad()});
  }
  // That way, or an undefined tensor: a value that was written, or whose gradient somebody looks
  // at, goes its own.
  Tensor shared(const Tensor& tensor, const Communicator* group) {
    for (Input& input : inputs_) {
      const Tensor& value = input.value;
      if (input.how.group != group || !value.is_same(tensor)) continue;
      const Ref<autograd::Node> node = autograd::edge_of(value).node;
      const autograd::HookList* const hooks = node ? node->existing_hooks() : nullptr;
      const bool is_moved = !(input.how.from == Replicate());
      if (value.version() != input.version || value.requires_grad() != input.required ||
          (is_moved && hooks && hooks->has_before()))
        return {};
      if (!input.shared.defined() ||
          input.shared.requires_grad() != (grad_enabled() && input.source.requires_grad()))
        input.shared = detail::redistributed_as(input.source, value, input.how);
      return input.shared;
    }
    return {};
  }

 private:
  struct Input {
    Tensor value, source;
    Redistribution how;
    uint32_t version;
    bool required;
    Tensor shared = {};
  };
  std::vector<Input> inputs_;
};

// What this thread's running modules were given, the innermost last.
std::vector<GivenInputs>& given_inputs() {
  static thread_local std::vector<GivenInputs> stack;
  return stack;
}

// An input that comes as `layout` says, whole, for a computation of which this rank does a part.
Tensor shared_input(const Tensor& tensor, const Placement& layout, const Place& place) {
  if (layout == Replicate()) {
    for (auto given = given_inputs().rbegin(); given != given_inputs().rend(); ++given)
      if (const Tensor shared = given->shared(tensor, place.group); shared.defined()) return shared;
  }
  return detail::redistribute(tensor, place.shared(layout));
}

// What a style does while its module runs, and that the module has it.
class Style : public detail::RunningScope {
 public:
  enum class Kind : uint8_t { computes, input, output };
  Style(Kind kind, Place place) : kind_(kind), place_(std::move(place)) {}

  void enter(const Module&) override {}
  void leave() override {}
  bool computes_with_parts() const final { return kind_ == Kind::computes; }
  Kind kind() const { return kind_; }

 protected:
  const Place& place() const { return place_; }

 private:
  const Kind kind_;
  const Place place_;
};

// A style by which the module computes with other members while it runs.
class MemberStyle : public Style {
 public:
  explicit MemberStyle(Place place) : Style(Kind::computes, std::move(place)) {}
  void leave() override {
    for (const auto& [member, value] : members_) *member = value;
    members_.clear();
  }

 protected:
  void replace(Tensor& member, const Tensor& value) {
    members_.emplace_back(&member, member);
    member = value;
  }

 private:
  std::vector<std::pair<Tensor*, Tensor>> members_;
};

// RowwiseParallel of a layer, whose bias comes when the ranks' outputs have been added up.
class LateBias final : public MemberStyle {
 public:
  using MemberStyle::MemberStyle;
  // Behind what computes it (register_parametrization).
  void take(const Module& module) {
    auto& layer = const_cast<Linear&>(dynamic_cast<const Linear&>(module));
    bias_ = layer.bias;
    if (bias_.defined()) replace(layer.bias, Tensor());
  }
  void leave() override {
    MemberStyle::leave();
    bias_ = {};
  }
  const Tensor& bias() const { return bias_; }

 private:
  Tensor bias_;
};

// RowwiseParallel of a table: a rank looks up the rows that it has, and gives zeros for the others.
class TableRows final : public Style {
 public:
  TableRows(const Embedding& table, Place place)
      : Style(Kind::computes, std::move(place)), rows_(table.num_embeddings) {
    const autograd::Shard& shard = *autograd::shard_of(table.weight);
    first_ = std::min(shard.rows() * this->place().group->rank(), rows_);
    mine_ = std::min(shard.rows(), rows_ - first_);
  }
  void enter(const Module& module) override {
    table_ = const_cast<Embedding*>(&dynamic_cast<const Embedding&>(module));
    padding_ = table_->options.padding_idx;
    if (!padding_) return;
    const int64_t own = (*padding_ < 0 ? *padding_ + rows_ : *padding_) - first_;
    table_->options.padding_idx = own >= 0 && own < mine_ ? std::optional(own) : std::nullopt;
  }
  void leave() override {
    table_->options.padding_idx = padding_;
    is_elsewhere_ = {};
  }
  Tensor own_places(const Tensor& words) {
    const Tensor is_here = logical_and(ge(words, first_), lt(words, first_ + mine_));
    is_elsewhere_ = logical_not(is_here).unsqueeze(-1);
    // One that is nowhere in the table stays, for the layer to refuse it.
    const Tensor is_word = logical_and(ge(words, 0), lt(words, rows_));
    return where(is_here, words - first_, where(is_word, 0, words)).to(words.dtype());
  }
  Tensor own_rows(const Tensor& output) const { return masked_fill(output, is_elsewhere_, 0); }

 private:
  const int64_t rows_;
  int64_t first_, mine_;
  Embedding* table_ = nullptr;
  std::optional<int64_t> padding_;
  Tensor is_elsewhere_;
};

void each_parameter_of(Module& module, const std::function<void(Tensor& place)>& visit) {
  const Module::Members members = module.members();
  for (const auto& [name, place] : members.parameters) visit(*place);
  for (const auto& [name, child] : members.modules) each_parameter_of(*child, visit);
}

// SequenceParallel: each rank computes with rows of its own.
class OwnRows final : public MemberStyle {
 public:
  using MemberStyle::MemberStyle;
  void enter(const Module& module) override {
    each_parameter_of(const_cast<Module&>(module), [this](Tensor& parameter) {
      check(!autograd::shard_of(parameter), kParallelize,
            "a module with SequenceParallel must have whole parameters", io::quote(place().name),
            " with a part ", parameter.shape());
      replace(parameter, detail::redistribute(parameter, place().shared(Replicate())));
    });
    if (!module.is_training()) return;
    // The ranks' generators stand at one place, and go on from one.
    const GeneratorState state = default_generator().take(1);
    const auto rank = static_cast<uint64_t>(place().group->rank());
    generator_.restore(
        {state.seed,
         state.stream + (rank + 1) * 0x9E3779B97F4A7C15 + (state.position + 1) * 0xBF58476D1CE4E5B9,
         0});
    scope_.emplace(generator_);
  }
  void leave() override {
    scope_.reset();
    MemberStyle::leave();
  }

 private:
  Generator generator_;
  std::optional<DefaultGeneratorScope> scope_;
};

// PrepareModuleInput.
class Prepared final : public Style {
 public:
  explicit Prepared(Place place) : Style(Kind::input, std::move(place)) {}
  void enter(const Module&) override { given_inputs().emplace_back(); }
  void leave() override { given_inputs().pop_back(); }
};

void add_style(Module& module, std::shared_ptr<Style> style) {
  detail::Parametrizations::in(module).scopes.push_back(std::move(style));
}

void add_output_hook(Module& module, std::function<Tensor(const Tensor& output)> change) {
  module.register_forward_hook(
      [change = std::move(change)](const Module&, const Tensors&, Tensors& outputs) {
        outputs[0] = change(outputs[0]);
      });
}

// Two layers may have one parameter.
void divide(const Tensor& parameter, const Place& place, int64_t dim) {
  if (parameter.defined() && !autograd::shard_of(parameter))
    autograd::divide(parameter, *place.group, dim);
}

void apply(const ColwiseParallel& style, Module& module, const Place& place) {
  auto* const layer = dynamic_cast<Linear*>(&module);
  auto* const table = dynamic_cast<Embedding*>(&module);
  divide(layer ? layer->weight : table->weight, place, layer ? 0 : 1);
  if (layer) divide(layer->bias, place, 0);
  add_style(module, std::make_shared<Style>(Style::Kind::computes, place));
  module.register_forward_pre_hook([style, place](const Module&, Tensors& inputs) {
    inputs[0] = shared_input(inputs[0], style.input_layouts, place);
  });
  const int64_t size = layer ? layer->out_features : table->embedding_dim;
  add_output_hook(module, [style, place, size](const Tensor& output) {
    Redistribution how = place.from(Shard(-1), style.output_layouts);
    how.size = size;
    return detail::redistribute(output, how);
  });
}

void apply_to_layer(const RowwiseParallel& style, Linear& layer, const Place& place) {
  divide(layer.weight, place, 1);
  const auto late = std::make_shared<LateBias>(place);
  add_style(layer, late);
  layer.register_forward_pre_hook([style, place, late](const Module& module, Tensors& inputs) {
    late->take(module);
    inputs[0] = detail::redistribute(inputs[0], place.from(style.input_layouts, Shard(-1)));
  });
  add_output_hook(layer, [style, place, late](const Tensor& output) {
    const Placement& to = style.output_layouts;
    const Tensor sum = detail::redistribute(output, place.from(Partial(), to));
    if (!late->bias().defined()) return sum;
    const Tensor bias = late->bias().to(sum.dtype());
    if (to == Replicate()) return sum + bias;
    const bool is_last = to.dim() == -1 || to.dim() == output.dim() - 1;
    return sum + detail::redistribute(
                     bias, is_last ? place.from(Replicate(), Shard(0)) : place.shared(Replicate()));
  });
}

void apply_to_table(const RowwiseParallel& style, Embedding& table, const Place& place) {
  divide(table.weight, place, 0);
  const auto rows = std::make_shared<TableRows>(table, place);
  add_style(table, rows);
  table.register_forward_pre_hook([style, place, rows](const Module&, Tensors& inputs) {
    inputs[0] = rows->own_places(
        detail::redistribute(inputs[0], place.from(style.input_layouts, Replicate())));
  });
  add_output_hook(table, [style, place, rows](const Tensor& output) {
    return detail::redistribute(rows->own_rows(output),
                                place.from(Partial(), style.output_layouts));
  });
}

void apply(const RowwiseParallel& style, Module& module, const Place& place) {
  if (auto* const layer = dynamic_cast<Linear*>(&module))
    apply_to_layer(style, *layer, place);
  else
    apply_to_table(style, dynamic_cast<Embedding&>(module), place);
}

void apply(const SequenceParallel&, Module& module, const Place& place) {
  add_style(module, std::make_shared<OwnRows>(place));
}

// The tensors as they are wanted.
void prepare(Tensors& tensors, const Layouts& layouts, const Layouts& desired, const Place& place,
             const char* what) {
  check(tensors.size() == layouts.size(), kParallelize, "there must be a layout for each tensor",
        layouts.size(), " for ", tensors.size(), what, io::quote(place.name));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (layouts[i])
      tensors[i] = detail::redistribute(tensors[i], place.from(*layouts[i], *desired[i]));
}

void apply(const PrepareModuleInput& style, Module& module, const Place& place) {
  add_style(module, std::make_shared<Prepared>(place));
  module.register_forward_pre_hook([style, place](const Module&, Tensors& inputs) {
    const Tensors sources = inputs;
    prepare(inputs, style.input_layouts, style.desired_input_layouts, place, " inputs of ");
    for (size_t i = 0; i < inputs.size(); ++i)
      if (style.desired_input_layouts[i] == Replicate())
        given_inputs().back().add(inputs[i], sources[i], place.shared(*style.input_layouts[i]));
  });
}

void apply(const PrepareModuleOutput& style, Module& module, const Place& place) {
  add_style(module, std::make_shared<Style>(Style::Kind::output, place));
  module.register_forward_hook([style, place](const Module&, const Tensors&, Tensors& outputs) {
    prepare(outputs, style.output_layouts, style.desired_output_layouts, place, " outputs of ");
  });
}

// What must be right before anything is changed.
struct PlanCheck {
  // A parameter that is divided, along `dim`.
  struct Divided {
    const Module* module;
    Tensor parameter;
    int64_t dim;
  };
  std::set<std::pair<const Module*, Style::Kind>> styles = {};
  std::vector<Divided> divided = {};

  void operator()(const ColwiseParallel&, Module& module, const Place& place) {
    check_one(Style::Kind::computes, module, place);
    if (auto* const layer = dynamic_cast<Linear*>(&module)) {
      add(module, "weight", layer->weight, 0, place);
      if (layer->bias.defined()) add(module, "bias", layer->bias, 0, place);
    } else {
      add(module, "weight", table_of("ColwiseParallel", module, place).weight, 1, place);
    }
  }
  void operator()(const RowwiseParallel&, Module& module, const Place& place) {
    check_one(Style::Kind::computes, module, place);
    if (auto* const layer = dynamic_cast<Linear*>(&module))
      return add(module, "weight", layer->weight, 1, place);
    const Embedding& table = table_of("RowwiseParallel", module, place);
    const int64_t rows = table.num_embeddings, ranks = place.group->size();
    check((ranks - 1) * divide_up(rows, ranks) < rows, kParallelize,
          "each rank must have a row of the table", io::quote(place.name), " of ", rows, " for ",
          ranks, " ranks");
    add(module, "weight", table.weight, 0, place);
  }
  void operator()(const SequenceParallel&, Module& module, const Place& place) {
    check_one(Style::Kind::computes, module, place);
  }
  void operator()(const PrepareModuleInput& style, Module& module, const Place& place) {
    check_one(Style::Kind::input, module, place);
    check_layouts(style.input_layouts, style.desired_input_layouts, place);
  }
  void operator()(const PrepareModuleOutput& style, Module& module, const Place& place) {
    check_one(Style::Kind::output, module, place);
    check_layouts(style.output_layouts, style.desired_output_layouts, place);
  }
  // A parameter that several modules have is divided with all of them.
  void check_all(const Module::NamedModules& modules) const {
    for (const auto& [name, module] : modules) {
      if (styles.contains({module, Style::Kind::computes})) continue;
      for (const auto& [member, tensor] : module->members().parameters)
        check(std::none_of(divided.begin(), divided.end(),
                           [&](const Divided& one) { return one.parameter.is_same(*tensor); }),
              kParallelize, "all modules that have a divided parameter must be in the plan",
              io::quote(name), " without a style, for its ", member);
    }
  }

 private:
  void check_one(Style::Kind kind, const Module& module, const Place& place) {
    bool is_new = styles.insert({&module, kind}).second;
    if (const auto& known = detail::Parametrizations::of(module)) {
      for (const auto& scope : known->scopes) {
        const auto* const style = dynamic_cast<const Style*>(scope.get());
        check(style != nullptr, kParallelize, "a module must be divided before it is sharded",
              io::quote(place.name));
        is_new &= style->kind() != kind;
      }
    }
    check(is_new, kParallelize, "a module must have one style", io::quote(place.name),
          " with another one");
  }

  static const Embedding& table_of(const char* style, const Module& module, const Place& place) {
    const auto* const table = dynamic_cast<const Embedding*>(&module);
    if (!table)
      fail(kParallelize, style + std::string(" is for Linear and Embedding"), module.type_name());
    const EmbeddingOptions& options = table->options;
    check(!options.max_norm && !options.sparse && !options.scale_grad_by_freq, kParallelize,
          "a divided Embedding can't have max_norm, sparse or scale_grad_by_freq",
          io::quote(place.name));
    return *table;
  }

  void add(const Module& module, const char* name, const Tensor& parameter, int64_t dim,
           const Place& place) {
    check(!is_parametrized(module, name), kParallelize,
          "a divided parameter must not be parametrized", io::quote(place.name), " with its ",
          name);
    const autograd::Shard* const shard = autograd::shard_of(parameter);
    const bool is_the_same = !shard || (shard->is_computed_with() &&
                                        &shard->group() == place.group && shard->dim() == dim);
    const bool is_one = std::all_of(divided.begin(), divided.end(), [&](const Divided& one) {
      return !one.parameter.is_same(parameter) || one.dim == dim;
    });
    if (!is_the_same || !is_one)
      fail(kParallelize, "a parameter must be divided in one way",
           io::quote(place.name) + " with its " + name + " " + to_string(parameter.shape()));
    divided.push_back({&module, parameter, dim});
  }

  static void check_layouts(const Layouts& layouts, const Layouts& desired, const Place& place) {
    bool are_alike = layouts.size() == desired.size();
    for (size_t i = 0; are_alike && i < layouts.size(); ++i)
      are_alike = layouts[i].has_value() == desired[i].has_value();
    check(are_alike, kParallelize, "a tensor must have a layout before and after, or none",
          layouts.size(), " and ", desired.size(), " of ", io::quote(place.name));
  }
};

// Whether a dotted name is of a pattern, part by part.
bool is_of(std::string name, std::string pattern) {
  if (name.empty() || pattern.empty()) return name == pattern;
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
  struct Step {
    Module* module;
    Place place;
    const ParallelStyle* style;
  };
  std::vector<Step> steps;
  const Module::NamedModules modules = module.named_modules();
  for (const auto& [pattern, style] : plan) {
    const size_t before = steps.size();
    for (const auto& [name, one] : modules)
      if (is_of(name, pattern)) steps.push_back({one, {.group = &group, .name = name}, &style});
    check(steps.size() > before, kParallelize, "a name must be of a module inside",
          io::quote(pattern));
  }
  PlanCheck is_right;
  for (const Step& step : steps)
    std::visit([&](const auto& style) { is_right(style, *step.module, step.place); }, *step.style);
  is_right.check_all(modules);
  take_values_of_rank_0(module, group);
  for (const Step& step : steps)
    std::visit([&](const auto& style) { apply(style, *step.module, step.place); }, *step.style);
}

}  // namespace aorta::nn

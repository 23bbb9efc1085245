#include <aorta/autograd/backward.h>
#include <aorta/core/allocator.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/random.h>
#include <aorta/core/resource_error.h>
#include <aorta/tests/op_catalog.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <aorta/tests/siege/targets.h>

namespace aorta::siege {
namespace {

// Calls that see where their input lies, not only what it holds.
const std::set<std::string_view> kSeeMemory = {
    "as_strided",          "is_channels_last", "Tensor::share_memory",
    "Tensor::set_grad",    "Tensor::backward", "Tensor::requires_grad_",
    "Tensor::retain_grad", "Tensor::stride",   "Tensor::detach"};

// What errors may be about besides functions; the last three are options and an undefined tensor.
const std::set<std::string_view> kNoFunctions = {"allocate",      "autograd",      "cuda",  "data",
                                                 "channels_last", "requires_grad", "tensor"};
// What calls of the catalogue do with their inputs themselves.
const std::set<std::string_view> kInCalls = {"clone", "contiguous", "size", "select"};

// Methods that do nothing but ask for a shape.
bool is_row(const std::string& name) {
  const auto& all = catalog::rows();
  return std::any_of(all.begin(), all.end(),
                     [&](const catalog::Row& row) { return row.op == name; });
}

// Rows that may stand in for a function's input: of its name, in place or not.
const std::map<std::string, std::vector<const catalog::Row*>>& rows_by_name() {
  static const auto all = [] {
    std::map<std::string, std::vector<const catalog::Row*>> map;
    for (const catalog::Row& row : catalog::rows()) {
      map[row.op].push_back(&row);
      for (const std::string& name : row.functions) map[name].push_back(&row);
    }
    for (const catalog::Row& row : catalog::rows()) {
      for (const std::string& name : row.also) {
        if (!is_row(name)) map[name].push_back(&row);
      }
    }
    return map;
  }();
  return all;
}

// A sample's inputs in memory of their own, the varied ones in one drawn dtype.
Tensors pool_of(const catalog::Sample& sample, Draw& draw) {
  Tensors pool;
  const DType dtype = draw.once_in(3) ? static_cast<DType>(draw.below(kDTypeCount)) : DType::f32;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& input = sample.inputs[i];
    const bool floating = is_floating(input.dtype());
    const bool varied = sample.varied[i] && (floating || !is_floating(dtype));
    pool.push_back(input.to(ToOptions{.dtype = varied ? dtype : input.dtype(), .copy = true}));
  }
  return pool;
}

Tensors pool_for(const std::string& name, Draw& draw) {
  const auto& rows = rows_by_name();
  auto found = rows.find(name);
  if (found == rows.end() && name.ends_with('_'))
    found = rows.find(name.substr(0, name.size() - 1));
  if (found == rows.end()) return {};
  const catalog::Row& row = *draw.one_of(found->second);
  const auto& samples = catalog::samples(row);
  return samples.empty() ? Tensors() : pool_of(draw.one_of(samples), draw);
}

// One call of a catalogue's row, with the numbers that the row gives it.
class CatalogCall : public Call {
 public:
  CatalogCall(const catalog::Call& call, bool in_place, Tensors inputs)
      : call_(call), in_place_(in_place), inputs_(std::move(inputs)) {}
  Tensors run() override {
    if (in_place_) return {call_.in_place(inputs_)};
    return call_.run(inputs_);
  }
  std::unique_ptr<Call> with(const std::function<Tensor(const Tensor&)>& f) const override {
    Tensors others;
    for (const Tensor& x : inputs_) others.push_back(f(x));
    return std::make_unique<CatalogCall>(call_, in_place_, std::move(others));
  }
  Tensors tensors() const override { return inputs_; }

 private:
  const catalog::Call& call_;
  bool in_place_;
  Tensors inputs_;
};

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-8;
    case DType::f32:
      return 1e-3;
    case DType::f16:
    case DType::bf16:
      return 5e-2;
    default:
      return 0;
  }
}

// The numbers of a tensor, of a complex one those of its parts.
std::vector<double> numbers_in(const Tensor& x) {
  return (x.is_complex() ? view_as_real(x.detach()) : x.detach()).to_vector<double>();
}

// What differs in two results; the values only where `exact_enough`.
std::string difference(const Tensors& results, const Tensors& wanted, bool values) {
  if (results.size() != wanted.size()) return "another number of results";
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &a = results[i], &b = wanted[i];
    if (a.defined() != b.defined()) return "one of two is undefined";
    if (!a.defined()) continue;
    if (a.shape() != b.shape() || a.dtype() != b.dtype() || a.device() != b.device())
      return describe(a) + " and " + describe(b);
    if (!values || a.numel() == 0 || a.numel() > 1000000) continue;
    const std::vector<double> x = numbers_in(a), y = numbers_in(b);
    double largest = 1e-2;  // what should be 0 is a sum of others
    for (double v : y) {
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    }
    const double most = tolerance_of(real_dtype(a.dtype())) * largest;
    for (size_t k = 0; k < x.size(); ++k) {
      const bool same =
          x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) || std::abs(x[k] - y[k]) <= most;
      if (!same)
        return "element " + std::to_string(k) + ": " + describe(x[k]) + " and " + describe(y[k]);
    }
  }
  return {};
}

Tensors leaves_of(const Tensors& tensors) {
  Tensors leaves;
  for (const Tensor& x : tensors) {
    if (!x.defined() || !x.requires_grad() || !x.is_leaf()) continue;
    const bool there = std::any_of(leaves.begin(), leaves.end(),
                                   [&](const Tensor& leaf) { return leaf.is_same(x); });
    if (!there) leaves.push_back(x);
  }
  return leaves;
}

// Gradients of all leaves, by whatever gradients of the results are drawn.
Tensors run_backward(const Tensors& results, const Tensors& gradients, const Tensors& leaves) {
  Tensors used, given, found;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !results[i].requires_grad()) continue;
    used.push_back(results[i]);
    given.push_back(gradients[i]);
  }
  if (used.empty()) return {};
  autograd::backward(used, given);
  for (const Tensor& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

class Attack {
 public:
  Attack(Case& one, const Target& target)
      : one_(one), target_(target), arguments_{.one = one, .draw = one.draw} {}

  void run() {
    one_.say(target_.name + "(");
    Tensors results;
    try {
      arguments_.pool = pool_for(target_.name, one_.draw);
      call_ = target_.draw(arguments_);
      want_gradients();
      copy();
      one_.say(")");
      default_generator().manual_seed(7);
      results = call();
      check_results(results);
      draw_gradients(results);
      gradients_found_ = run_backward(results, gradients_, leaves_of(call_->tensors()));
      check_gradients();
    } catch (const Error& error) {
      return one_.tried_error(error.what());
    }
    one_.tried(true);
    run_safe(results);
  }

 private:
  bool in_place() const { return target_.name.ends_with('_'); }

  Tensors call() {
    try {
      return call_->run();
    } catch (const Error& error) {
      check_named(error.what());
      throw;
    }
  }

  // An error is about the function that was called, and not about one that it is made of, nor about
  // the one that doesn't write in place.
  void check_named(std::string_view text) {
    const auto stem = [](std::string_view name) {
      return name.substr(0, name.size() - (name.ends_with('_') ? 1 : 0));
    };
    const std::string_view name = text.substr(0, text.find(':')), named = stem(name);
    // A row may be a form of its op, as add_scaled, and its call begin with a copy of its input.
    const bool row = target_.name.find('/') != std::string::npos;
    const auto is_named = [&](const std::string& function) {
      // The row of an op in place calls the other one too.
      return (in_place() ? name.ends_with('_') : !name.ends_with('_') || function.ends_with('_')) &&
             (stem(function) == named || (row && function.starts_with(named)));
    };
    const auto& functions = target_.functions;
    const bool of_method = text.find(": tensor must be defined") != std::string_view::npos,
               no_function = kNoFunctions.contains(named) || (row && kInCalls.contains(named));
    if (functions.empty() || (no_function && !of_method) ||
        std::any_of(functions.begin(), functions.end(), is_named))
      return;
    one_.find(target_.name + " names " + std::string(named),
              of_method
                  ? "an error must name the operand that is undefined, got " + std::string(text)
                  : "an error must name the function that was called, got " + std::string(text));
  }

  void want_gradients() {
    if (!one_.draw.once_in(3)) return;
    one_.say("[requires_grad] ");
    for (const Tensor& x : call_->tensors()) {
      if (x.defined() && is_differentiable(x.dtype()) && x.is_leaf() && !x.impl().inference)
        x.requires_grad_();
    }
  }

  // Copies made before the call, which may write.
  void copy() {
    std::vector<std::pair<Tensor, Tensor>> copies;  // one tensor that is passed twice stays one
    safe_ = call_->with([&](const Tensor& x) {
      if (!x.defined()) return x;
      for (const auto& [from, to] : copies) {
        if (from.is_same(x)) return to;
      }
      copies.emplace_back(x, safe_copy(x));
      return copies.back().second;
    });
  }

  void draw_gradients(const Tensors& results) {
    for (const Tensor& result : results) {
      Tensor gradient;
      if (result.defined() && result.requires_grad()) {
        const bool hostile = one_.draw.once_in(6);
        if (hostile) one_.say(" gradient ");
        gradient = hostile ? draw_tensor(arguments_) : ones_like(result.detach());
      }
      gradients_.push_back(gradient);
    }
  }

  // What any result must hold: its elements lie in its storage and can be read.
  void check_results(const Tensors& results) {
    for (const Tensor& result : results) {
      if (!result.defined()) continue;
      if (result.numel() != checked_numel("siege", result.shape()))
        one_.find(target_.name, "a result's numel must be its shape's");
      if (result.numel() > 0 && result.numel() < 100000) static_cast<void>(numbers_in(result));
    }
  }

  void check_gradients() {
    size_t next = 0;
    for (const Tensor& leaf : leaves_of(call_->tensors())) {
      if (next >= gradients_found_.size()) break;
      const Tensor gradient = gradients_found_[next++];
      if (!gradient.defined()) continue;
      if (gradient.shape() != leaf.shape() || gradient.dtype() != leaf.dtype())
        one_.find(target_.name + " gradient", "a gradient must be as its leaf, got " +
                                                  describe(gradient) + " for " + describe(leaf));
    }
  }

  void run_safe(const Tensors& results) {
    if (kSeeMemory.count(target_.name) > 0) return;
    Tensors wanted, gradients;
    try {
      default_generator().manual_seed(7);
      wanted = safe_->run();
      Tensors given;
      for (const Tensor& gradient : gradients_) given.push_back(safe_copy(gradient));
      gradients = run_backward(wanted, given, leaves_of(safe_->tensors()));
    } catch (const Error& error) {
      const std::string_view text = error.what();
      // An expanded tensor's copy may be too large, and a view of a leaf's a leaf: what is written
      // in place refuses it.
      if (!dynamic_cast<const ResourceError*>(&error) &&
          !(text.substr(0, text.find(':')).ends_with('_') &&
            text.find("leaf") != std::string_view::npos))
        one_.find(target_.name + " safe",
                  "a call must do as well with safe copies, got " + std::string(text));
      return;
    }
    const bool values = !target_.differs && !target_.ordered_products && !arguments_.non_finite &&
                        !(in_place() && arguments_.aliased);
    if (const std::string differs = difference(results, wanted, values); !differs.empty())
      return one_.find(target_.name + " result",
                       "a call with safe copies must give the same result, got " + differs);
    if (arguments_.aliased || leaves_of(safe_->tensors()).size() != gradients_found_.size()) return;
    if (const std::string differs = difference(gradients_found_, gradients, values);
        !differs.empty() && gradients.size() == gradients_found_.size())
      one_.find(target_.name + " gradients",
                "a call with safe copies must give the same gradients, got " + differs);
  }

  Case& one_;
  const Target& target_;
  Arguments arguments_;
  std::unique_ptr<Call> call_, safe_;
  Tensors gradients_, gradients_found_;
};

}  // namespace

std::vector<Target> catalog_targets() {
  std::vector<Target> all;
  for (const catalog::Row& row : catalog::rows()) {
    for (const catalog::Call& call : row.calls) {
      for (const bool in_place : {false, true}) {
        if (in_place ? !call.in_place : !call.run) continue;
        all.push_back({row.op + "/" + call.name + (in_place ? "_" : ""),
                       [&row, &call, in_place](Arguments& a) {
                         std::vector<const catalog::Sample*> fitting;
                         for (const catalog::Sample& sample : catalog::samples(row)) {
                           if (sample.call == &call) fitting.push_back(&sample);
                         }
                         check(!fitting.empty(), "siege", "a call must have samples", call.name);
                         a.pool = pool_of(*a.draw.one_of(fitting), a.draw);
                         Tensors inputs;
                         const size_t count = a.pool.size();
                         for (size_t i = 0; i < count; ++i) inputs.push_back(draw_tensor(a));
                         return std::make_unique<CatalogCall>(call, in_place, std::move(inputs));
                       }});
        all.back().ordered_products = call.ordered_products;
        // Ops of complex numbers begin with a view of their parts, and some are of several ops.
        if (row.family == "complex") continue;
        all.back().functions = row.functions;
        all.back().functions.push_back(row.op);
      }
    }
  }
  return all;
}

void attack(Case& one, const Target& target) { Attack(one, target).run(); }

}  // namespace aorta::siege

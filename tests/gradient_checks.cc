#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sort.h>
#include <aorta/tests/gradient_checks.h>
#include <aorta/tests/op_kernels.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace aorta::catalog {
namespace {

using autograd::GradcheckOptions;

bool is_input(const Sample& sample, size_t i) {
  return sample.varied[i] && is_floating(sample.inputs[i].dtype());
}

// The inputs in f64; those that the sample varies are leaves, moved off ties, kinks and the ends of
// domains: towards 0 or (for acosh) away from it.
Tensors leaves_of(const Sample& sample, bool inward) {
  Tensors inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& input = sample.inputs[i];
    if (!is_input(sample, i)) {
      inputs.push_back(input);
      continue;
    }
    const Tensor ramp = arange(input.numel(), {.dtype = DType::f64}).reshape(input.shape());
    const Tensor small = remainder(ramp * 5 + static_cast<double>(i), 13) * 0.0007 + 0.0031;
    inputs.push_back(input.to(DType::f64) * (inward ? 0.97 : 1.03) + small);
    inputs.back().requires_grad_();
  }
  return inputs;
}

// Whether finite differences have digits left: not beside numbers that are far beyond their step.
bool all_moderate(const Tensors& inputs) {
  for (const Tensor& x : inputs) {
    if (is_floating(x.dtype()) && !all(le(abs(x), 1000)).item<bool>()) return false;
  }
  return true;
}

bool all_finite(const Tensors& tensors) {
  for (const Tensor& t : tensors) {
    if (t.defined() && is_floating(t.dtype()) && !all(isfinite(t.detach())).item<bool>())
      return false;
  }
  return true;
}

// Whether the floating ones, of which there must be some, are f64.
bool all_f64(const Tensors& tensors) {
  int count = 0;
  for (const Tensor& t : tensors) {
    if (!t.defined() || !is_floating(t.dtype())) continue;
    if (t.dtype() != DType::f64) return false;
    ++count;
  }
  return count > 0;
}

// A sample that gradients are checked at.
struct Point {
  const Sample* sample;
  bool inward;
  const Call& call() const { return *sample->call; }
  Tensors leaves() const { return leaves_of(*sample, inward); }
};

// Weights that tell elements apart, the same for every dtype.
Tensor weights_for(const Tensor& output) {
  const int64_t n = output.numel();
  const Tensor place = arange(n, {.dtype = DType::f64});
  return add(mul(remainder(mul(place, 7), 11), 0.125), 0.25)
      .reshape(output.shape())
      .to({.dtype = output.dtype(), .device = output.device()});
}

// What autograd::grad is asked: the outputs that need a gradient, weights for them, and the inputs
// that do.
struct Question {
  Question(const Tensors& outputs, const Tensors& inputs) {
    for (const Tensor& output : outputs) {
      if (!output.defined() || !output.requires_grad()) continue;
      used.push_back(output);
      weights.push_back(weights_for(output));
    }
    for (const Tensor& input : inputs) {
      if (input.requires_grad()) wanted.push_back(input);
    }
  }
  Tensors used, weights, wanted;
};

// The gradients of the weighted outputs; undefined for inputs that need none. Where the graph leads
// to an input, there is a gradient, if of zeros; `cut` says that it may not.
Tensors gradients_of(const Question& question, const Tensors& inputs, bool cut = true) {
  if (question.used.empty()) return Tensors(inputs.size());
  const Tensors found =
      autograd::grad(question.used, question.wanted, question.weights, {.allow_unused = true});
  Tensors result(inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const Tensor& gradient = found[next++];
    EXPECT_TRUE(cut || gradient.defined()) << "input " << i << " has no gradient";
    result[i] = gradient.defined() ? gradient : zeros_like(inputs[i].detach());
  }
  return result;
}

Tensors gradients_of(const Tensors& outputs, const Tensors& inputs, bool cut = true) {
  return gradients_of(Question(outputs, inputs), inputs, cut);
}

// How the same numbers lie in memory in another order.
enum class Layout { backwards, stepped, channels_last };
constexpr Layout kLayouts[] = {Layout::backwards, Layout::stepped, Layout::channels_last};
Tensor laid_out(const Tensor& x, Layout layout) {
  if (layout == Layout::backwards) {
    Dims order;
    for (int d = x.dim(); d-- > 0;) order.push_back(d);
    return x.permute(order).contiguous().permute(order);
  }
  if (layout == Layout::stepped)
    return repeat_interleave(x.reshape({-1}), 2).slice(0, 0, {}, 2).view(x.shape());
  const bool has_channels = x.dim() == 4 || x.dim() == 5;
  return has_channels ? x.contiguous(MemoryFormat::channels_last) : x;
}

// One number for all, as the gradient of a sum is.
Tensor repeated(const Tensor& x) {
  return x.numel() == 0 ? x : x.reshape({-1}).select(0, 0).expand(x.shape());
}

// Whether jumps lie so close together that finite differences see a slope.
bool is_staircase(const Row& row, const Tensors& inputs) {
  return row.jumps_at_whole_quotients && inputs.size() == 2 &&
         any(gt(abs(inputs[0].detach() / inputs[1].detach()), 30)).item<bool>();
}

// A row's, where results and gradients are finite.
std::vector<Point> points_of(const Row& row) {
  std::vector<Point> result;
  for (const Sample& sample : samples(row)) {
    bool floating = false;
    for (size_t i = 0; i < sample.inputs.size(); ++i) floating |= is_input(sample, i);
    if (!floating || !sample.call->gradient_is_derivative || !all_moderate(sample.inputs)) continue;
    for (const bool inward : {true, false}) {
      const Tensors inputs = leaves_of(sample, inward);
      const Tensors outputs = sample.call->run(inputs);
      if (is_staircase(row, inputs)) continue;
      if (!all_f64(outputs) || !all_finite(outputs)) continue;
      if (!all_finite(gradients_of(outputs, inputs))) continue;
      result.push_back({&sample, inward});
      break;
    }
  }
  return result;
}

double largest(const Tensor& t) {
  return t.numel() == 0 ? 0 : amax(abs(t.to(DType::f64))).item<double>();
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const double error = largest(actual.to(DType::f64) - expected.to(DType::f64));
  EXPECT_LE(error, tolerance * std::max(largest(expected), 1e-3));
}

template <class Body>
void for_each_sample(const Row& row, Body body) {
  int count = 0;
  for (const Point& point : points_of(row)) {
    SCOPED_TRACE(row.op + "/" + point.sample->name);
    try {
      body(point);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    ++count;
  }
  EXPECT_GT(count, 0) << "no sample to differentiate at";
}

bool is_cancelling(const Row& row, const Sample& sample) {
  return std::find(row.cancelling.begin(), row.cancelling.end(), sample.name) !=
         row.cancelling.end();
}

// Some samples say nothing about an input (beta = 0 in addmm, ties); that others do is what the
// mutants show.
constexpr GradcheckOptions kOptions{.allow_vacuous = true};

}  // namespace

bool has_gradient(const Row& row) {
  return row.derivative != Derivative::none && !row.calls.empty() && !points_of(row).empty();
}

int gradient_points(const Row& row) { return static_cast<int>(points_of(row).size()); }

std::set<std::string> kernels_of_gradients(const Row& row) {
  std::set<std::string> found;
  for (const Point& point : points_of(row)) {
    const Tensors inputs = point.leaves();
    const Tensors outputs = point.call().run(inputs);
    const Question question(outputs, inputs);
    if (question.used.empty()) continue;
    found.merge(kernels_run([&](const Tensors&) {
      autograd::grad(question.used, question.wanted, question.weights,
                     {.retain_graph = true, .allow_unused = true});
    }));
  }
  return found;
}

void check_gradients(const Row& row) {
  for_each_sample(row, [&](const Point& point) {
    EXPECT_GRADIENTS(point.call().run, point.leaves(), kOptions);
  });
}

void check_gradient_fixtures(const Row& row) {
  static std::map<std::string, std::map<std::string, Tensor>> files;
  auto [file, is_new] = files.try_emplace(row.family);
  if (is_new) file->second = fixture_arrays("autograd/" + row.family + ".npz");
  for (const Sample& sample : samples(row)) {
    const std::string key = row.op + "/" + sample.name;
    SCOPED_TRACE(key);
    Tensors inputs, expected(sample.inputs.size());
    bool any_expected = false;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const auto found = file->second.find(key + "/grad" + std::to_string(i));
      const bool given = found != file->second.end();
      inputs.push_back(given ? sample.inputs[i].to(DType::f64).clone().requires_grad_()
                             : sample.inputs[i]);
      if (given) expected[i] = found->second;
      any_expected |= given;
    }
    if (!any_expected || !sample.call->gradient_is_pytorchs) continue;
    try {
      const Tensors actual = gradients_of(sample.call->run(inputs), inputs, row.overwrites);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!expected[i].defined()) continue;
        // Where PyTorch's is infinite or NaN, ours is not finite either.
        const Tensor finite = isfinite(expected[i]);
        EXPECT_FALSE(any(logical_and(logical_not(finite), isfinite(actual[i]))).item<bool>());
        expect_close(where(finite, actual[i], 0), where(finite, expected[i], 0),
                     row.gradient_tolerance);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

void check_second_gradients(const Row& row) {
  for_each_sample(row, [&](const Point& point) {
    EXPECT_SECOND_GRADIENTS(point.call().run, point.leaves(), kOptions);
  });
}

void check_gradient_dtypes(const Row& row) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for_each_sample(row, [&](const Point& point) {
      if (is_cancelling(row, *point.sample)) return;
      Tensors narrow, wide;
      for (const Tensor& input : point.leaves()) {
        if (!input.requires_grad()) {
          narrow.push_back(input);
          wide.push_back(input);
          continue;
        }
        const Tensor rounded = input.detach().to(dtype);
        wide.push_back(rounded.to(DType::f64).requires_grad_());
        narrow.push_back(rounded.requires_grad_());
      }
      const Tensors expected = gradients_of(point.call().run(wide), wide);
      const Tensors actual = gradients_of(point.call().run(narrow), narrow);
      for (size_t i = 0; i < actual.size(); ++i) {
        if (!actual[i].defined()) continue;
        EXPECT_EQ(actual[i].dtype(), dtype);
        expect_close(actual[i], expected[i], dtype == DType::f32 ? 1e-4 : 0.06);
      }
    });
  }
}

int check_gradients_on(const Row& row, Device device) {
  int compared = 0;
  const std::vector<std::pair<DType, double>> dtypes = {
      {DType::f64, 1e-12}, {DType::f32, 1e-4}, {DType::bf16, 0.06}, {DType::f16, 0.01}};
  for (const auto& [dtype, tolerance] : dtypes) {
    std::set<const Call*> seen;
    for (const Point& point : points_of(row)) {
      // bf16's kernels are f16's, but for the numbers' own code.
      if (dtype == DType::f16 && seen.contains(&point.call())) continue;
      if (dtype != DType::f64 && is_cancelling(row, *point.sample)) continue;
      SCOPED_TRACE(row.op + "/" + point.sample->name + " " + name(dtype));
      Tensors here, there;
      for (const Tensor& input : point.leaves()) {
        const Tensor value = input.requires_grad() ? input.detach().to(dtype) : input;
        here.push_back(value.detach().requires_grad_(input.requires_grad()));
        there.push_back(value.to(device).detach().requires_grad_(input.requires_grad()));
      }
      Tensors actual;
      try {
        actual = gradients_of(point.call().run(there), there);
      } catch (const Error& error) {
        const std::string text = error.what();
        const kernel::OpRow* const op = find_op(text.substr(0, text.find(':')));
        EXPECT_TRUE(op && !op->has_kernel(device.type)) << text;
        continue;
      }
      const Tensors expected = gradients_of(point.call().run(here), here);
      if (dtype == DType::f16 && !all_finite(expected)) continue;  // past its range
      seen.insert(&point.call());
      for (size_t i = 0; i < actual.size(); ++i) {
        if (!actual[i].defined()) continue;
        EXPECT_EQ(actual[i].device(), device);
        expect_close(actual[i].cpu(), expected[i], tolerance);
      }
      ++compared;
    }
  }
  return compared;
}

void check_gradient_layouts_on(const Row& row, Device device) {
  std::set<const Call*> seen;
  for (const Point& point : points_of(row)) {
    if (!seen.insert(&point.call()).second) continue;
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(row.op + "/" + point.sample->name + " " +
                   std::to_string(static_cast<int>(layout)));
      const auto gradients = [&](Device where, bool plain) {
        Tensors leaves;
        for (const Tensor& input : point.leaves()) {
          const Tensor there = input.to(where).detach();
          const bool changes = input.requires_grad() && !plain;
          leaves.push_back((changes ? laid_out(there, layout).detach() : there)
                               .requires_grad_(input.requires_grad()));
        }
        Question question(point.call().run(leaves), leaves);
        for (Tensor& weight : question.weights) {
          weight = layout == Layout::stepped ? repeated(weight) : laid_out(weight, layout);
          if (plain) weight = weight.contiguous();
        }
        return gradients_of(question, leaves);
      };
      const Tensors expected = gradients(Device(), true), actual = gradients(device, false);
      for (size_t i = 0; i < actual.size(); ++i) {
        if (!expected[i].defined()) continue;
        EXPECT_EQ(actual[i].device(), device);
        expect_close(actual[i].cpu(), expected[i], 1e-12);
      }
    }
  }
}

void check_second_gradients_on(const Row& row, Device device) {
  std::set<const Call*> seen;
  for (const Point& point : points_of(row)) {
    if (!seen.insert(&point.call()).second) continue;
    SCOPED_TRACE(row.op + "/" + point.sample->name);
    const auto second_gradients = [&](Device where) {
      Tensors leaves;
      for (const Tensor& input : point.leaves())
        leaves.push_back(input.to(where).detach().requires_grad_(input.requires_grad()));
      const Question question(point.call().run(leaves), leaves);
      if (question.used.empty()) return Tensors();
      const Tensors first = autograd::grad(question.used, question.wanted, question.weights,
                                           {.create_graph = true, .allow_unused = true});
      Tensors with_history;
      for (const Tensor& gradient : first)
        if (gradient.defined() && gradient.requires_grad()) with_history.push_back(gradient);
      return with_history.empty() ? Tensors() : gradients_of(with_history, leaves);
    };
    const Tensors expected = second_gradients(Device()), actual = second_gradients(device);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!expected[i].defined()) continue;
      EXPECT_EQ(actual[i].device(), device);
      expect_close(actual[i].cpu(), expected[i], 1e-10);
    }
  }
}

void check_gradients_planned(const Row& row) {
  if (row.needs_values) return;
  for (const Point& point : points_of(row)) {
    SCOPED_TRACE(row.op + "/" + point.sample->name);
    Tensors leaves;
    for (const Tensor& input : point.leaves()) {
      const Tensor moved = input.defined() ? input.detach().to("meta") : input;
      leaves.push_back(input.defined() ? moved.requires_grad_(input.requires_grad()) : moved);
    }
    const Tensors planned = gradients_of(point.call().run(leaves), leaves);
    for (size_t i = 0; i < planned.size(); ++i) {
      if (!planned[i].defined()) continue;
      EXPECT_TRUE(planned[i].is_meta());
      EXPECT_EQ(planned[i].shape(), leaves[i].shape());
      EXPECT_EQ(planned[i].dtype(), leaves[i].dtype());
    }
  }
}

void check_gradient_layouts(const Row& row) {
  for_each_sample(row, [&](const Point& point) {
    const Tensors plain = point.leaves();
    const Tensors expected = gradients_of(point.call().run(plain), plain);
    for (const Layout layout : kLayouts) {
      Tensors inputs;
      for (const Tensor& input : plain)
        inputs.push_back(input.requires_grad()
                             ? laid_out(input.detach(), layout).detach().requires_grad_()
                             : input);
      const Tensors actual = gradients_of(point.call().run(inputs), inputs);
      for (size_t i = 0; i < actual.size(); ++i) {
        if (actual[i].defined()) expect_close(actual[i], expected[i], 1e-12);
      }
    }
  });
}

void check_gradient_in_place(const Row& row) {
  for (const Point& point : points_of(row)) {
    if (!point.call().in_place) continue;
    SCOPED_TRACE(row.op + "/" + point.sample->name);
    try {
      const Tensors plain = point.leaves();
      const Tensors results = point.call().run(plain);
      if (results[0].shape() != plain[0].shape() || results[0].dtype() != plain[0].dtype())
        continue;  // doesn't fit in place
      const Tensors expected = gradients_of(results, plain);
      const Tensors leaves = point.leaves();
      Tensors inputs = leaves;
      inputs[0] = leaves[0] + 0;
      const Tensor result = point.call().in_place(inputs);
      const Tensors actual = gradients_of({result}, leaves);
      for (size_t i = 0; i < actual.size(); ++i) {
        if (actual[i].defined()) expect_close(actual[i], expected[i], 1e-12);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

namespace {

struct Mutant {
  const char* name;
  Tensor (*change)(const Tensor& gradient, int64_t repeats);
};

Tensor zero_some(const Tensor& g, int64_t) {
  // The ones set to zero are of middling size: beside the largest, a small one wouldn't be missed.
  const Tensor flat = g.reshape({-1}).clone();
  const Tensor order = argsort(abs(flat));
  const int64_t zeros = flat.numel() - count_nonzero(flat).item<int64_t>();
  for (const int64_t quarter : {1, 2, 3}) {
    const int64_t place = zeros + (flat.numel() - zeros) * quarter / 4;
    flat.select(0, order.select(0, place).item<int64_t>()).zero_();
  }
  return flat.reshape(g.shape());
}

const Mutant kMutants[] = {
    {"scaled by 1.01", [](const Tensor& g, int64_t) { return g * 1.01; }},
    {"of the other sign", [](const Tensor& g, int64_t) { return -g; }},
    {"transposed",
     [](const Tensor& g, int64_t) {
       return g.dim() < 2 ? g : g.transpose(-2, -1).reshape(g.shape());
     }},
    {"at other elements",
     [](const Tensor& g, int64_t) { return roll(g.reshape({-1}), 1).reshape(g.shape()); }},
    {"of one repetition where the input was broadcast",
     [](const Tensor& g, int64_t repeats) { return g * (1.0 / static_cast<double>(repeats)); }},
    {"with elements zeroed", zero_some},
};

}  // namespace

// Each mutant of each input once, at the first sample where it differs from the correct gradient.
std::vector<bool> check_gradient_mutants(const Row& row) {
  std::set<std::pair<size_t, const Mutant*>> caught;
  std::vector<bool> are_caught;
  for (const Point& point : points_of(row)) {
    SCOPED_TRACE(row.op + "/" + point.sample->name);
    const Tensors plain = point.leaves();
    const Tensors results = point.call().run(plain);
    const Tensors correct = gradients_of(results, plain);
    for (size_t i = 0; i < plain.size(); ++i) {
      if (!plain[i].requires_grad() || plain[i].numel() == 0) continue;
      if (largest(correct[i]) < 1e-3) continue;
      const int64_t repeats = std::max<int64_t>(1, results[0].numel() / plain[i].numel());
      for (const Mutant& mutant : kMutants) {
        if (caught.contains({i, &mutant})) continue;
        const Tensor changed = mutant.change(correct[i], repeats);
        if (largest(changed - correct[i]) < 1e-3 * largest(correct[i])) continue;  // the same
        const Tensors inputs = point.leaves();
        inputs[i].register_hook([&](const Tensor& g) { return mutant.change(g, repeats); });
        const auto result = autograd::gradcheck(point.call().run, inputs, kOptions);
        EXPECT_FALSE(result.message.empty()) << "input " << i << " " << mutant.name;
        are_caught.push_back(!result.message.empty());
        caught.emplace(i, &mutant);
      }
    }
  }
  EXPECT_EQ(caught.empty(), row.derivative == Derivative::zero);
  return are_caught;
}

}  // namespace aorta::catalog

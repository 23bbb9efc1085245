#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/view_writes.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace aorta::catalog {
namespace {

Tensor front(const Tensor& base) { return base.select(0, 0); }

Tensor front_by_a_thread(const Tensor& base, bool recording) {
  Tensor view;
  std::thread([&] {
    const AutoGradMode mode(recording);
    view = front(base);
  }).join();
  return view;
}

struct Maker {
  const char* name;
  Tensor (*view)(const Tensor& base);
};

const Maker kRecorded[] = {
    {"view", front},
    {"view of a view",
     [](const Tensor& base) { return base.unsqueeze(0).select(1, 0).select(0, 0); }},
    {"by a thread", [](const Tensor& base) { return front_by_a_thread(base, true); }},
    {"by a thread that records while this one doesn't",
     [](const Tensor& base) {
       const NoGradGuard no_grad;
       return front_by_a_thread(base, true);
     }},
};

const Maker kUnrecorded[] = {
    {"under NoGradGuard",
     [](const Tensor& base) {
       const NoGradGuard no_grad;
       return front(base);
     }},
    {"in inference mode",
     [](const Tensor& base) {
       const InferenceMode inference;
       return front(base);
     }},
    {"by a thread under NoGradGuard",
     [](const Tensor& base) { return front_by_a_thread(base, false); }},
    {"recorded, of one under NoGradGuard",
     [](const Tensor& base) {
       Tensor whole;
       {
         const NoGradGuard no_grad;
         whole = base.unsqueeze(0);
       }
       return whole.select(1, 0).select(0, 0);
     }},
    {"under NoGradGuard, of a recorded one",
     [](const Tensor& base) {
       const Tensor whole = base.unsqueeze(0);
       const NoGradGuard no_grad;
       return whole.select(1, 0).select(0, 0);
     }},
};

// The in-place call, its operands in f64, and whether those beside the written one are leaves too.
struct Case {
  const Call& call;
  Tensors plain;
  std::vector<bool> varied;
  bool all_leaves;

  Tensors leaves() const {
    Tensors inputs;
    for (size_t i = 0; i < plain.size(); ++i) {
      inputs.push_back(plain[i].clone());
      if (varied[i] && (i == 0 || all_leaves)) inputs[i].requires_grad_();
    }
    return inputs;
  }
};

Tensors with_first(Tensors inputs, const Tensor& first) {
  inputs[0] = first;
  return inputs;
}

Tensor weights_of(const Tensor& base) {
  const Tensor place = arange(base.numel(), {.dtype = f64});
  return (remainder(place * 7, 11) * 0.125 + 0.25).reshape(base.shape());
}

Tensors gradients_of(const Tensor& base, const Tensors& inputs) {
  Tensors wanted;
  for (const Tensor& input : inputs) {
    if (input.requires_grad()) wanted.push_back(input);
  }
  const Tensors outputs{sum(base * weights_of(base))};
  return autograd::grad(outputs, wanted, {}, {.allow_unused = true});
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  const Tensor a = actual.defined() ? actual : zeros_like(expected);
  EXPECT_TRUE(allclose(a, expected.defined() ? expected : zeros_like(a), 1e-12, 1e-300, true))
      << to_string(actual) << "\nwanted\n"
      << to_string(expected);
}

void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i].defined() || expected[i].defined()) expect_same(actual[i], expected[i]);
  }
}

void expect_refused(const Case& c, const Tensor& base, const Tensor& view, const char* rule) {
  const Tensor before = base.detach().clone();
  const uint32_t version = base.version();
  try {
    c.call.in_place(with_first(c.leaves(), view));
    ADD_FAILURE() << "must be refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
  }
  expect_same(base.detach(), before);
  EXPECT_EQ(base.version(), version);
}

void check_recorded(const Case& c, const std::function<Tensor(const Tensor& base)>& view) {
  const Tensors apart = c.leaves(), inputs = c.leaves();
  const Tensor y = c.call.run(apart)[0].to(f64);
  const Tensor expected = stack({y, apart[0]}), base = stack({inputs[0], inputs[0]});
  c.call.in_place(with_first(inputs, view(base)));
  expect_same(base.detach(), expected.detach());
  expect_same(gradients_of(base, inputs), gradients_of(expected, apart));
}

// A write that the graph is not told of, on purpose: the gradient is that of the unwritten tensor.
void check_outside(const Case& c, const std::function<void(const Tensors&, const Tensor&)>& write) {
  const Tensors inputs = c.leaves(), apart = c.leaves();
  const Tensor base = stack({inputs[0], inputs[0]}), expected = stack({apart[0], apart[0]});
  write(inputs, base);
  expect_same(gradients_of(base, {inputs[0]}), gradients_of(expected, {apart[0]}));
}

void check_case(const Case& c) {
  for (const Maker& maker : kRecorded) {
    SCOPED_TRACE(maker.name);
    check_recorded(c, maker.view);
  }
  for (const Maker& maker : kUnrecorded) {
    SCOPED_TRACE(maker.name);
    const Tensors inputs = c.leaves();
    const Tensor base = stack({inputs[0], inputs[0]});
    expect_refused(c, base, maker.view(base), "a view made without gradients");
    const Tensor leaf = base.detach().clone().requires_grad_();
    expect_refused(c, leaf, maker.view(leaf), "a view made without gradients");
  }
  {
    SCOPED_TRACE("a view of a leaf");
    const Tensor leaf = stack({c.plain[0], c.plain[0]}), early = front(leaf);
    leaf.requires_grad_();
    expect_refused(c, leaf, front(leaf), "a view of a leaf");
    expect_refused(c, leaf, early, "a view of a leaf");
  }
  {
    SCOPED_TRACE("a view that is older than its base's history");
    const Tensors apart = c.leaves(), inputs = c.leaves();
    const Tensor y = c.call.run(apart)[0].to(f64);
    const Tensor expected = stack({y, apart[0]});
    const Tensor base = zeros(expected.shape(), {.dtype = f64}), view = front(base);
    base.copy_(stack({inputs[0], inputs[0]}));
    c.call.in_place(with_first(inputs, view));
    expect_same(gradients_of(base, inputs), gradients_of(expected, apart));
  }
  {
    SCOPED_TRACE("detached");
    check_outside(c, [&](const Tensors& inputs, const Tensor& base) {
      c.call.in_place(with_first(inputs, front(base.detach())));
    });
    check_outside(c, [&](const Tensors& inputs, const Tensor& base) {
      c.call.in_place(with_first(inputs, front(base).detach()));
    });
  }
  {
    SCOPED_TRACE("written under NoGradGuard");
    check_outside(c, [&](const Tensors& inputs, const Tensor& base) {
      const Tensor view = front(base);
      const NoGradGuard no_grad;
      c.call.in_place(with_first(inputs, view));
    });
  }
}

// Whether the op takes these operands, and its result fits the first one.
bool takes(const Call& call, const Tensors& inputs) {
  try {
    const Tensor result = call.run(inputs)[0];
    return result.shape() == inputs[0].shape() && can_cast(result.dtype(), f64) &&
           inputs[0].numel() > 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void check_view_writes(const Row& row) {
  int count = 0;
  bool any_floating = false;
  for (const Sample& sample : samples(row)) {
    if (!sample.call->in_place || !sample.varied[0]) continue;
    if (!sample.call->gradient_is_derivative) continue;
    Tensors plain;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const bool floating = sample.varied[i] && is_floating(sample.inputs[i].dtype());
      plain.push_back(floating ? sample.inputs[i].to(f64) : sample.inputs[i]);
    }
    any_floating |= plain[0].dtype() == f64;
    if (plain[0].dtype() != f64 || !takes(*sample.call, plain)) continue;
    std::vector<bool> varied;
    for (const Tensor& input : plain) varied.push_back(input.dtype() == f64);
    SCOPED_TRACE(row.op + "/" + sample.name);
    for (const bool all_leaves : {false, true}) {
      if (all_leaves && plain.size() == 1) continue;
      SCOPED_TRACE(all_leaves ? "operands are leaves" : "operands are constants");
      try {
        check_case({*sample.call, plain, varied, all_leaves});
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
      ++count;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(count > 0 || !any_floating) << "nothing ran";
}

}  // namespace aorta::catalog

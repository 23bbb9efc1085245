#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/allocator.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/autograd/leaves.h>

#include <gtest/gtest.h>

#include <cmath>

#include <pthread.h>

namespace aorta {
namespace {

// A view that changes nothing was the tensor itself: what it is in the graph hung on the shape.
TEST(Views, OfTheSameShapeAreTensorsOfTheirOwn) {
  const std::vector<Tensor (*)(const Tensor&)> views{
      [](const Tensor& x) { return x.reshape(x.shape()); },
      [](const Tensor& x) { return x.view({2}); },
      [](const Tensor& x) { return x.expand({-1}); },
      [](const Tensor& x) { return x.squeeze(0); },
      [](const Tensor& x) { return x.squeeze(); },
      [](const Tensor& x) { return x.squeeze(Dims()); },
      [](const Tensor& x) { return x.t(); },
      [](const Tensor& x) { return x.movedim(0, 0); },
      [](const Tensor& x) { return x.slice(0); },
      [](const Tensor& x) { return x.chunk(1)[0]; },
  };
  for (size_t i = 0; i < views.size(); ++i) {
    SCOPED_TRACE(i);
    const Tensor x = leaf({1, 2});
    Tensor unrecorded;
    {
      const NoGradGuard no_grad;
      unrecorded = views[i](x);
    }
    EXPECT_FALSE(unrecorded.requires_grad());
    const Tensor view = views[i](x);
    view.register_hook([](const Tensor& gradient) { return gradient * 10; });
    sum(x * unrecorded + view).backward();
    EXPECT_EQ(grad_of(x), (Doubles{11, 12}));
    const Tensor y = constant({1, 2});
    views[i](y).requires_grad_();
    EXPECT_FALSE(y.requires_grad());
  }
  const Tensor nothing = leaf(Doubles());
  const NoGradGuard no_grad;
  for (const Tensor& part : nothing.chunk(2)) EXPECT_FALSE(part.requires_grad());
}

// (x + y) z at (-2, 5, -4): the textbook's graph.
TEST(Backward, SumTimesFactor) {
  const Tensor x = leaf(-2), y = leaf(5), z = leaf(-4);
  const Tensor f = (x + y) * z;
  EXPECT_EQ(f.item<double>(), -12);
  f.backward();
  EXPECT_EQ(x.grad().item<double>(), -4);
  EXPECT_EQ(y.grad().item<double>(), -4);
  EXPECT_EQ(z.grad().item<double>(), 3);
}

TEST(Backward, QuadraticWithIncomingGradient) {
  const Tensor x = leaf(2);
  const Tensor z = 2 * x * x + 5 * x;
  z.backward({}, true);
  EXPECT_EQ(x.grad().item<double>(), 13);
  x.set_grad({});
  z.backward(full({}, 2, {.dtype = DType::f64}));
  EXPECT_EQ(x.grad().item<double>(), 26);
}

TEST(Backward, AccumulatesIntoGrad) {
  const Tensor x = leaf({1, 2, 3});
  sum(x * 2).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 2, 2}));
  const Tensor first = x.grad();
  sum(x * x).backward();
  EXPECT_EQ(grad_of(x), (Doubles{4, 6, 8}));
  EXPECT_TRUE(first.is_same(x.grad())) << "the sum is taken in place";
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
}

// What the caller holds is never written.
TEST(Backward, LeavesTheGivenGradientAlone) {
  const Tensor x = leaf({1, 2});
  const Tensor gradient = constant({3, 4});
  const Tensor y = x + 0;
  y.backward(gradient, true);
  y.backward(gradient);
  EXPECT_EQ(list(gradient), (Doubles{3, 4}));
  EXPECT_EQ(grad_of(x), (Doubles{6, 8}));
}

TEST(Backward, TensorUsedTwice) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x;
  sum(y * y + y).backward();  // 4 x^3 + 2 x
  EXPECT_EQ(grad_of(x), (Doubles{36, 114}));
}

TEST(Backward, BroadcastIsSummed) {
  const Tensor row = leaf({1, 2, 3}), column = leaf({10, 20});
  sum(row * column.unsqueeze(1)).backward();
  EXPECT_EQ(grad_of(row), (Doubles{30, 30, 30}));
  EXPECT_EQ(grad_of(column), (Doubles{6, 6}));
}

TEST(Backward, ReachesLeavesOfOtherDtypes) {
  const Tensor x = tensor({1.0, 2.0}, {.dtype = DType::f32, .requires_grad = true});
  const Tensor h = tensor({1.0, 2.0}, {.dtype = DType::bf16, .requires_grad = true});
  sum(x.to(DType::f64) * constant({3, 4}) + h).backward();
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_EQ(h.grad().dtype(), DType::bf16);
  EXPECT_EQ(grad_of(x), (Doubles{3, 4}));
  EXPECT_EQ(grad_of(h), (Doubles{1, 1}));
}

TEST(Backward, SeveralRoots) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3, z = y * y;
  const Tensor roots[] = {y, z};
  const Tensor gradients[] = {constant({1, 1}), constant({1, 1})};
  autograd::backward(roots, gradients);
  EXPECT_EQ(grad_of(x), (Doubles{21, 39}));  // 3 + 18 x
}

TEST(Backward, ForSomeLeavesAlone) {
  const Tensor x = leaf(2), y = leaf(3);
  const Tensor z = x * y;
  const Tensor inputs[] = {y};
  autograd::backward({&z, 1}, {}, {.inputs = inputs});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(y.grad().item<double>(), 2);
  const Tensor twice[] = {x, x};  // as tied weights stand in a list
  const Tensor other = x * y;
  autograd::backward({&other, 1}, {}, {.inputs = twice});
  EXPECT_EQ(x.grad().item<double>(), 3);
  EXPECT_EQ(y.grad().item<double>(), 2);
}

TEST(RequiresGrad, ExactlyWhenAnInputDoes) {
  const Tensor x = leaf({1, 2}), c = constant({3, 4});
  EXPECT_FALSE((c * c).requires_grad());
  EXPECT_TRUE((x * c).requires_grad());
  EXPECT_TRUE((c * x).requires_grad());
  EXPECT_TRUE(cat({c, x}).requires_grad());
  EXPECT_TRUE(x.slice(0, 0, 1).requires_grad());
  EXPECT_FALSE(gt(x, 0).requires_grad()) << "bool has no gradient";
  EXPECT_FALSE(x.to(DType::i64).requires_grad());
  EXPECT_FALSE(argmax(x).requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_TRUE(c.is_leaf());
  EXPECT_FALSE((x * c).is_leaf());
  EXPECT_EQ((x * c).grad_fn(), "mul");
  EXPECT_EQ(x.grad_fn(), "");
  EXPECT_EQ(cummin(x, -1).values.grad_fn(), "cummin");
  EXPECT_EQ(cummax(x, -1).values.grad_fn(), "cummax");
}

// Newton's method runs as long as the data say; d sqrt(a) / da = 1 / (2 sqrt(a)) at its fixed
// point.
TEST(Backward, LoopWhoseLengthDependsOnTheData) {
  for (const double value : {2.0, 1e6}) {
    const Tensor a = leaf(value);
    Tensor root = a * 0 + 1;
    int steps = 0;
    while (std::abs((root * root - a).item<double>()) > 1e-9 * value) {
      root = (root + a / root) * 0.5;
      ++steps;
    }
    EXPECT_GT(steps, value > 10 ? 10 : 2);
    root.backward();
    EXPECT_NEAR(a.grad().item<double>(), 0.5 / std::sqrt(value), 1e-9);
  }
}

// The step from the last element leads beyond all numbers.
TEST(Backward, SliceOfAStepBeyondAllNumbers) {
  const Tensor x = ones({5}, {.requires_grad = true});
  sum(x.slice(0, 4, {}, INT64_MAX)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 0, 0, 1}));
  sum(x.slice(0, 5, {}, INT64_MAX)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 0, 0, 1}));
}

TEST(Grad, ReturnsWithoutAccumulating) {
  const Tensor x = leaf(3), y = leaf(5);
  const Tensor z = x * x * y;
  const auto gradients = autograd::grad({z}, {x, y});
  EXPECT_EQ(gradients[0].item<double>(), 30);
  EXPECT_EQ(gradients[1].item<double>(), 9);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, OfATensorThatIsNoLeaf) {
  const Tensor x = leaf(3);
  const Tensor y = x * x;
  const Tensor z = exp(y) + y;
  const auto gradients = autograd::grad({z}, {y, x});
  EXPECT_DOUBLE_EQ(gradients[0].item<double>(), std::exp(9) + 1);
  EXPECT_DOUBLE_EQ(gradients[1].item<double>(), 6 * (std::exp(9) + 1));
}

TEST(Grad, UnusedInput) {
  const Tensor x = leaf(3), unused = leaf(1);
  const Tensor y = x * 2;
  EXPECT_THROW(autograd::grad({y}, {x, unused}, {}, {.retain_graph = true}), Error);
  const auto gradients = autograd::grad({y}, {x, unused}, {}, {.allow_unused = true});
  EXPECT_EQ(gradients[0].item<double>(), 2);
  EXPECT_FALSE(gradients[1].defined());
}

// d^k/dx^k x^5.
TEST(Grad, HigherDerivatives) {
  const Tensor x = leaf(2);
  Tensor y = x * x * x * x * x;
  for (const double expected : {80.0, 160.0, 240.0, 240.0, 120.0}) {
    y = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
    EXPECT_EQ(y.item<double>(), expected);
  }
}

TEST(Grad, OfAPenaltyOnTheGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor gradient = autograd::grad({sum(exp(x))}, {x}, {}, {.create_graph = true})[0];
  sum(gradient * gradient).backward();  // 2 exp(2x)
  EXPECT_NEAR(grad_of(x)[1], 2 * std::exp(4), 1e-12);
}

TEST(Backward, CreateGraphKeepsGradDifferentiable) {
  const Tensor x = leaf(3);
  (x * x * x).backward({}, {}, true);
  EXPECT_EQ(x.grad().item<double>(), 27);
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_EQ(autograd::grad({x.grad()}, {x})[0].item<double>(), 18);
  x.set_grad({});
}

TEST(GradMode, Scopes) {
  const Tensor x = leaf(2);
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE((x * x).requires_grad());
    {
      const EnableGradGuard enabled;
      EXPECT_TRUE((x * x).requires_grad());
    }
    EXPECT_FALSE((x * x).requires_grad());
    mul_(x, 2);  // a leaf's values may change here
  }
  EXPECT_TRUE((x * x).requires_grad());
  EXPECT_EQ(x.item<double>(), 4);
}

TEST(GradMode, InferenceTensorsStayOutsideGraphs) {
  const Tensor x = leaf({1, 2});
  Tensor made;
  {
    const InferenceMode inference;
    made = x * 2;
    EXPECT_FALSE(made.requires_grad());
    mul_(made, 2);
  }
  EXPECT_EQ(list(made + 1), (Doubles{5, 9}));
  EXPECT_THROW(x * made, Error) << "it would be saved";
  EXPECT_TRUE((x + made).requires_grad()) << "nothing is saved";
  EXPECT_THROW(made.requires_grad_(), Error);
  EXPECT_TRUE((x * made.clone()).requires_grad());
}

#if defined(__SANITIZE_ADDRESS__)  // whose frames are larger
constexpr int kOpsOfAChain = 100'000;
#else
constexpr int kOpsOfAChain = 1'000'000;
#endif

TEST(Graph, ChainOfAMillionOps) {
  // On a small stack: neither backward nor the end of the graph may recurse.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  static double result = 0;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void*) -> void* {
                  const Tensor x = leaf(1);
                  Tensor y = x;
                  for (int i = 0; i < kOpsOfAChain; ++i) y = i % 2 == 0 ? y * 1.0 : y + x;
                  y.backward();
                  result = x.grad().item<double>();
                  return nullptr;
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(result, kOpsOfAChain / 2 + 1);
}

TEST(Graph, UnusedChainIsFreedWithoutRecursion) {
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < kOpsOfAChain / 3; ++i) y = exp(y * 0.0);
  y = Tensor();
}

TEST(Graph, StepsLeaveMemoryFlat) {
  const Tensor weight = leaf({0.5, -0.25, 2}), input = constant({1, 2, 3});
  const auto step = [&] {
    const Tensor hidden = weight * input;
    mul_(hidden.slice(0, 0, 2), 2);
    const Tensor loss = sum(square(tanh(hidden)));
    const Tensor penalty = autograd::grad({loss}, {weight}, {}, {.create_graph = true})[0];
    (loss + sum(penalty * penalty)).backward();
    const NoGradGuard no_grad;
    sub_(weight, weight.grad() * 1e-4);
    weight.set_grad({});
  };
  for (int i = 0; i < 10; ++i) step();
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(cpu::allocator_stats().bytes_in_use, before);
}

// z_ij = x_j, read through an element of memory that three elements of the expanded y share.
TEST(Graph, ABiassGradientIsTheSumItself) {
  const Tensor x = rand({5, 4}), w = rand({3, 4}, {.requires_grad = true});
  const Tensor bias = rand({3}, {.requires_grad = true});
  const Tensor y = linear(x, w, bias), ones = ones_like(y);
  Profiler profiler;
  y.backward(ones);
  profiler.stop();
  for (const ProfiledRange& range : profiler.ranges()) EXPECT_NE(range.name, "copy");
  EXPECT_EQ(bias.grad().to_vector<float>(), std::vector<float>(3, 5));
}

// An average over all positions has no layout of its own.
TEST(Graph, AnAveragesGradientHasTheLayoutOfItsInput) {
  for (const MemoryFormat format : {MemoryFormat::channels_last, MemoryFormat::contiguous}) {
    const Tensor x = rand({2, 8, 4, 4}).contiguous(format).requires_grad_();
    adaptive_avg_pool2d(x, 1).sum().backward();
    EXPECT_EQ(is_channels_last(x.grad()), format == MemoryFormat::channels_last);
  }
}

TEST(Views, AsStridedOfAnExpandedTensor) {
  const Tensor x = tensor({2.0, 5.0}, {.dtype = DType::f64, .requires_grad = true});
  const Tensor y = x.unsqueeze(1).expand({2, 3});
  const Tensor w = tensor({1.0, 10.0, 100.0, 1000.0}, {.dtype = DType::f64}).view({2, 2});
  sum(as_strided(y, {2, 2}, {0, 1}, 0) * w).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{101, 1010}));
}

}  // namespace
}  // namespace aorta

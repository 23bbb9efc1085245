// Members that are computed of others. The values of weight_norm, spectral_norm and orthogonal are
// PyTorch's in layers_test.cc.
#include <aorta/autograd/checkpoint.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/names.h>

#include <thread>

namespace aorta::nn {
namespace {

struct Symmetric : Parametrization {
  Tensor forward(const Tensor& x) const override { return x.triu() + x.triu(1).t(); }
};
struct Doubled : Module {
  Tensor forward(const Tensor& x) const override { return x * 2; }
};
struct SumOfTwo : Parametrization {
  Tensor compute(const std::vector<Tensor>& parts) const override { return parts[0] + parts[1]; }
  std::vector<Tensor> right_inverse(const Tensor& value) const override {
    return {value * 0.25, value * 0.75};
  }
};
struct Scaled : Parametrization {
  Parameter scale{*this, "scale", ones({})};
  Tensor forward(const Tensor& x) const override { return x * scale; }
};
struct Refusing : Parametrization {
  Tensor forward(const Tensor& x) const override {
    check(!*refuses, "Refusing", "it must not refuse", "that");
    return x + 0;
  }
  std::shared_ptr<bool> refuses = std::make_shared<bool>(false);
};
struct WithBuffer : Module {
  Buffer shift{*this, "shift", tensor({1., 2.})};
  Tensor forward(const Tensor& x) const override { return x + shift; }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  return amax(abs(a.detach() - b.detach())).item<double>();
}

TEST(Parametrize, TrainsTheOriginal) {
  Linear net(3, 3, {.bias = false});
  const Tensor weight = net.weight, x = randn({5, 3}), wanted = randn({5, 3});
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  register_parametrization(net, "weight", Symmetric());
  EXPECT_EQ(names_of(net.named_parameters()), Names{"parametrizations.weight.original"});
  EXPECT_TRUE(net.parameters()[0].is_same(weight));  // so the optimizer goes on
  EXPECT_TRUE(is_parametrized(net) && is_parametrized(net, "weight"));
  EXPECT_FALSE(is_parametrized(net, "bias"));
  const auto loss = [&] { return mse_loss(net(x), wanted); };
  const double first = loss().item<double>();
  for (int step = 0; step < 20; ++step) {
    sgd.zero_grad();
    loss().backward();
    sgd.step();
  }
  EXPECT_LT(loss().item<double>(), first);
  const Tensor now = parametrized(net, "weight");
  EXPECT_EQ(largest_difference(now, now.t()), 0);
  EXPECT_EQ(largest_difference(net(x), linear(x, now)), 0);
  // The gradient of what is below the diagonal is none.
  const Tensor grad = autograd::grad({sum(now.square())}, {weight})[0];
  EXPECT_EQ(amax(abs(grad.tril(-1))).item<double>(), 0);
}

TEST(Parametrize, TheMemberIsThereWhileTheModuleRuns) {
  Linear net(2, 2);
  register_parametrization(net, "weight", Doubled());
  EXPECT_FALSE(net.weight.defined());
  bool seen = false;
  net.register_forward_hook([&](const Module& module, const auto&, auto&) {
    const auto& linear = dynamic_cast<const Linear&>(module);
    seen = linear.weight.defined() && module.parameters().size() == 2;
  });
  net(ones({1, 2}));
  EXPECT_TRUE(seen);
  EXPECT_FALSE(net.weight.defined());
  EXPECT_EQ(error_of([&] {
              linear(ones({1, 2}), net.weight);
            }),
            "linear: weight must be defined, got an undefined tensor");
}

TEST(Parametrize, SeveralOfOneMemberFollowEachOther) {
  Linear net(2, 2, {.bias = false});
  const Tensor weight = net.weight.detach().clone(), x = randn({3, 2});
  register_parametrization(net, "weight", SumOfTwo());
  register_parametrization(net, "weight", Doubled());
  register_parametrization(net, "weight", Scaled());
  EXPECT_EQ(names_of(net.named_parameters()),
            (Names{"parametrizations.weight.original0", "parametrizations.weight.original1",
                   "parametrizations.weight.2.scale"}));
  EXPECT_LT(largest_difference(net(x), linear(x, weight * 2)), 1e-6);
  EXPECT_EQ(net.get_submodule("parametrizations.weight.2").type_name(), "Scaled");
  net.eval();
  EXPECT_FALSE(net.get_submodule("parametrizations.weight.0").is_training());
  EXPECT_EQ(
      error_of([&] { register_parametrization(net, "weight", SumOfTwo()); }),
      "register_parametrization: only a member's first parametrization has several originals, "
      "got SumOfTwo");
  EXPECT_EQ(error_of([&] { remove_parametrizations(net, "weight", false); }),
            "remove_parametrizations: there must be one original to go back to, got 2");
  const Tensor before = net(x);
  remove_parametrizations(net, "weight");
  EXPECT_EQ(largest_difference(net(x), before), 0);
  EXPECT_TRUE(net.weight.requires_grad() && net.weight.is_leaf());
}

TEST(Parametrize, IsTakenAway) {
  for (const bool leave : {true, false}) {
    Linear net(2, 2);
    net.weight.requires_grad_(false);
    const Tensor weight = net.weight, values = weight.clone();
    register_parametrization(net, "weight", Doubled());
    EXPECT_FALSE(net.get_submodule("parametrizations.weight").parameters()[0].requires_grad());
    remove_parametrizations(net, "weight", leave);
    EXPECT_EQ(names_of(net.named_parameters()), (Names{"weight", "bias"}));
    EXPECT_TRUE(net.weight.is_same(weight));
    EXPECT_FALSE(net.weight.requires_grad());
    EXPECT_EQ(largest_difference(net.weight, values * (leave ? 2 : 1)), 0);
    EXPECT_FALSE(is_parametrized(net));
    EXPECT_EQ(error_of([&] { parametrized(net, "weight"); }),
              "parametrized: the member must be parametrized, got Linear and \"weight\"");
  }
}

TEST(Parametrize, CopiesComputeTheirOwn) {
  Linear net(2, 2);
  register_parametrization(net, "weight", Scaled());
  const Linear shared = net, own = clone(net);
  const Tensor x = randn({3, 2});
  EXPECT_EQ(largest_difference(shared(x), net(x)), 0);
  NoGradGuard no_grad;
  for (const Tensor& parameter : net.parameters()) parameter.mul_(3);
  EXPECT_EQ(largest_difference(shared(x), net(x)), 0);
  EXPECT_GT(largest_difference(own(x), net(x)), 0);
  Linear moved = std::move(net);
  EXPECT_EQ(largest_difference(shared(x), moved(x)), 0);
  remove_parametrizations(moved, "weight");
  EXPECT_TRUE(is_parametrized(shared));
}

TEST(Parametrize, StateComesBack) {
  Sequential net(weight_norm(Conv1d(2, 3, 2)), ReLU(), spectral_norm(Conv1d(3, 2, 1)));
  Sequential other(weight_norm(Conv1d(2, 3, 2)), ReLU(), spectral_norm(Conv1d(3, 2, 1)));
  EXPECT_EQ(
      names_of(net.state_dict()),
      (Names{"0.bias", "0.parametrizations.weight.original0", "0.parametrizations.weight.original1",
             "2.bias", "2.parametrizations.weight.original", "2.parametrizations.weight.0._u",
             "2.parametrizations.weight.0._v"}));
  other.load_state_dict(net.state_dict());
  net.eval();
  other.eval();
  const Tensor x = randn({2, 2, 5});
  EXPECT_EQ(largest_difference(net(x), other(x)), 0);
  net.to(bf16);
  EXPECT_EQ(net(x.to(bf16)).dtype(), bf16);
  EXPECT_NE(to_string(net).find("(parametrizations.weight): ParametrizationList(\n"
                                "      (0): WeightNorm(dim=0)"),
            std::string::npos)
      << net;
}

TEST(Parametrize, ABufferStaysOne) {
  WithBuffer net;
  register_parametrization(net, "shift", Doubled());
  EXPECT_EQ(names_of(net.named_buffers()), Names{"parametrizations.shift.original"});
  EXPECT_EQ(net(zeros({2})).to_vector<double>(), (std::vector<double>{2, 4}));
  remove_parametrizations(net, "shift");
  EXPECT_EQ(net.shift.to_vector<double>(), (std::vector<double>{2, 4}));
}

// Both give the greatest singular value 1 and the length that is trained, whatever the weight was.
TEST(Parametrize, NormsAreWhatTheySay) {
  Linear net(6, 4);
  spectral_norm(net, {.n_power_iterations = 60});
  net(ones({1, 6}));
  EXPECT_NEAR(linalg::svdvals(parametrized(net, "weight"))[0].item<double>(), 1, 1e-5);
  Linear rows = weight_norm(Linear(6, 4));
  {
    const NoGradGuard no_grad;
    rows.get_submodule("parametrizations.weight").parameters()[0].fill_(3);
  }
  const Tensor lengths = linalg::vector_norm(parametrized(rows, "weight"), 2, 1);
  EXPECT_LT(largest_difference(lengths, full({4}, 3.)), 1e-5);
}

// Q R with a positive diagonal of R is one product alone: of the value that the member had, Q is
// what it starts at.
TEST(Parametrize, OrthogonalStartsAtTheNearestOfTheValue) {
  const auto expect_start = [](const Tensor& value, const Tensor& q) {
    const bool is_wide = value.size(-2) < value.size(-1);
    const Tensor tall = is_wide ? value.transpose(-2, -1) : value;
    const Tensor columns = is_wide ? q.transpose(-2, -1) : q;
    const Tensor turned = columns.transpose(-2, -1);
    const Tensor unit = eye(columns.size(-1), {.dtype = f64}), r = matmul(turned, tall);
    EXPECT_LT(largest_difference(matmul(turned, columns), unit), 1e-13);
    EXPECT_LT(amax(abs(r.tril(-1))).item<double>(), 1e-13);
    EXPECT_GT(amin(r.diagonal(0, -2, -1)).item<double>(), 0);
  };
  for (const char* const map : {"matrix_exp", "cayley", "householder"}) {
    for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 4}, Shape{2, 3, 4, 2}}) {
      for (const bool trivial : {true, false}) {
        if (!trivial && map != std::string("householder")) continue;
        SCOPED_TRACE(map + to_string(shape));
        WithBuffer net;
        net.shift = randn(shape, {.dtype = f64});
        const Tensor value = net.shift.detach().clone();
        orthogonal(net, {.name = "shift", .orthogonal_map = map, .use_trivialization = trivial});
        expect_start(value, parametrized(net, "shift"));
      }
    }
  }
}

TEST(Parametrize, OrthogonalStaysSoInTraining) {
  for (const char* const map : {"matrix_exp", "cayley", "householder"}) {
    Linear net(6, 4);
    const Tensor weight = net.weight, x = randn({8, 6}), wanted = randn({8, 4});
    optim::SGD sgd(net.parameters(), {.lr = 0.2});
    orthogonal(net, {.orthogonal_map = map});
    const auto loss = [&] { return mse_loss(net(x), wanted); };
    const double first = loss().item<double>();
    for (int step = 0; step < 20; ++step) {
      sgd.zero_grad();
      loss().backward();
      sgd.step();
    }
    EXPECT_LT(loss().item<double>(), first) << map;
    const Tensor q = parametrized(net, "weight");
    EXPECT_LT(largest_difference(matmul(q, q.t()), eye(4)), 1e-5) << map;
    // The optimizer was made before, of the tensor that is now the original.
    EXPECT_TRUE(net.get_submodule("parametrizations.weight").parameters()[0].is_same(weight));
  }
}

// A rotation stays as it is, and of no dtype is anything rounded twice.
TEST(Parametrize, OrthogonalKeepsWhatIs) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  for (const DType dtype : {f64, f32, f16, bf16}) {
    Linear net(2, 2, {.bias = false});
    net.to(dtype);
    {
      const NoGradGuard no_grad;
      net.weight.copy_(tensor({{c, -s}, {s, c}}));
    }
    const Tensor before = net.weight.detach().clone();
    orthogonal(net);
    EXPECT_EQ(largest_difference(parametrized(net, "weight"), before), 0) << to_string(dtype);
    const Autocast scope(bf16);
    EXPECT_EQ(parametrized(net, "weight").dtype(), dtype);
  }
  Linear reflected(2, 3);
  const Tensor weight = reflected.weight.detach().clone();
  orthogonal(reflected, {.orthogonal_map = "cayley", .use_trivialization = false});
  EXPECT_EQ(largest_difference(reflected.get_submodule("parametrizations.weight").parameters()[0],
                               weight),
            0);
  EXPECT_EQ(names_of(reflected.state_dict()), (Names{"bias", "parametrizations.weight.original"}));
  orthogonal(reflected, {.orthogonal_map = "cayley", .use_trivialization = false});
  EXPECT_EQ(names_of(reflected.state_dict()), (Names{"bias", "parametrizations.weight.original"}));
}

TEST(Parametrize, OrthogonalSaysWhatItCantTake) {
  Linear net(3, 2);
  WithBuffer complex;
  complex.shift = zeros({2, 2}, {.dtype = c64});
  EXPECT_EQ(error_of([&] { orthogonal(net, {.name = "bias"}); }),
            "orthogonal: the member must have 2 dimensions or more, got [2]");
  EXPECT_EQ(error_of([&] { orthogonal(net, {.name = "wieght"}); }),
            "orthogonal: name must be one of the module's parameters or buffers, got Linear and "
            "\"wieght\"");
  EXPECT_EQ(error_of([&] { orthogonal(net, {.orthogonal_map = "qr"}); }),
            "orthogonal: orthogonal_map must be matrix_exp, cayley or householder, got qr");
  EXPECT_EQ(error_of([&] { orthogonal(complex, {.name = "shift"}); }),
            "orthogonal: dtype must be floating, got c64");
  EXPECT_EQ(net.parameters().size(), 2u);
  weight_norm(net);
  EXPECT_EQ(error_of([&] { orthogonal(net); }),
            "orthogonal: use_trivialization must be false where the member is computed already, "
            "got Linear and \"weight\"");
}

// What a GAN does: two calls before one backward.
TEST(Parametrize, GoesBackThroughTwoCalls) {
  const Linear net = spectral_norm(Linear(4, 1));
  const Tensor real = randn({3, 4}), fake = randn({3, 4});
  sum(net(real) - net(fake)).backward();
  for (const auto& [name, parameter] : net.named_parameters())
    EXPECT_TRUE(parameter.grad().defined()) << name;
}

TEST(Parametrize, ThreadsTakeTurns) {
  const Linear net = weight_norm(Linear(16, 16));
  const Tensor x = randn({4, 16}), wanted = net(x).detach();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += largest_difference(net(x), wanted) != 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Parametrize, ReplicasHaveTheirOwn) {
  Sequential net(weight_norm(Linear(4, 8)), Tanh(), spectral_norm(Linear(8, 2)));
  net.eval();
  const Tensor x = randn({6, 4});
  DataParallel<Sequential> parallel(net, {"cpu:0", "cpu:1"});
  const Tensor alone = net(x);
  sum(alone.square()).backward();
  std::vector<Tensor> wanted;
  for (const Tensor& parameter : net.parameters()) wanted.push_back(parameter.grad());
  net.zero_grad();
  const Tensor together = parallel(x);
  EXPECT_LT(largest_difference(together, alone), 1e-6);
  sum(together.square()).backward();
  const std::vector<Tensor> parameters = parallel.module().parameters();
  ASSERT_EQ(parameters.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_LT(largest_difference(parameters[i].grad(), wanted[i]), 1e-5) << i;
}

TEST(Parametrize, AFaultLeavesTheModuleAsItWas) {
  Linear net(2, 2);
  const Tensor weight = net.weight, x = randn({1, 2});
  EXPECT_EQ(error_of([&] { weight_norm(net, {.name = "wieght"}); }),
            "register_parametrization: name must be one of the module's parameters or buffers, got "
            "Linear and \"wieght\"");
  EXPECT_EQ(error_of([&] { weight_norm(net, {.dim = 2}); }),
            "weight_norm: dimension out of range, got dim 2 of a 2-d tensor");
  EXPECT_EQ(error_of([&] { spectral_norm(net, {.n_power_iterations = 0}); }),
            "spectral_norm: n_power_iterations must be positive, got 0");
  EXPECT_EQ(error_of([&] { register_parametrization(net, "weight", Flatten(0)); }),
            "register_parametrization: it must give the member's dtype, shape and device, got f32 "
            "[4] on cpu for f32 [2,2] on cpu");
  EXPECT_TRUE(net.weight.is_same(weight));
  EXPECT_EQ(net.parameters().size(), 2u);
  const Refusing refusing;
  register_parametrization(net, "weight", refusing);
  const Tensor before = net(x);
  *refusing.refuses = true;
  EXPECT_EQ(error_of([&] { net(x); }),
            "parametrizations.weight.0: Refusing: it must not refuse, got that");
  *refusing.refuses = false;
  EXPECT_EQ(largest_difference(net(x), before), 0);
  EXPECT_EQ(error_of([&] { register_parametrization(net, "weight", Flatten(0)); }),
            "register_parametrization: it must give the member's dtype, shape and device, got f32 "
            "[4] on cpu for f32 [2,2] on cpu");
  EXPECT_EQ(largest_difference(net(x), before), 0);
}

// A part of a module that is computed again in the backward pass finds the members that are there
// while the module runs.
struct ComputedAgain : Module {
  Linear hidden{*this, "hidden", 4, 4};
  Parameter scale{*this, "scale", full({4}, 0.5)};
  bool again = false;
  Tensor forward(const Tensor& x) const override {
    const auto part = [this](const Tensor& y) { return hidden(tanh(y * scale)); };
    return again ? autograd::checkpoint(part, x) : part(x);
  }
};

TEST(Parametrize, MembersAreThereWhereAPartIsComputedAgain) {
  ComputedAgain net;
  register_parametrization(net, "scale", Doubled());
  weight_norm(net.hidden);
  const Tensor x = randn({3, 4});
  std::vector<std::vector<Tensor>> gradients(2);
  for (const bool again : {false, true}) {
    net.again = again;
    net.zero_grad();
    net(x).square().sum().backward();
    for (const Tensor& parameter : net.parameters()) gradients[again].push_back(parameter.grad());
  }
  ASSERT_EQ(gradients[0].size(), 4U);
  for (size_t i = 0; i < gradients[0].size(); ++i)
    EXPECT_TRUE(near(gradients[1][i], gradients[0][i], 0)) << i;
}

}  // namespace
}  // namespace aorta::nn

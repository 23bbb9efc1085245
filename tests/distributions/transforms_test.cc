// Transforms: their inverses, and what they do to volumes, which is the determinant of the Jacobian
// that autograd finds.
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>

#include <ostream>

namespace aorta::distributions {
namespace {

/// A transform, an event that it takes, and which numbers of what it gives tell all the others.
struct Case {
  std::string name;
  AnyTransform transform;
  Tensor x;
  std::function<Tensor(const Tensor& y)> free = [](const Tensor& y) { return y.flatten(); };
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

Tensor numbers(const std::vector<double>& values) { return tensor(values, {.dtype = f64}); }

std::vector<Case> cases() {
  const Tensor x = numbers({0.3, -1.2, 0.8, 2.1}), positive = numbers({0.3, 1.2, 0.8, 2.1});
  const auto all_but_last = [](const Tensor& y) { return y.narrow(-1, 0, y.size(-1) - 1); };
  return {
      {"affine", AffineTransform(numbers({1, 2, 3, 4}), numbers({-2, 0.5, 3, 1}), 1), x},
      {"exp", ExpTransform(), x},
      {"sigmoid", SigmoidTransform(), x},
      {"tanh", TanhTransform(), x},
      {"power", PowerTransform(numbers({-2, 0.5, 3, 1})), positive},
      {"softplus", SoftplusTransform(), x},
      {"stick_breaking", StickBreakingTransform(), x, all_but_last},
      {"corr_cholesky", CorrCholeskyTransform(), numbers({0.3, -1.2, 0.8, 2.1, -0.4, 0.1}),
       [](const Tensor& y) {
         Tensors below;
         for (int i = 1; i < 4; ++i)
           for (int j = 0; j < i; ++j) below.push_back(y[i][j]);
         return stack(below, 0);
       }},
      {"reshape", ReshapeTransform({2, 2}, {4}), x.reshape({2, 2})},
      {"cat", CatTransform({TanhTransform(), AffineTransform(1, -2)}, -1, {3, 1}), x},
      {"cat_of_ones",
       CatTransform({TanhTransform(), ExpTransform(), ExpTransform(), SoftplusTransform()}, -1), x},
      {"cat_of_batches",
       CatTransform({AffineTransform(1, -2, 1), ReshapeTransform({2}, {2})}, -2, {1, 1}),
       x.reshape({2, 2})},
      {"cat_of_vectors", CatTransform({AffineTransform(1, -2, 1), SigmoidTransform()}, -1, {1, 3}),
       x},
      {"stack", StackTransform({TanhTransform(), ExpTransform()}, -2), x.reshape({2, 2})},
      {"stack_of_vectors", StackTransform({AffineTransform(1, -2, 1), TanhTransform()}, -1),
       x.reshape({2, 2})},
      {"cumulative_distribution",
       CumulativeDistributionTransform(Laplace(numbers({0.3, 1, 2, -1}), 2)), x},
      {"independent", IndependentTransform(TanhTransform(), 2), x.reshape({2, 2})},
      {"composed", ComposeTransform({AffineTransform(0.1, -0.5), StickBreakingTransform()}), x,
       all_but_last},
      {"composed_inverse",
       ComposeTransform({ExpTransform(), AffineTransform(0.0, 2.0).inverse()}).inverse(), positive},
  };
}

class EachTransform : public testing::TestWithParam<Case> {};

TEST_P(EachTransform, IsUndoneByItsInverse) {
  const auto& [name, f, x, free] = GetParam();
  const AnyTransform back = f->inverse();
  const Tensor y = f(x);
  EXPECT_TRUE(near(f->inv(y), x, 1e-13));
  EXPECT_TRUE(near(back(y), x, 1e-13));
  EXPECT_TRUE(near(back->inv(x), y, 1e-13));
  EXPECT_TRUE(near(back->log_abs_det_jacobian(y, x), -f->log_abs_det_jacobian(x, y), 1e-13));
  EXPECT_EQ(back->domain().event_dim(), f->codomain().event_dim());
  EXPECT_EQ(back->codomain().event_dim(), f->domain().event_dim());
  EXPECT_TRUE(all(back->domain().check(y)).item<bool>());
  EXPECT_TRUE(all(f->domain().check(x)).item<bool>());
  EXPECT_TRUE(back->inverse()->equals(*f));
  EXPECT_TRUE(back->equals(*f->inverse()));
  EXPECT_FALSE(back->equals(*f));
  EXPECT_EQ(f->forward_shape(x.shape()), y.shape());
  EXPECT_EQ(f->inverse_shape(y.shape()), x.shape());
  EXPECT_EQ(back->forward_shape(y.shape()), x.shape());
  EXPECT_EQ(back->inverse_shape(x.shape()), y.shape());
}

TEST_P(EachTransform, ChangesVolumesByItsJacobian) {
  const auto& [name, f, values, free] = GetParam();
  const Tensor x = values.clone().requires_grad_();
  const Tensor y = f(x), outputs = free(y);
  Tensors rows;
  const Tensors inputs{x};
  for (int64_t i = 0; i < outputs.numel(); ++i) {
    const Tensors one{outputs[i]};
    rows.push_back(autograd::grad(one, inputs, {}, {.retain_graph = true})[0].flatten());
  }
  const Tensor wanted = linalg::slogdet(stack(rows, 0)).logabsdet;
  EXPECT_TRUE(near(sum(f->log_abs_det_jacobian(x, y)), wanted, 1e-13));
}

INSTANTIATE_TEST_SUITE_P(All, EachTransform, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Parts, AreEventsTogetherWhereTheyAreDividedWithin) {
  const Tensor x = zeros({5, 4, 2}, {.dtype = f64});
  const auto shape_of = [&](const Transform& f) { return f.log_abs_det_jacobian(x, f(x)).shape(); };
  const AffineTransform numbers_apart(1, 2), vectors(1, 2, 1), matrices(1, 2, 2);
  EXPECT_EQ(shape_of(CatTransform({numbers_apart, numbers_apart}, -1)), (Shape{5, 4, 2}));
  EXPECT_EQ(shape_of(CatTransform({numbers_apart, vectors}, -1)), (Shape{5, 4}));
  EXPECT_EQ(shape_of(CatTransform({vectors, vectors}, -2, {1, 3})), (Shape{5, 4}));
  EXPECT_EQ(shape_of(CatTransform({vectors, matrices}, -2, {1, 3})), Shape{5});
  EXPECT_EQ(shape_of(StackTransform({numbers_apart, numbers_apart}, -1)), (Shape{5, 4, 2}));
  EXPECT_EQ(shape_of(StackTransform({numbers_apart, vectors}, -1)), Shape{5});
  EXPECT_EQ(StackTransform({numbers_apart, vectors}, -1).domain().event_dim(), 2);
  EXPECT_EQ(StackTransform({vectors, vectors, vectors, vectors}, -2).domain().event_dim(), 1);
}

TEST(Parts, OfAStackAreTransformedEachByItself) {
  const Tensor loc = tensor({{0.3, -1.0}, {0.7, 0.2}}, {.dtype = f64});
  const TransformedDistribution d(Normal(loc, 1),
                                  {StackTransform({ExpTransform(), SigmoidTransform()}, -1)});
  EXPECT_EQ(d.batch_shape(), (Shape{2, 2}));
  const Tensor y = tensor({{0.4, 0.9}, {2.0, 0.3}}, {.dtype = f64});
  const auto one = [&](int i, const AnyTransform& f) {
    return TransformedDistribution(Normal(loc.select(1, i), 1), {f}).log_prob(y.select(1, i));
  };
  const Tensor wanted = stack({one(0, ExpTransform()), one(1, SigmoidTransform())}, -1);
  EXPECT_TRUE(near(d.log_prob(y), wanted, 1e-14));
}

TEST(IndependentTransforms, MakeDimensionsOfTheBatchAPartOfTheEvent) {
  const Tensor x = tensor({{0.4, 0.9, -0.2}, {2.0, 0.3, 1.0}}, {.dtype = f64});
  const IndependentTransform f(ExpTransform(), 1);
  EXPECT_TRUE(near(f.log_abs_det_jacobian(x, f(x)), sum(x, {1}), 1e-15));
  EXPECT_EQ(f.domain().event_dim(), 1);
  const TransformedDistribution d(Normal(zeros_like(x), 1), {f});
  EXPECT_EQ(d.batch_shape(), Shape{2});
  EXPECT_EQ(d.event_shape(), Shape{3});
  EXPECT_TRUE(near(d.log_prob(f(x)), sum(LogNormal(zeros_like(x), 1).log_prob(f(x)), {1}), 1e-13));
  EXPECT_FALSE(f.equals(IndependentTransform(ExpTransform(), 2)));
  EXPECT_EQ(error_of([&] { f.log_abs_det_jacobian(x[0][0], x[0][0]); }),
            "IndependentTransform: x must have the dimensions of an event, got []");
  EXPECT_EQ(error_of([] { IndependentTransform(ExpTransform(), -1); }),
            "IndependentTransform: reinterpreted_batch_ndims must be from 0 to 12, got -1");
}

TEST(Parts, KnowTheirSetsAndErrors) {
  const StackTransform f({ExpTransform(), TanhTransform()}, -1);
  EXPECT_EQ(error_of([&] {
              require("f", "y", tensor({0.5, 2.0}), f.codomain());
            }),
            "f: y must in each part be positive, be in [-1, 1], got 2 at [1]");
  EXPECT_EQ(error_of([&] { f(ones({3})); }),
            "StackTransform: x must be as long along dim as its parts, got [3] for 2 along -1");
  EXPECT_EQ(error_of([&] { f.inv(ones({})); }),
            "StackTransform: y must be as long along dim as its parts, got [] for 2 along -1");
  EXPECT_EQ(error_of([] { StackTransform({ExpTransform()}, 0); }),
            "StackTransform: dim must be from -12 to -1, counted from the end, got 0");
  EXPECT_EQ(error_of([] { StackTransform({}, -1); }),
            "StackTransform: transforms must be given, got none");
  EXPECT_EQ(error_of([] {
              CatTransform({ExpTransform()}, -1, {1, 2});
            }),
            "CatTransform: each transform must have a length, got 2 for 1");
  EXPECT_EQ(error_of([] { CatTransform({ExpTransform()}, -1, {-1}); }),
            "CatTransform: lengths must be from 0 to 2^40, got -1");
  EXPECT_EQ(error_of([] { CatTransform({CorrCholeskyTransform()}, -1); }),
            "CatTransform: transforms must keep the dimensions of their events, got 1 and 2");
  EXPECT_EQ(error_of([] {
              const CatTransform falling({ExpTransform(), AffineTransform(0, -1)}, -1);
              TransformedDistribution(Normal(zeros({2}), 1), {falling}).cdf(ones({2}));
            }),
            "sign: each part must always grow, got AffineTransform");
  EXPECT_FALSE(f.equals(StackTransform({ExpTransform(), ExpTransform()}, -1)));
  EXPECT_FALSE(f.equals(CatTransform({ExpTransform(), TanhTransform()}, -1)));
  EXPECT_EQ(error_of([] {
              ReshapeTransform({2, 3}, {5});
            }),
            "ReshapeTransform: both shapes must have as many numbers, got [2,3] and [5]");
  EXPECT_EQ(error_of([] {
              ReshapeTransform({2, 3}, {6})(ones({4, 3}));
            }),
            "ReshapeTransform: the last sizes of x must be the event's, got [4,3] for [2,3]");
  EXPECT_EQ(error_of([] { CumulativeDistributionTransform(Dirichlet(ones({3}))); }),
            "CumulativeDistributionTransform: the distribution must be of numbers, got [3]");
}

TEST(CorrCholesky, KeepsItsDigitsFarOut) {
  const Tensor x = numbers({30, -40, 25}), y = CorrCholeskyTransform()(x);
  EXPECT_TRUE(near(CorrCholeskyTransform().inv(y), x, 1e-13));
  EXPECT_EQ(error_of([] {
              CorrCholeskyTransform()(ones({2, 4}));
            }),
            "CorrCholeskyTransform: x must be (*, n (n - 1) / 2), n > 1, got [2,4]");
  EXPECT_EQ(error_of([] {
              CorrCholeskyTransform().inv(ones({2, 4}));
            }),
            "CorrCholeskyTransform: y must be (*, n, n), got [2,4]");
  EXPECT_EQ(error_of([] {
              CorrCholeskyTransform().inverse_shape({1, 1});
            }),
            "CorrCholeskyTransform: y must be (*, n, n), n > 1, got [1,1]");
}

TEST(LowerCholesky, TakesTheExponentialOfTheDiagonal) {
  const Tensor x = tensor({{0.5, 9.0}, {-2.0, -1.0}}, {.dtype = f64});
  const Tensor y = LowerCholeskyTransform()(x);
  const Tensor wanted = tensor({{std::exp(0.5), 0.0}, {-2.0, std::exp(-1.0)}}, {.dtype = f64});
  EXPECT_TRUE(near(y, wanted, 1e-15));
  const AnyTransform back = LowerCholeskyTransform().inverse();
  EXPECT_TRUE(near(back(y), tensor({{0.5, 0.0}, {-2.0, -1.0}}, {.dtype = f64}), 1e-15));
  EXPECT_TRUE(back->domain().check(y).item<bool>());
  EXPECT_EQ(error_of([&] { back->log_abs_det_jacobian(y, x); }),
            "log_abs_det_jacobian: the transform must have one, got LowerCholeskyTransform");
  EXPECT_EQ(error_of([] {
              LowerCholeskyTransform()(ones({2, 3}));
            }),
            "LowerCholeskyTransform: x must be (*, n, n), got [2,3]");
  Generator generator(83);
  const TransformedDistribution factors(Independent(Normal(x, 0.1), 2), {LowerCholeskyTransform()});
  EXPECT_EQ(factors.event_shape(), (Shape{2, 2}));
  EXPECT_TRUE(
      all(constraints::lower_cholesky().check(factors.sample({5}, &generator))).item<bool>());
}

TEST(PositiveDefinite, IsUndoneByACholeskyDecomposition) {
  const Tensor x = tensor({{0.5, 0.0}, {-2.0, -1.0}}, {.dtype = f64});
  const AnyTransform f = PositiveDefiniteTransform();
  const Tensor y = f(x), e = tensor(std::exp(0.5), {.dtype = f64});
  EXPECT_TRUE(near(y[0][0], square(e), 1e-15));
  EXPECT_TRUE(near(y[0][1], -2 * e, 1e-15));
  EXPECT_TRUE(near(y[1][1], 4 + exp(tensor(-2.0, {.dtype = f64})), 1e-15));
  EXPECT_TRUE(near(f->inverse()(y), x, 1e-14));
  EXPECT_TRUE(f->codomain().check(y).item<bool>());
  EXPECT_FALSE(f->codomain().check(-y).item<bool>());
  EXPECT_EQ(error_of([&] { f->log_abs_det_jacobian(x, y); }),
            "log_abs_det_jacobian: the transform must have one, got PositiveDefiniteTransform");
  EXPECT_EQ(error_of([&] { f->inv(-y); }).substr(0, 26), "PositiveDefiniteTransform:");
}

// The mean of the density over a normal one's samples, less theirs, is the whole: 1.
TEST(CorrCholesky, SpreadsLKJOverVectorsWhoseDensityIsWhole) {
  Generator generator(89);
  const Normal normal(zeros({3}, {.dtype = f64}), 1);
  const Tensor x = normal.sample({40000}, &generator);
  for (const double concentration : {1.0, 3.0}) {
    const TransformedDistribution d(LKJCholesky(3, tensor(concentration, {.dtype = f64})),
                                    {CorrCholeskyTransform().inverse()});
    const Tensor share = exp(d.log_prob(x) - sum(normal.log_prob(x), {-1}));
    EXPECT_NEAR(mean(share).item<double>(), 1, 0.02) << concentration;
  }
}

TEST(Inverses, MakeADistributionOfItsTransformed) {
  const Tensor loc = numbers({0.5, -1}), scale = numbers({2, 0.3}), x = numbers({0.1, -0.4});
  const Normal normal(loc, scale);
  const TransformedDistribution back(LogNormal(loc, scale), {ExpTransform().inverse()});
  EXPECT_TRUE(near(back.log_prob(x), normal.log_prob(x), 1e-13));
  EXPECT_TRUE(near(back.cdf(x), normal.cdf(x), 1e-13));
  const Tensor p = numbers({0.2, 0.7});
  EXPECT_TRUE(near(back.icdf(p), normal.icdf(p), 1e-12));
  EXPECT_EQ(back.support().rule(), "not be NaN");
  // A falling one turns the cdf around.
  const TransformedDistribution falling(normal, {AffineTransform(1, -2).inverse()});
  EXPECT_TRUE(near(falling.cdf(x), 1 - normal.cdf(1 - 2 * x), 1e-13));
}

// The event has a number more than the base's, and one less again behind the inverse.
TEST(Inverses, OfVectorsChangeTheEvent) {
  const Normal normal(zeros({2, 3}, {.dtype = f64}), 1);
  const TransformedDistribution broken(normal, {StickBreakingTransform()});
  EXPECT_EQ(broken.batch_shape(), Shape{2});
  EXPECT_EQ(broken.event_shape(), Shape{4});
  const TransformedDistribution back(broken, {StickBreakingTransform().inverse()});
  EXPECT_EQ(back.batch_shape(), Shape{2});
  EXPECT_EQ(back.event_shape(), Shape{3});
  const Tensor x = numbers({0.3, -1.2, 0.8});
  EXPECT_TRUE(near(back.log_prob(x), Independent(normal, 1).log_prob(x), 1e-12));
  EXPECT_TRUE(
      near(broken.log_prob(StickBreakingTransform()(x)),
           LogisticNormal(zeros({2, 3}, {.dtype = f64}), 1).log_prob(StickBreakingTransform()(x)),
           1e-13));
  EXPECT_EQ(error_of([] { TransformedDistribution(Normal(0, 1), {StickBreakingTransform()}); }),
            "TransformedDistribution: the base must have the dimensions of the transforms' events, "
            "got [] for 1");
  EXPECT_EQ(error_of([] {
              StickBreakingTransform().inverse_shape({2, 0});
            }),
            "StickBreakingTransform: y must be (*, K + 1), got [2,0]");
  EXPECT_EQ(error_of([] {
              TransformedDistribution(Dirichlet(ones({3})), {AffineTransform(zeros({2, 1}), 1),
                                                             AffineTransform(zeros({4, 1, 1}), 1)});
            }),
            kNoError);
  EXPECT_EQ(error_of([] {
              TransformedDistribution(Dirichlet(ones({1})), {AffineTransform(zeros({3}), 1)});
            }),
            "TransformedDistribution: transforms must keep the shape of the base's event, got [3] "
            "for [1]");
}

// What the inverse of tanh has no digits for is known where x is.
TEST(Transforms, TellTheDensityOfTheirOwnValuesWithoutAnInverse) {
  const Normal base(tensor({9.0, 12.0}), 1);
  const Tensor x = tensor({9.5, 12.5});
  const TanhTransform squash;
  const Tensor y = squash(x);
  const Tensor density = base.log_prob(x) - squash.log_abs_det_jacobian(x, y);
  EXPECT_TRUE(near(density, tensor({16.5697671, 22.5697669}), 1e-6));
  const TransformedDistribution d(base, {squash});
  EXPECT_FALSE(isfinite(d.log_prob(y)).all().item<bool>());
}

}  // namespace
}  // namespace aorta::distributions

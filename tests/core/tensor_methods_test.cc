#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/sparse.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/ops/view_scatter.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

// Every method of TensorMethods beside the function that it stands for: the same bits. A check
// holds this list, the methods, the functions and PyTorch's methods together
// (tests/checks/pytorch_names_test.py).
namespace aorta {
namespace {

void expect_same(const char* name, const Tensor& method, const Tensor& function) {
  ASSERT_EQ(method.defined(), function.defined()) << name;
  if (!method.defined()) return;
  ASSERT_EQ(method.shape(), function.shape()) << name;
  ASSERT_EQ(method.dtype(), function.dtype()) << name;
  const Tensor a = method.contiguous(), b = function.contiguous();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.nbytes())), 0)
      << name << " gave\n"
      << to_string(a) << "\nand the function\n"
      << to_string(b);
}
void expect_same(const char* name, bool method, bool function) {
  EXPECT_EQ(method, function) << name;
}
void expect_same(const char* name, const ValuesIndices& method, const ValuesIndices& function) {
  expect_same(name, method.values, function.values);
  expect_same(name, method.indices, function.indices);
}
void expect_same(const char* name, const MinMax& method, const MinMax& function) {
  expect_same(name, method.min, function.min);
  expect_same(name, method.max, function.max);
}
void expect_same(const char* name, const Unique& method, const Unique& function) {
  expect_same(name, method.values, function.values);
  expect_same(name, method.inverse, function.inverse);
  expect_same(name, method.counts, function.counts);
}
void expect_same(const char* name, const Frexp& method, const Frexp& function) {
  expect_same(name, method.mantissa, function.mantissa);
  expect_same(name, method.exponent, function.exponent);
}
void expect_same(const char* name, const Histogram& method, const Histogram& function) {
  expect_same(name, method.hist, function.hist);
  expect_same(name, method.bin_edges, function.bin_edges);
}
void expect_same(const char* name, const SparseTensor& method, const SparseTensor& function) {
  expect_same(name, method.indices, function.indices);
  expect_same(name, method.values, function.values);
}
void expect_same(const char* name, const std::vector<Tensor>& method,
                 const std::vector<Tensor>& function) {
  ASSERT_EQ(method.size(), function.size()) << name;
  for (size_t i = 0; i < method.size(); ++i) expect_same(name, method[i], function[i]);
}

// x.name(...) is name(x, ...).
#define SAME(name, ...) expect_same(#name, x.name(__VA_ARGS__), name(x __VA_OPT__(, ) __VA_ARGS__))
// Expects it of what writes into x, which it returns.
#define WRITES(name, ...)                             \
  do {                                                \
    const Tensor written = x.clone(), by = x.clone(); \
    EXPECT_EQ(&written.name(__VA_ARGS__), &written);  \
    name(by __VA_OPT__(, ) __VA_ARGS__);              \
    expect_same(#name, written, by);                  \
  } while (false)
#define BOTH(name, ...)             \
  do {                              \
    SAME(name, __VA_ARGS__);        \
    WRITES(name##_, ##__VA_ARGS__); \
  } while (false)

class Methods : public ::testing::Test {
 protected:
  const Tensor x = tensor({{0.25, -0.5, 0.75}, {-0.125, 1.5, -2.5}});
  const Tensor y = tensor({{2.0, 0.5, -1.0}, {3.0, 0.25, 1.0}});
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  const Tensor places = tensor({{0, 1, 1}, {1, 0, 0}});
  const Tensor matrix = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 10.0}});
};

TEST_F(Methods, Complex) {
  const Tensor x = complex(tensor({1.0, -2.0, 0.5}), tensor({2.0, 3.0, -1.0})), y = x * 2;
  SAME(real);
  SAME(imag);
  SAME(conj);
  SAME(conj_physical);
  SAME(angle);
  SAME(sgn);
  SAME(vdot, y);
  SAME(isreal);
}

TEST_F(Methods, Spectra) {
  const Tensor x = sin(arange(64));
  SAME(stft, 16);
  SAME(stft, 16, {.hop_length = 8});
}

TEST_F(Methods, SignalsOfSpectra) {
  const Tensor x = stft(sin(arange(64)), 16);
  SAME(istft, 16);
  SAME(istft, 16, {.length = 60});
}

TEST_F(Methods, Unary) {
  BOTH(neg);
  BOTH(abs);
  BOTH(sign);
  BOTH(square);
  BOTH(reciprocal);
  BOTH(floor);
  BOTH(ceil);
  BOTH(round);
  BOTH(round, 1);
  BOTH(trunc);
  BOTH(frac);
  BOTH(sqrt);
  BOTH(rsqrt);
  BOTH(exp);
  BOTH(exp2);
  BOTH(expm1);
  BOTH(log);
  BOTH(log1p);
  BOTH(log2);
  BOTH(log10);
  BOTH(sin);
  BOTH(cos);
  BOTH(tan);
  BOTH(asin);
  BOTH(acos);
  BOTH(atan);
  BOTH(sinh);
  BOTH(cosh);
  BOTH(tanh);
  BOTH(asinh);
  BOTH(acosh);
  BOTH(atanh);
  BOTH(erf);
  BOTH(erfc);
  BOTH(erfinv);
  BOTH(lgamma);
  BOTH(i0);
  BOTH(digamma);
  EXPECT_EQ(x.polygamma(2).to_vector<float>(), polygamma(2, x).to_vector<float>());
  BOTH(mvlgamma, 2);
  expect_same("frexp", x.frexp(), frexp(x));
  EXPECT_EQ(x.clone().polygamma_(1).to_vector<float>(), polygamma(1, x).to_vector<float>());
  BOTH(sigmoid);
  BOTH(relu);
  BOTH(logical_not);
  SAME(isnan);
  SAME(isinf);
  SAME(isfinite);
  SAME(isposinf);
  SAME(isneginf);
  SAME(signbit);
  BOTH(sinc);
  BOTH(logit);
  BOTH(logit, 0.125);
  SAME(hardshrink);
  SAME(hardshrink, 1.0);
  BOTH(nan_to_num);
}

TEST_F(Methods, OfIntegers) {
  const Tensor x = places + 5, other = places + 1;
  BOTH(bitwise_not);
  BOTH(bitwise_and, other);
  BOTH(bitwise_or, other);
  BOTH(bitwise_xor, other);
  BOTH(bitwise_left_shift, other);
  BOTH(bitwise_right_shift, 1);
  BOTH(gcd, other);
  BOTH(lcm, 4);
}

TEST_F(Methods, Binary) {
  BOTH(add, y);
  BOTH(add, y, 2);
  BOTH(sub, 1.5);
  BOTH(sub, y, 3);
  BOTH(mul, y);
  BOTH(div, y);
  BOTH(div, y, "trunc");
  BOTH(floor_divide, y);
  BOTH(fmod, y);
  BOTH(remainder, 0.75);
  BOTH(pow, 2);
  SAME(float_power, y);
  {
    const Tensor x = y.to(f64);
    WRITES(float_power_, 2);
  }
  SAME(minimum, y);
  SAME(maximum, y);
  BOTH(atan2, y);
  BOTH(hypot, y);
  BOTH(copysign, y);
  BOTH(heaviside, y);
  BOTH(nextafter, y);
  BOTH(ldexp, y);
  BOTH(igamma, y);
  BOTH(igammac, y);
  BOTH(xlogy, y);
  SAME(logaddexp, y);
  SAME(logaddexp2, y);
  BOTH(eq, y);
  BOTH(ne, 0.25);
  BOTH(lt, y);
  BOTH(le, y);
  BOTH(gt, y);
  BOTH(ge, 0);
  BOTH(logical_and, y);
  BOTH(logical_or, y);
  BOTH(logical_xor, y);
  SAME(prelu, tensor({0.5}));
}

TEST_F(Methods, OfSeveralOperands) {
  BOTH(clamp, -0.25, 0.5);
  BOTH(clamp, {}, 0.5);
  BOTH(clamp, y);
  BOTH(clamp, y, y + 1);
  BOTH(clamp_min, 0.5);
  BOTH(clamp_min, y);
  BOTH(clamp_max, 0.5);
  BOTH(clamp_max, y);
  BOTH(lerp, y, 0.25);
  BOTH(addcmul, y, matrix[0]);
  BOTH(addcmul, y, y, 0.5);
  BOTH(addcdiv, y, y);
  BOTH(addcdiv, y, y, 0.5);
  BOTH(masked_fill, mask, 7);
  expect_same("where", x.where(mask, y), where(mask, x, y));
  SAME(isclose, y);
  SAME(isclose, x, 1e-3, 1e-3, true);
  SAME(isclose, y, {.rtol = 0.5});
  SAME(allclose, y);
  SAME(allclose, x, {.equal_nan = true});
  SAME(equal, x);
}

TEST_F(Methods, Reductions) {
  SAME(sum);
  SAME(sum, 1, true);
  SAME(sum, {0, 1}, false, f64);
  SAME(mean);
  SAME(mean, -1);
  SAME(prod);
  SAME(sum_to_size, {1, 3});
  SAME(var);
  SAME(var, 1, 0);
  SAME(std);
  SAME(std, {0, 1}, 0, true);
  SAME(amax);
  SAME(amin, 1);
  SAME(aminmax);
  SAME(to_sparse);
  SAME(aminmax, 1, true);
  SAME(max);
  SAME(max, 1);
  SAME(max, y);
  SAME(min, y);
  SAME(min);
  SAME(min, 0, true);
  SAME(argmax);
  SAME(argmax, 1);
  SAME(argmin, 0, true);
  SAME(any);
  SAME(all, 1);
  SAME(count_nonzero);
  SAME(norm);
  SAME(norm, 1, 1, true);
  SAME(logsumexp);
  SAME(logsumexp, 1);
  SAME(cumsum, 0);
  SAME(cumprod, 1);
  SAME(cummax, 0);
  SAME(cummin, 1);
  SAME(logcumsumexp, 0);
  SAME(softmax, -1);
  SAME(softmax, 0, f64);
  SAME(log_softmax, -1);
  BOTH(renorm, 2, 0, 1);
  SAME(nansum);
  SAME(nanmean, 1, true);
}

TEST_F(Methods, Statistics) {
  SAME(median);
  SAME(median, 1);
  SAME(mode);
  SAME(mode, 0, true);
  SAME(nanmedian);
  SAME(nanmedian, 0, true);
  SAME(quantile, 0.25);
  SAME(quantile, tensor({0.25, 0.5}), 1, true, "lower");
  SAME(nanquantile, 0.25);
  SAME(histc);
  SAME(histc, 4, -1, 1);
  SAME(histc, {.bins = 4, .min = -1, .max = 1});
  SAME(histogram);
  SAME(histogram, 4);
  SAME(histogram, 4, {.density = true});
  SAME(histogram, tensor({-1.0f, 0.0f, 2.0f}));
  SAME(histogram, tensor({-1.0f, 0.0f, 2.0f}), {.weight = x});
  SAME(cov);
  SAME(cov, 0);
  SAME(cov, 1, tensor({1, 2, 3}));
  SAME(cov, 1, tensor({1, 2, 3}), tensor({0.5, 1.0, 0.25}));
  SAME(corrcoef);
  SAME(diff);
  SAME(diff, 2, 1);
  SAME(diff, 1, 0, y);
  SAME(diff, 1, 0, y, y);
  {
    const Tensor x = tensor({3, 1, 1, 0});
    SAME(bincount);
    SAME(bincount, ones({4}));
    SAME(bincount, ones({4}), 8);
  }
}

TEST_F(Methods, Order) {
  SAME(sort);
  SAME(sort, 0, true, true);
  SAME(sort, {.dim = 0, .descending = true});
  SAME(argsort);
  SAME(argsort, {.descending = true});
  SAME(topk, 2);
  SAME(topk, 1, 0, false);
  SAME(topk, 1, {.dim = 0, .largest = false});
  SAME(kthvalue, 2);
  SAME(unique);
  SAME(unique, true, true, true);
  SAME(unique, {.return_counts = true});
  SAME(unique_consecutive);
  SAME(unique_consecutive, true, true, 0);
  SAME(unique_consecutive, {.return_inverse = true, .dim = 0});
}

TEST_F(Methods, Products) {
  SAME(matmul, matrix);
  SAME(mm, matrix);
  SAME(mv, matrix[0]);
  SAME(kron, y);
  SAME(inner, y);
  {
    const Tensor x = matrix[1];
    SAME(dot, matrix[0]);
    SAME(outer, matrix[0]);
  }
  {
    const Tensor x = matrix;
    SAME(trace);
    SAME(addmm, matrix, matrix);
    SAME(addmm, matrix, matrix, {.beta = 2, .alpha = 0.5});
    SAME(addbmm, matrix.unsqueeze(0), matrix.unsqueeze(0));
    SAME(addbmm, matrix.unsqueeze(0), matrix.unsqueeze(0), {.alpha = 0.5});
    SAME(addr, matrix[0], matrix[1]);
    SAME(addr, matrix[0], matrix[1], {.beta = 2});
  }
  {
    const Tensor x = matrix[0];
    SAME(addmv, matrix, matrix[1]);
    SAME(addmv, matrix, matrix[1], {.beta = 2});
  }
  {
    const Tensor x = matrix.unsqueeze(0);
    SAME(bmm, x);
    SAME(baddbmm, x, x);
    SAME(baddbmm, x, x, {.beta = 0});
  }
}

TEST_F(Methods, Places) {
  SAME(gather, 0, places);
  SAME(index_select, 1, tensor({2, 0}));
  SAME(take_along_dim, places);
  SAME(take_along_dim, places, 0);
  SAME(take, tensor({5, 0}));
  BOTH(scatter, 0, places, y);
  BOTH(scatter, 0, places, 7);
  BOTH(scatter_add, 0, places, y);
  BOTH(scatter_reduce, 0, places, y, ScatterReduce::amax);
  BOTH(scatter_reduce, 0, places, y, ScatterReduce::mean, false);
  BOTH(index_add, 0, tensor({1, 1}), y);
  BOTH(index_add, 0, tensor({1, 1}), y, 2);
  BOTH(index_reduce, 0, tensor({1, 1}), y, ScatterReduce::prod);
  BOTH(index_reduce, 0, tensor({1, 1}), y, ScatterReduce::amax, false);
  BOTH(index_copy, 0, tensor({1, 0}), y);
  BOTH(index_fill, 1, tensor({1}), 7);
  SAME(index, {Slice{}, tensor({2, 0})});
  SAME(index, {mask});
  BOTH(index_put, {1}, y[0]);
  BOTH(index_put, {tensor({0, 0}), 1}, tensor({1.0, 2.0}), true);
  WRITES(index_put_, {mask}, 7);
  SAME(nonzero);
  SAME(masked_select, mask);
  BOTH(masked_scatter, mask, y);
}

TEST_F(Methods, PartsAndViews) {
  SAME(split, 2, 1);
  SAME(split, {1, 2}, 1);
  SAME(split, std::vector<int64_t>{1, 1});
  SAME(chunk, 2);
  SAME(tensor_split, 2, 1);
  SAME(tensor_split, {1}, 1);
  SAME(tensor_split, std::vector<int64_t>{1});
  SAME(hsplit, 3);
  SAME(hsplit, {1});
  SAME(hsplit, std::vector<int64_t>{1});
  SAME(vsplit, 2);
  SAME(vsplit, {1});
  SAME(vsplit, std::vector<int64_t>{1});
  {
    const Tensor x = y.unsqueeze(0);
    SAME(dsplit, 3);
    SAME(dsplit, {1});
    SAME(dsplit, std::vector<int64_t>{1});
  }
  SAME(unbind);
  SAME(unbind, 1);
  SAME(narrow_copy, 1, 1, 2);
  SAME(as_strided, {2}, {3}, 1);
  SAME(diagonal);
  SAME(diagonal, 1, 1, 0);
  SAME(diag);
  SAME(diag, 1);
  SAME(diag_embed);
  SAME(diag_embed, 1, 0, 2);
  SAME(diagflat);
  SAME(diagflat, -1);
  WRITES(fill_diagonal_, 7);
  WRITES(fill_diagonal_, 7, true);
  SAME(unfold, 1, 2, 1);
  SAME(slice_scatter, zeros({1, 3}), 0, 1);
  SAME(slice_scatter, zeros({2, 2}), 1, 0, 3, 2);
  SAME(select_scatter, zeros({2}), 1, 2);
  SAME(diagonal_scatter, zeros({2}), 1);
  SAME(as_strided_scatter, zeros({2}), {2}, {2});
  SAME(as_strided_scatter, zeros({2}), {2}, {2}, 1);
  SAME(movedim, 0, 1);
  SAME(movedim, Dims({0, 1}), Dims({1, 0}));
  SAME(flip, {0, 1});
  SAME(fliplr);
  SAME(flipud);
  SAME(rot90);
  SAME(rot90, -1, {1, 0});
  SAME(roll, 1);
  SAME(roll, 1, 0);
  SAME(roll, {1, 2}, {0, 1});
  BOTH(tril);
  BOTH(tril, 1);
  BOTH(triu);
  SAME(repeat, {2, 2});
  SAME(tile, {2});
  SAME(repeat_interleave, 2);
  SAME(repeat_interleave, tensor({1, 2}), 0);
}

TEST_F(Methods, RandomNumbers) {
  const auto expect_drawn = [&](const char* name, auto method, auto function) {
    Generator one(7), other(7);
    const Tensor a = x.clone(), b = x.clone();
    expect_same(name, method(a, &one), function(b, &other));
    expect_same(name, a, b);
  };
  expect_drawn(
      "uniform_", [](const Tensor& t, Generator* g) { return t.uniform_(-1, 1, g); },
      [](const Tensor& t, Generator* g) { return uniform_(t, -1, 1, g); });
  expect_drawn(
      "normal_", [](const Tensor& t, Generator* g) { return t.normal_(2, 3, g); },
      [](const Tensor& t, Generator* g) { return normal_(t, 2, 3, g); });
  expect_drawn(
      "bernoulli_", [](const Tensor& t, Generator* g) { return t.bernoulli_(0.25, g); },
      [](const Tensor& t, Generator* g) { return bernoulli_(t, 0.25, g); });
  expect_drawn(
      "random_", [](const Tensor& t, Generator* g) { return t.random_(2, 9, g); },
      [](const Tensor& t, Generator* g) { return random_(t, 2, 9, g); });
  expect_drawn(
      "exponential_", [](const Tensor& t, Generator* g) { return t.exponential_(2, g); },
      [](const Tensor& t, Generator* g) { return exponential_(t, 2, g); });
  expect_drawn(
      "cauchy_", [](const Tensor& t, Generator* g) { return t.cauchy_(1, 2, g); },
      [](const Tensor& t, Generator* g) { return cauchy_(t, 1, 2, g); });
  expect_drawn(
      "log_normal_", [](const Tensor& t, Generator* g) { return t.log_normal_(0, 0.5, g); },
      [](const Tensor& t, Generator* g) { return log_normal_(t, 0, 0.5, g); });
  expect_drawn(
      "geometric_", [](const Tensor& t, Generator* g) { return t.geometric_(0.25, g); },
      [](const Tensor& t, Generator* g) { return geometric_(t, 0.25, g); });
  manual_seed(5);
  const std::vector<float> below = x.clone().random_(4).to_vector<float>();
  const std::vector<float> any = x.clone().random_().to_vector<float>();
  manual_seed(5);
  EXPECT_EQ(below, random_(x.clone(), 4).to_vector<float>());
  EXPECT_EQ(any, random_(x.clone()).to_vector<float>());
  expect_drawn(
      "bernoulli", [](const Tensor& t, Generator* g) { return t.sigmoid().bernoulli(g); },
      [](const Tensor& t, Generator* g) { return bernoulli(sigmoid(t), g); });
  expect_drawn(
      "multinomial", [](const Tensor& t, Generator* g) { return t.exp().multinomial(5, true, g); },
      [](const Tensor& t, Generator* g) { return multinomial(exp(t), 5, true, g); });
}

TEST_F(Methods, OfPyTorchAlone) {
  expect_same("view_as", x.view_as(ones({3, 2})), x.view({3, 2}));
  expect_same("reshape_as", x.t().reshape_as(x), x.t().reshape({2, 3}));
  expect_same("expand_as", x[0].expand_as(y), x[0].expand({2, 3}));
  expect_same("type_as", x.type_as(places), x.to(i64));
  expect_same("new_zeros", x.to(f16).new_zeros({2}), zeros({2}, {.dtype = f16}));
  expect_same("new_zeros", x.new_zeros({2}, {.dtype = i64}), zeros({2}, {.dtype = i64}));
  expect_same("new_ones", places.new_ones({2}), ones({2}, {.dtype = i64}));
  expect_same("new_ones", x.new_ones({}, {.dtype = boolean}), tensor(true));
  expect_same("new_full", x.new_full({3}, 2), full({3}, 2.0));
  expect_same("new_full", x.new_full({3}, 2, {.dtype = i32}), full({3}, 2, {.dtype = i32}));
  EXPECT_EQ(x.new_empty({4, 5}).shape(), (Shape{4, 5}));
  EXPECT_TRUE(x.new_empty({}, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(x.new_empty_strided({4, 5}, {1, 4}).strides(), (Strides{1, 4}));
  EXPECT_EQ(x.new_empty_strided({4, 5}, {1, 4}, {.dtype = i64}).dtype(), i64);
  const Tensor there = zeros({1}, {.device = "cpu:1"});
  EXPECT_EQ(there.new_zeros({2}).device(), Device("cpu:1"));
  EXPECT_EQ(there.new_zeros({2}, {.device = "cpu"}).device(), Device("cpu"));
  EXPECT_EQ(x.type_as(there).device(), Device("cpu:1"));
  EXPECT_EQ(x.size(), x.shape());
  EXPECT_EQ(x.stride(), x.strides());
  EXPECT_EQ(x.element_size(), 4);
  EXPECT_TRUE(x.is_floating_point() && !places.is_floating_point());
  EXPECT_TRUE(x.is_cpu() && !x.is_cuda());
}

TEST_F(Methods, SizesWithoutBraces) {
  expect_same("view", x.view(3, -1), x.view({3, 2}));
  expect_same("reshape", x.t().reshape(1, 6), x.t().reshape({1, 6}));
  expect_same("expand", x[0].expand(2, 3), x[0].expand({2, 3}));
  expect_same("permute", x.permute(1, 0), x.t());
}

// What they write is seen by the graph and by views, and errors are the functions'.
TEST_F(Methods, AreTheFunctions) {
  EXPECT_EQ(error_of([&] { x.sum(2); }), error_of([&] { sum(x, 2); }));
  EXPECT_EQ(error_of([&] { x.matmul(x); }), error_of([&] { matmul(x, x); }));
  EXPECT_EQ(error_of([] { Tensor().relu(); }), error_of([] { relu(Tensor()); }));
  const Tensor base = zeros({2, 2});
  const uint32_t before = base.version();
  EXPECT_EQ(base[0].add_(1).mul_(3).sum().item<float>(), 6);
  EXPECT_EQ(base.sum().item<float>(), 6);
  EXPECT_EQ(base.version(), before + 2);
}

// A handle has no more than its pointer, and is no less cheap to move for its methods.
static_assert(sizeof(Tensor) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
// PyTorch's x.var(False): no dimension.
template <class... Arguments>
concept TakesVar = requires(const Tensor& t, Arguments... arguments) {
  t.var(arguments...);
};
static_assert(TakesVar<int> && TakesVar<int, int> && !TakesVar<bool>);

#undef BOTH
#undef WRITES
#undef SAME

}  // namespace
}  // namespace aorta

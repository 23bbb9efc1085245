#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// The references here are the definitions, summed naively in long double over elements in row-major
// order; the catalogue compares with PyTorch.
namespace {

using namespace aorta;
using Line = std::vector<long double>;

// The elements that each result is made of, in row-major order of results and elements.
std::vector<Line> lines_over(const Tensor& input, const Dims& dims) {
  const std::vector<double> values = input.to_vector<double>();
  Shape kept;
  for (int d = 0; d < input.dim(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    kept.push_back(reduced ? 1 : input.shape()[d]);
  }
  std::vector<Line> lines(static_cast<size_t>(kept.numel()));
  const Strides strides = contiguous_strides(input.shape());
  const Strides kept_strides = contiguous_strides(kept);
  for (int64_t i = 0; i < input.numel(); ++i) {
    int64_t to = 0;
    for (int d = 0; d < input.dim(); ++d) {
      if (kept[d] > 1) to += i / strides[d] % input.shape()[d] * kept_strides[d];
    }
    lines[static_cast<size_t>(to)].push_back(values[static_cast<size_t>(i)]);
  }
  return lines;
}

struct Definition {
  const char* name;
  Tensor (*op)(const Tensor&, const ReduceDims&, bool keepdim);
  long double (*of)(const Line&);
  double tolerance;
};

long double total(const Line& x, long double (*term)(long double)) {
  long double s = 0;
  for (long double v : x) s += term(v);
  return s;
}
long double average(const Line& x) {
  return total(x, [](long double v) { return v; }) / static_cast<long double>(x.size());
}
long double spread(const Line& x, long double correction) {
  const long double m = average(x);
  long double s = 0;
  for (long double v : x) s += (v - m) * (v - m);
  return s / std::max(static_cast<long double>(x.size()) - correction, 0.0L);
}

const Definition kDefinitions[] = {
    {"sum", [](const Tensor& x, const ReduceDims& d, bool k) { return sum(x, d, k); },
     [](const Line& x) { return total(x, [](long double v) { return v; }); }, 2e-7},
    {"mean", [](const Tensor& x, const ReduceDims& d, bool k) { return mean(x, d, k); }, average,
     2e-7},
    {"prod", [](const Tensor& x, const ReduceDims& d, bool k) { return prod(x, d, k); },
     [](const Line& x) {
       long double p = 1;
       for (long double v : x) p *= v;
       return p;
     },
     2e-7},
    {"amax", amax, [](const Line& x) { return *std::max_element(x.begin(), x.end()); }, 0},
    {"amin", amin, [](const Line& x) { return *std::min_element(x.begin(), x.end()); }, 0},
    {"var", [](const Tensor& x, const ReduceDims& d, bool k) { return var(x, d, 1, k); },
     [](const Line& x) { return spread(x, 1); }, 3e-7},
    {"std", [](const Tensor& x, const ReduceDims& d, bool k) { return aorta::std(x, d, 0, k); },
     [](const Line& x) { return std::sqrt(spread(x, 0)); }, 3e-7},
    {"any", any,
     [](const Line& x) {
       return total(x, [](long double v) -> long double { return v != 0; }) > 0 ? 1.0L : 0.0L;
     },
     0},
    {"all", all,
     [](const Line& x) {
       return total(x, [](long double v) -> long double { return v == 0; }) == 0 ? 1.0L : 0.0L;
     },
     0},
    {"norm 0", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, 0, d, k); },
     [](const Line& x) { return total(x, [](long double v) -> long double { return v != 0; }); },
     0},
    {"norm 1", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, 1, d, k); },
     [](const Line& x) { return total(x, [](long double v) { return std::abs(v); }); }, 2e-7},
    {"norm 2", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, 2, d, k); },
     [](const Line& x) { return std::sqrt(total(x, [](long double v) { return v * v; })); }, 2e-7},
    {"norm 3.5", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, 3.5, d, k); },
     [](const Line& x) {
       return std::pow(total(x, [](long double v) { return std::pow(std::abs(v), 3.5L); }),
                       1 / 3.5L);
     },
     1e-6},
    {"norm inf", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, kInf, d, k); },
     [](const Line& x) {
       long double m = 0;
       for (long double v : x) m = std::max(m, std::abs(v));
       return m;
     },
     0},
    {"norm -inf", [](const Tensor& x, const ReduceDims& d, bool k) { return norm(x, -kInf, d, k); },
     [](const Line& x) {
       long double m = kInf;
       for (long double v : x) m = std::min(m, std::abs(v));
       return m;
     },
     0},
    {"logsumexp", logsumexp,
     [](const Line& x) { return std::log(total(x, [](long double v) { return std::exp(v); })); },
     1e-6},
    {"count_nonzero",
     [](const Tensor& x, const ReduceDims& d, bool k) {
       const Tensor n = count_nonzero(x, d);
       return k ? n.reshape(sum(x, d, true).shape()) : n;
     },
     [](const Line& x) { return total(x, [](long double v) -> long double { return v != 0; }); },
     0},
};

double tolerance_of(const Definition& definition, DType dtype) {
  if (dtype == DType::f64) return definition.tolerance * 1e-7;
  if (dtype == DType::bf16) return 4e-3;
  if (dtype == DType::f16) return 6e-4;
  return definition.tolerance;
}

// Numbers around 1 with some zeros, in any dtype: products and powers of them stay in range.
Tensor numbers_around_one(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  uint64_t state = 88172645463325252u;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    v = dtype == DType::boolean ? u < 0.7 : is_floating(dtype) ? 2 * u - 0.5 : u < 0.1 ? 2 : 1;
    if (is_floating(dtype) && u < 0.01) v = 0;
  }
  return tensor(values, shape).to(dtype);
}

void expect_as_defined(const Definition& definition, const Tensor& x, const Dims& dims,
                       const std::vector<Line>& lines) {
  for (const bool keepdim : {false, true}) {
    const Tensor result = definition.op(x, dims, keepdim);
    ASSERT_EQ(result.shape(), kernel::reduced_shape(x, dims, keepdim));
    const std::vector<double> got = result.to_vector<double>();
    ASSERT_EQ(got.size(), lines.size());
    const double tolerance = tolerance_of(definition, x.dtype());
    for (size_t i = 0; i < got.size(); ++i) {
      const long double want = definition.of(lines[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i])) << definition.name;
        continue;
      }
      const long double scale =
          tolerance == 0 ? 0
                         : std::max(std::abs(want), total(lines[i], [](long double v) {
                                                      return std::abs(v);
                                                    }) / static_cast<long double>(lines[i].size()));
      ASSERT_LE(std::abs(got[i] - want), static_cast<long double>(tolerance) * scale)
          << definition.name << " of " << name(x.dtype()) << to_string(x.shape()) << " strides "
          << to_string(x.strides()) << " over " << to_string(dims) << " at " << i << ": " << got[i]
          << ", should be " << static_cast<double>(want);
    }
  }
}

bool takes(const Definition& definition, DType dtype) {
  const std::string_view op = definition.name;
  const bool floating_only = op == "mean" || op == "var" || op == "std" || op.starts_with("norm");
  return is_floating(dtype) || !floating_only;
}

const DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                         DType::i64, DType::i32, DType::u8,  DType::boolean};

// Every definition that takes the dtype, but for those whose definition is slow or ill-conditioned
// on long lines.
void expect_all_as_defined(const Tensor& x, const Dims& dims) {
  const std::vector<Line> lines = lines_over(x, dims);
  for (const Definition& definition : kDefinitions) {
    const std::string_view op = definition.name;
    if (!takes(definition, x.dtype())) continue;
    if (lines[0].size() > 1000 && (op == "prod" || op == "norm 3.5")) continue;
    ASSERT_NO_FATAL_FAILURE(expect_as_defined(definition, x, dims, lines));
  }
}

// Shapes that reach every way through the engine: rows, columns, gathered, converted, in one piece
// and in many, with runs shorter and longer than a tile.
TEST(Reduction, IsAsDefinedForEveryDType) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers_around_one({3, 5, 67}, dtype);
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 2}, Dims{0, 1, 2}}) {
      ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(x, dims));
      ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(x.permute({2, 0, 1}), dims));
    }
  }
}

TEST(Reduction, IsAsDefinedForEveryLayout) {
  for (const DType dtype : {f32, bf16}) {
    const Tensor x = numbers_around_one({4, 6, 20, 30}, dtype);
    const Tensor layouts[] = {x,
                              x.permute({3, 1, 0, 2}),
                              x.contiguous(MemoryFormat::channels_last),
                              x.slice(3, 1, 30, 3),
                              x.slice(1, 0, 6, 2).transpose(0, 3),
                              x.slice(2, 0, 1).expand({4, 6, 20, 30}),
                              x.slice(3, 0, 3),
                              x.slice(0, 0, 1)};
    const Dims over[] = {{0}, {1}, {2}, {3}, {0, 1}, {1, 3}, {0, 2, 3}, {2, 3}, {0, 1, 2, 3}};
    for (const Tensor& layout : layouts) {
      for (const Dims& dims : over) ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(layout, dims));
    }
  }
}

TEST(Reduction, IsAsDefinedInManyPieces) {
  const Tensor wide = numbers_around_one({70, 3000}, f32);
  for (const Tensor& x : {wide, wide.t()}) {
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{0, 1}})
      ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(x, dims));
  }
  ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(numbers_around_one({30000, 7}, f32), {0}));
  ASSERT_NO_FATAL_FAILURE(expect_all_as_defined(numbers_around_one({200001}, bf16), {0}));
}

TEST(Reduction, SumsOfMillionsAreExact) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "too slow under a sanitizer";
#endif
  constexpr int64_t n = 100'000'000;
  Tensor x = ones({n});
  EXPECT_EQ(sum(x).item<double>(), 1e8);
  EXPECT_EQ(mean(x).item<double>(), 1.0);
  EXPECT_EQ(var(x).item<double>(), 0.0);
  // i * golden ratio modulo 1 is uniform; its exact sum is known as a sum of integers.
  float* const values = x.data<float>();
  uint32_t bits = 0;
  uint64_t exact = 0;
  for (int64_t i = 0; i < n; ++i) {
    bits += 2654435769u;
    values[i] = static_cast<float>(bits >> 8) * 0x1p-24f;
    exact += bits >> 8;
  }
  const double want = static_cast<double>(exact) * 0x1p-24;
  EXPECT_NEAR(sum(x).item<double>(), want, 1e-7 * want);
  EXPECT_NEAR(sum(x.view({10000, 10000}), 0).to(f64).to_vector<double>()[17], 5000, 50);
  EXPECT_NEAR(sum(sum(x.view({10000, 10000}), 0)).item<double>(), want, 1e-7 * want);
  EXPECT_NEAR(norm(x).item<double>(), std::sqrt(n / 3.0), 1e-6 * std::sqrt(n / 3.0));
  EXPECT_NEAR(var(x).item<double>(), 1.0 / 12, 1e-6);
}

TEST(Reduction, VarianceDoesNotCancel) {
  // 1e8 + {0, 1, 2}: the squares need more digits than a double has.
  std::vector<double> values;
  for (int i = 0; i < 30000; ++i) values.push_back(1e8 + i % 3);
  const Tensor x = tensor(values);
  const double want = 2.0 / 3 * 30000 / 29999;
  EXPECT_NEAR(var(x).item<double>(), want, 1e-11);
  EXPECT_NEAR(var(x.view({3000, 10}).t().contiguous().view({30000, 1}).expand({30000, 40}), 0)
                  .to_vector<double>()[3],
              want, 1e-11);
  // An outlier comes first.
  std::vector<double> spike(2000, 0.0);
  for (size_t i = 0; i < spike.size(); ++i) spike[i] = i % 2 ? 1.0 : -1.0;
  spike[0] = 1e9;
  const double mean_of = (1e9 + 1) / 2000, squares = 1e18 + 1999;
  EXPECT_NEAR(var(tensor(spike)).item<double>() / ((squares - 2000 * mean_of * mean_of) / 1999), 1,
              1e-12);
}

TEST(Reduction, ResultDTypesArePyTorchs) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers_around_one({4, 3}, dtype);
    const DType summed = is_floating(dtype) ? dtype : DType::i64;
    EXPECT_EQ(sum(x).dtype(), summed);
    EXPECT_EQ(prod(x, 0).dtype(), summed);
    EXPECT_EQ(amax(x).dtype(), dtype);
    EXPECT_EQ(max(x, 0).values.dtype(), dtype);
    EXPECT_EQ(max(x, 0).indices.dtype(), i64);
    EXPECT_EQ(argmin(x).dtype(), i64);
    EXPECT_EQ(any(x).dtype(), x.dtype() == u8 ? u8 : boolean);
    EXPECT_EQ(all(x, 1).dtype(), x.dtype() == u8 ? u8 : boolean);
    EXPECT_EQ(count_nonzero(x).dtype(), i64);
    EXPECT_EQ(logsumexp(x).dtype(), is_floating(dtype) ? dtype : DType::f32);
    EXPECT_EQ(mean(x, {}, false, f64).dtype(), f64);
    for (const DType to : kDTypes) EXPECT_EQ(sum(x, 1, false, to).dtype(), to);
  }
}

TEST(Reduction, DTypeArgumentConvertsElementsFirst) {
  const Tensor half = full({1000}, 100.0, {.dtype = f16});
  EXPECT_EQ(sum(half).item<double>(), kInf);  // 100000 is beyond f16
  EXPECT_EQ(sum(half, {}, false, f32).item<double>(), 100000);
  EXPECT_EQ(sum(tensor({0.5, 1.75, -2.5}), {}, false, i32).item<int64_t>(), -1);
  EXPECT_EQ(sum(tensor({3, 300}), {}, false, u8).item<int64_t>(), 47);
  EXPECT_EQ(prod(tensor({3, 4}), {}, false, f64).item<double>(), 12);
  EXPECT_EQ(norm(half, 1, {}, false, f64).item<double>(), 100000);
  const Tensor large = tensor({70000.0, -70000.0});  // infinities in f16
  EXPECT_TRUE(std::isnan(sum(large, {}, false, f16).item<double>()));
  EXPECT_TRUE(std::isnan(mean(large, {}, false, f16).item<double>()));
  EXPECT_TRUE(std::isnan(prod(tensor({70000, 0}), {}, false, f16).item<double>()));
}

TEST(Reduction, IntegersWrapAround) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sum(tensor(std::vector<int64_t>{big, 1})).item<int64_t>(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(prod(tensor(std::vector<int64_t>{big, 2})).item<int64_t>(), -2);
  EXPECT_EQ(sum(full({70000}, 255, {.dtype = u8})).item<int64_t>(), 70000 * 255);
}

TEST(Reduction, OfNothingIsTheEmptySetsResult) {
  const Tensor none = empty({3, 0}), floor = empty({0, 4});
  EXPECT_EQ(sum(none).item<double>(), 0);
  EXPECT_EQ(sum(none, 1).to_vector<double>(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(prod(floor, 0).to_vector<double>(), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(sum(floor, 1).shape(), Shape({0}));
  EXPECT_TRUE(std::isnan(mean(none).item<double>()));
  EXPECT_TRUE(std::isnan(var(none).item<double>()));
  EXPECT_TRUE(std::isnan(var_mean(none, 1).mean.to_vector<double>()[1]));
  EXPECT_EQ(logsumexp(none, 1).to_vector<double>()[0], -kInf);
  EXPECT_FALSE(any(none).item<bool>());
  EXPECT_TRUE(all(none).item<bool>());
  EXPECT_EQ(norm(none).item<double>(), 0);
  EXPECT_EQ(count_nonzero(none).item<int64_t>(), 0);
  EXPECT_EQ(amax(floor, 1).shape(), Shape({0}));
}

TEST(Reduction, OfAScalarAndOfOneElement) {
  const Tensor x = tensor(TensorData(3.0));
  EXPECT_EQ(sum(x).shape(), Shape());
  EXPECT_EQ(sum(x, 0).item<double>(), 3);
  EXPECT_EQ(sum(x, -1, true).shape(), Shape());
  EXPECT_EQ(max(x, 0).indices.item<int64_t>(), 0);
  EXPECT_EQ(argmax(x).item<int64_t>(), 0);
  EXPECT_TRUE(std::isnan(var(x).item<double>()));
  EXPECT_EQ(var(x, {}, 0).item<double>(), 0);
  EXPECT_EQ(sum(ones({1, 1, 1}), {0, 2}).shape(), Shape({1}));
}

TEST(Reduction, CorrectionBeyondTheCount) {
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_EQ(var(x, {}, 2).item<double>(), kInf);
  EXPECT_EQ(var(x, {}, 3).item<double>(), kInf);
  EXPECT_NEAR(var(x, {}, 0.5).item<double>(), 0.5 / 1.5, 1e-7);
  const VarMean both = var_mean(tensor({{1.0, 3.0}, {2.0, 6.0}}), 1, 0, true);
  EXPECT_EQ(both.var.to_vector<double>(), (std::vector<double>{1, 4}));
  EXPECT_EQ(both.mean.to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(both.mean.shape(), Shape({2, 1}));
}

TEST(Reduction, PlacesAreTheFirst) {
  // Equal maxima in different lanes, blocks and pieces.
  Tensor x = zeros({200000});
  for (const int64_t i : {199999, 70001, 66000, 5000, 4099}) {
    x.at<float>({i}) = 1;
    EXPECT_EQ(argmax(x).item<int64_t>(), i);
    EXPECT_EQ(argmin(neg(x)).item<int64_t>(), i);
    EXPECT_EQ(max(x, 0).values.item<double>(), 1);
  }
  EXPECT_EQ(argmin(x).item<int64_t>(), 0);
  const Tensor m = tensor({{1, 5, 5}, {7, 0, 7}});
  EXPECT_EQ(argmax(m, 1).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(argmax(m, 0).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(argmin(m, 0, true).shape(), Shape({1, 3}));
  EXPECT_EQ(argmax(m).item<int64_t>(), 3);
  EXPECT_EQ(argmax(m.t()).item<int64_t>(), 1);  // in row-major order of the view
  EXPECT_EQ(argmax(full({3}, -kInf)).item<int64_t>(), 0);
  EXPECT_EQ(argmax(full({70}, false)).item<int64_t>(), 0);
}

TEST(Reduction, PlacesOfEveryDTypeAndLayout) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers_around_one({7, 150, 40}, dtype);
    for (const Tensor& layout : {x, x.permute({2, 0, 1}), x.slice(1, 0, 150, 7)}) {
      for (int dim = 0; dim < 3; ++dim) {
        const std::vector<Line> lines = lines_over(layout, {dim});
        const ValuesIndices high = max(layout, dim), low = min(layout, dim);
        const std::vector<int64_t> highs = high.indices.to_vector<int64_t>();
        const std::vector<int64_t> lows = low.indices.to_vector<int64_t>();
        const std::vector<double> highest = high.values.to_vector<double>();
        for (size_t i = 0; i < lines.size(); ++i) {
          const Line& line = lines[i];
          const auto at = std::max_element(line.begin(), line.end());
          ASSERT_EQ(highs[i], at - line.begin()) << name(dtype) << " dim " << dim << " at " << i;
          ASSERT_EQ(highest[i], static_cast<double>(*at));
          ASSERT_EQ(lows[i], std::min_element(line.begin(), line.end()) - line.begin());
        }
      }
    }
  }
}

TEST(Reduction, NaNPropagates) {
  for (const int64_t n : {3, 40, 5000, 300000}) {
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      Tensor x = zeros({n});
      x.at<float>({n - 1}) = static_cast<float>(kInf);
      x.at<float>({at}) = static_cast<float>(kNaN);
      EXPECT_TRUE(std::isnan(amax(x).item<double>()));
      EXPECT_TRUE(std::isnan(amin(x).item<double>()));
      EXPECT_TRUE(std::isnan(norm(x, kInf).item<double>()));
      EXPECT_TRUE(std::isnan(sum(x).item<double>()));
      EXPECT_TRUE(std::isnan(var(x).item<double>()));
      EXPECT_TRUE(std::isnan(logsumexp(x).item<double>()));
      EXPECT_TRUE(std::isnan(max(x, 0).values.item<double>()));
      EXPECT_EQ(argmax(x).item<int64_t>(), at);
      EXPECT_EQ(argmin(x).item<int64_t>(), at);
      const Tensor columns = x.view({n, 1}).expand({n, 20}).contiguous();
      EXPECT_TRUE(std::isnan(amax(columns, 0).to_vector<double>()[19]));
      EXPECT_EQ(argmax(columns, 0).to_vector<int64_t>()[7], at);
      EXPECT_EQ(argmin(columns, 0).to_vector<int64_t>()[7], at);
      EXPECT_TRUE(any(x).item<bool>());
    }
  }
  EXPECT_EQ(count_nonzero(tensor({0.0, kNaN, 1.0})).item<int64_t>(), 2);
}

TEST(Reduction, LogSumExpOfExtremes) {
  EXPECT_EQ(logsumexp(tensor({-kInf, -kInf})).item<double>(), -kInf);
  EXPECT_EQ(logsumexp(tensor({kInf, -kInf})).item<double>(), kInf);
  EXPECT_EQ(logsumexp(tensor({kInf, kInf})).item<double>(), kInf);
  EXPECT_NEAR(logsumexp(tensor({1e4, 1e4, -kInf})).item<double>(), 1e4 + std::log(2), 1e-3);
  EXPECT_NEAR(logsumexp(tensor({-1e4, -1e4})).item<double>(), -1e4 + std::log(2), 1e-3);
  // The largest comes last: earlier sums are scaled down.
  Tensor rising = arange(0, 5000, {.dtype = f64});
  EXPECT_NEAR(logsumexp(rising).item<double>(), 4999 + std::log(1 / (1 - std::exp(-1.0))), 1e-11);
  EXPECT_NEAR(logsumexp(rising.view({5000, 1}).expand({5000, 20}), 0).to_vector<double>()[3],
              4999 + std::log(1 / (1 - std::exp(-1.0))), 1e-11);
}

TEST(Reduction, NormsOfLargeNumbersDoNotOverflow) {
  EXPECT_NEAR(norm(full({4}, 1e30)).item<double>(), 2e30, 1e24);
  EXPECT_NEAR(norm(full({4}, 1e-30)).item<double>(), 2e-30, 1e-36);
  EXPECT_EQ(norm(full({4}, 60000.0, {.dtype = f16}), kInf).item<double>(), 60000);
}

TEST(Reduction, BitsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  const Tensor x = sub(numbers_around_one({300, 777}, f32), 0.3);
  const Tensor inputs[] = {x, x.t(), x.slice(1, 0, 777, 2), x.to(bf16)};
  for (const Tensor& input : inputs) {
    for (const Definition& definition : kDefinitions) {
      for (const ReduceDims& dims : {ReduceDims(), ReduceDims(0), ReduceDims(1)}) {
        set_num_threads(1);
        const Tensor one = definition.op(input, dims, false).contiguous();
        for (const int count : {2, 3}) {
          set_num_threads(count);
          const Tensor many = definition.op(input, dims, false).contiguous();
          EXPECT_EQ(std::memcmp(one.data(), many.data(), static_cast<size_t>(one.nbytes())), 0)
              << definition.name;
        }
      }
    }
  }
  set_num_threads(threads);
}

TEST(Reduction, ResultsKeepTheOrderInMemory) {
  const Tensor x = numbers_around_one({2, 3, 4, 5}, f32).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(sum(x, {2, 3}, true).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(amax(x, 0, true).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(sum(x, 1).shape(), Shape({2, 4, 5}));
}

TEST(Reduction, OnALogicalDevice) {
  const Tensor x = ones({3, 4}, {.device = "cpu:1"});
  EXPECT_EQ(sum(x, 1).device(), Device("cpu:1"));
  EXPECT_EQ(sum(x).item<double>(), 12);
}

TEST(Reduction, Errors) {
  const Tensor x = ones({2, 3}), counts = ones({2}, {.dtype = i64});
  EXPECT_EQ(error_of([&] { sum(x, 2); }), "sum: dimension out of range, got dim 2 of a 2-d tensor");
  EXPECT_EQ(error_of([&] {
              sum(x, {0, -2});
            }),
            "sum: a dimension can be given only once, got [0,-2]");
  EXPECT_EQ(error_of([&] { mean(counts); }), "mean: dtype must be floating, got i64");
  EXPECT_EQ(error_of([&] { var(counts); }), "var: dtype must be floating, got i64");
  EXPECT_EQ(error_of([&] { norm(counts); }), "norm: dtype must be floating, got i64");
  EXPECT_EQ(error_of([&] { norm(x, kNaN); }), "norm: p must be a number, got nan");
  EXPECT_EQ(error_of([&] {
              max(empty({2, 0}), 1);
            }),
            "max: a reduced dimension must have elements, got [2,0] reduced over [1]");
  EXPECT_EQ(error_of([&] { argmax(empty({0})); }),
            "argmax: a reduced dimension must have elements, got [0] reduced over [0]");
  EXPECT_EQ(error_of([&] {
              amin(empty({0, 2}));
            }),
            "amin: a reduced dimension must have elements, got [0,2] reduced over [0,1]");
  EXPECT_EQ(error_of([&] { norm(empty({0}), kInf); }),
            "norm: a reduced dimension must have elements, got [0] reduced over [0]");
  EXPECT_EQ(error_of([&] { sum(Tensor()); }),
            "sum: input must be defined, got an undefined tensor");
}

// The reductions stand behind these checks.
TEST(Reduction, FindsIntegersDividedByZero) {
  const Tensor a = tensor({5, 6, 7}), zero = tensor({1, 0, 2});
  EXPECT_EQ(error_of([&] { floor_divide(a, zero); }),
            "floor_divide: an integer can't be divided by zero, got a 0 among the divisors");
  EXPECT_EQ(error_of([&] { remainder(a, zero); }),
            "remainder: an integer can't be divided by zero, got a 0 among the divisors");
  EXPECT_EQ(error_of([&] { fmod(3, zero); }),
            "fmod: an integer can't be divided by zero, got a 0 among the divisors");
  EXPECT_EQ(error_of([&] { remainder_(a, zero); }),
            "remainder_: an integer can't be divided by zero, got a 0 among the divisors");
  EXPECT_EQ(a.to_vector<int64_t>(), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(floor_divide(a, zero.to(f32)).to_vector<double>()[1], kInf);
  EXPECT_EQ(floor_divide(empty({0}, {.dtype = i64}), empty({0}, {.dtype = i64})).numel(), 0);
}

}  // namespace

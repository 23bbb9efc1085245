#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

// Numbers beside integer tensors, one that the dtype doesn't hold among them: what comes out is
// what the same call gives on the same elements in f64, or an error. Every public function that
// takes a number has a line here.
namespace aorta {
namespace {

// x is (4), positive; the number goes where the function takes one.
using Call = Tensor (*)(const Tensor& x, const Scalar& number);

struct Function {
  Call call;
  Call in_place = nullptr;
  /// PyTorch's rule for what is stored, and arithmetic: elements that aren't signed take a negative
  /// integer for what it is modulo 2^8.
  bool modular = false;
  /// What the elements are widened to for comparison.
  DType wide = f64;
};

Tensor mask() { return tensor({true, false, true, false}); }
Tensor places() { return tensor({0, 2}); }
Tensor matrix(const Tensor& x) { return x.view({2, 2}); }
Tensor up_to_one(const Tensor& x) { return x.dtype() == boolean ? x : clamp_max(x, 1); }

template <Tensor (*op)(const Operand&, const Operand&)>
Tensor right(const Tensor& x, const Scalar& n) {
  return op(x, n);
}
template <Tensor (*op)(const Operand&, const Operand&)>
Tensor left(const Tensor& x, const Scalar& n) {
  return op(n, x);
}
template <Tensor (*op)(const Tensor&, const Operand&)>
Tensor written(const Tensor& x, const Scalar& n) {
  return op(x, n);
}

using Functions = std::multimap<std::string, Function>;

// A binary op with the number on either side.
template <Tensor (*op)(const Operand&, const Operand&),
          Tensor (*op_)(const Tensor&, const Operand&)>
void add_binary(Functions& all, const char* name, bool modular = false, DType wide = f64) {
  all.insert({name, {right<op>, written<op_>, modular, wide}});
  all.insert({name, {left<op>, nullptr, modular, wide}});
}

void add_binaries(Functions& all) {
  add_binary<mul, mul_>(all, "mul", true);
  add_binary<div, div_>(all, "div");
  add_binary<floor_divide, floor_divide_>(all, "floor_divide");
  add_binary<fmod, fmod_>(all, "fmod");
  add_binary<remainder, remainder_>(all, "remainder");
  add_binary<minimum, minimum_>(all, "minimum");
  add_binary<maximum, maximum_>(all, "maximum");
  add_binary<atan2, atan2_>(all, "atan2");
  add_binary<hypot, hypot_>(all, "hypot");
  add_binary<xlogy, xlogy_>(all, "xlogy");
  add_binary<copysign, copysign_>(all, "copysign");
  add_binary<heaviside, heaviside_>(all, "heaviside");
  add_binary<ldexp, ldexp_>(all, "ldexp");
  all.insert({"searchsorted", {[](auto& x, auto& n) { return searchsorted(sort(x).values, n); }}});
  all.insert({"bucketize", {[](auto& x, auto& n) { return bucketize(n, sort(x).values); }}});
  all.insert({"logaddexp", {right<logaddexp>}});
  all.insert({"logaddexp", {left<logaddexp>}});
  all.insert({"logaddexp2", {right<logaddexp2>}});
  all.insert({"logaddexp2", {left<logaddexp2>}});
  add_binary<prelu, prelu_>(all, "prelu");
  add_binary<eq, eq_>(all, "eq");
  add_binary<ne, ne_>(all, "ne");
  add_binary<lt, lt_>(all, "lt");
  add_binary<le, le_>(all, "le");
  add_binary<gt, gt_>(all, "gt");
  add_binary<ge, ge_>(all, "ge");
  add_binary<logical_and, logical_and_>(all, "logical_and");
  add_binary<logical_or, logical_or_>(all, "logical_or");
  add_binary<logical_xor, logical_xor_>(all, "logical_xor");
  add_binary<bitwise_and, bitwise_and_>(all, "bitwise_and", true, i64);
  add_binary<bitwise_or, bitwise_or_>(all, "bitwise_or", true, i64);
  add_binary<bitwise_xor, bitwise_xor_>(all, "bitwise_xor", true, i64);
  add_binary<bitwise_left_shift, bitwise_left_shift_>(all, "bitwise_left_shift", true, i64);
  add_binary<bitwise_right_shift, bitwise_right_shift_>(all, "bitwise_right_shift", false, i64);
}

// Those of a double: parameters of random numbers, activations, losses, norms.
void add_doubles(Functions& all) {
  using N = const Scalar&;
  using X = const Tensor&;
  const auto add = [&](const char* name, Call call, Call in_place = nullptr) {
    all.insert({name, {call, in_place}});
  };
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, 0, n.to_double()); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, n.to_double(), 0); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, n.to_double(), n.to_double()); });
  add("uniform", nullptr, [](X x, N n) { return uniform_(x, -n.to_double(), n.to_double()); });
  add("normal", nullptr, [](X x, N n) { return normal_(x, n.to_double(), 1); });
  add("normal", nullptr, [](X x, N n) { return normal_(x, 0, n.to_double()); });
  add("bernoulli", nullptr, [](X x, N n) { return bernoulli_(x, n.to_double()); });
  add("exponential", nullptr, [](X x, N n) { return exponential_(x, n.to_double()); });
  add("cauchy", nullptr, [](X x, N n) { return cauchy_(x, n.to_double(), 1); });
  add("cauchy", nullptr, [](X x, N n) { return cauchy_(x, 0, n.to_double()); });
  add("log_normal", nullptr, [](X x, N n) { return log_normal_(x, n.to_double(), 1); });
  add("log_normal", nullptr, [](X x, N n) { return log_normal_(x, 0, n.to_double()); });
  add("geometric", nullptr, [](X x, N n) { return geometric_(x, n.to_double()); });
  add("normalize", [](X x, N n) { return normalize(x, n.to_double(), 0); });
  add("normalize", [](X x, N n) { return normalize(x, 2, 0, n.to_double()); });
  add("pdist", [](X x, N n) { return pdist(matrix(x), n.to_double()); });
  add(
      "renorm", [](X x, N n) { return renorm(matrix(x), n.to_double(), 0, 1); },
      [](X x, N n) { return renorm_(matrix(x), n.to_double(), 0, 1); });
  add(
      "renorm", [](X x, N n) { return renorm(matrix(x), 2, 0, n.to_double()); },
      [](X x, N n) { return renorm_(matrix(x), 2, 0, n.to_double()); });
  add(
      "dropout", [](X x, N n) { return dropout(x, n.to_double()); },
      [](X x, N n) -> Tensor { return dropout_(x, n.to_double()); });
  add("dropout1d", [](X x, N n) { return dropout1d(matrix(x), n.to_double()); });
  add("dropout2d", [](X x, N n) { return dropout2d(x.view({2, 2, 1}), n.to_double()); });
  add("dropout3d", [](X x, N n) { return dropout3d(x.view({2, 2, 1, 1}), n.to_double()); });
  add(
      "hardshrink", [](X x, N n) { return hardshrink(x, n.to_double()); },
      [](X x, N n) { return hardshrink_(x, n.to_double()); });
  add(
      "softshrink", [](X x, N n) { return softshrink(x, n.to_double()); },
      [](X x, N n) { return softshrink_(x, n.to_double()); });
  add(
      "softplus", [](X x, N n) { return softplus(x, n.to_double()); },
      [](X x, N n) { return softplus_(x, n.to_double()); });
  add(
      "softplus", [](X x, N n) { return softplus(x, 1, n.to_double()); },
      [](X x, N n) { return softplus_(x, 1, n.to_double()); });
  add(
      "logit", [](X x, N n) { return logit(x, n.to_double()); },
      [](X x, N n) { return logit_(x, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, 0, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, 0, n.to_double()); });
  add(
      "nan_to_num", [](X x, N n) { return nan_to_num(x, 0, {}, n.to_double()); },
      [](X x, N n) { return nan_to_num_(x, 0, {}, n.to_double()); });
  add("isclose", [](X x, N n) { return isclose(x, x, n.to_double(), 0); });
  add("isclose", [](X x, N n) { return isclose(x, x, 0, n.to_double()); });
  add("smooth_l1_loss",
      [](X x, N n) { return smooth_l1_loss(x, x + 1, Reduction::mean, n.to_double()); });
  add("huber_loss", [](X x, N n) { return huber_loss(x, x + 1, Reduction::mean, n.to_double()); });
  add("cosine_similarity", [](X x, N n) { return cosine_similarity(x, x, 0, n.to_double()); });
  add("cosine_embedding_loss", [](X x, N n) {
    const Tensor row = x.unsqueeze(0);
    return cosine_embedding_loss(row, row, ones({1}, {.dtype = x.dtype()}), n.to_double());
  });
  add("norm", [](X x, N n) { return norm(x, n.to_double()); });
  add("vector_norm", [](X x, N n) { return linalg::vector_norm(x, n.to_double()); });
  add("std", [](X x, N n) { return aorta::std(x, {}, n.to_double()); });
  add("stddev", [](X x, N n) { return stddev(x, {}, n.to_double()); });
  add("var", [](X x, N n) { return var(x, {}, n.to_double()); });
  add("layer_norm", [](X x, N n) { return layer_norm(x, {4}, {}, {}, n.to_double()); });
  add("rms_norm", [](X x, N n) { return rms_norm(x, {4}, {}, n.to_double()); });
  add("group_norm", [](X x, N n) { return group_norm(x.unsqueeze(0), 2, {}, {}, n.to_double()); });
}

// Other numbers each time.
bool is_random(const std::string& name) {
  static const std::set<std::string> drawn = {"uniform", "normal",     "bernoulli", "exponential",
                                              "cauchy",  "log_normal", "geometric"};
  return drawn.contains(name) || name.starts_with("dropout");
}

const Functions& functions() {
  static const Functions all = [] {
    Functions made = {
        {"pow",
         {[](auto& x, auto& n) { return pow(up_to_one(x), n); },
          [](auto& x, auto& n) { return pow_(up_to_one(x), n); }}},
        {"pow", {[](auto& x, auto& n) { return pow(n, up_to_one(x)); }, nullptr, true}},
        {"add",
         {[](auto& x, auto& n) { return add(x, n); }, [](auto& x, auto& n) { return add_(x, n); },
          true}},
        {"add", {[](auto& x, auto& n) { return add(n, x); }, nullptr, true}},
        {"add",
         {[](auto& x, auto& n) { return add(x, x, n); },
          [](auto& x, auto& n) { return add_(x, x.clone(), n); }, true}},
        {"sub",
         {[](auto& x, auto& n) { return sub(x, n); }, [](auto& x, auto& n) { return sub_(x, n); },
          true}},
        {"sub", {[](auto& x, auto& n) { return sub(n, x); }, nullptr, true}},
        {"sub",
         {[](auto& x, auto& n) { return sub(x, x, n); },
          [](auto& x, auto& n) { return sub_(x, x.clone(), n); }, true}},
        {"quantile", {[](auto& x, auto& n) { return quantile(x, n); }}},
        {"nanquantile", {[](auto& x, auto& n) { return nanquantile(x, n); }}},
        {"histc", {[](auto& x, auto& n) { return histc(x, 4, 0, n); }}},
        {"lerp",
         {[](auto& x, auto& n) { return lerp(x, x + 1, n); },
          [](auto& x, auto& n) { return lerp_(x, x + 1, n); }}},
        {"addcmul",
         {[](auto& x, auto& n) { return addcmul(x, x, x, n); },
          [](auto& x, auto& n) { return addcmul_(x, x.clone(), x.clone(), n); }, true}},
        {"addcdiv",
         {[](auto& x, auto& n) { return addcdiv(x, x, x + 1, n); },
          [](auto& x, auto& n) { return addcdiv_(x, x.clone(), x + 1, n); }}},
        {"leaky_relu",
         {[](auto& x, auto& n) { return leaky_relu(x, n); },
          [](auto& x, auto& n) { return leaky_relu_(x, n); }}},
        {"elu",
         {[](auto& x, auto& n) { return elu(x, n); }, [](auto& x, auto& n) { return elu_(x, n); }}},
        {"celu",
         {[](auto& x, auto& n) { return celu(x, n); },
          [](auto& x, auto& n) { return celu_(x, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, n, n); },
          [](auto& x, auto& n) { return hardtanh_(x, n, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, 2, n); },
          [](auto& x, auto& n) { return hardtanh_(x, 2, n); }}},
        {"hardtanh",
         {[](auto& x, auto& n) { return hardtanh(x, n, 2); },
          [](auto& x, auto& n) { return hardtanh_(x, n, 2); }}},
        {"threshold",
         {[](auto& x, auto& n) { return threshold(x, n, 2); },
          [](auto& x, auto& n) { return threshold_(x, n, 2); }}},
        {"threshold",
         {[](auto& x, auto& n) { return threshold(x, 2, n); },
          [](auto& x, auto& n) { return threshold_(x, 2, n); }, true}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, n, n); },
          [](auto& x, auto& n) { return clamp_(x, n, n); }}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, 2, n); },
          [](auto& x, auto& n) { return clamp_(x, 2, n); }}},
        {"clamp",
         {[](auto& x, auto& n) { return clamp(x, n, 2); },
          [](auto& x, auto& n) { return clamp_(x, n, 2); }}},
        {"clamp_min",
         {[](auto& x, auto& n) { return clamp_min(x, n); },
          [](auto& x, auto& n) { return clamp_min_(x, n); }}},
        {"clamp_max",
         {[](auto& x, auto& n) { return clamp_max(x, n); },
          [](auto& x, auto& n) { return clamp_max_(x, n); }}},
        {"where", {[](auto& x, auto& n) { return where(mask(), x, n); }, nullptr, true}},
        {"where", {[](auto& x, auto& n) { return where(mask(), n, x); }, nullptr, true}},
        {"masked_fill",
         {[](auto& x, auto& n) { return masked_fill(x, mask(), n); },
          [](auto& x, auto& n) { return masked_fill_(x, mask(), n); }, true}},
        {"pad",
         {[](auto& x, auto& n) {
            return pad(x, {1, 1}, PadMode::constant, n);
          },
          nullptr, true}},
        {"scatter",
         {[](auto& x, auto& n) { return scatter(x, 0, places(), n); },
          [](auto& x, auto& n) -> Tensor { return scatter_(x, 0, places(), n); }, true}},
        {"index_fill",
         {[](auto& x, auto& n) { return index_fill(x, 0, places(), n); },
          [](auto& x, auto& n) -> Tensor { return index_fill_(x, 0, places(), n); }, true}},
        {"index_add",
         {[](auto& x, auto& n) { return index_add(x, 0, places(), x.slice(0, 0, 2), n); },
          [](auto& x, auto& n) -> Tensor {
            return index_add_(x, 0, places(), x.slice(0, 0, 2).clone(), n);
          },
          true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {places()}, n); }, true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {mask()}, n); }, true}},
        {"index_put",
         {nullptr, [](auto& x, auto& n) -> Tensor { return index_put_(x, {1}, n); }, true}},
        {"fill_diagonal",
         {nullptr, [](auto& x, auto& n) { return fill_diagonal_(matrix(x), n); }, true}},
        {"fill", {nullptr, [](auto& x, auto& n) -> Tensor { return x.fill_(n); }, true}},
        {"full",
         {[](auto& x, auto& n) { return full({2}, n, {.dtype = x.dtype()}); }, nullptr, true}},
        {"full_like", {[](auto& x, auto& n) { return full_like(x, n); }, nullptr, true}},
        {"tensor",
         {[](auto& x, auto& n) { return tensor({{TensorData(n)}}, {.dtype = x.dtype()}); }, nullptr,
          true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(n, n.to_double() + 3, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(0, n, n.to_double() / 2, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"arange",
         {[](auto& x, auto& n) { return arange(n.to_double() * 0 + 2, {.dtype = x.dtype()}); },
          nullptr, true}},
        {"fftfreq",
         {[](auto& x, auto& n) { return fft::fftfreq(4, n.to_double(), {.dtype = x.dtype()}); }}},
        {"rfftfreq",
         {[](auto& x, auto& n) { return fft::rfftfreq(4, n.to_double(), {.dtype = x.dtype()}); }}},
        {"hamming_window", {[](auto& x, auto& n) {
           return hamming_window(4, true, n.to_double(), 0.46, {.dtype = x.dtype()});
         }}},
        {"kaiser_window", {[](auto& x, auto& n) {
           return kaiser_window(4, true, n.to_double(), {.dtype = x.dtype()});
         }}},
        {"linspace",
         {[](auto& x, auto& n) { return linspace(n, n, 2, {.dtype = x.dtype()}); }, nullptr, true}},
        {"addmm",
         {[](auto& x, auto& n) { return addmm(matrix(x), matrix(x), matrix(x), {.beta = n}); },
          nullptr, true}},
        {"addmm",
         {[](auto& x, auto& n) { return addmm(matrix(x), matrix(x), matrix(x), {.alpha = n}); },
          nullptr, true}},
        {"baddbmm",
         {[](auto& x, auto& n) {
            return baddbmm(matrix(x), matrix(x).unsqueeze(0), matrix(x).unsqueeze(0), {.beta = n});
          },
          nullptr, true}},
    };
    add_binaries(made);
    add_doubles(made);
    return made;
  }();
  return all;
}

const std::vector<Scalar>& numbers() {
  static const std::vector<Scalar> all = {-1,
                                          256,
                                          300,
                                          -256,
                                          -300,
                                          int64_t{1} << 31,
                                          -(int64_t{1} << 31) - 1,
                                          int64_t{1} << 40,
                                          -1.0,
                                          0.5,
                                          2.5,
                                          255.5,
                                          300.0,
                                          1e10,
                                          0x1p63,
                                          -0x1p64,
                                          0x1p120,
                                          NAN,
                                          INFINITY,
                                          -INFINITY};
  return all;
}

// Whether `got` is `wanted`, which the wide dtype gave: cut where it is an integer, and for a
// modular op among unsigned elements modulo 2^8.
bool agrees(const Tensor& got, const Tensor& wanted, bool modular) {
  const Tensor a = got.to(f64), b = wanted.to(f64);
  if (a.shape() != b.shape()) return false;
  if (got.dtype() == f32) return allclose(a, b.to(f32).to(f64), 1e-6, 1e-37, true);
  if (got.dtype() == boolean) return equal(got, wanted.to(boolean));
  return equal(a, modular && got.dtype() == u8 ? remainder(trunc(b), 256) : trunc(b));
}

TEST(Numbers, AreRightOrRefused) {
  int refused = 0, right_ones = 0;
  for (const auto& [name, function] : functions()) {
    for (const DType dtype : {u8, i32, i64, boolean}) {
      for (const Scalar& number : numbers()) {
        for (const Call call : {function.call, function.in_place}) {
          if (!call) continue;
          SCOPED_TRACE(name + (call == function.call ? "" : "_") + " of " + to_string(dtype) +
                       " with " + to_string(number));
          const Tensor x = tensor({1, 2, 3, 10}).to(dtype);
          Tensor result;
          try {
            result = call(x.clone(), number);
          } catch (const Error&) {
            ++refused;
            continue;
          }
          // bool + alpha * bool is a question of truth.
          if ((name == "add" || name == "index_add") && result.dtype() == boolean) continue;
          if (is_random(name)) continue;
          const Tensor wanted = call(x.to(function.wide), number);
          EXPECT_TRUE(agrees(result, wanted, function.modular)) << to_string(result) << "\nis not\n"
                                                                << to_string(wanted);
          ++right_ones;
        }
      }
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(right_ones, 2000);
}

// What PyTorch's operands become beyond a floating dtype's range, infinite, its parameters may not.
TEST(Numbers, ThatAreParametersFitFloatingDtypes) {
  const std::set<std::string> parameters = {"clamp",       "clamp_min", "clamp_max", "where",
                                            "masked_fill", "index_add", "addmm",     "lerp"};
  Functions given = functions();
  given.insert({"lerp",
                {[](auto& x, auto& n) { return lerp(x, x, n); },
                 [](auto& x, auto& n) { return lerp_(x, x.clone(), n); }}});
  int tried = 0;
  for (const auto& [dtype, beyond] : std::vector<std::pair<DType, double>>{
           {f16, 1e6}, {f16, -1e30}, {bf16, 1e39}, {f32, 1e39}, {f32, -1e300}}) {
    for (const auto& [name, function] : given) {
      if (!parameters.contains(name)) continue;
      for (const Call call : {function.call, function.in_place}) {
        if (!call) continue;
        SCOPED_TRACE(name + " of " + to_string(dtype));
        const Tensor x = tensor({1, 2, 3, 10}).to(dtype);
        EXPECT_THAT(error_of([&] { call(x.clone(), beyond); }),
                    testing::HasSubstr("must fit the dtype"));
        EXPECT_EQ(error_of([&] { call(x.clone(), INFINITY); }), kNoError);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 5 * 14);
}

// PyTorch's rule of each function for each number (fixtures/core/make_numbers.py), and where ours
// is another on purpose.
struct Fixture {
  std::vector<Scalar> numbers;
  std::vector<std::array<std::string, 3>> lines;  // function and call, dtype, a bit a number
};
Fixture read_fixture() {
  Fixture fixture;
  std::ifstream stream("tests/fixtures/core/numbers.txt");
  std::string line;
  std::getline(stream, line);
  std::istringstream numbers(line);
  for (std::string one; numbers >> one;) {
    const bool whole = one.find_first_not_of("-0123456789") == std::string::npos;
    fixture.numbers.push_back(whole ? Scalar(std::stoll(one))
                                    : Scalar(std::strtod(one.c_str(), nullptr)));
  }
  for (std::array<std::string, 3> words; stream >> words[0] >> words[1] >> words[2];)
    fixture.lines.push_back(words);
  return fixture;
}

DType dtype_of(const std::string& text) {
  int d = 0;
  while (to_string(static_cast<DType>(d)) != text) ++d;
  return static_cast<DType>(d);
}

// What PyTorch refuses and these take: the number isn't stored, and the result is right.
const std::set<std::string> kTaken = {
    "softshrink.0",             // within an infinite lambda all is 0
    "pow.0",        "pow_.0",   // an exponent is an operand, infinite beyond a half type's range
    "histc.0",                  // bounds are f64
    "lerp.0",       "lerp_.0",  // of integers
    "quantile.0",   "nanquantile.0",  // of half types
    "sub.0",        "sub.1",          // of truth values and a number, which is a number
    "pdist.0",      "normalize.1"};
// What PyTorch takes and these refuse for another reason than the number.
const std::set<std::string> kRefused = {
    "arange.0",  // 65505 isn't half
    "dropout.0", "dropout_.0", "cosine_embedding_loss.0", "norm.0", "vector_norm.0", "normalize.0",
    // bounds that cross, as without the underscore
    "hardtanh_.1", "hardtanh_.2",
    // integers
    "dropout1d.0", "dropout2d.0", "dropout3d.0",
    // truth values
    "clamp.0", "clamp.1", "clamp.2", "clamp_min.0", "clamp_max.0", "searchsorted.0", "bucketize.0"};

// Where PyTorch stores an infinity, wraps a number or cuts its fraction, ours refuses it.
bool is_wrapped(const Scalar& number, DType dtype) {
  const bool negative = dtype == u8 && number.to_double() < 0;
  return !fits(number, dtype) || negative || (!is_floating(dtype) && number.is_floating());
}

TEST(Numbers, AreTakenAsInPyTorch) {
  const Fixture fixture = read_fixture();
  ASSERT_GT(fixture.lines.size(), 600u);
  for (const auto& [key, dtype_name, wanted] : fixture.lines) {
    const size_t point = key.find('.');
    const std::string function = key.substr(0, point);
    const bool in_place = function.back() == '_';
    const std::string name = in_place ? function.substr(0, point - 1) : function;
    const auto [first, last] = functions().equal_range(name);
    ASSERT_TRUE(first != last) << key;
    const auto entry = std::next(first, std::stoi(key.substr(point + 1)));
    const Call call = in_place ? entry->second.in_place : entry->second.call;
    ASSERT_TRUE(call) << key;
    const DType dtype = dtype_of(dtype_name);
    const Tensor x = tensor({1, 2, 3, 10}).to(dtype);
    for (size_t i = 0; i < fixture.numbers.size(); ++i) {
      const Scalar& number = fixture.numbers[i];
      const std::string error = error_of([&] { call(x.clone(), number); });
      const bool takes = error == kNoError, as_pytorch = takes == (wanted.at(i) == '1');
      const bool on_purpose =
          takes ? kTaken.contains(key) : kRefused.contains(key) || is_wrapped(number, dtype);
      EXPECT_TRUE(as_pytorch || on_purpose)
          << key << " of " << dtype_name << " with " << to_string(number) << ": " << error;
    }
  }
}

// Functions whose numbers PyTorch takes as tensors alone, doesn't have, or reads apart from the
// elements.
const std::set<std::string> kWithoutPeer = {
    "atan2",       "atan2_",       "hypot",      "hypot_",      "minimum",        "minimum_",
    "maximum",     "maximum_",     "logaddexp",  "logaddexp2",  "prelu",          "prelu_",
    "logical_and", "logical_and_", "logical_or", "logical_or_", "logical_xor",    "logical_xor_",
    "heaviside",   "heaviside_",   "ldexp",      "ldexp_",      "stddev",         "softplus_",
    "hardshrink_", "softshrink_",  "fftfreq",    "rfftfreq",    "hamming_window", "kaiser_window"};

TEST(Numbers, EveryFunctionIsComparedWithPyTorch) {
  std::set<std::string> compared;
  for (const auto& line : read_fixture().lines)
    compared.insert(line[0].substr(0, line[0].find('.')));
  const auto check = [&](const std::string& name) {
    EXPECT_NE(compared.contains(name), kWithoutPeer.contains(name)) << name;
  };
  for (const auto& [name, function] : functions()) {
    if (function.call) check(name);
    if (function.in_place) check(name + "_");
  }
}

// The functions that take a number, by the headers.
std::set<std::string> declared() {
  std::set<std::string> names;
  std::vector<std::filesystem::path> headers{"core/tensor.h"};
  for (const auto& file : std::filesystem::directory_iterator("core/ops")) {
    if (file.path().extension() == ".h") headers.push_back(file.path());
  }
  for (const auto& header : headers) {
    std::ifstream stream(header);
    std::stringstream code;
    for (std::string line; std::getline(stream, line);)
      code << line.substr(0, line.find("//")) << "\n";
    // What follows is for ops, not for users.
    const std::string all = code.str(), text = all.substr(0, all.find("namespace aorta::kernel"));
    static const std::regex declaration(
        R"(\n\s*(?:const )?(?:Tensor|std::vector<Tensor>)&? (\w+)\(([^;]*);)");
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      static const std::regex number(R"(\b(Scalar|Operand|AddmmOptions|TensorData|double)\b)");
      if (std::regex_search((*at)[2].str(), number)) names.insert((*at)[1]);
    }
  }
  return names;
}

TEST(Numbers, EveryFunctionThatTakesOneIsTested) {
  std::set<std::string> tested;
  for (const auto& [name, function] : functions()) {
    if (function.call) tested.insert(name);
    if (function.in_place) tested.insert(name + "_");
  }
  const std::set<std::string> names = declared();
  EXPECT_GT(names.size(), 90u);
  for (const std::string& name : names)
    EXPECT_TRUE(tested.contains(name)) << name << " takes a number and needs a line above";
}

}  // namespace
}  // namespace aorta

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
#include <aorta/tests/number_functions.h>

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

// Other numbers each time.
bool is_random(const std::string& name) {
  static const std::set<std::string> drawn = {"uniform", "normal",     "bernoulli", "exponential",
                                              "cauchy",  "log_normal", "geometric"};
  return drawn.contains(name) || name.starts_with("dropout");
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
  if (got.dtype() == f64) return allclose(a, b, 1e-15, 0, true);
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
    "softshrink.0",               // within an infinite lambda all is 0
    "pow.0",          "pow_.0",   // an exponent is an operand, infinite beyond a half type's range
    "histc.0",                    // bounds are f64
    "lerp.0",         "lerp_.0",  // of integers
    "float_power_.0",             // rounded to the dtype
    "cdist.0",                    // of half types
    "isin.0",                     // of truth values
    "quantile.0",     "nanquantile.0",  // of half types
    "sub.0",          "sub.1",          // of truth values and a number, which is a number
    "pdist.0",        "normalize.1"};
// What PyTorch takes and these refuse for another reason than the number.
const std::set<std::string> kRefused = {"arange.0",  // 65505 isn't half
                                        "dropout.0", "dropout_.0", "cosine_embedding_loss.0",
                                        "norm.0", "vector_norm.0", "normalize.0",
                                        // bounds that cross, as without the underscore
                                        "hardtanh_.1", "hardtanh_.2",
                                        // integers
                                        "dropout1d.0", "dropout2d.0", "dropout3d.0",
                                        // truth values
                                        "clamp.0", "clamp.1", "clamp.2", "clamp_min.0",
                                        "clamp_max.0", "searchsorted.0", "bucketize.0", "addr.0",
                                        // a power beyond the dtype
                                        "logspace.0"};

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
    "atan2",       "atan2_",       "hypot",      "hypot_",         "minimum",      "minimum_",
    "maximum",     "maximum_",     "logaddexp",  "logaddexp2",     "prelu",        "prelu_",
    "logical_and", "logical_and_", "logical_or", "logical_or_",    "logical_xor",  "logical_xor_",
    "heaviside",   "heaviside_",   "ldexp",      "ldexp_",         "stddev",       "softplus_",
    "gcd",         "gcd_",         "lcm",        "lcm_",           "nextafter",    "nextafter_",
    "igamma",      "igamma_",      "igammac",    "igammac_",       "normal",       "hardshrink_",
    "softshrink_", "fftfreq",      "rfftfreq",   "hamming_window", "kaiser_window"};

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

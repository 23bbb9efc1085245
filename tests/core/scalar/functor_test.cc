#include <aorta/core/io/npz.h>
#include <aorta/core/scalar/op_list.h>
#include <aorta/tests/core/scalar/evaluate.h>
#include <aorta/tests/core/scalar/ulp.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

// Every functor in every compute type: against PyTorch at zeros, infinities, NaN, limits and
// denormals (special_values.npz), and in double against mpmath (double_functions.npz).
namespace aorta::scalar_test {
namespace {

using namespace aorta::scalar;

const npz::Reader& special_values() {
  static const npz::Reader reader("tests/fixtures/core/special_values.npz");
  return reader;
}

template <class T>
constexpr const char* kTypeName = nullptr;
template <>
constexpr const char* kTypeName<float> = "float32";
template <>
constexpr const char* kTypeName<double> = "float64";
template <>
constexpr const char* kTypeName<int64_t> = "int64";
template <>
constexpr const char* kTypeName<int32_t> = "int32";
template <>
constexpr const char* kTypeName<uint8_t> = "uint8";
template <>
constexpr const char* kTypeName<bool> = "bool";

template <class T>
std::vector<T> array(const std::string& name) {
  return special_values().tensor(name).to_vector<T>();
}

/// The functor with the parameters of the fixture.
template <class Op>
Op make_op() {
  if constexpr (std::is_same_v<Op, Clamp>)
    return {-1, 1};
  else if constexpr (std::is_same_v<Op, ClampMin> || std::is_same_v<Op, ClampMax>)
    return {2};
  else
    return {};
}

/// The operands of the fixture: values, pairs of values (the second varies faster) or triples of
/// few values.
template <class T>
std::vector<std::vector<T>> operands(int count) {
  const std::vector<T> values =
      array<T>(std::string(count == 3 ? "few/" : "values/") + kTypeName<T>);
  std::vector<std::vector<T>> result(count);
  size_t total = 1;
  for (int i = 0; i < count; ++i) total *= values.size();
  for (size_t i = 0; i < total; ++i) {
    size_t rest = i;
    for (int j = count; j-- > 0; rest /= values.size())
      result[j].push_back(values[rest % values.size()]);
  }
  return result;
}

/// Where a functor is meant to differ from PyTorch: the limit instead of NaN from infinity times
/// zero.
bool is_known_difference(const std::string& op, double x, double got) {
  return op == "gelu" && x == -HUGE_VAL && got == 0;
}

template <class R>
bool is_close(const std::string& op, R got, R want, double x) {
  if constexpr (std::is_floating_point_v<R>) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
    if (std::isinf(got) || std::isinf(want)) return got == want;
    if (want == 0 && got == 0) return std::signbit(got) == std::signbit(want);
    // PyTorch's own errors: 1 ULP of most functions, cancellation in a few where |x| is the scale,
    // denormal results that are 0.
    const std::set<std::string> cancels = {"gelu",      "gelu_tanh", "tanhshrink", "silu",
                                           "mish",      "erfc",      "lerp",       "digamma",
                                           "logaddexp", "logaddexp2"};
    const double unit = std::numeric_limits<R>::epsilon();
    // Doubles of a power of e whose exponent is rounded.
    const bool is_power = op.starts_with("igamma") && std::is_same_v<R, double>;
    const double scale =
        std::abs(static_cast<double>(want)) + (cancels.contains(op) ? std::abs(x) + 1e-35 : 0);
    return std::abs(static_cast<double>(got) - static_cast<double>(want)) <=
           (is_power ? 2048 : 8) * unit * scale +
               static_cast<double>(std::numeric_limits<R>::min());
  } else {
    return got == want;
  }
}

/// Ops whose dtype policy has bool although PyTorch refuses it.
bool is_refused_for_bool(const std::string& name) {
  return name == "bitwise_left_shift" || name == "bitwise_right_shift" || name == "add_scaled" ||
         name == "gcd" || name == "lcm";
}

void check_refused(const std::string& key) {
  EXPECT_FALSE(special_values().contains(key)) << key << ": PyTorch takes what the functor doesn't";
}

/// Compares `got` with the fixture's results of an op whose first operands are x. Outside of the
/// template below, which is compiled for every op.
template <class T, class R>
void compare(const std::string& name, const std::vector<std::vector<T>>& x,
             const std::vector<R>& got) {
  const std::string key = name + "/" + kTypeName<T>;
  ASSERT_TRUE(special_values().contains(key)) << key << ": PyTorch refuses what the functor takes";
  const std::vector<R> want = array<R>(key);
  ASSERT_EQ(want.size(), got.size()) << key;
  std::vector<bool> skipped(want.size());
  if (special_values().contains(key + "/skipped")) skipped = array<bool>(key + "/skipped");
  for (size_t i = 0; i < want.size(); ++i) {
    const auto first = static_cast<double>(x[0][i]);
    if (skipped[i] || is_known_difference(name, first, static_cast<double>(got[i]))) continue;
    std::string arguments;
    for (const std::vector<T>& operand : x) arguments += " " + ::testing::PrintToString(operand[i]);
    EXPECT_TRUE(is_close<R>(name, got[i], want[i], first))
        << key << arguments << ": got " << +got[i] << ", reference " << +want[i];
  }
}

template <int Count, class Op, class T>
void check_type() {
  const std::string name = Op::info.name;
  if constexpr (computes_in<Op, T>() && masks_of<Op>() == 0) {
    if (std::is_same_v<T, bool> && is_refused_for_bool(name)) return;
    using R = std::conditional_t<Op::info.result == Result::boolean, bool, T>;
    const std::vector<std::vector<T>> x = operands<T>(Count);
    std::vector<R> got(x[0].size());
    const Op op = make_op<Op>();
    for (size_t i = 0; i < got.size(); ++i) {
      if constexpr (Count == 1) got[i] = op(x[0][i]);
      if constexpr (Count == 2) got[i] = op(x[0][i], x[1][i]);
      if constexpr (Count == 3) got[i] = op(x[0][i], x[1][i], x[2][i]);
    }
    compare(name, x, got);
  } else if (masks_of<Op>() == 0) {
    check_refused(name + "/" + kTypeName<T>);
  }
}

template <int Count, class... Ops>
void check_list(TypeList<Ops...>) {
  (check_type<Count, Ops, float>(), ...);
  (check_type<Count, Ops, double>(), ...);
  (check_type<Count, Ops, int64_t>(), ...);
  (check_type<Count, Ops, int32_t>(), ...);
  (check_type<Count, Ops, uint8_t>(), ...);
  (check_type<Count, Ops, bool>(), ...);
}

TEST(Functors, UnaryMatchPyTorchAtSpecialValues) { check_list<1>(UnaryOps{}); }
TEST(Functors, BinaryMatchPyTorchAtSpecialValues) { check_list<2>(BinaryOps{}); }
TEST(Functors, TernaryMatchPyTorchAtSpecialValues) { check_list<3>(TernaryOps{}); }

TEST(Functors, IntegerDivisionIsDefinedWherePyTorchRefusesIt) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  for (const int64_t x : {int64_t{0}, int64_t{5}, int64_t{-5}, lowest}) {
    EXPECT_EQ(FloorDivide{}(x, int64_t{0}), 0);
    EXPECT_EQ(Fmod{}(x, int64_t{0}), 0);
    EXPECT_EQ(Remainder{}(x, int64_t{0}), 0);
  }
  EXPECT_EQ(FloorDivide{}(lowest, int64_t{-1}), lowest);
  EXPECT_EQ(Fmod{}(lowest, int64_t{-1}), 0);
  EXPECT_EQ(Remainder{}(lowest, int64_t{-1}), 0);
}

TEST(Functors, ParametersAreExactInEveryType) {
  const int64_t large = (int64_t{1} << 53) + 1;  // not a double
  EXPECT_EQ((AddScaled{large})(int64_t{1}, int64_t{1}), large + 1);
  EXPECT_EQ((ClampMin{large})(int64_t{0}), large);
  EXPECT_EQ((AddScaled{0.5})(1.0, 3.0), 2.5);
  EXPECT_EQ((Softplus{2.0, 1.0})(0.75), 0.75);  // beta*x = 1.5 is above the threshold
  EXPECT_DOUBLE_EQ((Softplus{2.0, 20.0})(0.25), std::log1p(std::exp(0.5)) / 2);
  EXPECT_DOUBLE_EQ((Celu{2.0})(-1.0), 2 * std::expm1(-0.5));
  EXPECT_DOUBLE_EQ((Elu{0.5})(-1.0), 0.5 * std::expm1(-1));
  EXPECT_EQ((LeakyRelu{0.25})(-2.0), -0.5);
  EXPECT_EQ((Hardtanh{-3, 2})(-2.5), -2.5);
  EXPECT_EQ((Threshold{1, 7})(1.0), 7.0);
  EXPECT_EQ((Hardshrink{1.0})(0.75), 0.0);
  EXPECT_EQ((Softshrink{1.0})(-3.0), -2.0);
  EXPECT_EQ((Addcmul{2})(1.0, 3.0, 4.0), 25.0);
  EXPECT_EQ((Addcdiv{2})(1.0, 3.0, 4.0), 2.5);
}

// Bounds in ULP. gelu and gelu_tanh raise e to a power that is rounded first.
TEST(Functors, DoublesMatchMpmath) {
  const std::map<std::string, double> bounds = {
      {"rsqrt", 2}, {"sigmoid", 3},  {"logsigmoid", 3}, {"softplus", 3},  {"silu", 4},
      {"mish", 8},  {"elu", 2},      {"selu", 3},       {"gelu", 200},    {"gelu_tanh", 400},
      {"erfcx", 4}, {"log_ndtr", 6}, {"i0", 4},         {"i0e", 4},       {"i1", 5},
      {"i1e", 4},   {"erfinv", 4},   {"digamma", 8},    {"polygamma", 16}};
  const double beside_zeros = 0x1p-49;  // digamma's, where terms of about 1 cancel
  const npz::Reader reader("tests/fixtures/core/double_functions.npz");
  for (const auto& [name, bound] : bounds) {
    const std::vector<double> x = reader.tensor(name + "/x").to_vector<double>();
    const std::vector<double> want = reader.tensor(name + "/y").to_vector<double>();
    std::vector<double> got(x.size());
    const double* inputs[] = {x.data()};
    ASSERT_TRUE(
        cpu::v2::evaluate(name.c_str(), inputs, got.data(), static_cast<int64_t>(x.size())));
    for (size_t i = 0; i < x.size(); ++i) {
      if (name == "digamma" && std::abs(got[i] - want[i]) <= beside_zeros) continue;
      EXPECT_LE(ulp_error(got[i], want[i]), bound) << name << "(" << x[i] << ") = " << got[i];
    }
  }
}

// The kernels' variants give the values that the tests above see in the plain build.
TEST(Functors, VariantsAgreeAtSpecialValues) {
  const std::vector<float> x = array<float>("values/float32");
  const auto n = static_cast<int64_t>(x.size());
  const float* inputs[] = {x.data()};
  for (const std::string& member : special_values().names()) {
    const size_t slash = member.find("/float32");
    const std::string name = member.substr(0, slash);
    std::vector<float> v2(x.size()), other(x.size());
    if (slash == std::string::npos || special_values().tensor(member).numel() != n) continue;
    if (!cpu::v2::evaluate(name.c_str(), inputs, v2.data(), n)) continue;
    for (int variant = 3; variant <= 4; ++variant) {
      if (cpu::isa() < (variant == 3 ? cpu::Isa::v3 : cpu::Isa::v4)) continue;
      (variant == 3 ? cpu::v3::evaluate(name.c_str(), inputs, other.data(), n)
                    : cpu::v4::evaluate(name.c_str(), inputs, other.data(), n));
      for (int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(is_close(name, other[i], v2[i], x[i]))
            << name << "(" << x[i] << ") on v" << variant << ": " << other[i] << ", v2 " << v2[i];
    }
  }
}

}  // namespace
}  // namespace aorta::scalar_test

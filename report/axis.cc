#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <aorta/report/axis.h>

namespace aorta::report {
namespace {

// 10 to an integer power, as exactly as a literal.
double power_of_ten(int exponent) { return std::stod(fmt::format("1e{}", exponent)); }

// mantissa x 10^exponent without the rounding of a negative power.
double round_number(double mantissa, int exponent) {
  return exponent >= 0 ? mantissa * power_of_ten(exponent) : mantissa / power_of_ten(-exponent);
}

Ticks linear_ticks(double low, double high, int wanted, bool fixed_low, bool fixed_high,
                   bool whole = false) {
  const double rough = std::max((high - low) / wanted, whole ? 1. : 0.);
  const int exponent = static_cast<int>(std::floor(std::log10(rough)));
  double mantissa = 10;
  for (const double each : {5., 2., 1.})
    if (round_number(each, exponent) >= rough * 0.999) mantissa = each;
  const double step = round_number(mantissa, exponent);
  // A hair of tolerance: 0.30000000000000004 needs no tick at 0.4.
  const double first = fixed_low ? std::ceil(low / step - 1e-9) : std::floor(low / step + 1e-9);
  const double last = fixed_high ? std::floor(high / step + 1e-9) : std::ceil(high / step - 1e-9);
  Ticks ticks;
  const int count = static_cast<int>(std::min(last - first, 100.));
  for (int i = 0; i <= count; ++i)
    ticks.at.push_back(round_number((first + i) * mantissa, exponent));
  ticks.low = fixed_low || ticks.at.empty() ? low : std::min(low, ticks.at.front());
  ticks.high = fixed_high || ticks.at.empty() ? high : std::max(high, ticks.at.back());
  return ticks;
}

// The numbers with these mantissas from the last one below low to the first one above high.
std::vector<double> log_numbers(double low, double high, const std::vector<int>& mantissas) {
  std::vector<double> numbers;
  const int first = static_cast<int>(std::floor(std::log10(low))) - 1;
  const int last = static_cast<int>(std::ceil(std::log10(high))) + 1;
  for (int exponent = first; exponent <= last; ++exponent)
    for (const int mantissa : mantissas) {
      const double value = round_number(mantissa, exponent);
      if (value <= low * (1 + 1e-9)) numbers.clear();
      numbers.push_back(value);
      if (value >= high * (1 - 1e-9)) return numbers;
    }
  return numbers;
}

bool inside(double value, const Ticks& ticks) {
  return value >= ticks.low * (1 - 1e-9) && value <= ticks.high * (1 + 1e-9);
}

Ticks log_ticks(double low, double high, int wanted, bool fixed_low, bool fixed_high) {
  if (high < 2 * low) {  // too little for 1, 2 and 5
    const Ticks ticks = linear_ticks(low, high, wanted, fixed_low, fixed_high);
    if (ticks.low > 0) return ticks;
  }
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto room = static_cast<size_t>(wanted) + 2;
  Ticks ticks;
  // The finest of these with room for its labels; many decades leave some out.
  for (const std::vector<int>& mantissas : {all, {1, 2, 5}, {1}}) {
    ticks.at = log_numbers(low, high, mantissas);
    ticks.low = fixed_low ? low : std::min(low, ticks.at.front());
    ticks.high = fixed_high ? high : std::max(high, ticks.at.back());
    std::erase_if(ticks.at, [&](double value) { return !inside(value, ticks); });
    if (ticks.at.size() <= room) break;
  }
  ticks.minor = log_numbers(ticks.low, ticks.high, all);
  std::erase_if(ticks.minor, [&](double value) { return !inside(value, ticks); });
  const size_t every = (ticks.at.size() + room - 1) / room;
  for (size_t i = 1; i * every < ticks.at.size(); ++i) ticks.at[i] = ticks.at[i * every];
  if (every > 1) ticks.at.resize((ticks.at.size() + every - 1) / every);
  return ticks;
}

std::string with_power_of_ten(double size) {
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::string text = fmt::format("{:.11e}", size);  // 2.00000000000e-07
  const size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (mantissa.back() == '.') mantissa.pop_back();
  const int exponent = std::stoi(text.substr(e + 1));
  std::string power = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) power += kDigits[digit - '0'];
  return mantissa == "1" ? power : mantissa + "×" + power;
}

}  // namespace

Ticks choose_ticks(double low, double high, const TickRules& rules) {
  return rules.scale == Scale::log
             ? log_ticks(low, high, rules.wanted, rules.fixed_low, rules.fixed_high)
             : linear_ticks(low, high, rules.wanted, rules.fixed_low, rules.fixed_high,
                            rules.whole);
}

std::string tick_text(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  const std::string sign = value < 0 ? "−" : "";
  if (size < 1e-4 || size >= 1e7) return sign + with_power_of_ten(size);
  std::string text = fmt::format("{:.12g}", size);
  // 20,000; four digits stay together.
  size_t at = std::min(text.find('.'), text.size());
  if (at > 4)
    for (; at > 3; at -= 3) text.insert(at - 3, ",");
  return sign + text;
}

double fraction(double value, double low, double high, Scale scale) {
  if (scale == Scale::log)
    return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

}  // namespace aorta::report

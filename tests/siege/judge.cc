#include <aorta/tests/siege/judge.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <vector>

namespace aorta::siege {
namespace {

constexpr size_t kLongest = 2000;   // characters of a message
constexpr size_t kMostDigits = 20;  // of 2^64

// Words of the C++ library, of C's and of the compiler's, which say nothing to who uses Aorta.
constexpr std::string_view kForeign[] = {"std::",
                                         "vector::",
                                         "basic_string",
                                         "basic_ios",
                                         "bad_alloc",
                                         "bad_array_new",
                                         "bad_variant_access",
                                         "bad_optional_access",
                                         "bad_function_call",
                                         "bad_weak_ptr",
                                         "bad_cast",
                                         "bad_any_cast",
                                         "regex_error",
                                         "filesystem error",
                                         "filesystem_error",
                                         "system_error",
                                         "stoi",
                                         "stol",
                                         "stoul",
                                         "stod",
                                         "map::at",
                                         "max_size()",
                                         "_M_",
                                         "__cxa",
                                         "__glibc",
                                         "St9",
                                         "libgomp",
                                         "libc++",
                                         "terminate called",
                                         "what():",
                                         "nullptr",
                                         "(nil)",
                                         "(null)",
                                         "Assertion",
                                         "Traceback",
                                         "core dumped",
                                         "got Success",
                                         "[json.exception"};
constexpr std::string_view kReports[] = {
    "terminate called", "Sanitizer",    "runtime error:", "Segmentation fault", "Traceback",
    "core dumped",      "pure virtual", "Assertion `",    "stack smashing",     "free(): ",
    "malloc(): ",       "double free",  "libgomp:"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Says whether the text has it as a word: "stol" isn't in "systole".
bool contains_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !is_letter(text[at - 1]) || !is_letter(word.front());
    const bool ends = end == text.size() || !is_letter(text[end]) || !word.starts_with("sto");
    if (starts && ends) return true;
  }
  return false;
}

// The first place that isn't UTF-8, or the length.
size_t utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t more = first < 0x80   ? 0
                        : first < 0xc2 ? 9
                        : first < 0xe0 ? 1
                        : first < 0xf0 ? 2
                        : first < 0xf5 ? 3
                                       : 9;
    if (more == 9 || at + more >= text.size()) return at;
    for (size_t i = 1; i <= more; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return at;
    }
    at += more + 1;
  }
  return at;
}

// What a message quotes from elsewhere isn't its own words.
std::string without_quotations(std::string_view text) {
  std::string result;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
      result += '"';
    } else if (!quoted) {
      result += text[i];
    }
  }
  return quoted ? std::string(text) : result;
}

// Takes a text apart from its front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  bool take(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }

  bool take_one_of(std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return take(w); });
  }

  // A word of letters that ends the text: a unit.
  bool take_last_word() {
    const bool is_word =
        rest_.size() > 1 && rest_[0] == ' ' &&
        std::all_of(rest_.begin() + 1, rest_.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (is_word) rest_ = {};
    return is_word;
  }

  // 3, -2.5e3, inf, 2^29 and, but for a list's, 100,000,000.
  std::optional<long double> take_number(bool grouped) {
    std::string digits(rest_);
    for (size_t at = 0; grouped && (at = digits.find(',', at)) != std::string::npos;) {
      const std::string_view behind = std::string_view(digits).substr(at + 1);
      const size_t count = std::min(behind.find_first_not_of("0123456789"), behind.size());
      if (at == 0 || !is_digit(digits[at - 1]) || count != 3) break;
      digits.erase(at, 1);
    }
    char* end = nullptr;
    long double value = std::strtold(digits.c_str(), &end);
    if (end == digits.c_str() || is_letter(*end)) return {};
    if (*end == '^') {
      const char* exponent = end + 1;
      const long double power = std::strtold(exponent, &end);
      if (end == exponent) return {};
      value = std::pow(value, power);
    }
    rest_.remove_prefix(rest_.size() - std::strlen(end));
    return value;
  }

 private:
  std::string_view rest_;
};

// The numbers that a rule admits. Of an end that the rule doesn't say to belong to it, or not to,
// neither is known.
struct Range {
  long double low = -HUGE_VALL, high = HUGE_VALL;
  bool low_belongs = true, high_belongs = true;
  bool finite = false, not_zero = false;

  bool holds(long double value) const {
    return (low_belongs ? value >= low : value > low) &&
           (high_belongs ? value <= high : value < high) &&
           (!finite || std::isfinite(static_cast<double>(value))) && (!not_zero || value != 0);
  }
  void raise(long double to, bool belongs) {
    if (to > low || (to == low && !belongs)) low = to, low_belongs = belongs;
  }
  void lower(long double to, bool belongs) {
    if (to < high || (to == high && !belongs)) high = to, high_belongs = belongs;
  }
};

// "at least 3", "above 0": words that compare with what stands behind them.
enum class Comparison { above, at_least, below, at_most };

std::optional<Comparison> take_comparison(Reader& reader, bool negated) {
  std::optional<Comparison> comparison;
  if (reader.take_one_of({"above ", "larger than ", "greater than ", "more than "}))
    comparison = negated ? Comparison::at_most : Comparison::above;
  else if (reader.take_one_of({"below ", "less than ", "smaller than "}))
    comparison = negated ? Comparison::at_least : Comparison::below;
  else if (!negated && reader.take("at least "))
    comparison = Comparison::at_least;
  else if (!negated && reader.take("at most "))
    comparison = Comparison::at_most;
  return comparison;
}

void narrow(Range& range, Comparison comparison, long double limit) {
  if (comparison == Comparison::above || comparison == Comparison::at_least)
    range.raise(limit, comparison == Comparison::at_least);
  else
    range.lower(limit, comparison == Comparison::at_most);
}

// "[0, 1)"
bool take_interval(Reader& reader, Range& range) {
  const bool closed = reader.take("[");
  if (!closed && !reader.take("(")) return false;
  const auto low = reader.take_number(true);
  if (!low || !reader.take(", ")) return false;
  const auto high = reader.take_number(true);
  if (!high) return false;
  range.raise(*low, closed);
  range.lower(*high, reader.take("]"));
  return range.high_belongs || reader.take(")");
}

// "1 to 100", "between 0 and 1", "3 at least"
bool take_two_ends(Reader& reader, Range& range) {
  const bool between = reader.take("between ");
  reader.take("from ");
  const auto low = reader.take_number(true);
  if (!low) return false;
  if (!between && reader.take(" at least")) return range.raise(*low, true), true;
  if (!between && reader.take(" at most")) return range.lower(*low, true), true;
  if (!reader.take(between ? " and " : " to ")) return false;
  const auto high = reader.take_number(true);
  if (!high) return false;
  range.raise(*low, !between);
  range.lower(*high, !between);
  return true;
}

bool take_clause(Reader& reader, Range& range, bool negated) {
  if (negated ? reader.take("negative") : reader.take_one_of({"not negative", "non-negative"}))
    return range.raise(0, true), true;
  if (negated ? reader.take("zero") : reader.take_one_of({"not zero", "non-zero"}))
    return range.not_zero = true;
  if (const auto comparison = take_comparison(reader, negated)) {
    const auto limit = reader.take_number(true);
    if (limit) narrow(range, *comparison, *limit);
    return limit.has_value();
  }
  if (negated) return false;
  if (reader.take("positive")) return range.raise(0, false), true;
  if (reader.take_one_of({"finite", "a finite number"})) return range.finite = true;
  if (reader.take("in ")) return take_interval(reader, range);
  return take_two_ends(reader, range);
}

// What stands behind "must": all of it, or nothing is known.
std::optional<Range> range_of(std::string_view predicate, bool negated) {
  Reader reader(predicate);
  Range range;
  if (!reader.take_one_of({"be ", "lie ", "have "})) return {};
  while (take_clause(reader, range, negated)) {
    if (reader.at_end() || reader.take_last_word()) return range;
    if (negated || !reader.take_one_of({" and ", ", and ", ", "})) return {};
  }
  return {};
}

// What a message got: "3", "[1,2]", "1 and 2"; nothing where more is said than numbers, but for
// the rule's unit and where they stand.
struct Values {
  std::vector<long double> numbers;
  bool list = false, pair = false;
};

std::optional<Values> values_got(std::string_view text, std::string_view rule) {
  Reader reader(text);
  Values values;
  values.list = reader.take("[");
  do {
    const auto number = reader.take_number(!values.list);
    if (!number) return {};
    values.numbers.push_back(*number);
    if (!values.list && !values.pair && reader.take(" and ")) {
      values.pair = true;
      continue;
    }
  } while (values.pair ? values.numbers.size() < 2 : values.list && reader.take(","));
  if (values.list && !reader.take("]")) return {};
  if (reader.at_end() || reader.take(";") || reader.take(" at ")) return values;
  // Behind a comma stands something else, not another number.
  if (!values.list && reader.take(", ") && !reader.at_end() && !Reader(reader).take_number(true) &&
      reader.rest()[0] != '[')
    return values;
  const std::string_view unit = reader.rest();
  return rule.ends_with(unit) && reader.take_last_word() ? std::optional(values) : std::nullopt;
}

bool is_one_word(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_letter);
}

// "low must be less than high, got 1 and 3"
bool keeps_order(std::string_view subject, Reader predicate, bool negated, const Values& values) {
  if (!values.pair || !is_one_word(subject) || !predicate.take("be ")) return false;
  const auto comparison = take_comparison(predicate, negated);
  if (!comparison || !is_one_word(predicate.rest()) || std::isnan(values.numbers[1])) return false;
  Range range;
  narrow(range, *comparison, values.numbers[1]);
  return range.holds(values.numbers[0]);
}

bool keeps(std::string_view rule, std::string_view got) {
  const auto values = values_got(got, rule);
  if (!values) return false;
  // For a number of one dimension, of those that the rule speaks of.
  if (values->numbers.size() == 1 &&
      ((rule.ends_with(", positive") && values->numbers[0] > 0) ||
       (rule.ends_with(", not negative") && values->numbers[0] >= 0)))
    return true;
  struct Form {
    std::string_view words;
    bool negated;
  };
  for (const auto [words, negated] :
       {Form{" must not ", true}, Form{" can't ", true}, Form{" must ", false}}) {
    const size_t at = rule.rfind(words);
    if (at == std::string_view::npos) continue;
    std::string_view subject = rule.substr(0, at);
    if (const size_t colon = subject.rfind(": "); colon != std::string_view::npos)
      subject.remove_prefix(colon + 2);
    const std::string_view predicate = rule.substr(at + words.size());
    if (keeps_order(subject, Reader(predicate), negated, *values)) return true;
    // What a list has, adds up to or comes to isn't its elements.
    const bool of_all = predicate.starts_with("have ") || contains_word(subject, "sum") ||
                        contains_word(subject, "product") || contains(subject, "number of") ||
                        contains(subject, " x ");
    if (values->numbers.size() > 1 && of_all) return false;
    if (values->pair && !contains(subject, " and ")) return false;
    const auto range = range_of(predicate, negated);
    return range && !values->numbers.empty() &&
           std::all_of(values->numbers.begin(), values->numbers.end(),
                       [&](long double value) { return range->holds(value); });
  }
  return false;
}

// "must be positive, got 3": the values keep the rule that they are said to break.
std::string contradiction(std::string_view message) {
  constexpr std::string_view kGot = ", got ";
  size_t begin = 0;
  for (size_t got = message.find(kGot); got != std::string_view::npos;) {
    const size_t next = message.find(kGot, got + kGot.size());
    // A list of faults has a rule and values each.
    std::string_view values = message.substr(got + kGot.size(), next - got - kGot.size());
    if (next != std::string_view::npos) values = values.substr(0, values.find("; ") + 1);
    if (keeps(message.substr(begin, got - begin), values)) return "the value must break the rule";
    begin = got + kGot.size();
    got = next;
  }
  return {};
}

// A name, a path or a flag, and a colon: an op's name has no spaces, a path may.
bool has_prefix(std::string_view message) {
  const size_t colon = message.find(": ");
  return colon != std::string_view::npos && colon > 0 && !std::isspace(message[0]);
}

bool names_a_value(std::string_view message, Speaker speaker) {
  const size_t got = message.find("got ");
  if (got != std::string_view::npos && got + 4 < message.size()) return true;
  if (speaker == Speaker::library) return false;
  return std::any_of(message.begin(), message.end(), is_digit) || contains(message, "\"") ||
         contains(message, "/") || contains(message, "--") || contains(message, "`");
}

template <class T>
bool holds(std::string_view input, uint64_t value) {
  std::array<char, sizeof(T)> bytes;
  const T number = static_cast<T>(value);
  std::memcpy(bytes.data(), &number, sizeof number);
  if (contains(input, {bytes.data(), bytes.size()})) return true;
  std::reverse(bytes.begin(), bytes.end());
  return contains(input, {bytes.data(), bytes.size()});
}

// Whether it is one of the input's numbers and a 32-bit one, as an index's base and place in it.
bool is_sum(std::string_view input, uint64_t value) {
  for (size_t at = 0; at + 8 <= input.size(); ++at) {
    uint64_t base = 0;
    std::memcpy(&base, input.data() + at, 8);
    for (const uint64_t number : {base, base & 0xffffffff}) {
      const uint64_t rest = value - number;
      if (rest >> 32 != 0) continue;
      for (const uint64_t head : {0, 8}) {  // with the chunk's own or without
        if (holds<uint32_t>(input, rest + head)) return true;
      }
    }
  }
  return false;
}

// Whether the number or its negative stands there as protobuf writes it: groups of seven bits, the
// lowest first.
bool holds_varint(std::string_view input, uint64_t value) {
  for (size_t start = 0; start < input.size(); ++start) {
    uint64_t number = 0;
    // Ten at most; what is written in more groups than it needs counts too.
    for (size_t i = 0; i < 10 && start + i < input.size(); ++i) {
      const auto group = static_cast<unsigned char>(input[start + i]);
      number |= static_cast<uint64_t>(group & 0x7f) << (7 * i);
      if (group < 0x80) break;
    }
    if (number == value || number == ~value + 1) return true;
  }
  return false;
}

// Whether the number, or one that is it but for a place in the input, stands there.
bool is_near(std::string_view input, uint64_t value) {
  if (value <= 2 * input.size()) return true;
  if (is_sum(input, value) || holds_varint(input, value)) return true;
  // LMDB's branches number pages with six bytes.
  if (value >> 48 == 0 && contains(input, {reinterpret_cast<const char*>(&value), 6})) return true;
  for (uint64_t less = 0; less <= std::min<uint64_t>(input.size(), 4096); ++less) {
    // Formats keep a flag in a size's highest bit.
    for (const uint64_t one : {value - less, value + less, (value - less) | 0x80000000}) {
      if ((one >> 32 == 0 && holds<uint32_t>(input, one)) || holds<uint64_t>(input, one))
        return true;
    }
  }
  return holds<uint32_t>(input, ~value + 1);
}

// What stands behind each "got", without the rules between that a list of faults has: their numbers
// are the library's own.
std::string values_of(std::string_view message) {
  constexpr std::string_view kGot = ", got ", kRule = " must ";
  std::string values;
  for (size_t at = message.find(kGot); at != std::string_view::npos;) {
    const size_t next = message.find(kGot, at + kGot.size());
    std::string_view value = message.substr(at, next - at);
    value = value.substr(0, value.find(kRule));
    values += value;
    at = next;
  }
  return values;
}

// Whether a number has too many digits. A word with a letter, but for an exponent's, is a name, and
// names are as long as they are.
bool has_long_number(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" ,:;", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool starts_as_name = !word.empty() && is_letter(word[0]) && !is_digit(word[0]);
    const bool is_name =
        starts_as_name || std::any_of(word.begin(), word.end(), [](char c) {
          return c == '/' || (is_letter(c) && !is_digit(c) && c != 'e' && c != 'E');
        });
    size_t digits = 0;
    for (const char c : word) {
      digits = is_digit(c) ? digits + 1 : 0;
      if (digits > kMostDigits && !is_name) return true;
    }
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string fault_of_output(std::string_view output) {
  for (std::string_view report : kReports) {
    if (contains(output, report)) return "must not print \"" + std::string(report) + "\"";
  }
  return {};
}

std::string fault_of(std::string_view message, Speaker speaker) {
  if (message.empty()) return "must say something";
  if (contains(message, "\n") || contains(message, "\r")) return "must be one line";
  if (message.size() > kLongest) return "must not be longer than 2000 characters";
  if (utf8_length(message) != message.size()) return "must be UTF-8";
  for (char c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "must have no control characters";
  }
  // A program's line starts with `error: `.
  const bool prefixed = has_prefix(message);
  if (!prefixed && speaker == Speaker::library)
    return "must start with what it is about and a colon";
  const std::string own = without_quotations(message);
  for (std::string_view word : kForeign) {
    if (contains_word(own, word)) return "must not speak of \"" + std::string(word) + "\"";
  }
  if (std::string report = fault_of_output(own); !report.empty()) return report;
  const size_t rule = prefixed ? message.find(": ") + 2 : 0;
  if (std::count(message.begin() + static_cast<ptrdiff_t>(rule), message.end(), ' ') < 1)
    return "must have a rule";
  if (!names_a_value(message, speaker)) return "must say what it got";
  if (message.ends_with("got") || message.ends_with(' ') || message.ends_with(':') ||
      message.ends_with(',') || contains(own, "got ,") || contains(own, "got ;"))
    return "a value must not be empty";
  if (has_long_number(own)) return "a number must have at most 20 digits";
  return contradiction(message);
}

std::string number_not_in(std::string_view message, std::string_view input) {
  // What a sum comes to is nowhere.
  if (contains(message, "CRC")) return {};
  const std::string own = values_of(without_quotations(message));
  int brackets = 0;
  for (size_t at = 0; at < own.size();) {
    brackets += own[at] == '[' ? 1 : own[at] == ']' ? -1 : 0;
    if (!is_digit(own[at]) || is_letter(own[at - 1])) {
      ++at;
      continue;
    }
    std::string digits;
    // 100,000,000 is one number, [100,000] are two.
    while (at < own.size() &&
           (is_digit(own[at]) ||
            (brackets == 0 && own[at] == ',' && at + 3 < own.size() && is_digit(own[at + 1]) &&
             is_digit(own[at + 2]) && is_digit(own[at + 3])))) {
      if (own[at] != ',') digits += own[at];
      ++at;
    }
    if (digits.size() < 6 || digits.size() > kMostDigits) continue;
    const uint64_t value = std::strtoull(digits.c_str(), nullptr, 10);
    if (!contains(input, digits) && !is_near(input, value)) return digits;
  }
  return {};
}

}  // namespace aorta::siege

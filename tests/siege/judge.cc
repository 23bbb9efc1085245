#include <aorta/tests/siege/judge.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

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

// The number that `text` begins with, in brackets or not, if nothing but that number is there.
std::optional<long double> only_number(std::string_view text) {
  const bool list = text.starts_with('[');
  if (list) text.remove_prefix(1);
  const std::string copy(text);
  char* end = nullptr;
  const long double value = std::strtold(copy.c_str(), &end);
  if (end == copy.c_str()) return {};
  const std::string_view rest(end);
  if (list) return rest == "]" ? std::optional(value) : std::nullopt;
  return rest.empty() || rest[0] == ';' || rest[0] == ',' ? std::optional(value) : std::nullopt;
}

// The number behind `words` in a rule, where one stands there and ends the rule.
std::optional<long double> limit_behind(std::string_view rule, std::string_view words) {
  const size_t at = rule.rfind(words);
  if (at == std::string_view::npos) return {};
  std::string digits;
  for (char c : rule.substr(at + words.size())) {
    if (c != ',') digits += c;
  }
  char* end = nullptr;
  const long double value = std::strtold(digits.c_str(), &end);
  if (end == digits.c_str() || *end != '\0') return {};
  return value;
}

// "must be positive, got 3": the value keeps the rule that it is said to break.
std::string contradiction(std::string_view message) {
  const size_t got = message.rfind(", got ");
  if (got == std::string_view::npos) return {};
  const std::string_view rule = message.substr(0, got);
  const std::optional<long double> value = only_number(message.substr(got + 6));
  if (!value || std::isnan(*value)) return {};
  const auto ends = [&](std::string_view words) { return rule.ends_with(words); };
  const bool kept = ((ends("must not be negative") || ends(", not negative")) && *value >= 0) ||
                    ((ends("must be positive") || ends(", positive")) && *value > 0) ||
                    (ends("must be finite") && std::isfinite(*value)) ||
                    (limit_behind(rule, "must be at most ") &&
                     *value <= *limit_behind(rule, "must be at most ")) ||
                    (limit_behind(rule, "must be at least ") &&
                     *value >= *limit_behind(rule, "must be at least "));
  return kept ? "the value must break the rule" : "";
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

#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/module_path.h>
#include <aorta/core/text.h>

#include <charconv>
#include <cmath>

namespace aorta {
namespace detail {

void lacks_name(std::string_view name) {
  fail("list", "there must be a value of the name", "none of \"" + std::string(name) + "\"");
}

void append(std::string& text, std::string_view part) { text.append(part); }

template <class T>
static void append_number(std::string& text, T value) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, end);
}

void append(std::string& text, int64_t value) { append_number(text, value); }
void append(std::string& text, uint64_t value) { append_number(text, value); }
void append(std::string& text, double value) {
  // From here on digits before the point are beyond what it knows.
  if (std::abs(value) < 1e17) return append_number(text, value);
  char digits[32];
  text.append(
      digits,
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr);
}
void append(std::string& text, bool value) { text += value ? "true" : "false"; }

// channels_last says which option doesn't fit.
static bool is_about_a_function(const std::string& text) {
  return !text.starts_with("channels_last: ");
}

std::string located(std::string text) {
  if (const Ref<ModulePath>& path = module_path()) text.insert(0, path->to_string() + ": ");
  return printable(text);
}

void throw_error(std::string text) {
  if (const char* op = called_op(); op && is_about_a_function(text))
    text.replace(0, text.find(": "), op);
  if (text.starts_with(": ")) text.insert(0, "\"\"");  // about a path that is empty
  throw Error(located(std::move(text)));
}

}  // namespace detail
}  // namespace aorta

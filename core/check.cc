#include <aorta/core/check.h>
#include <aorta/core/module_path.h>

#include <charconv>

namespace aorta {
namespace detail {

void append(std::string& text, std::string_view part) { text.append(part); }

template <class T>
static void append_number(std::string& text, T value) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, end);
}

void append(std::string& text, int64_t value) { append_number(text, value); }
void append(std::string& text, uint64_t value) { append_number(text, value); }
void append(std::string& text, double value) { append_number(text, value); }
void append(std::string& text, bool value) { text += value ? "true" : "false"; }

void throw_error(std::string text) {
  if (const Ref<ModulePath>& path = module_path()) text.insert(0, path->to_string() + ": ");
  throw Error(text);
}

}  // namespace detail
}  // namespace aorta

#include <aorta/core/check.h>
#include <aorta/core/module_path.h>

#include <charconv>

namespace aorta {
namespace {
thread_local constinit ErrorContext* innermost_context = nullptr;
}  // namespace

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
  std::string path;
  for (ErrorContext* context = innermost_context; context; context = context->outer_) {
    std::string outer(context->name_);
    if (!path.empty() && !outer.empty()) outer += '.';
    path.insert(0, outer);
  }
  if (const Ref<ModulePath>& module = module_path()) {
    path = path.empty() ? module->to_string() : module->to_string() + "." + path;
  }
  if (!path.empty()) text.insert(0, path + ": ");
  throw Error(text);
}

}  // namespace detail

ErrorContext::ErrorContext(std::string_view name) : name_(name), outer_(innermost_context) {
  innermost_context = this;
}

ErrorContext::~ErrorContext() { innermost_context = outer_; }

}  // namespace aorta

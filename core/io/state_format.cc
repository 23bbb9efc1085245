#include <aorta/core/check.h>
#include <aorta/core/io/state_format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

namespace aorta::state_format {
namespace {

using Value = StateValue;

constexpr std::string_view kVersionKey = "aorta.state";
constexpr std::string_view kValuePrefix = "value:";

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(const std::string& value) {
  check(is_utf8(value), "state", "text must be UTF-8", io::quote(value));
  return nlohmann::json(value).dump();
}

std::string text_of(double value) {
  if (value != value) return "NaN";
  if (value == std::numeric_limits<double>::infinity()) return "Infinity";
  if (value == -std::numeric_limits<double>::infinity()) return "-Infinity";
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;  // shortest that reads back
  std::string text(digits, end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& item : list) text += (text.size() > 1 ? "," : "") + text_of(item);
  return text + "]";
}

[[noreturn]] void malformed(std::string_view text, const std::string& name) {
  fail(name, "value must be a bool, a number, text or a list of one kind", io::quote(text));
}

bool parse_integer(std::string_view text, int64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_double(std::string_view text, double& value) {
  if (text == "NaN")
    value = std::numeric_limits<double>::quiet_NaN();
  else if (text == "Infinity")
    value = std::numeric_limits<double>::infinity();
  else if (text == "-Infinity")
    value = -std::numeric_limits<double>::infinity();
  else if (text.empty() || text.find_first_not_of("0123456789+-.e") != std::string_view::npos)
    return false;
  else {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
  return true;
}

// Text, or a list of texts: flat, so no nesting can grow.
Value parse_text(std::string_view text, const std::string& name) {
  auto document = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_string()) return document.get<std::string>();
  if (!document.is_array()) malformed(text, name);
  std::vector<std::string> list;
  for (const auto& item : document) {
    if (!item.is_string()) malformed(text, name);
    list.push_back(item.get<std::string>());
  }
  return list;
}

Value parse_numbers(std::string_view text, const std::string& name) {
  if (text == "[]") return std::vector<double>();
  std::string_view rest = text.substr(1, text.size() - 2);
  std::vector<int64_t> integers;
  std::vector<double> doubles;
  for (bool more = true; more;) {
    size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(more ? comma + 1 : rest.size());
    int64_t integer = 0;
    double number = 0;
    if (parse_integer(item, integer))
      integers.push_back(integer);
    else if (parse_double(item, number))
      doubles.push_back(number);
    else
      malformed(text, name);
  }
  if (!integers.empty() && !doubles.empty()) malformed(text, name);
  return doubles.empty() ? Value(integers) : Value(doubles);
}

}  // namespace

std::string value_text(const Value& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

Value parse_value(std::string_view text, const std::string& name) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('"') || text.starts_with("[\"")) return parse_text(text, name);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    return parse_numbers(text, name);
  int64_t integer = 0;
  double number = 0;
  if (parse_integer(text, integer)) return integer;
  if (parse_double(text, number)) return number;
  malformed(text, name);
}

safetensors::Metadata metadata(const std::map<std::string, Value>& values) {
  safetensors::Metadata result;
  result[std::string(kVersionKey)] = std::to_string(kVersion);
  for (const auto& [name, value] : values)
    result[std::string(kValuePrefix) + name] = value_text(value);
  return result;
}

void check_version(const safetensors::Metadata& metadata, const std::string& path) {
  auto found = metadata.find(std::string(kVersionKey));
  check(found != metadata.end(), path, "file must hold a state", "tensors alone");
  int64_t version = 0;
  check(parse_integer(found->second, version) && version >= 1, path,
        "state format must have a version", io::quote(found->second));
  check(version <= kVersion, path,
        "state format must be at most version " + std::to_string(kVersion), "version ", version,
        ": the file is from a newer Aorta");
}

std::map<std::string, Value> parse_values(const safetensors::Metadata& metadata,
                                          const std::string& path) {
  std::map<std::string, Value> values;
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(kValuePrefix)) continue;
    std::string name = key.substr(kValuePrefix.size());
    values[name] = parse_value(text, path + ":" + io::quote(name));
  }
  return values;
}

}  // namespace aorta::state_format

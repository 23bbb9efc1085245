#include <aorta/tests/operand_names.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace aorta {
namespace {

// Its code for users, without comments, on lines that begin alike in every room.
std::string public_code(const std::filesystem::path& header) {
  std::ifstream stream(header);
  std::string code;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("namespace aorta::kernel")) break;
    if (line.starts_with(" public:") || line.starts_with("template")) continue;
    code += line.substr(0, line.find("//")) + "\n";
  }
  return code;
}

// What stands from `at` to the parenthesis that closes it, cut at the commas outside of all others.
std::vector<std::string> parameters_at(const std::string& code, size_t at) {
  std::vector<std::string> parts(1);
  for (int depth = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == ')' && depth == 0) break;
    depth += c == '(' || c == '<' || c == '{';
    depth -= c == ')' || c == '>' || c == '}';
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// The tensors of a struct: options are undefined by default, parts of a state aren't.
OperandNames members_of(const std::string& code, const std::string& type) {
  OperandNames names;
  const size_t begin = code.find("struct " + type + " {");
  if (begin == std::string::npos) return names;
  const std::string body = code.substr(begin, code.find("\n};", begin) - begin);
  static const std::regex member(R"(\n  (?:const )?(?:Tensor|Parameter) ([^;()]*);)");
  for (std::sregex_iterator at(body.begin(), body.end(), member), end; at != end; ++at) {
    for (const std::string& one : parameters_at((*at)[1].str() + ")", 0)) {
      static const std::regex declarator(R"(\s*(\w+)\s*(= \{\})?\s*)");
      std::smatch match;
      if (!std::regex_match(one, match, declarator)) continue;
      names.push_back({.name = match[1], .optional = match[2].matched});
    }
  }
  return names;
}

OperandNames operands_of(const std::vector<std::string>& parameters, const std::string& code) {
  static const std::regex operand(
      R"(\s*(?:const )?((?:std::)?[A-Z]?[\w:<> ]*[\w>])&?\s+(\w+)\s*(= [^]*)?)");
  static const std::set<std::string> lists = {"List<Tensor>", "List<Index>", "std::vector<Tensor>",
                                              "std::span<const Tensor>",
                                              "std::initializer_list<Tensor>"};
  static const std::set<std::string> tensors = {"Tensor", "Operand", "Parameter"};
  OperandNames names;
  for (const std::string& parameter : parameters) {
    std::smatch match;
    if (!std::regex_match(parameter, match, operand)) continue;
    const std::string type = match[1], name = match[2];
    if (tensors.contains(type) || lists.contains(type)) {
      names.push_back({.name = name,
                       .optional = match[3].str().starts_with("= {}"),
                       .is_list = lists.contains(type),
                       .may_be_number = type == "Operand" || type == "Parameter"});
    } else {
      for (OperandName member : members_of(code, type)) {
        member.optional |= match[3].str().starts_with("= {}");
        names.push_back(member);
      }
    }
  }
  return names;
}

void read(const std::string& code, const std::string& all, Declared& into) {
  static const std::regex declaration(
      R"(\n(?:(?:class|struct) (\w+)(?: final)?(?: : (?:public )?([\w:]+))?[^;\n]*\{)"
      R"(|using (\w+) = (\w+)<[^]*?;)"
      R"(|( *)(?:inline |static |virtual |explicit )*(?:(?:const )?(?:[A-Z][\w:<>]*|std::\w+<[\w, ]+>|bool|void|auto)&? )?(operator\(\)|\w+)\())");
  std::string type;
  for (std::sregex_iterator at(code.begin(), code.end(), declaration), end; at != end; ++at) {
    const std::smatch& match = *at;
    if (match[1].matched) {
      type = match[1];
      if (match[2].matched) into.base_of[type] = match[2];
    } else if (match[3].matched) {
      into.base_of[match[3]] = match[4];
    } else {
      const bool is_method = match.length(5) == 2;
      if (!is_method && match.length(5) > 0) continue;  // a statement
      OperandNames names = operands_of(
          parameters_at(code, static_cast<size_t>(match.position() + match.length())), all);
      const bool is_tensors = type == "Tensor" || type == "TensorMethods";
      if (is_method && is_tensors) names.insert(names.begin(), {.name = "input"});
      const std::string prefix = is_method && !is_tensors ? type + "::" : "";
      into.functions.emplace(prefix + match[6].str(), std::move(names));
    }
  }
}

// The rest of both, of a list's members those from `in_list` on.
bool are_operands_from(int in_list, std::span<const std::optional<Missed>> inputs,
                       std::span<const OperandName> names) {
  if (names.empty()) return inputs.empty();
  const OperandName& name = names.front();
  if (!inputs.empty()) {
    const auto& input = inputs.front();
    const auto is = [&](const std::string& text) { return input && input->operand == text; };
    for (int place = in_list; name.is_list && place < 10; ++place) {
      if (is(name.name + "[" + std::to_string(place) + "]"))
        return are_operands_from(place + 1, inputs.subspan(1), names);
    }
    if ((input ? is(name.name) : name.optional) &&
        are_operands_from(0, inputs.subspan(1), names.subspan(1)))
      return true;
  }
  return (name.optional || name.may_be_number || name.is_list) &&
         are_operands_from(0, inputs, names.subspan(1));
}

}  // namespace

std::vector<OperandNames> Declared::function(const std::string& name) const {
  std::vector<OperandNames> found;
  const auto [first, last] = functions.equal_range(name);
  for (auto at = first; at != last; ++at) found.push_back(at->second);
  return found;
}

std::vector<OperandNames> Declared::method(std::string type, const std::string& name) const {
  while (true) {
    const std::vector<OperandNames> found = function(type + "::" + name);
    if (!found.empty() || !base_of.contains(type)) return found;
    type = base_of.at(type);
  }
}

Declared declared_in(const std::vector<std::string>& paths) {
  std::vector<std::string> codes;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      codes.push_back(public_code(path));
      continue;
    }
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      if (file.path().extension() == ".h") codes.push_back(public_code(file.path()));
    }
  }
  std::string all;
  for (const std::string& code : codes) all += code;
  Declared declared;
  for (const std::string& code : codes) read(code, all, declared);
  return declared;
}

std::vector<std::optional<Missed>> missed_by(
    const std::vector<Tensor>& inputs, const std::function<void(const std::vector<Tensor>&)>& run) {
  std::vector<std::optional<Missed>> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensor> given = inputs;
    given[i] = Tensor();
    result.emplace_back();
    try {
      run(given);
    } catch (const Error& error) {
      const std::string text = error.what();
      static const std::regex rule(
          "(?:[\\w.]+: )?(\\w+): (?:\\w+\\.)?(\\w+(?:\\[\\d\\])?) must be defined, got an "
          "undefined "
          "tensor");
      static const std::regex together(
          "(?:[\\w.]+: )?(\\w+): .*?(\\w+) and (\\w+).*, or neither, got (\\w+) alone");
      std::smatch match;
      if (std::regex_match(text, match, rule))
        result.back() = {match[1], match[2], false};
      else if (std::regex_match(text, match, together))
        result.back() = {match[1], match[match[4] == match[2] ? 3 : 2], true};
      else
        result.back() = {"", text, false};
    }
  }
  return result;
}

std::string to_string(std::span<const std::optional<Missed>> inputs) {
  std::string text;
  for (const auto& input : inputs)
    text += input ? " " + input->function + ": " + input->operand + ";" : " nothing;";
  return text;
}

bool are_operands(std::span<const std::optional<Missed>> inputs,
                  std::span<const OperandName> names) {
  std::vector<std::optional<Missed>> alone;
  OperandNames left(names.begin(), names.end());
  for (const auto& input : inputs) {
    if (!input || !input->one_of_two) {
      alone.push_back(input);
    } else if (std::erase_if(left, [&](const auto& n) { return n.name == input->operand; }) == 0) {
      return false;
    }
  }
  return are_operands_from(0, alone, left);
}

}  // namespace aorta

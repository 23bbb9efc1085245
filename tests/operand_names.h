#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What public headers, read as text, call the operands of functions, and whether errors call them
// so too.
namespace aorta {

/// A parameter that takes a tensor, or a member of one that is a struct: "h" of hx.h.
struct OperandName {
  std::string name;
  bool optional = false;  // undefined, or left out, by default
  bool is_list = false;   // its members have numbers: "tensors[2]"
  bool may_be_number = false;
};
using OperandNames = std::vector<OperandName>;

/// The functions that headers declare for users.
struct Declared {
  /// The operands of each overload, under "relu", "Linear::forward", "Normal::Normal". The tensor
  /// whose method is called is its `input`, under the method's name alone.
  std::multimap<std::string, OperandNames> functions;
  std::map<std::string, std::string> base_of;

  /// The operands of a method, which the class or one that it is derived from declares.
  std::vector<OperandNames> method(std::string type, const std::string& name) const;
  std::vector<OperandNames> function(const std::string& name) const;
};
/// Reads headers, and folders of them.
Declared declared_in(const std::vector<std::string>& paths);

/// What a call says without one of its inputs: the function, and the operand that it misses. Or, as
/// `operand`, the whole of an error that says anything else.
struct Missed {
  std::string function, operand;
  bool one_of_two = false;  // "running_mean and running_var, or neither, got running_mean alone"
};
/// `run` without each of its inputs, one at a time; no value where it does without.
std::vector<std::optional<Missed>> missed_by(
    const std::vector<Tensor>& inputs, const std::function<void(const std::vector<Tensor>&)>& run);
std::string to_string(std::span<const std::optional<Missed>> inputs);

/// Whether the inputs, in their order, are operands in theirs, each by its own name, and those that
/// nobody misses are optional. What is optional or a number may have been left out between; one of
/// two that are given together may stand anywhere.
bool are_operands(std::span<const std::optional<Missed>> inputs,
                  std::span<const OperandName> names);

}  // namespace aorta

#pragma once

#include <aorta/nn/module.h>
#include <aorta/tests/operand_names.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <utility>

// Errors of layers, losses and functions name what they were not given.

namespace aorta::nn {

/// Moves a layer of any type away.
struct Taken : Module {
  explicit Taken(Module& module) : Module(std::move(module)) {}
};

/// What the headers of users declare.
inline const Declared& declared_everywhere() {
  static const Declared all = declared_in({"core/ops", "nn", "optim"});
  return all;
}

/// Expects that `run` names each input that is undefined, as the header does: of the layer `type`,
/// or, where it is empty, of the function that the error is about.
inline void expect_operands_named(const Declared& declared, const std::string& type,
                                  const std::vector<Tensor>& inputs,
                                  const std::function<void(const std::vector<Tensor>&)>& run) {
  const auto missed = missed_by(inputs, run);
  std::vector<OperandNames> overloads;
  for (const char* name : {"forward", "operator()"}) {
    const auto found = declared.method(type, name);
    overloads.insert(overloads.end(), found.begin(), found.end());
  }
  const auto first =
      std::find_if(missed.begin(), missed.end(), [](const auto& one) { return one; });
  if (type.empty() && first != missed.end()) overloads = declared.function((*first)->function);
  EXPECT_TRUE(std::any_of(overloads.begin(), overloads.end(),
                          [&](const OperandNames& names) { return are_operands(missed, names); }))
      << type << to_string(missed);
}

}  // namespace aorta::nn

#pragma once

#include <aorta/core/io/tensors.h>

#include <string>
#include <vector>

namespace aorta::nn {

using Names = std::vector<std::string>;

inline Names names_of(const NamedTensors& named) {
  Names names;
  for (const auto& [name, tensor] : named) names.push_back(name);
  return names;
}

}  // namespace aorta::nn

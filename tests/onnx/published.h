#pragma once

#include <aorta/core/io/npz.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

// Published cases of ONNX: AORTA_ONNX_VECTORS names the folder, with cases.json and one npz an
// operator.
namespace aorta::onnx::published {

inline std::string folder() {
  const char* path = std::getenv("AORTA_ONNX_VECTORS");
  return path ? path : "";
}

inline const nlohmann::json& cases() {
  static const nlohmann::json all = [] {
    std::ifstream file(folder() + "/cases.json");
    return file ? nlohmann::json::parse(file) : nlohmann::json::array();
  }();
  return all;
}

inline const npz::Reader& vectors(const std::string& op) {
  static std::map<std::string, npz::Reader> readers;
  return readers.try_emplace(op, folder() + "/" + op + ".npz").first->second;
}

}  // namespace aorta::onnx::published

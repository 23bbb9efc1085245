#pragma once

#include <aorta/core/io/npz.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

// Published cases of single operators of ONNX. Some stand in the tree; of the others
// AORTA_ONNX_VECTORS names the folder, with cases.json and one npz an operator.
namespace aorta::onnx::published {

inline std::string folder() {
  const char* path = std::getenv("AORTA_ONNX_VECTORS");
  return path ? path : "";
}

inline nlohmann::json read_cases(const std::string& path) {
  std::ifstream file(path);
  return file ? nlohmann::json::parse(file) : nlohmann::json::array();
}

inline const nlohmann::json& cases() {
  static const nlohmann::json all = read_cases(folder() + "/cases.json");
  return all;
}

/// The cases of the tree (tests/fixtures/make_onnx.py).
inline const nlohmann::json& cases_here() {
  static const nlohmann::json all = read_cases("tests/fixtures/onnx/cases.json");
  return all;
}

/// The arrays of an operator's cases.
inline const npz::Reader& vectors(const std::string& op, bool here = false) {
  static std::map<std::string, npz::Reader> readers;
  const std::string path = here ? "tests/fixtures/onnx/cases.npz" : folder() + "/" + op + ".npz";
  return readers.try_emplace(path, path).first->second;
}

}  // namespace aorta::onnx::published

#pragma once

#include <aorta/core/io/safetensors_format.h>

#include <variant>

namespace aorta {

/// A plain value of a State.
using StateValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                                std::vector<double>, std::vector<std::string>>;

}  // namespace aorta

/// How a State's values stand in the metadata of its safetensors file.
namespace aorta::state_format {

inline constexpr int64_t kVersion = 1;

/// A value as JSON: `true`, `3`, `0.1`, `"text"`, `[1,2]`. A double always has a point, an exponent
/// or is NaN, Infinity or -Infinity (as Python's json writes them), and reads back bit for bit.
std::string value_text(const StateValue& value);

/// Reads one back; throws `name: value must be ...`.
StateValue parse_value(std::string_view text, const std::string& name);

/// The version and the values.
safetensors::Metadata metadata(const std::map<std::string, StateValue>& values);

/// Throws unless `metadata` has a version that this library reads.
void check_version(const safetensors::Metadata& metadata, const std::string& path);

/// The values in `metadata`.
std::map<std::string, StateValue> parse_values(const safetensors::Metadata& metadata,
                                               const std::string& path);

}  // namespace aorta::state_format

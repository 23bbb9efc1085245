#include <aorta/nn/padding.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

std::string name_of(PaddingKind kind, int spatial) {
  constexpr const char* kNames[] = {"ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad",
                                    "CircularPad"};
  return fmt::format("{}{}d", kNames[static_cast<size_t>(kind)], spatial);
}

PadMode mode_of(PaddingKind kind) {
  switch (kind) {
    case PaddingKind::reflection:
      return PadMode::reflect;
    case PaddingKind::replication:
      return PadMode::replicate;
    case PaddingKind::circular:
      return PadMode::circular;
    default:
      return PadMode::constant;
  }
}

}  // namespace

Padding::Padding(PaddingKind kind, int spatial, const Dims& padding, double value)
    : kind(kind), spatial(spatial), padding(padding), value(value) {
  check(padding.size() == 2 * spatial, name_of(kind, spatial).c_str(),
        fmt::format("padding must be one number or {}", 2 * spatial), padding);
}

Tensor Padding::forward(const Tensor& input) const {
  return pad(input, padding, mode_of(kind), value);
}

std::string Padding::type_name() const { return name_of(kind, spatial); }

std::string Padding::extra_repr() const {
  std::string text = fmt::format("({})", fmt::join(padding.begin(), padding.end(), ", "));
  if (kind == PaddingKind::constant) text = fmt::format("padding={}, value={}", text, value);
  return text;
}

}  // namespace aorta::nn

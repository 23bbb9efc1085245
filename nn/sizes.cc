#include <aorta/nn/sizes.h>

#include <fmt/format.h>

namespace aorta::nn {

Dims sizes_of(const std::string& layer, const char* what, const Dims& sizes, int count) {
  check(sizes.size() == count || sizes.size() == 1, layer,
        std::string(what) + " must be one number or " + std::to_string(count), sizes);
  return sizes.size() == count ? sizes : Dims::filled(count, sizes[0]);
}

std::string layer_name(const char* name, int spatial) {
  return std::string(name) + std::to_string(spatial) + "d";
}

std::string repr(const Dims& sizes) {
  return fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

std::string repr(bool value) { return value ? "True" : "False"; }

std::string repr(double value) { return fmt::format("{}", value); }

}  // namespace aorta::nn

#include <aorta/core/check.h>
#include <aorta/cuda/limits.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace aorta::cuda {

Limits Limits::parse(const char* text) {
  const Limits most;
  Limits wanted;
  const char* const end = text + std::strlen(text);
  const auto [comma, first] = std::from_chars(text, end, wanted.elements);
  bool good = first == std::errc() && comma != end && *comma == ',';
  if (good) {
    const auto [rest, second] = std::from_chars(comma + 1, end, wanted.blocks);
    good = second == std::errc() && rest == end;
  }
  check(good && wanted.elements >= 2 && wanted.elements <= most.elements && wanted.blocks >= 1 &&
            wanted.blocks <= most.blocks,
        "device", "AORTA_CUDA_LIMITS is ELEMENTS,BLOCKS, from 2,1 to 2147483648,1073741824", text);
  return wanted;
}

const Limits& limits() {
  static const Limits value = [] {
    const char* wish = std::getenv("AORTA_CUDA_LIMITS");
    return wish && *wish ? Limits::parse(wish) : Limits{};
  }();
  return value;
}

unsigned grid_blocks(int64_t wanted) {
  return static_cast<unsigned>(std::min(wanted, limits().blocks));
}

}  // namespace aorta::cuda

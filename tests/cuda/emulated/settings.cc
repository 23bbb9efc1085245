#include <aorta/tests/cuda/emulated/settings.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace aorta::emulated {
namespace {

/// The place of an environment variable's value among `names`; 0 where it isn't set.
template <size_t n>
size_t choice(const char* variable, const std::string_view (&names)[n], size_t otherwise) {
  const char* wish = std::getenv(variable);
  if (!wish || !*wish) return otherwise;
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == wish) return i;
  }
  std::fprintf(stderr, "emulated device: %s must be one of its values, got %s\n", variable, wish);
  std::abort();
}

uint64_t number(const char* variable, uint64_t otherwise) {
  const char* wish = std::getenv(variable);
  return wish && *wish ? std::strtoull(wish, nullptr, 10) : otherwise;
}

Settings read_settings() {
  Settings s;
  s.mode =
      static_cast<Mode>(choice("AORTA_EMULATED_MODE", {"eager", "lazy", "random", "threads"}, 1));
  s.order = static_cast<Order>(choice("AORTA_EMULATED_ORDER", {"forward", "reverse", "random"}, 0));
  s.seed = number("AORTA_EMULATED_SEED", s.seed);
  s.devices = static_cast<int>(number("AORTA_EMULATED_DEVICES", 3));
  s.races = number("AORTA_EMULATED_RACES", s.races);
  return s;
}

}  // namespace

Settings& settings() {
  static Settings value = read_settings();
  return value;
}

// SplitMix64 (Steele, Lea and Flood, 2014): a library that is loaded late has room for little of
// each thread's own.
uint64_t random_below(uint64_t bound) {
  static thread_local uint64_t state = settings().seed;
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (z ^ z >> 31) % bound;
}

}  // namespace aorta::emulated

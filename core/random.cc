#include <aorta/core/random.h>
#include <aorta/core/scalar/philox.h>

#include <random>

namespace aorta {

uint32_t Generator::next_u32() {
  const GeneratorState at = take(1);
  return scalar::philox(at.seed, at.stream, at.position).word[0];
}

double Generator::next_uniform() {
  const GeneratorState at = take(1);
  const scalar::PhiloxWords w = scalar::philox(at.seed, at.stream, at.position);
  return scalar::uniform_double(w.word[0], w.word[1]);
}

int64_t Generator::next_below(int64_t range) {
  check(range > 0, "next_below", "the range must be positive", range);
  const GeneratorState at = take(1);
  const scalar::PhiloxWords w = scalar::philox(at.seed, at.stream, at.position);
  return static_cast<int64_t>(
      scalar::uniform_below(w.word[0], w.word[1], static_cast<uint64_t>(range)));
}

static thread_local constinit Generator* scoped_generator = nullptr;

DefaultGeneratorScope::DefaultGeneratorScope(Generator& generator)
    : outer_(std::exchange(scoped_generator, &generator)) {}
DefaultGeneratorScope::~DefaultGeneratorScope() { scoped_generator = outer_; }

Generator& default_generator() {
  if (scoped_generator) return *scoped_generator;
  static Generator generator([] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }());
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace aorta

#include <aorta/core/random.h>
#include <aorta/core/recording.h>
#include <aorta/core/scalar/philox.h>

#include <random>

namespace aorta {
namespace {

thread_local constinit Generator* scoped_generator = nullptr;

// A number for the host is drawn once, at the capture.
GeneratorState take_for_host(Generator& generator) {
  kernel::refuse_in_capture("random", "a captured step draws its random numbers on its device",
                            "a number for the host");
  return generator.take(1);
}

}  // namespace

uint32_t Generator::next_u32() {
  const GeneratorState at = take_for_host(*this);
  return scalar::philox(at.seed, at.stream, at.position).word[0];
}

double Generator::next_uniform() {
  const GeneratorState at = take_for_host(*this);
  const scalar::PhiloxWords w = scalar::philox(at.seed, at.stream, at.position);
  return scalar::uniform_double(w.word[0], w.word[1]);
}

int64_t Generator::next_below(int64_t range) {
  check(range > 0, "next_below", "the range must be positive", range);
  const GeneratorState at = take_for_host(*this);
  const scalar::PhiloxWords w = scalar::philox(at.seed, at.stream, at.position);
  return static_cast<int64_t>(
      scalar::uniform_below(w.word[0], w.word[1], static_cast<uint64_t>(range)));
}

std::weak_ptr<const void> Generator::lifetime() {
  if (!lifetime_) lifetime_ = std::make_shared<char>();
  return lifetime_;
}

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

const GeneratorState* kernel::live_draw(Generator& source, const GeneratorState& taken,
                                        int64_t blocks, Device device) {
  Recording* const recording = Recording::current();
  if (!recording) return nullptr;
  check(device == recording->device(), "random",
        "a captured step draws its random numbers on its device", device, " for ",
        recording->device());
  // Launches take from the default generator of then, unless the step took from another.
  const bool standard = !scoped_generator && &source == &default_generator();
  const auto renew = [source = &source, standard, blocks, lifetime = source.lifetime()](void* to) {
    check(standard || !lifetime.expired(), "random",
          "a generator must live as long as the captured step that takes from it",
          "one that is gone");
    *static_cast<GeneratorState*>(to) = (standard ? default_generator() : *source).take(blocks);
  };
  recording->on_failure([source = &source, taken, lifetime = source.lifetime()] {
    if (!lifetime.expired()) source->restore(taken);
  });
  return static_cast<const GeneratorState*>(recording->numbers(&taken, sizeof taken, renew));
}

}  // namespace aorta

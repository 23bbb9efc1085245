#pragma once

#include <aorta/core/tensor.h>

#include <atomic>
#include <memory>

namespace aorta {

/// Where a Generator stands: all of its state.
struct GeneratorState {
  uint64_t seed = 0;
  uint64_t stream = 0;
  uint64_t position = 0;
  bool operator==(const GeneratorState&) const = default;
};

/// A stream of random numbers: Philox4x32-10 with the seed as key. A fill takes the blocks that it
/// needs and moves the position on, so that the same calls give the same numbers for any number of
/// threads, and on every device the same integers. Generators of one seed and different streams are
/// independent: `Generator(seed, epoch * samples + sample)`. Safe to use from several threads.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0, uint64_t stream = 0) { restore({seed, stream, 0}); }
  Generator(const Generator& other) { restore(other.state()); }
  Generator& operator=(const Generator& other) {
    restore(other.state());
    return *this;
  }

  /// Starts again at the beginning of stream 0 of `seed`.
  void manual_seed(uint64_t seed) { restore({seed, 0, 0}); }
  GeneratorState state() const { return {seed_, stream_, position_.load()}; }
  void restore(const GeneratorState& state) {
    seed_ = state.seed;
    stream_ = state.stream;
    position_.store(state.position);
  }
  /// Reserves `blocks` blocks of four words: the state before them.
  GeneratorState take(int64_t blocks) {
    return {seed_, stream_, position_.fetch_add(static_cast<uint64_t>(blocks))};
  }
  /// One number in [0, 2^32), uniform in [0, 1), or uniform in [0, range): for samplers and
  /// transforms.
  uint32_t next_u32();
  double next_uniform();
  int64_t next_below(int64_t range);

  /// Ends with the generator.
  std::weak_ptr<const void> lifetime();

 private:
  uint64_t seed_ = 0;
  uint64_t stream_ = 0;
  std::atomic<uint64_t> position_{0};
  std::shared_ptr<const void> lifetime_;  // made when somebody asks; never copied
};

/// The generator of calls that name none. It starts with a seed from the system.
Generator& default_generator();
/// While it lives, `generator` is this thread's default generator.
class DefaultGeneratorScope {
 public:
  [[nodiscard]] explicit DefaultGeneratorScope(Generator& generator);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  Generator* outer_;
};
/// Seeds the default generator.
void manual_seed(uint64_t seed);

}  // namespace aorta

namespace aorta::kernel {

/// Where kernels read `taken`, the state from which `blocks` blocks of `source` were taken for
/// memory on `device`, in a step that is captured: each launch of its graph takes as many, and puts
/// the state of then there. Null outside of a capture.
const GeneratorState* live_draw(Generator& source, const GeneratorState& taken, int64_t blocks,
                                Device device);

}  // namespace aorta::kernel

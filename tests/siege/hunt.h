#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

// Runs cases one after another, each drawn from the seed and its number alone, in a child process
// that may crash, hang or take all memory: the parent says which case it was and goes on.
namespace aorta::siege {

/// Where a case draws its numbers from: SplitMix64 (Steele et al. 2014).
class Draw {
 public:
  Draw(uint64_t seed, uint64_t number) : state_(seed * 0x9e3779b97f4a7c15 + number) { next(); }
  uint64_t next();
  /// In [0, count).
  uint64_t below(uint64_t count) { return next() % count; }
  /// True once in `count` times.
  bool once_in(uint64_t count) { return below(count) == 0; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

struct Case {
  uint64_t number = 0;
  Draw draw;
  /// Only what holds this text is tried.
  std::string_view pattern;
  /// Appends to what is told of the case; a crash doesn't lose it.
  void say(std::string_view text) const;
  /// What was tried ended in a result, or in an Error.
  void tried(bool well) const;
  /// In an Error with `text`, whose fault is a finding.
  void tried_error(std::string_view text) const;
  /// Another finding. `key` tells findings of one kind apart from others.
  void find(std::string_view key, std::string_view what) const;
};

/// main() of a part of the siege:
///   --seed N --cases N --seconds S    how much; cases by default without end
///   --case N                          that one alone, in this process, for a debugger
///   --only TEXT                       what has TEXT in its name
/// Prints each kind of finding once, with how to see it again, and `PART: N tried, N findings`; 1
/// if there are any. A case may take `kSecondsPerCase` of the CPU and `memory_bytes`; under a
/// sanitizer one that takes longer is given up, and is no finding.
int hunt(int argc, char** argv, const char* part, int64_t memory_bytes,
         const std::function<void(Case&)>& body);

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
inline constexpr int kSecondsPerCase = 20;  // a million views take 15
#else
inline constexpr bool kSanitized = false;
inline constexpr int kSecondsPerCase = 10;
#endif

}  // namespace aorta::siege

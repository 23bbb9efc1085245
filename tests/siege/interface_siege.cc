// Calls the whole interface with hostile arguments: see hunt.h for its flags. With
// AORTA_SIEGE_PLANTED it calls functions whose faults it must find instead.
#include <aorta/core/allocator.h>
#include <aorta/tests/siege/targets.h>

#include <cstdlib>

int main(int argc, char** argv) {
  using namespace aorta::siege;
  static const std::vector<Target> all = [] {
    if (std::getenv("AORTA_SIEGE_PLANTED")) return planted_targets();
    std::vector<Target> targets = catalog_targets();
    for (const auto& more : {function_targets(), module_targets()})
      targets.insert(targets.end(), more.begin(), more.end());
    return targets;
  }();
  constexpr int64_t kMemory = int64_t{768} << 20;
  return hunt(argc, argv, "interface_siege", kMemory, [](Case& one) {
    // Each case has the memory that the child was given, not what those before left of it.
    aorta::cpu::empty_cache();
    // A pattern picks among those that have it, so that a case of its own is found again.
    std::vector<const Target*> chosen;
    for (const Target& target : all) {
      if (target.name.find(one.pattern) != std::string::npos) chosen.push_back(&target);
    }
    if (!chosen.empty()) attack(one, *one.draw.one_of(chosen));
  });
}

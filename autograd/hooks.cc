#include <aorta/autograd/hooks.h>

#include <algorithm>

namespace aorta {
namespace autograd {

int64_t HookList::add(uint32_t output, GradientHook before, TensorHook after, bool retains) {
  const auto place = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.retains && !retains; });
  entries.insert(place, {next_id, output, std::move(before), std::move(after), retains});
  return next_id++;
}

void HookList::remove(int64_t id) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.id == id; });
}

bool HookList::has_before() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return bool(entry.before); });
}

bool HookList::has_after() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return bool(entry.after); });
}

}  // namespace autograd

void HookHandle::remove() {
  if (const auto list = list_.lock()) remove_(list.get(), id_);
  list_.reset();
}

}  // namespace aorta

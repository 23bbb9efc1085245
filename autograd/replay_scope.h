#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace aorta::autograd {

/// While it lives, what checkpoint() runs, and runs again in a backward pass, finds something
/// around it that it needs: members of a module that are there while the module runs. `enter`
/// brings that about once more, until what it gives is let go.
class ReplayScope {
 public:
  using Enter = std::function<std::shared_ptr<void>()>;
  [[nodiscard]] explicit ReplayScope(Enter enter);
  ~ReplayScope();
  ReplayScope(const ReplayScope&) = delete;
  ReplayScope& operator=(const ReplayScope&) = delete;
};

/// This thread's scopes, the outermost first.
const std::vector<ReplayScope::Enter>& replay_scopes();

}  // namespace aorta::autograd

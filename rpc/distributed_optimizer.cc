#include <aorta/rpc/distributed_optimizer.h>

namespace aorta::distributed::optim::detail {

std::mutex& step_mutex() {
  static auto* instance = new std::mutex;
  return *instance;
}

}  // namespace aorta::distributed::optim::detail

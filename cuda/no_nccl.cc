// Where the machine that builds has no header of NCCL's.
#include <aorta/core/device_backend.h>
#include <aorta/core/device_collectives.h>

namespace aorta::cuda {
namespace {

class NoLibrary final : public CollectiveLibrary {
 public:
  DeviceLibrary state() override {
    return {.version = 0, .problem = "libaorta_cuda.so was built without NCCL's header"};
  }
  // Never asked for.
  std::string identity(int) override { return {}; }
  std::string new_id() override { return {}; }
  std::unique_ptr<DeviceCollectives> join(const CollectiveCall&, const std::string&, int, int,
                                          int) override {
    return nullptr;
  }
};

}  // namespace

void register_collectives() {
  static NoLibrary library;
  register_collective_library(&library);
}

}  // namespace aorta::cuda

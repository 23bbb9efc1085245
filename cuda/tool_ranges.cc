#include <aorta/cuda/tool_ranges.h>

#include <nvtx3/nvToolsExt.h>

namespace aorta::cuda {
namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t one = nvtxDomainCreateA("Aorta");
  return one;
}

}  // namespace

void begin_tool_range(const char* name) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = sizeof range;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &range);
}

void end_tool_range() { nvtxDomainRangePop(domain()); }

}  // namespace aorta::cuda

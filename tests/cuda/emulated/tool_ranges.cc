// NVTX's ranges: the double is the tool that listens.
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/tool_ranges.h>

#include <nvtx3/nvToolsExt.h>

#include <utility>

namespace aorta::emulated {
namespace {

constexpr const char* kPage = "docs.nvidia.com/nvtx, Push/Pop Ranges";

struct ToolRanges {
  int depth = 0;
  std::vector<std::string> told;
};
thread_local ToolRanges ranges;

}  // namespace

std::vector<std::string> take_tool_ranges() { return std::exchange(ranges.told, {}); }

}  // namespace aorta::emulated

using namespace aorta::emulated;

int nvtxDomainRangePushEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  const char* const call = "nvtxDomainRangePushEx";
  if (range->version != NVTX_VERSION || range->size != sizeof *range)
    report(call, "the structure says its version and size", std::to_string(range->size), kPage);
  if (range->messageType != NVTX_MESSAGE_TYPE_ASCII || !range->message.ascii)
    report(call, "a range has a name", "none", kPage);
  else
    ranges.told.emplace_back(range->message.ascii);
  return ranges.depth++;
}

int nvtxDomainRangePop(nvtxDomainHandle_t) {
  if (ranges.depth == 0) {
    report("nvtxDomainRangePop", "a range must have begun in this thread", "none", kPage);
    return -1;
  }
  ranges.told.emplace_back("end");
  return --ranges.depth;
}

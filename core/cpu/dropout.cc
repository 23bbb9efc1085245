#include <aorta/core/cpu/dropout.h>

#include <aorta/core/parallel_for.h>

namespace aorta::cpu {

void register_dropout() {
  dropout_op.set_kernel(DeviceType::cpu, [](const DropoutArgs& args) {
    const auto blocks = for_isa(v2::dropout_blocks, v3::dropout_blocks, v4::dropout_blocks);
    constexpr int64_t kBlocks = 4096;
    parallel_for(0, (args.count + 3) / 4, kBlocks,
                 [&](int64_t first, int64_t end) { blocks(args, first, end); });
  });
}

}  // namespace aorta::cpu

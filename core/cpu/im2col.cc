#include <aorta/core/body/im2col.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/im2col.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

using body::Im2colArgs;

void im2col_kernel(const Im2colArgs& args) {
  const int64_t rows = args.planes * args.height.kernel * args.width.kernel * args.height.output;
  const int64_t width = args.width.output;
  visit_floating(args.dtype, [&](auto type) {
    const body::Im2colBody<decltype(type)> body(args);
    parallel_for(0, rows, std::max<int64_t>(kThreadGrain / width, 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) body.run(row, 0, width);
                 });
  });
}

void col2im_kernel(const Im2colArgs& args) {
  const int64_t count = args.planes * args.height.input * args.width.input;
  const int64_t taps = args.height.kernel * args.width.kernel;
  visit_floating(args.dtype, [&](auto type) {
    const body::Col2imBody<decltype(type)> body(args);
    parallel_for(0, count, std::max<int64_t>(kThreadGrain / taps, 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) body(i);
                 });
  });
}

}  // namespace

void register_im2col() {
  im2col_op.set_kernel(DeviceType::cpu, im2col_kernel);
  col2im_op.set_kernel(DeviceType::cpu, col2im_kernel);
}

}  // namespace aorta::cpu

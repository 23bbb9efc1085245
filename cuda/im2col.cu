#include <aorta/core/body/im2col.h>
#include <aorta/core/ops/im2col.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

using body::Im2colArgs;

void im2col_kernel(const Im2colArgs& args) {
  const int64_t rows = args.planes * args.height.kernel * args.width.kernel * args.height.output;
  visit_floating(args.dtype, [&](auto type) {
    for_each("im2col", args.output, rows * args.width.output,
             body::Im2colBody<decltype(type)>(args));
  });
}

void col2im_kernel(const Im2colArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    for_each("col2im", args.output, args.planes * args.height.input * args.width.input,
             body::Col2imBody<decltype(type)>(args));
  });
}

}  // namespace

void register_im2col() {
  set_kernel<im2col_op, im2col_kernel>();
  set_kernel<col2im_op, col2im_kernel>();
}

}  // namespace aorta::cuda

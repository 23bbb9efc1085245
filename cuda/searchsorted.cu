#include <aorta/core/body/searchsorted.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

void searchsorted_kernel(const SearchsortedArgs& args) {
  visit_dtype(args.dtype, [&](auto type) {
    using M = MemoryType<decltype(type)>;
    for_each("searchsorted", args.output, args.count,
             body::SearchsortedBody<M>{static_cast<const M*>(args.sequence),
                                       static_cast<const M*>(args.values), args.output, args.length,
                                       args.per_row, args.right});
  });
}

}  // namespace

void register_searchsorted() { set_kernel<searchsorted_op, searchsorted_kernel>(); }

}  // namespace aorta::cuda

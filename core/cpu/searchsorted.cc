#include <aorta/core/body/searchsorted.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/parallel_for.h>

namespace aorta::cpu {
namespace {

constexpr int64_t kGrain = 2048;

void searchsorted_kernel(const SearchsortedArgs& args) {
  visit_dtype(args.dtype, [&](auto type) {
    using T = decltype(type);
    const body::SearchsortedBody<T> body{static_cast<const T*>(args.sequence),
                                         static_cast<const T*>(args.values),
                                         args.output,
                                         args.length,
                                         args.per_row,
                                         args.right};
    parallel_for(0, args.count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  });
}

}  // namespace

void register_searchsorted() { searchsorted_op.set_kernel(DeviceType::cpu, searchsorted_kernel); }

}  // namespace aorta::cpu

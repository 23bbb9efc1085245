#include <aorta/core/cpu/update.h>

#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace aorta::cpu {
namespace {

// The tensors lie one behind the other in one range of elements, so that many small ones are one
// piece of work.
void run(const UpdateArgs& args) {
  if (args.must_be_finite && !std::isfinite(*args.must_be_finite)) return;
  const auto choose = for_isa(v2::update_function, v3::update_function, v4::update_function);
  const UpdateFunction function = choose(args.rule, args.dtype);
  parallel_for(0, args.count(), kThreadGrain, [&](int64_t first, int64_t end) {
    auto tensor = std::upper_bound(
        args.tensors.begin(), args.tensors.end(), first,
        [](int64_t place, const UpdateTensor& t) { return place < t.first + t.count; });
    for (; first < end; ++tensor) {
      const int64_t last = std::min(end, tensor->first + tensor->count);
      function(*tensor, args.numbers[static_cast<size_t>(tensor->numbers)], first - tensor->first,
               last - tensor->first);
      first = last;
    }
  });
}

}  // namespace

void register_update() { update_op.set_kernel(DeviceType::cpu, run); }

}  // namespace aorta::cpu

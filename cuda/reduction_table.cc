#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/scalar/reduce_list.h>
#include <aorta/cuda/reduction.h>

#include <array>
#include <utility>

namespace aorta::cuda {
namespace {

using Table = std::array<ReduceKernel, scalar::ReduceOps::size>;

template <int... part>
Table make_table(std::integer_sequence<int, part...>) {
  Table table{};
  (list_reduction_part<part>(table.data()), ...);
  return table;
}

// All rows of reductions have this one kernel, and its arguments say whose it is.
void reduce_kernel(const ReduceArgs& args) {
  const CalledOp called(args.op);
  static const Table table = make_table(std::make_integer_sequence<int, kReductionParts>{});
  table[static_cast<size_t>(args.reducer)](args);
}

}  // namespace

void register_reduction() { set_reduce_kernel(DeviceType::cuda, reduce_kernel); }

}  // namespace aorta::cuda

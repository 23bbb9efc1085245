#include <aorta/core/cpu/isa/binary_row.h>
#include <aorta/core/cpu/isa/half_row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

constexpr auto kRows =
    with_half_rows(make_rows<BinaryRow>(scalar::BinaryOps{}), scalar::BinaryOps{});

}  // namespace

const RowFunction* binary_rows() { return kRows.rows; }

}  // namespace aorta::cpu::AORTA_ISA

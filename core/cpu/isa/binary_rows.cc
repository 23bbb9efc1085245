#include <aorta/core/cpu/isa/binary_row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

constexpr auto kRows = make_rows<BinaryRow>(scalar::BinaryOps{});

}  // namespace

const RowFunction* binary_rows() { return kRows.rows; }

}  // namespace aorta::cpu::AORTA_ISA

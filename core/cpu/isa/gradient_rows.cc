#include <aorta/core/cpu/isa/binary_row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

constexpr auto kRows = make_rows<BinaryRow>(scalar::GradientOps{});

}  // namespace

const RowFunction* gradient_rows() { return kRows.rows; }

}  // namespace aorta::cpu::AORTA_ISA

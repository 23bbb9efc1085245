#include <aorta/examples/matmul/tile.h>

namespace steps {

// 6 x 8 sums in 12 of the 16 registers of 4 numbers that every x86-64 CPU has.
void registers(const Product& p) { multiply_tiles<4, 6>(p); }

}  // namespace steps

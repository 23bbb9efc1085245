#pragma once

#include <cstdint>

// The matrix product of docs/how_a_kernel_gets_fast.md, a file a step.

namespace steps {

/// c = a b in f32: a (m, k), b (k, n), c (m, n), all row-major without gaps.
struct Product {
  int64_t m, n, k;
  const float* a;
  const float* b;
  float* c;
};

/// What this CPU runs: AVX2 with fused multiply-adds (x86-64-v3), AVX-512 (x86-64-v4).
bool has_v3();
bool has_v4();

void loops(const Product& p);         // step_1_loops.cc
void order(const Product& p);         // step_2_order.cc
void registers(const Product& p);     // step_3_registers.cc
void instructions(const Product& p);  // step_4_instructions.cc
void width(const Product& p);         // step_5_width.cc
void caches(const Product& p);        // step_6_caches.cc
void packing(const Product& p);       // step_7_packing.cc
void threads(const Product& p);       // step_8_threads.cc

}  // namespace steps

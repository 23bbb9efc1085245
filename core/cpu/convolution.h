#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/convolution.h>

namespace aorta::cpu {

/// A dimension as a pass over it sees it: what it reads is the input, of which position q lies at
/// q * spacing. Between them a strided convolution's transpose reads zeros.
struct SeenDim : ConvDim {
  SeenDim(const ConvDim& dim, bool transposed) : ConvDim(dim), size(dim.input) {
    if (!transposed) return;
    size = dim.output;
    spacing = dim.stride;
    output = dim.input;
    input = (dim.output - 1) * dim.stride + 1;
    stride = 1;
    padding = dim.dilation * (dim.kernel - 1) - dim.padding;
  }
  int64_t size;
  int64_t spacing = 1;
};

/// Rows of sums that go to their places: output + offsets[i] (in elements) gets row i, plus `bias`,
/// rounded to `dtype`. Sums and bias are f64 for f64, else f32; a null bias is none.
struct SumRows {
  DType dtype = DType::f32;
  int64_t rows = 0, columns = 0;
  const void* sums = nullptr;
  int64_t sum_stride = 0;  // in elements
  const void* bias = nullptr;
  void* output = nullptr;
  const int64_t* offsets = nullptr;
};

/// The gradient of w from x and y, as matrix products of packed blocks.
void packed_weight_gradient(const ConvolutionArgs& args);

/// Kernels of one tap, without stride and padding: a matrix product of maps and weights where they
/// lie. Whether the rule on the shape takes it.
bool takes_product(const ConvolutionArgs& args);
void convolution_product(const ConvolutionArgs& args, bool transposed);
void weight_gradient_product(const ConvolutionArgs& args);
/// A product for each image of ConvolutionArgs::planes, the weights on the left.
void plane_products(const ConvolutionArgs& args, bool transposed);

/// Few channels: matrix products of rows of x, y and w where they lie, without packing. Whether the
/// rule on the shape takes y and w, and x (the transposed convolution).
bool takes_rows(const ConvolutionArgs& args);
bool takes_rows_transposed(const ConvolutionArgs& args);
void convolution_by_rows(const ConvolutionArgs& args, bool transposed);
void weight_gradient_by_rows(const ConvolutionArgs& args);

/// Groups of few channels, as those of a depthwise convolution: each result's row from those that
/// it reads, a register's width of results at a time. Whether the rule on the shape takes it.
bool takes_grouped(const ConvolutionArgs& args, bool transposed);
void grouped_convolution(const ConvolutionArgs& args, bool transposed);
void grouped_weight_gradient(const ConvolutionArgs& args);

AORTA_EACH_ISA(void store_sums(const SumRows& rows);)

}  // namespace aorta::cpu

#include <aorta/core/cpu/convolution.h>
#include <aorta/core/cpu/gemm.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// Where taking maps apart, as kernels of more taps need, costs more than it gains: measured.
constexpr int64_t kFewResults = 24, kManyChannels = 64, kFewPositions = 16, kManyPairs = 32;

int64_t positions(const ConvolutionArgs& args) {
  int64_t count = args.batch;
  for (const ConvDim& dim : args.dims) count *= dim.output;
  return count;
}

Gemm product_of(const ConvolutionArgs& args) {
  Gemm product;
  product.dtype = args.dtype;
  product.rounded = is_half(args.dtype);
  return product;
}

}  // namespace

bool takes_product(const ConvolutionArgs& args) {
  for (const ConvDim& dim : args.dims) {
    if (dim.kernel != 1 || dim.stride != 1 || dim.padding != 0) return false;
    if (dim.input != dim.output) return false;  // by the output_padding of a transposed one
  }
  if (args.groups > 1) return false;
  const bool pairs = gemm_kind(args.dtype) == GemmKind::bf16;
  return positions(args) <= kFewPositions ||
         (args.y_channels <= kFewResults && args.x_channels >= kManyChannels) ||
         (pairs && std::min(args.x_channels, args.y_channels) >= kManyPairs);
}

void convolution_product(const ConvolutionArgs& args, bool transposed) {
  Gemm product = product_of(args);
  product.m = positions(args);
  product.n = product.ldc = transposed ? args.x_channels : args.y_channels;
  product.k = product.a_row = transposed ? args.y_channels : args.x_channels;
  product.a = transposed ? args.y : args.x;
  product.a_column = 1;
  product.b = args.w;
  product.b_row = transposed ? args.w_y : args.w_x;
  product.b_column = transposed ? args.w_x : args.w_y;
  product.c = transposed ? args.x : args.y;
  product.input = args.bias;
  product.input_column = 1;
  gemm(product);
}

void weight_gradient_product(const ConvolutionArgs& args) {
  Gemm product = product_of(args);
  product.m = product.a_column = args.y_channels;
  product.n = product.ldc = product.b_row = args.x_channels;
  product.k = positions(args);
  product.a = args.y;
  product.b = args.x;
  product.a_row = product.b_column = 1;
  product.c = args.w;
  gemm(product);
}

}  // namespace aorta::cpu

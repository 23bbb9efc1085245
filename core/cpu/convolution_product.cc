#include <aorta/core/cpu/convolution.h>
#include <aorta/core/cpu/gemm.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// Where taking maps apart, as kernels of more taps need, costs more than it gains, or packing all
// weights before the first is used: measured.
constexpr int64_t kFewResults = 24, kManyChannels = 64, kManyPairs = 32;
constexpr int64_t kFewPositions = 16, kSomePositions = 512, kManyWeights = 2048;

int64_t positions_of_image(const ConvolutionArgs& args) {
  int64_t count = 1;
  for (const ConvDim& dim : args.dims) count *= dim.output;
  return count;
}
int64_t positions(const ConvolutionArgs& args) { return args.batch * positions_of_image(args); }

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
  const int64_t count = positions(args);
  return count <= kFewPositions ||
         (count <= kSomePositions && args.x_channels * args.y_channels >= kManyWeights) ||
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

// Images share the threads where each is worth less than a thread of its own.
void plane_products(const ConvolutionArgs& args, bool transposed) {
  Gemm product = product_of(args);
  product.m = transposed ? args.x_channels : args.y_channels;
  product.n = product.ldc = product.b_row = positions_of_image(args);
  product.k = transposed ? args.y_channels : args.x_channels;
  product.a = args.w;
  product.a_row = transposed ? args.w_x : args.w_y;
  product.a_column = transposed ? args.w_y : args.w_x;
  product.b_column = 1;
  product.input = args.bias;
  product.input_row = 1;
  const int64_t item = item_size(args.dtype), work = product.m * product.n * product.k;
  const char* const source = static_cast<const char*>(transposed ? args.y : args.x);
  char* const result = static_cast<char*>(transposed ? args.x : args.y);
  const auto multiply = [&](int64_t begin, int64_t end) {
    Gemm image = product;
    for (int64_t i = begin; i < end; ++i) {
      image.b = source + i * product.k * product.n * item;
      image.c = result + i * product.m * product.n * item;
      gemm(image);
    }
  };
  if (args.batch == 1 || work >= 8 * kTaskWork) return multiply(0, args.batch);
  parallel_for(0, args.batch, std::max<int64_t>(kTaskWork / work, 1), multiply);
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

#include <aorta/core/cpu/normalization_pieces.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace aorta::cpu {
namespace {

// Lines whose contributions to the gradients of weight and bias are summed in f32.
constexpr int64_t kFewLines = 16, kManyLines = 256;

// The given numbers, or as many of `otherwise`.
const void* numbers_or(const void* given, double otherwise, const LineNormArgs& args,
                       Tensor& storage) {
  if (given) return given;
  const DType dtype = compute_dtype(args.dtype);
  storage = full({args.plan.length}, otherwise, {.dtype = dtype});
  return storage.data();
}

NormMap line_map_of(const LineNormArgs& args, int64_t line) {
  return scalar::norm_map(scalar::SplitMean(args.mean[line], args.dtype == DType::f64),
                          1 / std::sqrt(args.var[line] + args.plan.eps), 1, 0, false);
}

void line_forward(const LineNormArgs& args) {
  const NormLoops& loops = loops_of(args.dtype);
  const int64_t n = args.plan.length, item = item_size(args.dtype);
  const Runs runs(n, 1);
  Tensor storage[2];
  const void* const weight = numbers_or(args.weight, 1, args, storage[0]);
  const void* const bias = numbers_or(args.bias, 0, args, storage[1]);
  parallel_for(0, args.lines, grain_of(n), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const char* const x = static_cast<const char*>(args.input) + line * n * item;
      NormMoments total{};
      for (int64_t i = 0; i < runs.count(); ++i) {
        const Runs::Piece piece = runs.piece(i);
        add(total, loops.run_moments(x + piece.first * item, piece.n, 1, 0));
      }
      const double var = total.squares / total.count;
      args.mean[line] = args.plan.centered ? total.mean : 0;
      args.var[line] = args.plan.centered ? var : var + total.mean * total.mean;
      loops.line_map(static_cast<char*>(args.output) + line * n * item, x, n,
                     line_map_of(args, line), weight, bias);
    }
  });
}

// The gradients of weight and bias, from sums of pieces of lines (pieces, 2, length).
template <class C>
void add_pieces(const LineNormArgs& args, const C* partial, int64_t pieces) {
  const int64_t n = args.plan.length;
  double* const outputs[] = {args.weight_gradient, args.bias_gradient};
  parallel_for(0, n, grain_of(pieces), [&](int64_t begin, int64_t end) {
    for (int k = 0; k < 2; ++k) {
      double* const out = outputs[k];
      if (!out) continue;
      for (int64_t i = begin; i < end; ++i) out[i] = 0;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const C* const part = partial + (piece * 2 + k) * n;
        for (int64_t i = begin; i < end; ++i) out[i] += static_cast<double>(part[i]);
      }
    }
  });
}

void line_backward(const LineNormArgs& args) {
  const NormLoops& loops = loops_of(args.dtype);
  const int64_t n = args.plan.length, item = item_size(args.dtype);
  const DType compute = compute_dtype(args.dtype);
  const int64_t piece_lines = std::clamp(kPieceElements / n, kFewLines, kManyLines);
  const int64_t pieces = divide_up(args.lines, piece_lines);
  Tensor storage;
  const void* const weight = numbers_or(args.weight, 1, args, storage);
  const bool sums = args.weight_gradient || args.bias_gradient;
  const Tensor partial = sums ? empty({pieces, 2, n}, {.dtype = compute}) : Tensor();
  parallel_for(0, pieces, grain_of(piece_lines * n), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      char* of_weight = nullptr;
      if (sums) {
        const int64_t bytes = 2 * n * item_size(compute);
        of_weight = static_cast<char*>(partial.data()) + piece * bytes;
        std::fill_n(of_weight, bytes, char{0});
      }
      char* const of_bias = sums ? of_weight + n * item_size(compute) : nullptr;
      const int64_t last = std::min((piece + 1) * piece_lines, args.lines);
      for (int64_t line = piece * piece_lines; line < last; ++line) {
        const char* const g = static_cast<const char*>(args.gradient) + line * n * item;
        const char* const x = static_cast<const char*>(args.input) + line * n * item;
        const NormMap map = line_map_of(args, line);
        const NormSums total = loops.line_sums(g, x, n, map, weight, of_weight, of_bias);
        if (!args.output) continue;
        const double count = static_cast<double>(n);
        loops.line_backward(static_cast<char*>(args.output) + line * n * item, g, x, n, map, weight,
                            args.plan.centered ? total.gradient / count : 0, total.product / count);
      }
    }
  });
  if (!sums) return;
  if (compute == DType::f64) {
    add_pieces(args, partial.data<double>(), pieces);
  } else {
    add_pieces(args, partial.data<float>(), pieces);
  }
}

}  // namespace

void register_line_normalization() {
  layer_norm_op.set_kernel(DeviceType::cpu, line_forward);
  rms_norm_op.set_kernel(DeviceType::cpu, line_forward);
  line_norm_backward_op.set_kernel(DeviceType::cpu, line_backward);
}

}  // namespace aorta::cpu

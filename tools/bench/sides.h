#pragma once

#include <aorta/core/tensor.h>
#include <aorta/tools/bench/harness.h>

// The sides that rows are made of. Inputs come from a formula by index, the same in every peer.

namespace aorta::bench {

/// The first GPU.
inline constexpr Device kGpu(DeviceType::cuda, 0);

/// A tensor with element i = low + (high - low) * u(i + 1000003 seed) in row-major order, where u
/// is a hash of its argument in [0, 1): the same numbers as make() in inputs.py and
/// peer_libtorch.cc.
Tensor make(const Shape& shape, double low, double high, int64_t seed = 0,
            DType dtype = DType::f32);

/// Normally distributed numbers: element i = mean + deviation sqrt(-2 log(1 - u)) cos(2 pi v), with
/// u and v those of make() with `seed` and seed + 64 (Box and Muller), as make_normal() in
/// inputs.py. What a GPU computes with is made so: zeros take less power, and leave it a higher
/// clock.
Tensor make_normal(const Shape& shape, double mean, double deviation, int64_t seed = 0,
                   DType dtype = DType::f32);

/// The number of elements, their mean, and 16 of them, evenly spaced from the first to the last in
/// row-major order.
std::vector<double> sample(const Tensor& result);
/// The number of elements of all floating results, and for each its mean and 16 elements; of whole
/// numbers where there is nothing else.
std::vector<double> samples(const std::vector<Tensor>& results);
/// The number of elements, their mean and standard deviation: for random numbers.
std::vector<double> moments(const Tensor& result);
/// The number of elements of all floating results, and the mean and deviation of each.
std::vector<double> all_moments(const std::vector<Tensor>& results);

/// What F, a function of no arguments that returns a tensor, does.
template <class F>
Side aorta_side(F f) {
  return {.name = "Aorta",
          .run =
              [f](int64_t repetitions) {
                const double start = seconds_now();
                for (int64_t i = 0; i < repetitions; ++i) f();
                return seconds_now() - start;
              },
          .values = [f] { return sample(f()); }};
}

/// The time that memcpy takes to read and write `bytes` in all, on the threads that are set: found
/// by copying 64 MB (`bytes` / 2, where that is less). It computes nothing, so it has no values.
Side memcpy_side(double bytes);

/// PyTorch, in the interpreter that AORTA_PEER_PYTHON names: `setup` runs once, `expression` is
/// measured. Both are lines of Python that see torch, F (torch.nn.functional), make(),
/// make_normal() and fill().
Side torch_side(const std::string& setup, const std::string& expression,
                const std::string& check = "sample");

/// LibTorch in C++: a case of peer_libtorch.cc, by its name.
Side libtorch_side(const std::string& name);

/// Aorta in `count` processes under mpirun (rank.cc), each on the row's threads: a step of
/// DistributedDataParallel by its name ("deeplab 8 112"). What it computes is the first rank's
/// loss.
Side ranks_side(const std::string& name, int count, const std::string& step, bool checked = true);

/// The percentage of the time of such steps in which the first rank waits for others, by the trace:
/// what of the all-reduces backward doesn't hide.
Side ranks_waits_side(int count, const std::string& step);

/// PyTorch in `count` processes, with a process group of gloo.
Side torch_ranks_side(int count, const std::string& setup, const std::string& expression);

// oneDNN, in this process.

/// dnnl_sgemm: f32, (n, n) by (n, n); operands are make(.., -1, 1, 1) and make(.., -1, 1, 2).
Side onednn_sgemm_side(int64_t n);
/// The matmul primitive, bf16 in and out, the same operands row-major.
Side onednn_bf16_side(int64_t n);
/// The matmul primitive, f32, (m, k) by (k, n), on one thread; the second operand is packed before.
Side onednn_packed_side(int64_t m, int64_t k, int64_t n);
/// A convolution of square maps and kernels that occurs `count` times.
struct ConvolutionShape {
  int64_t in, out, kernel, stride, padding, dilation, size, output, count;
  bool of_image = false;  // its input needs no gradient
  int64_t groups = 1;
};
/// Which of its three computations: y, the gradients of x and of w.
struct ConvolutionParts {
  bool forward = true, input = true, weight = true;
};
/// The operands of every side: channels_last x, y's gradient and w.
struct ConvolutionOperands {
  Tensor x, w, y;
  ConvolutionOperands(const ConvolutionShape& shape, int64_t batch, DType dtype);
};
/// oneDNN's direct primitives for each shape, as often as it occurs; x and y channels_last, or as
/// oneDNN likes them (`blocked`). Weights are in oneDNN's layout before.
Side onednn_convolution_side(const std::vector<ConvolutionShape>& shapes, int64_t batch,
                             DType dtype, const ConvolutionParts& parts, bool blocked);
/// Its version, as "2.6.3".
std::string onednn_version();

}  // namespace aorta::bench

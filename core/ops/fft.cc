#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace aorta::kernel {

constinit Op<FftKernel, FftGradient> fft_c2c_op{"fft_c2c"};
constinit Op<FftKernel, FftGradient> fft_r2c_op{"fft_r2c"};
constinit Op<FftKernel, FftGradient> fft_c2r_op{"fft_c2r"};

namespace {

struct Transform {
  int dim;
  int64_t n, length;  // numbers of a line, as the definition counts them, and of the result's
  DType result;
  bool forward;
  double scale;
};

Tensor transform(const Op<FftKernel, FftGradient>& row, const Tensor& input, const Transform& t) {
  const CalledOp called(row.name());
  const ProfilerRange range(row.name(), {&input});
  const FftKernel kernel = row.kernel(input.device());
  const Tensor x = dense(input.detach());
  const Lines lines = lines_of(x, t.dim);
  Tensor output = empty_lines(x, t.dim, t.length, t.result);
  if (output.numel() > 0) {
    kernel({x.data(), output.data(), real_dtype(x.dtype()), lines.outer, lines.inner, t.n,
            t.forward, t.scale});
  }
  if (needs_gradient(input)) row.gradient()(output, input, t.dim, t.forward, t.scale);
  tell_tracer(row.name(), {&output}, {&input}, t.dim, t.n, t.forward, t.scale);
  return output;
}

}  // namespace

Tensor fft_c2c(const Tensor& input, int dim, bool forward, double scale) {
  const int64_t n = input.size(dim);
  return transform(fft_c2c_op, input, {dim, n, n, input.dtype(), forward, scale});
}

Tensor fft_r2c(const Tensor& input, int dim, double scale) {
  const int64_t n = input.size(dim);
  return transform(fft_r2c_op, input,
                   {dim, n, n / 2 + 1, complex_dtype(input.dtype()), true, scale});
}

Tensor fft_c2r(const Tensor& input, int dim, int64_t n, double scale) {
  return transform(fft_c2r_op, input, {dim, n, n, real_dtype(input.dtype()), false, scale});
}

Tensor resized(const Tensor& input, int dim, int64_t n) {
  const int64_t size = input.size(dim);
  if (n <= size) return n == size ? input : input.narrow(dim, 0, n);
  Dims padding = Dims::filled(2 * (input.dim() - dim), 0);
  padding[padding.size() - 1] = n - size;
  return pad(input, padding);
}

}  // namespace aorta::kernel

namespace aorta::fft {

using namespace kernel;

namespace {

constexpr int64_t kLongest = int64_t{1} << 27;  // angles have their digits

enum class Norm { backward, ortho, forward };

Norm norm_of(const char* op, const char* name) {
  const std::string_view text(name);
  check(text == "backward" || text == "ortho" || text == "forward", op,
        "norm must be backward, ortho or forward", "\"", name, "\"");
  return text == "backward" ? Norm::backward : text == "ortho" ? Norm::ortho : Norm::forward;
}

double scale_of(Norm norm, bool forward, int64_t n) {
  if (norm == Norm::ortho) return 1 / std::sqrt(static_cast<double>(n));
  return (norm == Norm::forward) == forward ? 1 / static_cast<double>(n) : 1;
}

// The other direction's norm.
Norm swapped(Norm norm) {
  return norm == Norm::backward  ? Norm::forward
         : norm == Norm::forward ? Norm::backward
                                 : Norm::ortho;
}

Tensor promoted(const char* op, const Tensor& input, bool to_complex) {
  check_defined(op, {{"input", input}});
  check(!is_half(input.dtype()), op, "dtype can't be a half type; use f32", input.dtype());
  const DType dtype = is_differentiable(input.dtype()) ? input.dtype() : DType::f32;
  return input.to(to_complex ? complex_dtype(dtype) : dtype);
}

void check_real(const char* op, const Tensor& input) {
  check_defined(op, {{"input", input}});
  check(!input.is_complex(), op, "input must be real", input.dtype());
}

// Dimensions and, for each, the length of its transform.
struct Plan {
  Dims dims, lengths;
  int last() const { return static_cast<int>(dims[dims.size() - 1]); }
  int64_t& last_length() { return lengths[lengths.size() - 1]; }
};

void check_length(const char* op, int64_t n) {
  check(n >= 1, op, "there must be at least 1 number to transform", n);
  check(n <= kLongest, op, "a transform can have 2^27 numbers at most", n);
}

Plan plan_one(const char* op, const Tensor& input, std::optional<int64_t> n, int64_t dim) {
  check(input.dim() > 0, op, "a 0-d tensor has no dimension to transform", input.shape());
  const int d = wrap_dim(op, dim, input.dim());
  Plan plan{{d}, {n.value_or(input.shape()[d])}};
  return plan;
}

Plan plan_several(const char* op, const Tensor& input, const Dims& s, const Dims& dim) {
  check(s.empty() || dim.empty() || s.size() == dim.size(), op,
        "s must have a length for each dimension", s, " for ", dim);
  check(s.size() <= input.dim(), op, "s can't have more lengths than the input dimensions", s,
        " for shape ", input.shape());
  Plan plan;
  bool seen[kMaxDims] = {};
  const int count = !dim.empty() ? dim.size() : !s.empty() ? s.size() : input.dim();
  for (int i = 0; i < count; ++i) {
    const int d = dim.empty() ? input.dim() - count + i : wrap_dim(op, dim[i], input.dim());
    check(!seen[d], op, "each dimension once", dim);
    seen[d] = true;
    plan.dims.push_back(d);
    plan.lengths.push_back(s.empty() || s[i] == -1 ? input.shape()[d] : s[i]);
  }
  return plan;
}

// Transforms a complex tensor along the first `count` dimensions of the plan.
Tensor along(const char* op, Tensor x, const Plan& plan, int count, bool forward, Norm norm) {
  for (int i = 0; i < count; ++i) check_length(op, plan.lengths[i]);
  for (int i = 0; i < count; ++i) {
    const int dim = static_cast<int>(plan.dims[i]);
    const int64_t n = plan.lengths[i];
    x = fft_c2c(resized(x, dim, n), dim, forward, scale_of(norm, forward, n));
  }
  return x;
}

Tensor complex_to_complex(const char* op, const Tensor& input, const Plan& plan, bool forward,
                          const char* norm) {
  return along(op, promoted(op, input, true), plan, plan.dims.size(), forward, norm_of(op, norm));
}

// A real signal's half of a spectrum: of the last dimension first.
Tensor real_to_complex(const char* op, const Tensor& input, const Plan& plan, Norm norm) {
  check(!plan.dims.empty(), op, "there must be a dimension to transform", input.shape());
  const int last = plan.last();
  const int64_t n = plan.lengths[plan.lengths.size() - 1];
  check_length(op, n);
  const Tensor x = resized(promoted(op, input, false), last, n);
  return along(op, fft_r2c(x, last, scale_of(norm, true, n)), plan, plan.dims.size() - 1, true,
               norm);
}

// A real signal of half a spectrum: along the last dimension at the end.
Tensor complex_to_real(const char* op, const Tensor& input, const Plan& plan, Norm norm) {
  check(!plan.dims.empty(), op, "there must be a dimension to transform", input.shape());
  const int last = plan.last();
  const int64_t n = plan.lengths[plan.lengths.size() - 1];
  check_length(op, n);
  const Tensor x = along(op, promoted(op, input, true), plan, plan.dims.size() - 1, false, norm);
  return fft_c2r(resized(x, last, n / 2 + 1), last, n, scale_of(norm, false, n));
}

// A plan whose last length is that of the real signal.
Plan of_real(Plan plan, const Tensor& input, bool given) {
  if (!given && !plan.dims.empty()) plan.last_length() = 2 * (input.size(plan.last()) - 1);
  return plan;
}

bool gives_last(const Dims& s) { return !s.empty() && s[s.size() - 1] != -1; }

}  // namespace

Tensor fft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("fft");
  check_defined("fft", {{"input", input}});
  return complex_to_complex("fft", input, plan_one("fft", input, n, dim), true, norm);
}
Tensor ifft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("ifft");
  check_defined("ifft", {{"input", input}});
  return complex_to_complex("ifft", input, plan_one("ifft", input, n, dim), false, norm);
}
Tensor rfft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("rfft");
  check_real("rfft", input);
  return real_to_complex("rfft", input, plan_one("rfft", input, n, dim), norm_of("rfft", norm));
}
Tensor irfft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("irfft");
  check_defined("irfft", {{"input", input}});
  const Plan plan = of_real(plan_one("irfft", input, n, dim), input, n.has_value());
  return complex_to_real("irfft", input, plan, norm_of("irfft", norm));
}
Tensor hfft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("hfft");
  check_defined("hfft", {{"input", input}});
  const Plan plan = of_real(plan_one("hfft", input, n, dim), input, n.has_value());
  return complex_to_real("hfft", conj(input), plan, swapped(norm_of("hfft", norm)));
}
Tensor ihfft(const Tensor& input, std::optional<int64_t> n, int64_t dim, const char* norm) {
  const CalledOp called("ihfft");
  check_real("ihfft", input);
  return conj(real_to_complex("ihfft", input, plan_one("ihfft", input, n, dim),
                              swapped(norm_of("ihfft", norm))));
}

Tensor fftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("fftn");
  check_defined("fftn", {{"input", input}});
  return complex_to_complex("fftn", input, plan_several("fftn", input, s, dim), true, norm);
}
Tensor ifftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("ifftn");
  check_defined("ifftn", {{"input", input}});
  return complex_to_complex("ifftn", input, plan_several("ifftn", input, s, dim), false, norm);
}
Tensor rfftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("rfftn");
  check_real("rfftn", input);
  return real_to_complex("rfftn", input, plan_several("rfftn", input, s, dim),
                         norm_of("rfftn", norm));
}
Tensor irfftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("irfftn");
  check_defined("irfftn", {{"input", input}});
  const Plan plan = of_real(plan_several("irfftn", input, s, dim), input, gives_last(s));
  return complex_to_real("irfftn", input, plan, norm_of("irfftn", norm));
}
Tensor hfftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("hfftn");
  check_defined("hfftn", {{"input", input}});
  const Plan plan = of_real(plan_several("hfftn", input, s, dim), input, gives_last(s));
  return complex_to_real("hfftn", conj(input), plan, swapped(norm_of("hfftn", norm)));
}
Tensor ihfftn(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("ihfftn");
  check_real("ihfftn", input);
  return conj(real_to_complex("ihfftn", input, plan_several("ihfftn", input, s, dim),
                              swapped(norm_of("ihfftn", norm))));
}

Tensor fft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("fft2");
  check_defined("fft2", {{"input", input}});
  return fftn(input, s, dim, norm);
}
Tensor ifft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("ifft2");
  check_defined("ifft2", {{"input", input}});
  return ifftn(input, s, dim, norm);
}
Tensor rfft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("rfft2");
  check_defined("rfft2", {{"input", input}});
  return rfftn(input, s, dim, norm);
}
Tensor irfft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("irfft2");
  check_defined("irfft2", {{"input", input}});
  return irfftn(input, s, dim, norm);
}
Tensor hfft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("hfft2");
  check_defined("hfft2", {{"input", input}});
  return hfftn(input, s, dim, norm);
}
Tensor ihfft2(const Tensor& input, const Dims& s, const Dims& dim, const char* norm) {
  const CalledOp called("ihfft2");
  check_defined("ihfft2", {{"input", input}});
  return ihfftn(input, s, dim, norm);
}

namespace {

void check_frequencies(const char* op, int64_t n, double d) {
  check(n >= 1, op, "n must be at least 1", n);
  check(d != 0, op, "d can't be 0", d);
}

// i / (n d) for the integers i of `places`, in the dtype that is asked for.
Tensor frequencies(const char* op, const Tensor& places, int64_t n, double d,
                   const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(DType::f32);
  check_floating(op, dtype);
  const Tensor result = (places.to(DType::f64) / (static_cast<double>(n) * d))
                            .to({.dtype = dtype, .device = options.device});
  return detail::with_requires_grad(result, options.requires_grad);
}

// How far each dimension is rolled: by half of its size, rounded down or, to go back, up.
Tensor shifted(const char* op, const Tensor& input, const Dims& dim, bool back) {
  check_defined(op, {{"input", input}});
  const CalledOp called(op);
  const Plan plan = plan_several(op, input, {}, dim);
  Dims shifts;
  for (const int64_t size : plan.lengths) shifts.push_back(back ? size - size / 2 : size / 2);
  return roll(input, shifts, plan.dims);
}

}  // namespace

Tensor fftfreq(int64_t n, double d, const TensorOptions& options) {
  const CalledOp called("fftfreq");
  check_frequencies("fftfreq", n, d);
  const Tensor places = cat({arange((n + 1) / 2), arange(-(n / 2), 0)});
  return frequencies("fftfreq", places, n, d, options);
}
Tensor rfftfreq(int64_t n, double d, const TensorOptions& options) {
  const CalledOp called("rfftfreq");
  check_frequencies("rfftfreq", n, d);
  return frequencies("rfftfreq", arange(n / 2 + 1), n, d, options);
}
Tensor fftshift(const Tensor& input, const Dims& dim) {
  return shifted("fftshift", input, dim, false);
}
Tensor ifftshift(const Tensor& input, const Dims& dim) {
  return shifted("ifftshift", input, dim, true);
}

}  // namespace aorta::fft

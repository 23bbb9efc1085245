#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string_view>

namespace aorta::kernel {

constinit Op<NoKernel, ViewGradient> view_as_real_op{"view_as_real"};
constinit Op<NoKernel, ViewGradient> view_as_complex_op{"view_as_complex"};

Tensor parts_of(const Tensor& input) {
  Shape shape = input.shape();
  Strides strides = input.strides();
  for (int d = 0; d < strides.size(); ++d) strides[d] *= 2;
  shape.push_back(2);
  strides.push_back(1);
  return Tensor(input.storage(), real_dtype(input.dtype()), shape, strides,
                2 * input.storage_offset());
}

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

void check_complex(const char* op, const Tensor& input) {
  check_defined(op, {{"input", input}});
  check(input.is_complex(), op, "dtype must be complex", input.dtype());
}

// re + i im, of one shape.
Tensor joined(const Tensor& re, const Tensor& im) { return of_parts(stack({re, im}, -1)); }

struct Parts {
  explicit Parts(const Tensor& z) : re(real(z)), im(imag(z)) {}
  Tensor re, im;
};

// i z.
Tensor turned(const Tensor& z) {
  const Parts p(z);
  return joined(neg(p.im), p.re);
}

Tensor magnitude(const Tensor& z) {
  const Parts p(z);
  // At 0 the length has no slope, and gets 0.
  const Tensor zero = logical_and(eq(p.re.detach(), 0), eq(p.im.detach(), 0));
  return where(zero, 0, hypot(where(zero, 1, p.re), p.im));
}

Tensor product(const Tensor& x, const Tensor& y) {
  const Parts a(x), b(y);
  return joined(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

// x conj(y) / |y|^2. The square has a place in the dtype: it is of y by its larger part, and
// halved, so that the product has one too. By 0 and by infinity both parts are divided.
Tensor quotient(const Tensor& x, const Tensor& y) {
  const Parts given(y.detach());
  const Tensor larger = maximum(abs(given.re), abs(given.im));
  const Tensor by_number = logical_or(eq(larger, 0), isinf(larger));
  const Tensor scale = where(by_number, 1, larger);
  const Parts p(where(by_number, 1, y));
  const Tensor re = p.re / scale * 0.5, im = p.im / scale * 0.5;
  const Tensor length = (square(re) + square(im)) * 2;
  return by_parts(product(x, joined(re, neg(im))), [&](const Tensor& parts) {
    return parts / larger.unsqueeze(-1) / length.unsqueeze(-1);
  });
}

Tensor inverse(const Tensor& z) {
  return quotient(full({}, 1, {.dtype = z.dtype(), .device = z.device()}), z);
}

// x y, and x where that is 0 and y infinite: on the axes a part of a large number is 0.
Tensor times(const Tensor& x, const Tensor& y) {
  return x * where(logical_and(eq(x.detach(), 0), isinf(y.detach())), 1, y);
}

Tensor exponential(const Tensor& z) {
  const Parts p(z);
  const Tensor length = exp(p.re);
  return joined(times(cos(p.im), length), times(sin(p.im), length));
}

// log|z| by the larger part u and the smaller one v, which neither overflows nor cancels near 1.
Tensor logarithm(const Tensor& z) {
  const Parts p(z);
  const Tensor turned = gt(abs(p.im.detach()), abs(p.re.detach()));
  const Tensor u = where(turned, p.im, p.re), v = where(turned, p.re, p.im);
  const Tensor no_divisor = logical_or(eq(u.detach(), 0), isinf(u.detach()));
  const Tensor rest = log1p(square(v / where(no_divisor, 1, u))) * 0.5;
  return joined(log(abs(u)) + rest, angle(z));
}

// With a real part of at least 0. By the part that doesn't cancel: of the other one's half. The
// length has a place in the dtype, for large numbers are taken smaller and small ones larger.
Tensor square_root(const Tensor& z) {
  const Parts given(z.detach());
  const Tensor large = gt(maximum(abs(given.re), abs(given.im)), 1);
  const Tensor scaled = z * where(large, 0x1p-4, 0x1p4);
  const Parts p(scaled);
  const Tensor right = ge(p.re, 0);
  const Tensor larger = sqrt((abs(scaled) + where(right, p.re, neg(p.re))) * 0.5);
  const Tensor no_divisor = logical_or(eq(larger.detach(), 0), isinf(p.im.detach()));
  const Tensor smaller = p.im / where(no_divisor, 1, larger * 2);
  const Tensor side = copysign(ones_like(p.im.detach()), p.im.detach());
  return joined(where(right, larger, smaller * side), where(right, smaller, larger * side)) *
         where(large, 4.0, 0.25);
}

Tensor hyperbolic_tangent(const Tensor& z) {
  const Parts p(z);
  const Tensor t = tanh(p.re), s = tan(p.im);
  const Tensor length = square(t * s) + 1;
  // 1 - t^2, which cancels where t is almost 1.
  const Tensor slope = sigmoid(p.re * 2) * sigmoid(p.re * -2) * 4;
  return joined(t * (square(s) + 1) / length, s * slope / length);
}

// 0 to a power whose real part is negative.
constexpr std::complex<double> kPole{INFINITY, NAN};

// The number's power by squaring.
Tensor whole_power(const Tensor& z, int64_t n) {
  if (n == 0) return where(ones(z.shape(), {.dtype = DType::boolean, .device = z.device()}), 1, z);
  if (n < 0) {
    const Tensor zero = eq(z.detach(), 0);
    const Tensor inverted = inverse(where(zero, 1, z));
    return where(zero, kPole, whole_power(inverted, n == INT64_MIN ? INT64_MAX : -n));
  }
  Tensor result, base = z;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) result = result.defined() ? product(result, base) : base;
    if (n > 1) base = product(base, base);
  }
  return result;
}

Tensor general_power(const Tensor& z, const Tensor& w) {
  const Tensor zero = eq(z.detach(), 0);
  const Tensor power = exponential(product(w, logarithm(where(zero, 1, z))));
  // The power of 0 is 1, 0, infinite, or without a limit.
  const Tensor exponent = w.detach(), re = real(exponent);
  const Tensor at_zero = where(eq(exponent, 0), 1,
                               where(gt(re, 0), zeros_like(exponent),
                                     where(lt(re, 0), kPole, std::complex<double>(NAN, NAN))));
  return where(zero, at_zero, power);
}

// The operands of a pointwise op, one of which is complex.
struct Complexes {
  std::span<const Operand> given;
  DType dtype;  // of the result; complex
  Device device;

  // An operand in that dtype.
  Tensor z(size_t i = 0) const {
    if (!given[i].tensor) return full({}, given[i].number, {.dtype = dtype, .device = device});
    const Tensor& x = *given[i].tensor;
    return x.to({.dtype = dtype, .device = x.dim() == 0 ? device : x.device()});
  }
  bool is_real(size_t i) const { return !is_complex(given[i].dtype()); }
  // A real operand beside parts.
  Tensor beside_parts(size_t i) const {
    const TensorOptions there{.dtype = real_dtype(dtype), .device = device};
    if (!given[i].tensor) return full({}, given[i].number, there);
    return given[i].tensor->to({.dtype = there.dtype, .device = device}).unsqueeze(-1);
  }
};

struct ComplexForm {
  std::string_view name;
  Tensor (*run)(const Complexes& x);
};

constexpr ComplexForm kForms[] = {
    {"neg", [](const Complexes& x) { return by_parts(x.z(), neg); }},
    {"abs", [](const Complexes& x) { return magnitude(x.z()); }},
    {"square",
     [](const Complexes& x) {
       const Tensor z = x.z();
       return product(z, z);
     }},
    {"reciprocal", [](const Complexes& x) { return inverse(x.z()); }},
    {"sqrt", [](const Complexes& x) { return square_root(x.z()); }},
    {"rsqrt", [](const Complexes& x) { return inverse(square_root(x.z())); }},
    {"exp", [](const Complexes& x) { return exponential(x.z()); }},
    {"exp2", [](const Complexes& x) { return exponential(x.z() * std::log(2.0)); }},
    {"log", [](const Complexes& x) { return logarithm(x.z()); }},
    {"log2", [](const Complexes& x) { return logarithm(x.z()) / std::log(2.0); }},
    {"log10", [](const Complexes& x) { return logarithm(x.z()) / std::log(10.0); }},
    {"sin",
     [](const Complexes& x) {
       const Parts p(x.z());
       return joined(times(sin(p.re), cosh(p.im)), times(cos(p.re), sinh(p.im)));
     }},
    {"cos",
     [](const Complexes& x) {
       const Parts p(x.z());
       return joined(times(cos(p.re), cosh(p.im)), neg(times(sin(p.re), sinh(p.im))));
     }},
    {"tan",
     [](const Complexes& x) {  // tanh(i z) / i
       return neg(turned(hyperbolic_tangent(turned(x.z()))));
     }},
    {"sinh",
     [](const Complexes& x) {
       const Parts p(x.z());
       return joined(times(cos(p.im), sinh(p.re)), times(sin(p.im), cosh(p.re)));
     }},
    {"cosh",
     [](const Complexes& x) {
       const Parts p(x.z());
       return joined(times(cos(p.im), cosh(p.re)), times(sin(p.im), sinh(p.re)));
     }},
    {"tanh", [](const Complexes& x) { return hyperbolic_tangent(x.z()); }},
    {"isnan",
     [](const Complexes& x) {
       const Parts p(x.z());
       return logical_or(isnan(p.re), isnan(p.im));
     }},
    {"isinf",
     [](const Complexes& x) {
       const Parts p(x.z());
       return logical_or(isinf(p.re), isinf(p.im));
     }},
    {"isfinite",
     [](const Complexes& x) {
       const Parts p(x.z());
       return logical_and(isfinite(p.re), isfinite(p.im));
     }},
    {"logical_not", [](const Complexes& x) { return eq(x.z(), 0); }},
    {"add",
     [](const Complexes& x) { return of_parts(view_as_real(x.z(0)) + view_as_real(x.z(1))); }},
    {"sub",
     [](const Complexes& x) { return of_parts(view_as_real(x.z(0)) - view_as_real(x.z(1))); }},
    {"mul",
     [](const Complexes& x) {
       for (const size_t i : {size_t{0}, size_t{1}})
         if (x.is_real(i)) return of_parts(view_as_real(x.z(1 - i)) * x.beside_parts(i));
       return product(x.z(0), x.z(1));
     }},
    {"div",
     [](const Complexes& x) {
       if (x.is_real(1)) return of_parts(view_as_real(x.z(0)) / x.beside_parts(1));
       return quotient(x.z(0), x.z(1));
     }},
    {"pow",
     [](const Complexes& x) {
       const Scalar& exponent = x.given[1].number;
       const bool whole = !x.given[1].tensor && !exponent.is_complex() &&
                          exponent.to_double() == std::trunc(exponent.to_double()) &&
                          fits<int64_t>(exponent);
       if (whole) return whole_power(x.z(0), exponent.to_int());
       return general_power(x.z(0), x.z(1));
     }},
    {"eq",
     [](const Complexes& x) {
       const Parts a(x.z(0)), b(x.z(1));
       return logical_and(eq(a.re, b.re), eq(a.im, b.im));
     }},
    {"ne",
     [](const Complexes& x) {
       const Parts a(x.z(0)), b(x.z(1));
       return logical_or(ne(a.re, b.re), ne(a.im, b.im));
     }},
    {"logical_and", [](const Complexes& x) { return logical_and(ne(x.z(0), 0), ne(x.z(1), 0)); }},
    {"logical_or", [](const Complexes& x) { return logical_or(ne(x.z(0), 0), ne(x.z(1), 0)); }},
    {"logical_xor", [](const Complexes& x) { return logical_xor(ne(x.z(0), 0), ne(x.z(1), 0)); }},
    {"where",
     [](const Complexes& x) {
       return of_parts(
           where(x.given[0].tensor->unsqueeze(-1), view_as_real(x.z(1)), view_as_real(x.z(2))));
     }},
    {"lerp",
     [](const Complexes& x) {
       const Tensor start = x.z(0), end = x.z(1), weight = x.z(2), difference = end - start;
       // From the nearer end.
       return where(lt(abs(weight.detach()), 0.5), start + weight * difference,
                    end - difference * (1 - weight));
     }},
};

Device common_device(std::span<const Operand> operands) {
  const Tensor* anchor = nullptr;
  for (const Operand& operand : operands) {
    if (operand.tensor && (!anchor || (anchor->dim() == 0 && operand.tensor->dim() > 0)))
      anchor = operand.tensor;
  }
  return anchor->device();
}

}  // namespace

Tensor kernel::of_parts(const Tensor& parts) {
  bool fits = parts.stride(-1) == 1 && parts.storage_offset() % 2 == 0;
  for (int d = 0; d + 1 < parts.dim(); ++d) fits &= parts.size(d) <= 1 || parts.stride(d) % 2 == 0;
  return view_as_complex(fits ? parts : parts.clone(MemoryFormat::contiguous));
}

Tensor kernel::index_of_parts(const Tensor& index) {
  Shape shape = index.shape();
  shape.push_back(2);
  return index.unsqueeze(-1).expand(shape);
}

Tensor pointwise::complex_form(const scalar::PointwiseInfo& info, std::span<const Operand> operands,
                               const Tensor* out) {
  // The condition of a `where` takes no part.
  const std::string_view name = info.name;
  const DType dtype = result_type(operands.subspan(name == "where" ? 1 : 0));
  const auto form = std::find_if(std::begin(kForms), std::end(kForms),
                                 [&](const ComplexForm& f) { return f.name == name; });
  check(form != std::end(kForms), info.name,
        info.accept == scalar::Accept::floating   ? "dtype must be floating"
        : info.accept == scalar::Accept::integral ? "dtype must be an integer or bool"
                                                  : "dtype must be real",
        dtype);
  const CalledOp called(info.name);
  const Device device = common_device(operands);
  if (!out) return form->run({operands, dtype, device});
  check(info.result == scalar::Result::boolean || is_complex(out->dtype()), info.name,
        "the result's dtype must be castable to that of the tensor written in place", dtype,
        " into ", out->dtype());
  // What the graph will read is about to be overwritten.
  Operand kept[3] = {0, 0, 0};
  Tensor copies[3];
  bool wanted = false;
  for (const Operand& operand : operands)
    wanted |= operand.tensor && needs_gradient(*operand.tensor);
  const bool record = records_write(info.name, *out, wanted);
  for (size_t i = 0; i < operands.size(); ++i) {
    kept[i] = operands[i];
    if (!record || !operands[i].tensor || !operands[i].tensor->shares_storage(*out)) continue;
    copies[i] = keep_before_write(*operands[i].tensor);
    kept[i] = copies[i];
  }
  return out->copy_(form->run({{kept, operands.size()}, dtype, device}));
}

Tensor view_as_real(const Tensor& input) {
  check_complex("view_as_real", input);
  check(input.dim() < kMaxDims, "view_as_real", "input must have 11 dimensions at most",
        input.shape());
  Tensor view = as_view_of(input, parts_of(input));
  if (needs_gradient(input)) view_as_real_op.gradient()(view, input);
  tell_tracer(view_as_real_op.name(), {&view}, {&input});
  return view;
}

Tensor view_as_complex(const Tensor& input) {
  const char* const op = "view_as_complex";
  check_defined(op, {{"input", input}});
  check(input.dtype() == DType::f32 || input.dtype() == DType::f64, op, "dtype must be f32 or f64",
        input.dtype());
  check(input.dim() > 0 && input.size(-1) == 2, op, "the last dimension must have size 2",
        input.shape());
  Shape shape = input.shape();
  Strides strides = input.strides();
  bool even = strides[input.dim() - 1] == 1 && input.storage_offset() % 2 == 0;
  shape.resize(input.dim() - 1);
  strides.resize(input.dim() - 1);
  for (int d = 0; d < shape.size(); ++d) {
    even &= shape[d] <= 1 || strides[d] % 2 == 0;
    strides[d] /= 2;
  }
  check(even || input.numel() == 0, op,
        "parts must lie side by side, at even strides and an even offset; use contiguous",
        input.strides(), " from ", input.storage_offset());
  Tensor view = as_view_of(input, Tensor(input.storage(), complex_dtype(input.dtype()), shape,
                                         strides, input.storage_offset() / 2));
  if (needs_gradient(input)) view_as_complex_op.gradient()(view, input);
  tell_tracer(view_as_complex_op.name(), {&view}, {&input});
  return view;
}

Tensor real(const Tensor& input) {
  check_defined("real", {{"input", input}});
  return input.is_complex() ? view_as_real(input).select(-1, 0) : input;
}

Tensor imag(const Tensor& input) {
  check_complex("imag", input);
  return view_as_real(input).select(-1, 1);
}

Tensor complex(const Tensor& real, const Tensor& imag) {
  const CalledOp called("complex");
  check_defined("complex", {{"real", real}, {"imag", imag}});
  check(real.dtype() == imag.dtype() && (real.dtype() == DType::f32 || real.dtype() == DType::f64),
        "complex", "both parts must be f32 or f64", real.dtype(), " and ", imag.dtype());
  const Shape shape = broadcast_shapes("complex", real.shape(), imag.shape());
  return joined(real.expand(shape), imag.expand(shape));
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  const CalledOp called("polar");
  check_defined("polar", {{"abs", abs}, {"angle", angle}});
  check(abs.dtype() == angle.dtype() && (abs.dtype() == DType::f32 || abs.dtype() == DType::f64),
        "polar", "abs and angle must be f32 or f64", abs.dtype(), " and ", angle.dtype());
  return complex(abs * cos(angle), abs * sin(angle));
}

Tensor conj(const Tensor& input) {
  const CalledOp called("conj");
  check_defined("conj", {{"input", input}});
  if (!input.is_complex()) return input;
  const Tensor signs =
      tensor({1, -1}, {.dtype = real_dtype(input.dtype()), .device = input.device()});
  return by_parts(input, [&](const Tensor& parts) { return parts * signs; });
}
Tensor conj_physical(const Tensor& input) {
  check_defined("conj_physical", {{"input", input}});
  const CalledOp called("conj_physical");
  return conj(input);
}

Tensor angle(const Tensor& input) {
  const CalledOp called("angle");
  check_defined("angle", {{"input", input}});
  if (input.is_complex()) {
    const Parts p(input);
    return atan2(p.im, p.re);
  }
  const Tensor x = input.is_floating_point() ? input : input.to(DType::f32);
  // What neither fills is NaN, and a constant too.
  return masked_fill(masked_fill(x * 0, lt(x, 0), M_PI), ge(x, 0), 0);
}

Tensor sgn(const Tensor& input) {
  const CalledOp called("sgn");
  check_defined("sgn", {{"input", input}});
  if (!input.is_complex()) return sign(input);
  const Tensor length = magnitude(input), zero = eq(length.detach(), 0);
  return where(zero, 0.0, input / where(zero, 1, length));
}

Tensor vdot(const Tensor& input, const Tensor& other) {
  const CalledOp called("vdot");
  check_defined("vdot", {{"input", input}, {"other", other}});
  return dot(conj(input), other);
}

Tensor isreal(const Tensor& input) {
  const CalledOp called("isreal");
  check_defined("isreal", {{"input", input}});
  if (input.is_complex()) return eq(imag(input), 0);
  return ones(input.shape(), {.dtype = DType::boolean, .device = input.device()});
}

}  // namespace aorta

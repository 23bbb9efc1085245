#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/dlpack.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <numeric>

// What is special to complex tensors; their ops' values and gradients are the catalogue's.
namespace aorta {
namespace {

using std::complex_literals::operator""i;
using C64 = std::complex<float>;
using C128 = std::complex<double>;

Tensor complexes(const std::vector<C128>& values) { return tensor(values); }

TEST(ComplexDtype, IsNeitherFloatingNorIntegral) {
  for (const DType dtype : {c64, c128}) {
    EXPECT_TRUE(is_complex(dtype) && is_differentiable(dtype));
    EXPECT_FALSE(is_floating(dtype) || is_integral(dtype) || is_half(dtype));
  }
  EXPECT_EQ(item_size(c64), 8);
  EXPECT_EQ(item_size(c128), 16);
  EXPECT_EQ(dtype_of<C64>, c64);
  EXPECT_EQ(dtype_of<C128>, c128);
  EXPECT_EQ(real_dtype(c64), f32);
  EXPECT_EQ(real_dtype(c128), f64);
  EXPECT_EQ(complex_dtype(f16), c64);
  EXPECT_EQ(complex_dtype(f64), c128);
}

// The table of torch.promote_types.
TEST(ComplexDtype, Promotes) {
  for (const DType dtype : {f32, f16, bf16, i64, i32, u8, boolean, c64}) {
    EXPECT_EQ(promote(dtype, c64), c64);
    EXPECT_EQ(promote(c64, dtype), c64);
    EXPECT_EQ(promote(dtype, c128), c128);
  }
  EXPECT_EQ(promote(f64, c64), c128);
  EXPECT_EQ(promote(c64, c128), c128);
  for (const DType dtype : {f32, f64, i64, boolean}) {
    EXPECT_TRUE(can_cast(dtype, c64));
    EXPECT_FALSE(can_cast(c64, dtype));
  }
}

// torch.result_type of a tensor with dimensions, one without, and a number.
TEST(ComplexDtype, OfOperandsWithoutDimensions) {
  const auto result = [](const Operand& a, const Operand& b) {
    const Operand operands[] = {a, b};
    return result_type(operands);
  };
  const Tensor f = ones({2}), d = ones({2}, {.dtype = f64}), n = ones({2}, {.dtype = i64});
  const Tensor z64 = ones({}, {.dtype = c64}), z128 = ones({}, {.dtype = c128});
  EXPECT_EQ(result(f, z128), c64);
  EXPECT_EQ(result(d, z64), c128);
  EXPECT_EQ(result(n, z128), c128);
  EXPECT_EQ(result(f, 1i), c64);
  EXPECT_EQ(result(d, 1i), c128);
  EXPECT_EQ(result(n, 1i), c64);
  EXPECT_EQ(result(ones({2}, {.dtype = c64}), d), c128);
}

TEST(ComplexTensor, HoldsNumbers) {
  const Tensor z = tensor({{1.0 + 2i, -3i}, {0.5, 2i}});
  EXPECT_EQ(z.dtype(), c64);
  EXPECT_EQ(z.shape(), (Shape{2, 2}));
  EXPECT_EQ(z[0][0].item<C64>(), C64(1, 2));
  EXPECT_EQ(z.to_vector<C128>(), (std::vector<C128>{{1, 2}, {0, -3}, {0.5, 0}, {0, 2}}));
  EXPECT_EQ(z.at<C64>({1, 0}), C64(0.5, 0));
  EXPECT_EQ(full({3}, 2.0 - 1i).dtype(), c64);
  EXPECT_EQ(full({2}, 2.0 - 1i, {.dtype = c128}).to_vector<C128>(),
            (std::vector<C128>(2, {2, -1})));
  EXPECT_EQ(eye(2, {.dtype = c64}).to_vector<C64>(), (std::vector<C64>{1, 0, 0, 1}));
  EXPECT_EQ(tensor({1.0, 2.0}).to(c128).to_vector<C128>(), (std::vector<C128>{1, 2}));
  EXPECT_TRUE(z.is_complex() && !z.is_floating_point());
  EXPECT_TRUE(equal(z.t().contiguous(), z.t()));
  EXPECT_EQ(sub(z[0], 2.5, -2.0).to_vector<C64>(), (std::vector<C64>{{6, 2}, {5, -3}}));
  EXPECT_EQ(sub(z[0][0], 2.5, 2i).dtype(), c64);
  EXPECT_EQ(error_of([&] { z[0][0].item<float>(); }),
            "item: the value must fit the type that is asked for, got 1+2j");
  EXPECT_EQ(error_of([] { arange(3, {.dtype = c64}); }), "arange: dtype must be real, got c64");
  EXPECT_EQ(error_of([] { geometric_(zeros({2}, {.dtype = c64}), 0.5); }),
            "geometric_: dtype must be real, got c64");
}

// As in PyTorch: both parts of a uniform number are uniform, and a normal one has variance 1.
TEST(ComplexTensor, IsDrawn) {
  for (const DType dtype : {c64, c128}) {
    const DType part = real_dtype(dtype);
    const auto with_seed = [](const auto& draw) {
      Generator generator(3);
      return draw(&generator);
    };
    const Tensor uniform = with_seed([&](Generator* g) { return rand({50000}, {dtype}, g); });
    EXPECT_TRUE(equal(view_as_real(uniform), with_seed([&](Generator* g) {
                        return rand({50000, 2}, {part}, g);
                      })));
    const Tensor normals = with_seed([&](Generator* g) { return randn_like(uniform, {}, g); });
    const Tensor parts = with_seed([&](Generator* g) { return randn({50000, 2}, {part}, g); });
    EXPECT_TRUE(allclose(view_as_real(normals), parts / std::sqrt(2.0), 1e-6, 1e-7));
    EXPECT_NEAR(mean(square(abs(normals))).item<double>(), 1, 0.02);
    Tensor moved = zeros({50000}, {dtype});
    normal_(moved.slice(0, 0, 50000, 2), 3, 2);  // every other one
    EXPECT_NEAR(mean(real(moved)).item<double>(), 1.5, 0.03);
    EXPECT_NEAR(mean(imag(moved)).item<double>(), 0, 0.03);
    EXPECT_EQ(count_nonzero(moved).item<int64_t>(), 25000);
    EXPECT_NEAR(var(imag(moved)).item<double>(), 1, 0.03);  // half of them, of variance 2
    uniform_(moved, -1, 0);
    EXPECT_LT(real(moved).max().item<double>(), 0);
    EXPECT_LT(imag(moved).max().item<double>(), 0);
  }
  EXPECT_EQ(error_of([] { uniform_(zeros({2}, {.dtype = c64}), 1, 0); }),
            "uniform_: low must be at most high, both finite, got 1 and 0");
}

TEST(ComplexTensor, AddmmIgnoresWhatAFactorHides) {
  const Tensor none = full({2, 2}, C128(NAN, 1), {.dtype = c128});
  const Tensor a = complexes({{1, 2}, {3, -1}, {0, 1}, {2, 2}}).reshape({2, 2});
  EXPECT_TRUE(equal(addmm(none, a, a, {.beta = 0}), matmul(a, a)));
  EXPECT_TRUE(equal(addmm(a, none, a, {.beta = 2, .alpha = 0}), a * 2));
  EXPECT_TRUE(
      equal(baddbmm(none.unsqueeze(0), a.unsqueeze(0), a.unsqueeze(0), {.beta = 0, .alpha = 2}),
            (matmul(a, a) * 2).unsqueeze(0)));
}

// The lines that PyTorch 2 prints, less "torch.".
TEST(ComplexTensor, PrintsAsPyTorch) {
  EXPECT_EQ(to_string(tensor({1.0 + 2i, -0.5 + 100i})), "tensor([ 1.0000+2.j, -0.5000+100.j])");
  EXPECT_EQ(to_string(tensor({1.0 + 2i, -3.0 - 4i})), "tensor([ 1.+2.j, -3.-4.j])");
  EXPECT_EQ(to_string(tensor({10.0 + 1.5i, 1.0 + 20i})), "tensor([10.+1.5000j,  1.+20.0000j])");
  EXPECT_EQ(to_string(tensor(1.0 + 2i)), "tensor(1.+2.j)");
  EXPECT_EQ(to_string(complexes({{1, 2}})), "tensor([1.+2.j], dtype=c128)");
  EXPECT_EQ(to_string(complexes({{kInf, -kInf}, {1, -0.0}}).to(c64)), "tensor([inf-infj, 1.-0.j])");
}

TEST(ComplexTensor, ViewsShareMemory) {
  const Tensor z = complexes({{1, 2}, {3, 4}, {5, 6}});
  const Tensor parts = view_as_real(z);
  EXPECT_TRUE(parts.shares_storage(z));
  EXPECT_EQ(parts.shape(), (Shape{3, 2}));
  imag(z).fill_(0);
  real(z).slice(0, 1).mul_(2);
  EXPECT_EQ(z.to_vector<C128>(), (std::vector<C128>{1, 6, 10}));
  const Tensor back = view_as_complex(parts.slice(0, 1));
  back.fill_(7i);
  EXPECT_EQ(z.to_vector<C128>(), (std::vector<C128>{1, 7i, 7i}));
  const Tensor matrix = arange(12, {.dtype = f64}).view(3, 2, 2);
  EXPECT_EQ(view_as_complex(matrix).t()[1].to_vector<C128>(),
            (std::vector<C128>{{2, 3}, {6, 7}, {10, 11}}));
}

TEST(ComplexTensor, GoesThroughFiles) {
  const std::string folder = ::testing::TempDir();
  const Tensor z = tensor({{1.0 + 2i, -3i}, {0.5, 2i}}), w = z.to(c128).t();
  npy::save(z, folder + "/c64.npy");
  npy::save(w, folder + "/c128.npy");
  EXPECT_TRUE(equal(npy::load(folder + "/c64.npy"), z));
  EXPECT_EQ(npy::load(folder + "/c64.npy").dtype(), c64);
  EXPECT_TRUE(equal(npy::load(folder + "/c128.npy"), w));
  EXPECT_EQ(npy::load(folder + "/c128.npy").dtype(), c128);
  save({{"z", z}}, folder + "/z.safetensors");
  EXPECT_TRUE(equal(load(folder + "/z.safetensors")[0].second, z));
  EXPECT_EQ(
      error_of([&] {
        save({{"w", w}}, folder + "/w.safetensors");
      }),
      folder + "/w.safetensors: dtype must be one of the safetensors format, got c128 in \"w\"");
}

// Files of numpy's: element k is (k - 2) / 2 - k i.
TEST(ComplexTensor, ReadsFilesOfEitherByteOrder) {
  for (const std::string name : {"c8", "c8_big", "c16", "c16_big"}) {
    const Tensor z = npy::load("tests/fixtures/core/io/npy/" + name + ".npy");
    EXPECT_EQ(z.dtype(), name.starts_with("c8") ? c64 : c128);
    const Tensor k = arange(6, {.dtype = f64}).view(2, 3);
    EXPECT_TRUE(equal(z, complex((k - 2) / 2, -k))) << name;
  }
}

TEST(ComplexTensor, GoesThroughDLPack) {
  for (const DType dtype : {c64, c128}) {
    const Tensor z = tensor({1.0 + 2i, -3i}, {.dtype = dtype});
    const Tensor back = from_dlpack(to_dlpack(z));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_TRUE(equal(back, z) && back.data() == z.data());
  }
}

// Sums of the definition, in long double.
Tensor definition(const Tensor& x, bool forward) {
  const std::vector<C128> in = x.to_vector<C128>();
  const int64_t n = x.numel();
  std::vector<C128> out(in.size());
  for (int64_t k = 0; k < n; ++k) {
    std::complex<long double> total = 0;
    for (int64_t j = 0; j < n; ++j) {
      const long double turn = 2 * M_PIl * static_cast<long double>(j * k % n) / n;
      total += std::complex<long double>(in[static_cast<size_t>(j)]) *
               std::polar(1.0L, forward ? -turn : turn);
    }
    out[static_cast<size_t>(k)] = static_cast<C128>(total);
  }
  return tensor(out);
}

double spectrum_error(const Tensor& actual, const Tensor& expected) {
  const Tensor difference = abs(actual.to(c128) - expected);
  return (norm(difference) / norm(abs(expected))).item<double>();
}

TEST(Fft, IsTheDefinition) {
  Generator generator(3);
  for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 30, 61, 67, 128, 134, 331, 360, 401}) {
    SCOPED_TRACE(n);
    const TensorOptions options{.dtype = f64};
    const Tensor x = complex(randn({n}, options, &generator), randn({n}, options, &generator));
    EXPECT_LT(spectrum_error(fft::fft(x), definition(x, true)), 1e-14);
    EXPECT_LT(spectrum_error(fft::ifft(x) * n, definition(x, false)), 1e-14);
    EXPECT_LT(spectrum_error(fft::fft(x.to(c64)), definition(x.to(c64), true)), 1e-6);
    const Tensor spectrum = definition(real(x), true);
    EXPECT_LT(spectrum_error(fft::rfft(real(x)), spectrum.narrow(0, 0, n / 2 + 1)), 1e-14);
    EXPECT_LT(spectrum_error(fft::irfft(fft::rfft(real(x)), n).to(c128), real(x).to(c128)), 1e-14);
  }
}

TEST(Fft, TakesAnyLayoutAndNumberOfThreads) {
  Generator generator(4);
  const Tensor x = randn({5, 48, 33}, {}, &generator);
  const int before = get_num_threads();
  for (const int64_t dim : {0, 1, 2}) {
    set_num_threads(1);
    const Tensor wanted = fft::fft(x, {}, dim), half = fft::rfft(x, {}, dim);
    set_num_threads(3);
    EXPECT_TRUE(equal(fft::fft(x, {}, dim), wanted));
    EXPECT_TRUE(equal(fft::fft(x.transpose(0, 2).contiguous().transpose(0, 2), {}, dim), wanted));
    EXPECT_TRUE(equal(fft::rfft(x.permute(1, 2, 0).contiguous().permute(2, 0, 1), {}, dim), half));
    EXPECT_TRUE(allclose(fft::irfft(half, x.size(dim), dim), x, 1e-5, 1e-5));
  }
  set_num_threads(before);
}

TEST(Fft, OfNothing) {
  EXPECT_EQ(fft::fft(zeros({0, 4})).shape(), (Shape{0, 4}));
  EXPECT_EQ(fft::rfft(zeros({3, 0, 4}), {}, -1).shape(), (Shape{3, 0, 3}));
  EXPECT_EQ(error_of([] {
              fft::fft(zeros({3, 0}));
            }),
            "fft: there must be at least 1 number to transform, got 0");
  EXPECT_EQ(error_of([] { fft::fft(zeros({1}), (int64_t{1} << 27) + 1); }),
            "fft: a transform can have 2^27 numbers at most, got 134217729");
}

TEST(Fft, NamesFrequencies) {
  EXPECT_EQ(fft::fftfreq(4).to_vector<double>(), (std::vector<double>{0, 0.25, -0.5, -0.25}));
  EXPECT_EQ(fft::fftfreq(5, 0.5, {.dtype = f64}).to_vector<double>(),
            (std::vector<double>{0, 1 / 2.5, 2 / 2.5, -2 / 2.5, -1 / 2.5}));
  EXPECT_EQ(fft::rfftfreq(4).to_vector<double>(), (std::vector<double>{0, 0.25, 0.5}));
  const Tensor x = arange(5);
  EXPECT_EQ(fft::fftshift(x).to_vector<int64_t>(), (std::vector<int64_t>{3, 4, 0, 1, 2}));
  EXPECT_TRUE(equal(fft::ifftshift(fft::fftshift(x)), x));
  const Tensor m = arange(6).view(2, 3);
  EXPECT_EQ(fft::fftshift(m, {1}).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(error_of([] { fft::fftfreq(0); }), "fftfreq: n must be at least 1, got 0");
  EXPECT_EQ(error_of([] { fft::rfftfreq(2, 0); }), "rfftfreq: d can't be 0, got 0");
}

TEST(Stft, ComesBack) {
  Generator generator(5);
  const Tensor x = randn({2, 400}, {.dtype = f64}, &generator);
  const Tensor window = hann_window(64, true, {.dtype = f64});
  const Tensor spectra = stft(x, 64, {.window = window});
  EXPECT_EQ(spectra.shape(), (Shape{2, 33, 26}));
  EXPECT_TRUE(allclose(istft(spectra, 64, {.window = window, .length = 400}), x, 1e-10, 1e-10));
  const Tensor tone = cos(arange(400, {.dtype = f64}) * (2 * M_PI * 8 / 64));
  const Tensor power = square(abs(stft(tone, 64, {.window = window}))).mean(1);
  EXPECT_EQ(argmax(power).item<int64_t>(), 8);
}

// A real signal is the inverse of its first half: what the other half holds says nothing.
TEST(Stft, OfARealSignalComesBackFromTheFirstHalf) {
  const Tensor X = zeros({4, 1}, {.dtype = c128});
  X[3][0].fill_(4);
  const IstftOptions options{
      .hop_length = 4, .window = ones({4}, {.dtype = f64}), .center = false, .onesided = false};
  EXPECT_TRUE(equal(istft(X, 4, options), zeros({4}, {.dtype = f64})));
}

TEST(Stft, OfABatchIsANumberLikeOthers) {
  Generator generator(6);
  const Tensor spectra = stft(randn({2, 400}, {.dtype = f64}, &generator), 64);
  EXPECT_TRUE(equal(spectra * 1i, spectra.contiguous() * 1i));
}

// Parts NaN where they are wanted so, else within `tolerance` of the number.
void expect_numbers(const Tensor& z, const std::vector<C128>& wanted, double tolerance = 1e-6) {
  const std::vector<C128> got = z.to_vector<C128>();
  ASSERT_EQ(got.size(), wanted.size());
  const auto same = [&](double a, double b, double size) {
    const double most = tolerance * (std::isfinite(size) ? size : std::abs(b));
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           (std::isfinite(a) && std::abs(a - b) <= most);
  };
  for (size_t i = 0; i < got.size(); ++i) {
    const double size = std::abs(wanted[i]);
    EXPECT_TRUE(same(got[i].real(), wanted[i].real(), size) &&
                same(got[i].imag(), wanted[i].imag(), size))
        << got[i] << " for " << wanted[i] << " at " << i;
  }
}

TEST(ComplexOps, TakeAnyPermutation) {
  Generator generator(7);
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 4, 5}}) {
    const Tensor re = randn(shape, {.dtype = f64}, &generator);
    const Tensor z = complex(re, randn(shape, {.dtype = f64}, &generator));
    Dims order = Dims::filled(shape.size(), 0);
    std::iota(order.begin(), order.end(), 0);
    do {
      SCOPED_TRACE(to_string(order));
      const Tensor x = z.permute(order), plain = x.contiguous(), part = re.permute(order);
      EXPECT_TRUE(equal(exp(x), exp(plain)));
      EXPECT_TRUE(equal(x * x, plain * plain));
      EXPECT_TRUE(equal(complex(part, part), complex(part.contiguous(), part.contiguous())));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(ComplexOps, PadBesideWhatIsThere) {
  const Tensor z = tensor({1e-9 + 1e-9i, 2e-9 - 3e-9i});
  const std::vector<C128> in = z.to_vector<C128>();
  expect_numbers(pad(z, {1, 1}, PadMode::constant, 1), {1, in[0], in[1], 1}, 0);
  expect_numbers(pad(z, {1, 0}, PadMode::constant, 2.0 - 3i), {{2, -3}, in[0], in[1]}, 0);
  expect_numbers(pad(z, {0, 1}, PadMode::constant, kNaN), {in[0], in[1], {kNaN, 0}}, 0);
}

// The term of a narrow dtype has no place in it.
TEST(ComplexOps, AddTermsInTheResultsDType) {
  const Tensor z = tensor({1i}), bytes = tensor({200}, {.dtype = u8});
  expect_numbers(add(z, bytes, 2), {{400, 1}}, 0);
  expect_numbers(sub(z, bytes, 2), {{-400, 1}}, 0);
  expect_numbers(add(z, tensor({INT32_MAX}, {.dtype = i32}), 2), {{4294967296, 1}}, 0);
  expect_numbers(addcmul(z, bytes, bytes), {{40000, 1}}, 0);
  const Tensor half = full({1}, 300, {.dtype = f16});
  expect_numbers(addcmul(z, half, half), {{90000, 1}}, 0);
  expect_numbers(addcdiv(z, half, full({1}, 0x1p-10, {.dtype = f16})), {{307200, 1}}, 0);
  const Tensor wide = zeros({1}, {.dtype = c128});
  expect_numbers(add(wide, ones({1}), 0.1), {0.1}, 0);
  expect_numbers(add_(wide, ones({1}), 0.1), {0.1}, 0);
}

// What PyTorch says of numbers that have no inverse, or no place in the dtype.
TEST(ComplexOps, OfZerosAndInfinities) {
  for (const DType dtype : {c64, c128}) {
    SCOPED_TRACE(dtype);
    const auto of = [&](const std::vector<C128>& values) { return complexes(values).to(dtype); };
    const double large = dtype == c64 ? 3e38 : 1e308, root = std::sqrt(large);
    expect_numbers(reciprocal(of({{kInf, 0}, {0, -kInf}, {kInf, 3}, {kInf, kNaN}, 0})),
                   {0, 0, 0, {kNaN, kNaN}, {kInf, kNaN}});
    expect_numbers(of({{2, 1}, {2, 1}, {2, 1}}) / of({{kInf, 0}, 0, 2}),
                   {0, {kInf, kInf}, {1, 0.5}});
    const double tiny = dtype == c64 ? 1e-40 : 1e-310;
    expect_numbers(of({{tiny, tiny}}) / of({tiny}), {{1, 1}}, 1e-4);
    expect_numbers(of({{large, large}}) / of({{large, large}}), {1});
    expect_numbers(exp(of({{800, 0}, {-kInf, 0}, {kInf, 0}})), {{kInf, 0}, 0, {kInf, 0}});
    expect_numbers(sin(of({{0, 800}, {0, -800}})), {{0, kInf}, {0, -kInf}});
    expect_numbers(cos(of({{0, 800}})), {{kInf, 0}});
    expect_numbers(sinh(of({{800, 0}, {-800, 0}})), {{kInf, 0}, {-kInf, 0}});
    expect_numbers(cosh(of({{800, 0}})), {{kInf, 0}});
    expect_numbers(sqrt(of({large, -large, {kInf, 0}, {1, kInf}, {large, large}})),
                   {root, {0, root}, {kInf, 0}, {kInf, kInf}, root * std::sqrt(C128(1, 1))});
    const double least = dtype == c64 ? 0x1p-149 : 0x1p-1074;
    expect_numbers(sqrt(of({least, {0, 2 * least}})),
                   {std::sqrt(least), std::sqrt(least) * C128(1, 1)});
    expect_numbers(rsqrt(of({large})), {1 / root});
    expect_numbers(log(of({{large, large}, {kInf, 0}, {-kInf, kInf}, 0})),
                   {{std::log(large) + std::log(2.0) / 2, M_PI / 4},
                    {kInf, 0},
                    {kInf, 3 * M_PI / 4},
                    {-kInf, 0}});
  }
}

// By series of the real part near 1, and of the imaginary part far out: std::complex's numbers.
TEST(ComplexOps, KeepSmallParts) {
  const Tensor near = complexes({{1, 1e-4}, {1e-3, -1}, {0.6, 0.8}}).to(c64);
  std::vector<C128> logs;
  for (const C128& value : near.to_vector<C128>()) logs.push_back(std::log(value));
  expect_numbers(log(near), logs);
  const Tensor far = complexes({{5, 1}, {-10, 1}, {40, 0.5}}).to(c64);
  std::vector<double> slopes;
  for (const C128& value : far.to_vector<C128>())
    slopes.push_back(std::sin(2 * value.imag()) * 2 * std::exp(-2 * std::abs(value.real())));
  const std::vector<double> got = imag(tanh(far)).to_vector<double>();
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i] / slopes[i], 1, 2e-4);
}

TEST(ComplexOps, PowersOfZeroAndToZero) {
  const C128 pole(kInf, kNaN), none(kNaN, kNaN);
  const Tensor zero = complexes({0});
  for (const double n : {-1.0, -2.0, -3.0, -0.5}) expect_numbers(pow(zero, n), {pole});
  expect_numbers(pow(zero, -1.0 + 1i), {pole});
  expect_numbers(pow(zero, 1i), {none});
  expect_numbers(pow(zero, 1.0 + 1i), {0});
  const Tensor zeros = complexes({0, 0, 0, 0, 0});
  expect_numbers(pow(zeros, complexes({0, 2, -2, {0, -1}, {kNaN, 0}})), {1, 0, pole, none, none});
  expect_numbers(pow(complexes({{kInf, 0}, {kNaN, 1}, {2, 1}}), 0), {1, 1, 1}, 0);
}

TEST(ComplexOps, AnglesOfInfinitiesAreThoseOfNumbers) {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({kInf, -kInf, kNaN, -0.0, -2.0}, {.dtype = dtype});
    EXPECT_EQ(angle(x).dtype(), dtype);
    expect_numbers(angle(x), {0, M_PI, kNaN, 0, M_PI}, dtype == f32 ? 1e-7 : 0);
  }
}

// By the nearer end.
TEST(ComplexOps, LerpReachesTheEnd) {
  const Tensor start = tensor({1e8 + 0i}), end = tensor({1.0 + 1i});
  expect_numbers(lerp(start, end, 1), {{1, 1}}, 0);
  expect_numbers(lerp(start, end, tensor({1.0 + 0i})), {{1, 1}}, 0);
  EXPECT_EQ(imag(lerp(start, end, 0.75)).item<float>(), 0.75F);
  expect_numbers(lerp(start, end, 0.4 + 0.4i), {{6e7, -4e7}});
}

TEST(Eig, DecomposesWhatHasNoRealEigenvalues) {
  const Tensor turn = tensor({{0.0, -1.0}, {1.0, 0.0}}, {.dtype = f64});
  const auto [values, vectors] = linalg::eig(turn);
  EXPECT_EQ(values.dtype(), c128);
  EXPECT_TRUE(allclose(square(values), full({2}, -1, {.dtype = c128})));
  EXPECT_TRUE(allclose(matmul(turn.to(c128), vectors), vectors * values.unsqueeze(0)));
  EXPECT_TRUE(allclose(norm(vectors, 2, 0), ones({2}, {.dtype = f64})));
  EXPECT_EQ(linalg::eig(zeros({0, 0})).eigenvectors.shape(), (Shape{0, 0}));
}

// What is asked for a real dtype says so itself.
TEST(Complex, RealResultsAreRefusedByName) {
  const Tensor z = zeros({2, 3}, {.dtype = c128});
  const auto refusal = [](const char* op) {
    return std::string(op) +
           ": a complex tensor can't become a real one; take real(x) or abs(x), got c128 to f16";
  };
  EXPECT_EQ(error_of([&] { sum(z, 0, false, f16); }), refusal("sum"));
  EXPECT_EQ(error_of([&] { prod(z, 0, false, f16); }), refusal("prod"));
  EXPECT_EQ(error_of([&] { mean(z, 0, false, f16); }), refusal("mean"));
  EXPECT_EQ(error_of([&] { nanmean(z, 0, false, f16); }), refusal("nanmean"));
  EXPECT_EQ(error_of([&] { cumsum(z, 0, f16); }), refusal("cumsum"));
  EXPECT_EQ(error_of([&] { softmax(z, 0, f16); }), refusal("softmax"));
}

}  // namespace
}  // namespace aorta

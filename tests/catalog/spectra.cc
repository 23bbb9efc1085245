#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/stft.h>
#include <aorta/tests/catalog/complex.h>

namespace aorta::catalog {
namespace {

// Names norms for templates.
constexpr const char kBackward[] = "backward", kOrtho[] = "ortho", kForward[] = "forward";

template <const char* norm>
Call both_ways() {
  return {norm, [](const Tensors& x) {
            return parts({fft::ifft(z(x[0]), {}, -1, norm) + fft::fft(z(x[0]), {}, -1, norm) * 2});
          }};
}
template <const char* norm>
Call half_spectrum() {
  return {norm, [](const Tensors& x) { return parts({fft::rfft(wide(x[0]), {}, -1, norm)}); }};
}
template <const char* norm>
Call of_half_spectrum() {
  return {norm, [](const Tensors& x) { return parts({fft::irfft(z(x[0]), {}, -1, norm)}); }};
}
Call plain(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::fft(z(x[0]))}); }};
}
Call plain_real(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::rfft(wide(x[0]))}); }};
}
template <int n>
Call back_to(const char* name) {
  return {name, [](const Tensors& x) { return parts({fft::irfft(z(x[0]), n)}); }};
}

void add_transforms(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "fft_c2c",
       .tolerance = kParts,
       .calls = {both_ways<kBackward>(),
                 both_ways<kOrtho>(),
                 both_ways<kForward>(),
                 plain("n_1"),
                 plain("n_2"),
                 plain("n_67"),
                 plain("n_131"),
                 plain("n_30"),
                 {"n",
                  [](const Tensors& x) {
                    return parts({fft::fft(z(x[0]), 3), fft::ifft(z(x[0]), 8)});
                  }},
                 {"dim", [](const Tensors& x) { return parts({fft::fft(z(x[0]), {}, 1)}); }},
                 {"several",
                  [](const Tensors& x) {
                    const Tensor y = z(x[0]);
                    return parts({fft::fft2(y), fft::ifft2(y, {}, {-2, -1}, "ortho"),
                                  fft::fftn(y, {4, 4}), fft::ifftn(y, {}, {0, 2})});
                  }},
                 {"real", [](const Tensors& x) { return parts({fft::fft(wide(x[0]))}); }}},
       .bad = {{[] { fft::fft(ones({2}), 0); },
                "fft: there must be at least 1 number to transform, got 0"},
               {[] { fft::ifft(ones({2}), {}, -1, "none"); },
                "ifft: norm must be backward, ortho or forward, got \"none\""},
               {[] { fft::fft(ones({})); },
                "fft: a 0-d tensor has no dimension to transform, got []"},
               {[] { fft::fft(ones({2}, {.dtype = f16})); },
                "fft: dtype can't be a half type; use f32, got f16"},
               {[] { fft::fft(ones({2}), {}, 1); },
                "fft: dimension out of range, got dim 1 of a 1-d tensor"},
               {[] {
                  fft::fftn(ones({2, 2}), {2}, {0, 1});
                },
                "fftn: s must have a length for each dimension, got [2] for [0,1]"},
               {[] {
                  fft::fft2(ones({2, 2}), {}, {0, 0});
                },
                "fft2: each dimension once, got [0,0]"}},
       .also = {"add", "fill_", "mul", "pad", "to"},
       .functions = {"resized", "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"}});
  rows.push_back(
      {.op = "fft_r2c",
       .tolerance = kParts,
       .calls = {half_spectrum<kBackward>(),
                 half_spectrum<kOrtho>(),
                 half_spectrum<kForward>(),
                 plain_real("n_1"),
                 plain_real("n_2"),
                 plain_real("n_4"),
                 plain_real("n_6"),
                 plain_real("n_16"),
                 plain_real("n_67"),
                 plain_real("n_134"),
                 {"several",
                  [](const Tensors& given) {
                    const Tensor x = wide(given[0]);
                    return parts({fft::rfft2(x), fft::rfftn(x, {8, 3}, {1, 0}), fft::ihfft(x, 6),
                                  fft::ihfft2(x, {}, {-2, -1}, "ortho"), fft::ihfftn(x)});
                  }}},
       .bad = {{[] { fft::rfft(ones({2}, {.dtype = c64})); }, "rfft: input must be real, got c64"},
               {[] { fft::rfftn(ones({})); },
                "rfftn: there must be a dimension to transform, got []"}},
       .also = {"fft_c2c", "mul", "pad"},
       .functions = {"rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"}});
  rows.push_back({.op = "fft_c2r",
                  .tolerance = kParts,
                  .calls = {of_half_spectrum<kBackward>(),
                            of_half_spectrum<kOrtho>(),
                            of_half_spectrum<kForward>(),
                            back_to<1>("n_1"),
                            back_to<2>("n_2"),
                            back_to<4>("n_4"),
                            back_to<6>("n_6"),
                            back_to<16>("n_16"),
                            back_to<67>("n_67"),
                            back_to<134>("n_134"),
                            {"several",
                             [](const Tensors& given) {
                               const Tensor x = z(given[0]);
                               return parts({fft::irfft2(x), fft::irfftn(x, {4, 5}, {0, 1}),
                                             fft::hfft(x, 5), fft::hfft2(x, {}, {-2, -1}, "ortho"),
                                             fft::hfftn(x)});
                             }}},
                  .bad = {{[] { fft::irfft(ones({1}, {.dtype = c64})); },
                           "irfft: there must be at least 1 number to transform, got 0"}},
                  .also = {"fft_c2c", "mul", "pad", "to"},
                  .functions = {"irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn"}});
}

Tensor ones_like_parts(const Tensor& x) {
  return ones({8}, {.dtype = x.defined() ? real_dtype(wide(x).dtype()) : f32,
                    .device = x.defined() ? x.device() : Device()});
}
Tensor hann_of(const Tensor& x) {
  return hann_window(8, true,
                     {.dtype = x.defined() ? real_dtype(wide(x).dtype()) : f32,
                      .device = x.defined() ? x.device() : Device()});
}

void add_orders(std::vector<Row>& rows) {
  rows.push_back({.op = "fftshift",
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {fft::fftshift(x[0]), fft::fftshift(x[0], {1}),
                                       fft::ifftshift(x[0]), fft::ifftshift(x[0], {1})};
                             }}},
                  .bad = {{[] { fft::fftshift(ones({2}), {1}); },
                           "fftshift: dimension out of range, got dim 1 of a 1-d tensor"}},
                  .also = {"roll"},
                  .functions = {"ifftshift"}});
  rows.push_back({.op = "fftfreq",
                  .tolerance = kParts,
                  .calls = {{"default",
                             [](const Tensors&) -> Tensors {
                               Tensors all;
                               for (const auto& make : {fft::fftfreq, fft::rfftfreq})
                                 for (const int64_t n : {1, 4, 5})
                                   for (const double d : {1.0, 0.25, -2.0})
                                     all.push_back(make(n, d, {.dtype = f64}));
                               return {cat(all)};
                             }}},
                  .bad = {{[] { fft::fftfreq(0); }, "fftfreq: n must be at least 1, got 0"},
                          {[] { fft::rfftfreq(2, 0); }, "rfftfreq: d can't be 0, got 0"}},
                  .also = {"div", "to"},
                  .functions = {"rfftfreq"}});
}

void add_spectra(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "stft",
       .tolerance = kParts,
       .calls =
           {{"default", [](const Tensors& x) { return parts({stft(wide(x[0]), 8)}); }},
            {"window",
             [](const Tensors& x) {
               return parts({stft(
                   wide(x[0]), 8,
                   {.hop_length = 3, .win_length = 6, .window = wide(x[1]), .normalized = true})});
             }},
            {"plain",
             [](const Tensors& x) -> Tensors {
               return {stft(wide(x[0]), 8,
                            {.hop_length = 3,
                             .win_length = 6,
                             .window = wide(x[1]),
                             .center = false,
                             .onesided = false,
                             .return_complex = false})};
             }},
            {"pad",
             [](const Tensors& x) {
               const Tensor signal = wide(x[0]);
               return parts(
                   {stft(signal.defined() ? signal[0] : signal, 8,
                         {.win_length = 6, .window = wide(x[1]), .pad_mode = PadMode::constant})});
             }},
            {"complex", [](const Tensors& x) { return parts({stft(z(x[0]), 8)}); }}},
       .bad = {{[] {
                  stft(ones({2, 3, 4}), 2);
                },
                "stft: input must be (L) or (B, L), got [2,3,4]"},
               {[] { stft(ones({4}), 8, {.center = false}); },
                "stft: n_fft can't be more than the padded signal has, got 8 for 4"},
               {[] { stft(ones({40}), 8, {.hop_length = 0}); },
                "stft: hop_length must be at least 1, got 0"},
               {[] { stft(ones({40}), 8, {.win_length = 9}); },
                "stft: win_length must be from 1 to n_fft, got 9 for 8"},
               {[] { stft(ones({40}), 8, {.window = ones({5})}); },
                "stft: the window must be (win_length), got [5] for 8"},
               {[] { stft(ones({40}, {.dtype = i64}), 8); },
                "stft: dtype must be f32, f64, c64 or c128, got i64"}},
       .also = {"fft_c2c", "fft_r2c", "fill_", "mul", "pad", "to"}});
  rows.push_back(
      {.op = "istft",
       .tolerance = kParts,
       .calls =
           {{"default",
             [](const Tensors& x) {
               return parts({istft(z(x[0]), 8, {.window = ones_like_parts(x[0])})});
             }},
            {"window",
             [](const Tensors& x) {
               return parts({istft(
                   z(x[0]), 8,
                   {.hop_length = 2, .window = hann_of(x[0]), .normalized = true, .length = 10})});
             }},
            {"complex",
             [](const Tensors& x) {
               return parts({istft(z(x[0]), 8,
                                   {.hop_length = 2,
                                    .window = hann_of(x[0]),
                                    .onesided = false,
                                    .return_complex = true})});
             }},
            {"first_half",
             [](const Tensors& x) {
               return parts({istft(z(x[0]), 8,
                                   {.hop_length = 2, .window = hann_of(x[0]), .onesided = false})});
             }}},
       .bad =
           {{[] {
               istft(ones({5, 4}), 8);
             },
             "istft: dtype must be complex, got f32"},
            {[] {
               istft(zeros({6, 4}, {.dtype = c64}), 8);
             },
             "istft: there must be n_fft / 2 + 1 frequencies, got 6 for 8"},
            {[] {
               istft(zeros({5, 4}, {.dtype = c64}), 8, {.window = hann_window(8), .center = false});
             },
             "istft: the windows must leave no number of the signal out, got 0 as the least sum "
             "of their squares"}},
       .also = {"abs", "add", "amin", "div", "fft_c2c", "fft_c2r", "fill_", "find_bad_index", "mul",
                "scatter_add_", "to"},
       .functions = {"ones"}});
  rows.push_back(
      {.op = "hann_window",
       .tolerance = kParts,
       .calls = {{"default",
                  [](const Tensors&) -> Tensors {
                    Tensors windows;
                    const TensorOptions options{.dtype = f64};
                    for (const auto& make : {+[](int64_t n, bool p, const TensorOptions&o) {
                                               return hann_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return hamming_window(n, p, 0.54, 0.46, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return blackman_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return bartlett_window(n, p, o);
                                             },
                                             +[](int64_t n, bool p, const TensorOptions&o) {
                                               return kaiser_window(n, p, 12, o);
                                             }})
                      for (const int64_t n : {1, 2, 7, 8})
                        for (const bool periodic : {true, false})
                          windows.push_back(make(n, periodic, options));
                    return {cat(windows)};
                  }}},
       .bad = {{[] { hann_window(-1); }, "hann_window: window_length can't be negative, got -1"},
               {[] { hamming_window(4, true, 0.54, 0.46, {.dtype = i64}); },
                "hamming_window: dtype must be floating, got i64"},
               {[] { kaiser_window(4, true, -1); },
                "kaiser_window: beta can't be negative, got -1"}},
       .also = {"to"},
       .functions = {"hamming_window", "blackman_window", "bartlett_window", "kaiser_window"}});
}

// What depends on neither the eigenvalues' order nor the vectors' phases.
Tensors decomposed(const Tensor& A) {
  const auto [values, vectors] = linalg::eig(A);
  const Tensor exponential =
      linalg::solve(vectors, vectors * exp(values).unsqueeze(-2), /*left=*/false);
  return parts({sum(values * values * values, -1), exponential,
                sum(square(abs(vectors)) * values.unsqueeze(-2), -1)});
}

void add_eig(std::vector<Row>& rows) {
  rows.push_back({.op = "eig",
                  .tolerance = {.sums = 128, .zero_signs = false},
                  .calls = {{"default", [](const Tensors& x) { return decomposed(wide(x[0])); }},
                            {"complex", [](const Tensors& x) { return decomposed(z(x[0])); }},
                            {"values",
                             [](const Tensors& x) {
                               return parts({sum(square(linalg::eigvals(z(x[0]))), -1)});
                             }}},
                  .bad = {{[] {
                             linalg::eig(ones({2, 3}));
                           },
                           "eig: matrices must be square, got [2,3]"},
                          {[] {
                             linalg::eig(ones({2, 2}, {.dtype = i64}));
                           },
                           "eig: dtype must be floating, got i64"},
                          {[] { linalg::eig(eye(2) / 0.0); },
                           "eig: matrices must be finite, got NaN or infinity in matrix 0 of 1"},
                          {[] {
                             linalg::svd(ones({2, 2}, {.dtype = c64}));
                           },
                           "svd: dtype must be floating, got c64"}},
                  .also = {"add", "cos", "eq", "exp", "hypot", "isinf", "logical_and", "mul", "neg",
                           "sin", "solve", "square", "sub", "sum", "to", "where"},
                  .functions = {"eigvals"},
                  .gradient_tolerance = 1e-9,
                  .cancelling = {"default/larger"}});
}

}  // namespace

std::vector<Row> spectra_rows() {
  std::vector<Row> rows;
  add_transforms(rows);
  add_orders(rows);
  add_spectra(rows);
  add_eig(rows);
  return rows;
}

}  // namespace aorta::catalog

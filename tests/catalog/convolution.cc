#include <aorta/core/ops/convolution.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

using Convolution = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Dims&,
                               const ConvPadding&, const Dims&, int64_t);
using Transposed = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Dims&, const Dims&,
                              const Dims&, int64_t, const Dims&);

// The first n numbers.
Dims some(int n, const Dims& numbers) {
  Dims result = numbers;
  result.resize(n);
  return result;
}

// Worth several threads, with every kind of border.
template <int n>
Tensors large() {
  if (n == 1) return {numbers({3, 16, 4000}), numbers({40, 16, 3})};
  if (n == 2) return {numbers({3, 16, 37, 41}), numbers({40, 16, 3, 3})};
  return {numbers({2, 8, 17, 13, 11}), numbers({40, 8, 3, 3, 3})};
}
template <int n>
Tensors large_transposed() {
  Tensors inputs = large<n>();
  inputs[1] = inputs[1].transpose(0, 1).contiguous();
  return inputs;
}

template <int n, Convolution f>
Row convolution_row(const char* op, std::vector<BadCall> bad) {
  return {
      .op = op,
      .tolerance = kSums,
      .calls =
          {{"default",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, {0}, {1}, 1)}; }},
           {"bias",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], x[2], {1}, {1}, {1}, 1)}; }},
           {"strided",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {2}, {1}, {1}, 1)}; }},
           {"dilated",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, {2}, {2}, 1)}; }},
           {"apart",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, {5}, {5}, 1)}; }},
           {"grouped",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, {0}, {1}, 2)}; }},
           {"mixed",
            [](const Tensors& x) -> Tensors {
              return {
                  f(x[0], x[1], {}, some(n, {3, 3, 1}), some(n, {1, 3, 2}), some(n, {1, 2, 1}), 1)};
            }},
           {"same",
            [](const Tensors& x) -> Tensors {
              return {f(x[0], x[1], {}, {1}, "same", some(n, {3, 1, 1}), 1)};
            }},
           {"valid",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, "valid", {1}, 1)}; }}},
      .bad = std::move(bad),
      .also = {"convolution", "to"},
      .functions = {"convolution_transpose", "convolution_weight"},
      .large = large<n>,
      .autocasts = Autocasts::half};
}

template <int n, Transposed f>
Row transposed_row(const char* op, std::vector<BadCall> bad) {
  return {
      .op = op,
      .tolerance = kSums,
      .calls =
          {{"default",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {1}, {0}, {0}, 1, {1})}; }},
           {"bias",
            [](const Tensors& x) -> Tensors {
              return {f(x[0], x[1], x[2], {1}, {1}, {0}, 1, {1})};
            }},
           {"strided",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {2}, {1}, {1}, 1, {1})}; }},
           {"dilated",
            [](const Tensors& x) -> Tensors {
              return {f(x[0], x[1], {}, {1}, some(n, {1, 1, 0}), {0}, 1, {2})};
            }},
           {"gaps",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {3}, {0}, {2}, 1, {1})}; }},
           {"grouped",
            [](const Tensors& x) -> Tensors { return {f(x[0], x[1], {}, {2}, {0}, {0}, 2, {1})}; }},
           {"mixed",
            [](const Tensors& x) -> Tensors {
              return {f(x[0], x[1], {}, some(n, {2, 3, 1}), some(n, {1, 0, 0}), {0}, 1,
                        some(n, {1, 2, 1}))};
            }}},
      .bad = std::move(bad),
      .also = {"convolution_transpose", "to"},
      .functions = {"convolution"},
      .large = large_transposed<n>,
      .autocasts = Autocasts::half};
}

std::vector<BadCall> bad_conv2d() {
  return {
      {[] {
         conv2d(ones({8, 3, 32, 32}), ones({64, 4, 3, 3}));
       },
       "conv2d: input channels must equal weight channels x groups, got input [8,3,32,32], weight "
       "[64,4,3,3], groups 1"},
      {[] {
         conv2d(ones({1, 4, 8, 8}), ones({3, 2, 3, 3}), {}, {1}, {0}, {1}, 2);
       },
       "conv2d: output channels must be divisible by groups, got weight [3,2,3,3], groups 2"},
      {[] {
         conv2d(ones({1, 4, 8, 8}), ones({3, 2, 3, 3}), {}, {.groups = INT64_MAX});
       },
       "conv2d: output channels must be divisible by groups, got weight [3,2,3,3], groups "
       "9223372036854775807"},
      {[] {
         conv2d(ones({1, 1, 2, 8}), ones({1, 1, 3, 3}));
       },
       "conv2d: the kernel must fit into the padded input, got input [1,1,2,8], weight [1,1,3,3], "
       "padding [0], dilation [1]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {0});
       },
       "conv2d: stride must be a number for each spatial dimension or one for all, positive and "
       "below 2^31, got [0]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {int64_t{1} << 40});
       },
       "conv2d: stride must be a number for each spatial dimension or one for all, positive and "
       "below 2^31, got [1099511627776]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {1}, {int64_t{1} << 31});
       },
       "conv2d: padding must be a number for each spatial dimension or one for all, not negative "
       "and below 2^31, got [2147483648]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {1}, {0}, {int64_t{1} << 31});
       },
       "conv2d: dilation must be a number for each spatial dimension or one for all, positive and "
       "below 2^31, got [2147483648]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {2}, "same");
       },
       "conv2d: padding \"same\" needs stride 1, got [2]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {1}, "full");
       },
       "convolution: padding must be numbers, \"valid\" or \"same\", got \"full\""},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), ones({2}));
       },
       "conv2d: bias must have a number for each output channel, got [2] for 1"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}, {.dtype = f64}));
       },
       "conv2d: the operands must have one dtype, got f32 and f64"},
      {[] {
         conv2d(ones({1, 1, 8, 8}, {.dtype = i64}), ones({1, 1, 3, 3}, {.dtype = i64}));
       },
       "conv2d: dtype must be floating, got i64"},
      {[] {
         conv2d(ones({1, 0, 8, 8}), ones({1, 1, 3, 3}));
       },
       "conv2d: sizes must be positive, but that of the batch, got [1,0,8,8]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 0, 3, 3}));
       },
       "conv2d: sizes of the weight must be positive, got [1,0,3,3]"},
      {[] {
         conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, {1}, {0}, {1}, 0);
       },
       "conv2d: groups must be at least 1, got 0"},
  };
}

}  // namespace

std::vector<Row> convolution_rows() {
  return {
      convolution_row<1, conv1d>(
          "conv1d", {{[] {
                        conv1d(ones({4}), ones({1, 1, 3}));
                      },
                      "conv1d: input must be (C, L) or (N, C, L), got [4]"},
                     {[] {
                        conv1d(ones({1, 1, 4}), ones({1, 3}));
                      },
                      "conv1d: weight must have a dimension for each of input and output channels "
                      "and of the kernel, got [1,3]"}}),
      convolution_row<2, conv2d>("conv2d", bad_conv2d()),
      convolution_row<3, conv3d>(
          "conv3d", {{[] {
                        conv3d(ones({1, 1, 4, 4, 4}), ones({1, 1, 3, 3, 3}), {}, {1}, {-1});
                      },
                      "conv3d: padding must be a number for each spatial dimension or one for all, "
                      "not negative and below 2^31, got [-1]"}}),
      transposed_row<1, conv_transpose1d>(
          "conv_transpose1d",
          {{[] {
              conv_transpose1d(ones({1, 2, 4}), ones({2, 1, 3}), {}, {int64_t{1} << 31});
            },
            "conv_transpose1d: stride must be a number for each spatial "
            "dimension or one for all, positive and below 2^31, got "
            "[2147483648]"},
           {[] {
              conv_transpose1d(ones({1, 2, 4}), ones({3, 1, 3}));
            },
            "conv_transpose1d: input channels must equal weight channels, got "
            "input [1,2,4], weight [3,1,3]"}}),
      transposed_row<2, conv_transpose2d>(
          "conv_transpose2d",
          {{[] {
              conv_transpose2d(ones({1, 1, 4, 4}), ones({1, 1, 3, 3}), {}, {2}, {0}, {2});
            },
            "conv_transpose2d: output_padding must be smaller than stride or dilation, got [2] for "
            "stride [2], dilation [1]"},
           {[] {
              conv_transpose2d(ones({1, 1, 1, 1}), ones({1, 1, 3, 3}), {}, {1}, {2});
            },
            "conv_transpose2d: the output must not be empty, got input [1,1,1,1], weight "
            "[1,1,3,3], padding [2]"},
           {[] {
              conv_transpose2d(ones({1, 3, 4, 4}), ones({3, 1, 3, 3}), {}, {1}, {0}, {0}, 2);
            },
            "conv_transpose2d: input channels must be divisible by groups, got weight [3,1,3,3], "
            "groups 2"}}),
      transposed_row<3, conv_transpose3d>(
          "conv_transpose3d",
          {{[] {
              conv_transpose3d(ones({4, 4, 4}), ones({1, 1, 3, 3, 3}));
            },
            "conv_transpose3d: input must be (C, D, H, W) or (N, C, D, H, W), got [4,4,4]"}}),
  };
}

}  // namespace aorta::catalog

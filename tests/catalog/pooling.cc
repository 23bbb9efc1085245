#include <aorta/core/ops/pooling.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

using MaxPool = Tensor (*)(const Tensor&, const Dims&, const Dims&, const Dims&, const Dims&, bool);
using MaxPoolWithIndices = ValuesIndices (*)(const Tensor&, const Dims&, const Dims&, const Dims&,
                                             const Dims&, bool);
using Adaptive = Tensor (*)(const Tensor&, const Dims&);
using AdaptiveWithIndices = ValuesIndices (*)(const Tensor&, const Dims&);

// The first n numbers.
Dims some(int n, const Dims& numbers) {
  Dims result = numbers;
  result.resize(n);
  return result;
}

Tensors both(const ValuesIndices& r) { return {r.values, r.indices}; }

Tensors large_maps() { return {numbers({6, 5, 37, 41})}; }
Tensors large_lines() { return {numbers({6, 5, 4001})}; }
Tensors large_volumes() { return {numbers({3, 2, 17, 21, 19})}; }
constexpr Tensors (*kLarge[])() = {large_lines, large_maps, large_volumes};

template <int n, MaxPool f, MaxPoolWithIndices g>
Row max_row(const char* op, std::vector<BadCall> bad) {
  return {
      .op = op,
      .tolerance = kExact,
      .calls =
          {{"default",
            [](const Tensors& x) -> Tensors { return both(g(x[0], {3}, {}, {0}, {1}, false)); }},
           {"padded",
            [](const Tensors& x) -> Tensors { return both(g(x[0], {3}, {2}, {1}, {1}, false)); }},
           {"values",
            [](const Tensors& x) -> Tensors { return {f(x[0], {3}, {2}, {1}, {1}, false)}; }},
           {"dilated",
            [](const Tensors& x) -> Tensors { return both(g(x[0], {2}, {1}, {1}, {2}, false)); }},
           {"ceil",
            [](const Tensors& x) -> Tensors { return both(g(x[0], {2}, {2}, {0}, {1}, true)); }},
           {"mixed",
            [](const Tensors& x) -> Tensors {
              return both(g(x[0], some(n, {3, 2, 2}), some(n, {3, 1, 3}), some(n, {1, 0, 1}),
                            some(n, {1, 3, 2}), false));
            }}},
      .bad = std::move(bad),
      .also = {"max_pool"},
      .functions = {"max_pool_backward", std::string(op) + "_with_indices"},
      .large = kLarge[n - 1]};
}

// f: the function with every parameter; divisor 0 for none.
template <int n,
          Tensor (*f)(const Tensor&, const Dims&, const Dims&, const Dims&, bool, bool, int64_t)>
Row average_row(const char* op, std::vector<BadCall> bad) {
  Row row{
      .op = op,
      .tolerance = kSums,
      .calls =
          {{"default",
            [](const Tensors& x) -> Tensors { return {f(x[0], {2}, {}, {0}, false, true, 0)}; }},
           {"padded",
            [](const Tensors& x) -> Tensors { return {f(x[0], {3}, {2}, {1}, false, true, 0)}; }},
           {"ceil",
            [](const Tensors& x) -> Tensors { return {f(x[0], {2}, {2}, {0}, true, true, 0)}; }},
           {"inside",
            [](const Tensors& x) -> Tensors { return {f(x[0], {3}, {2}, {1}, true, false, 0)}; }},
           {"wide",
            [](const Tensors& x) -> Tensors {
              Dims size;
              for (int d = -n; d < 0 && x[0].defined(); ++d) size.push_back(x[0].size(d));
              return {f(x[0], size, {}, {0}, false, true, 0)};
            }},
           {"mixed",
            [](const Tensors& x) -> Tensors {
              return {f(x[0], some(n, {3, 2, 2}), some(n, {3, 1, 3}), some(n, {1, 0, 1}), false,
                        true, 0)};
            }}},
      .bad = std::move(bad),
      .also = {"avg_pool"},
      .functions = {"avg_pool_backward"},
      .large = kLarge[n - 1]};
  if (n > 1) {
    row.calls.push_back({"divisor", [](const Tensors& x) -> Tensors {
                           return {f(x[0], {3}, {2}, {1}, false, true, 5)};
                         }});
  }
  return row;
}

std::optional<int64_t> divisor(int64_t given) {
  return given == 0 ? std::optional<int64_t>() : given;
}
Tensor average1d(const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                 bool ceil, bool include, int64_t) {
  return avg_pool1d(x, kernel, stride, padding, ceil, include);
}
Tensor average2d(const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                 bool ceil, bool include, int64_t given) {
  return avg_pool2d(x, kernel, stride, padding, ceil, include, divisor(given));
}
Tensor average3d(const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                 bool ceil, bool include, int64_t given) {
  return avg_pool3d(x, kernel, stride, padding, ceil, include, divisor(given));
}

template <int n, Adaptive f>
Row adaptive_average_row(const char* op, std::vector<BadCall> bad) {
  return {.op = op,
          .tolerance = kSums,
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0], {3})}; }},
                    {"one", [](const Tensors& x) -> Tensors { return {f(x[0], {1})}; }},
                    {"larger", [](const Tensors& x) -> Tensors { return {f(x[0], {13})}; }},
                    {"mixed",
                     [](const Tensors& x) -> Tensors {
                       return {f(x[0], some(n, {4, 5, 2}))};
                     }}},
          .bad = std::move(bad),
          .also = {"avg_pool"},
          .large = kLarge[n - 1]};
}

template <int n, Adaptive f, AdaptiveWithIndices g>
Row adaptive_max_row(const char* op, std::vector<BadCall> bad) {
  return {.op = op,
          .tolerance = kExact,
          .calls = {{"default", [](const Tensors& x) -> Tensors { return both(g(x[0], {3})); }},
                    {"one", [](const Tensors& x) -> Tensors { return both(g(x[0], {1})); }},
                    {"larger",
                     [](const Tensors& x) -> Tensors {
                       return {f(x[0], {13}), g(x[0], {13}).indices};
                     }},
                    {"mixed",
                     [](const Tensors& x) -> Tensors {
                       return both(g(x[0], some(n, {4, 5, 2})));
                     }}},
          .bad = std::move(bad),
          .also = {"max_pool"},
          .functions = {std::string(op) + "_with_indices"},
          .large = kLarge[n - 1]};
}

void add_max(std::vector<Row>& rows) {
  rows.push_back(max_row<1, max_pool1d, max_pool1d_with_indices>(
      "max_pool1d", {{[] { max_pool1d(ones({4}), {2}); },
                      "max_pool1d: input must be (C, L) or (N, C, L), got [4]"},
                     {[] {
                        max_pool1d(ones({1, 4}), {2, 2});
                      },
                      "max_pool1d: kernel_size must be a number for each spatial dimension or one "
                      "for all, positive and below 2^31, got [2,2]"},
                     {[] {
                        max_pool1d(ones({1, 1}), {2}, {1}, {2}, {3});
                      },
                      "max_pool1d: every window must meet the input, got [1,1] for kernel_size "
                      "[2], dilation [3], padding [2]"}}));
  rows.push_back(max_row<2, max_pool2d, max_pool2d_with_indices>(
      "max_pool2d",
      {{[] {
          max_pool2d(ones({1, 1, 4, 4}, {.dtype = i64}), {2});
        },
        "max_pool2d: dtype must be floating, got i64"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {0});
        },
        "max_pool2d: kernel_size must be a number for each spatial dimension or one for all, "
        "positive and below 2^31, got [0]"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {2}, {0});
        },
        "max_pool2d: stride must be a number for each spatial dimension or one for all, positive "
        "and below 2^31, got [0]"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {2}, {int64_t{1} << 40});
        },
        "max_pool2d: stride must be a number for each spatial dimension or one for all, positive "
        "and below 2^31, got [1099511627776]"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {2}, {2}, {0}, {int64_t{1} << 31});
        },
        "max_pool2d: dilation must be a number for each spatial dimension or one for all, positive "
        "and below 2^31, got [2147483648]"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {3}, {1}, {2});
        },
        "max_pool2d: padding can be at most half of the window, got [2,2] for kernel_size [3,3], "
        "dilation [1,1]"},
       {[] {
          max_pool2d(ones({1, 1, 4, 4}), {5});
        },
        "max_pool2d: the input must be at least as large as the window, got [1,1,4,4] for "
        "kernel_size [5,5], dilation [1,1], padding [0,0]"},
       {[] {
          max_pool2d(ones({1, 0, 4, 4}), {2});
        },
        "max_pool2d: sizes must be positive, but that of the batch, got [1,0,4,4]"}}));
  rows.push_back(max_row<3, max_pool3d, max_pool3d_with_indices>(
      "max_pool3d", {{[] {
                        max_pool3d(ones({4, 4, 4}), {2});
                      },
                      "max_pool3d: input must be (C, D, H, W) or (N, C, D, H, W), got [4,4,4]"}}));
}

void add_average(std::vector<Row>& rows) {
  rows.push_back(average_row<1, average1d>(
      "avg_pool1d", {{[] {
                        avg_pool1d(ones({1, 4}), {int64_t{1} << 31});
                      },
                      "avg_pool1d: kernel_size must be a number for each spatial dimension or one "
                      "for all, positive and below 2^31, got [2147483648]"},
                     {[] {
                        avg_pool1d(ones({1, 4}), {2}, {1}, {-1});
                      },
                      "avg_pool1d: padding must be a number for each spatial dimension or one for "
                      "all, not negative and below 2^31, got [-1]"}}));
  rows.push_back(average_row<2, average2d>(
      "avg_pool2d", {{[] {
                        avg_pool2d(ones({1, 4, 4}), {2}, {}, {0}, false, true, 0);
                      },
                      "avg_pool2d: divisor_override must not be 0, got 0"},
                     {[] {
                        avg_pool2d(ones({4, 4}), {2});
                      },
                      "avg_pool2d: input must be (C, H, W) or (N, C, H, W), got [4,4]"}}));
  rows.push_back(average_row<3, average3d>(
      "avg_pool3d", {{[] {
                        avg_pool3d(ones({1, 1, 4, 4, 4}, {.dtype = u8}), {2});
                      },
                      "avg_pool3d: dtype must be floating, got u8"}}));
}

void add_adaptive(std::vector<Row>& rows) {
  rows.push_back(adaptive_average_row<1, adaptive_avg_pool1d>(
      "adaptive_avg_pool1d", {{[] {
                                 adaptive_avg_pool1d(ones({1, 4}), {int64_t{1} << 31});
                               },
                               "adaptive_avg_pool1d: output_size must be a number for each spatial "
                               "dimension or one for all, -1 or more and below 2^31, got "
                               "[2147483648]"},
                              {[] {
                                 adaptive_avg_pool1d(ones({1, 4}), {-2});
                               },
                               "adaptive_avg_pool1d: output_size must be a number for each spatial "
                               "dimension or one for all, -1 or more and below 2^31, got [-2]"}}));
  rows.push_back(adaptive_average_row<2, adaptive_avg_pool2d>(
      "adaptive_avg_pool2d", {{[] {
                                 adaptive_avg_pool2d(ones({1, 4}), {2});
                               },
                               "adaptive_avg_pool2d: input must be (C, H, W) or (N, C, H, W), got "
                               "[1,4]"}}));
  rows.push_back(adaptive_average_row<3, adaptive_avg_pool3d>(
      "adaptive_avg_pool3d", {{[] {
                                 adaptive_avg_pool3d(ones({1, 1, 0, 4, 4}), {2});
                               },
                               "adaptive_avg_pool3d: sizes must be positive, but that of the "
                               "batch, got [1,1,0,4,4]"}}));
  rows.push_back(adaptive_max_row<1, adaptive_max_pool1d, adaptive_max_pool1d_with_indices>(
      "adaptive_max_pool1d", {{[] {
                                 adaptive_max_pool1d(ones({1, 4}, {.dtype = boolean}), {2});
                               },
                               "adaptive_max_pool1d: dtype must be floating, got bool"}}));
  rows.push_back(adaptive_max_row<2, adaptive_max_pool2d, adaptive_max_pool2d_with_indices>(
      "adaptive_max_pool2d",
      {{[] {
          adaptive_max_pool2d(ones({1, 4, 4}), {1, 2, 3});
        },
        "adaptive_max_pool2d: output_size must be a number for each spatial dimension or one for "
        "all, -1 or more and below 2^31, got [1,2,3]"}}));
  rows.push_back(adaptive_max_row<3, adaptive_max_pool3d, adaptive_max_pool3d_with_indices>(
      "adaptive_max_pool3d",
      {{[] {
          adaptive_max_pool3d(ones({4, 4, 4}), {2});
        },
        "adaptive_max_pool3d: input must be (C, D, H, W) or (N, C, D, H, W), got [4,4,4]"}}));
}

}  // namespace

std::vector<Row> pooling_rows() {
  std::vector<Row> rows;
  add_max(rows);
  add_average(rows);
  add_adaptive(rows);
  return rows;
}

}  // namespace aorta::catalog

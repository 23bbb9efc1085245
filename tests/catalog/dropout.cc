#include <aorta/core/ops/dropout.h>

#include <aorta/tests/catalog/rows.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

// The fixtures hold what isn't random. What is: which elements stay, of what value.
namespace aorta::catalog {
namespace {

using Dropout = Tensor (*)(const Tensor&, double, bool, Generator*);

template <Dropout f>
Row row_of(const char* op, void (*property)(Device device), std::vector<BadCall> bad) {
  return {
      .op = op,
      .tolerance = kExact,
      .calls = {{"default",
                 [](const Tensors& x) -> Tensors { return {f(x[0], 0.5, false, nullptr)}; }},
                {"none", [](const Tensors& x) -> Tensors { return {f(x[0], 0, true, nullptr)}; }},
                {"all", [](const Tensors& x) -> Tensors { return {f(x[0], 1, true, nullptr)}; }}},
      .bad = std::move(bad),
      .property = property,
      .large = [] { return Tensors{numbers({300000})}; }};
}

// Dropout drops the same elements for every dtype and layout; those that stay are scaled, exactly.
void check_elements(Device device) {
  const double p = 0.25;
  std::vector<double> first;
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = ones({20, 30, 5, 7}, {.dtype = dtype, .device = device});
    Generator generator(7), again(7), turned(7), in_place(7), other(8);
    const std::vector<double> values = dropout(x, p, true, &generator).to_vector<double>();
    int64_t dropped = 0;
    double kept = 0;
    for (double value : values) {
      dropped += value == 0;
      kept = std::max(kept, value);
      EXPECT_TRUE(value == 0 || value == kept);
    }
    EXPECT_NEAR(kept, 1 / 0.75, dtype == bf16 ? 0x1p-8 : 0x1p-11);
    EXPECT_NEAR(static_cast<double>(dropped) / 21000, p, 0.015) << "5 standard errors";
    EXPECT_EQ(dropout(x, p, true, &again).to_vector<double>(), values);
    const Tensor last = x.contiguous(MemoryFormat::channels_last);
    const Tensor result = dropout(last, p, true, &turned);
    EXPECT_EQ(result.to_vector<double>(), values);
    EXPECT_EQ(result.strides(), last.strides());
    EXPECT_EQ(dropout_(last, p, true, &in_place).to_vector<double>(), values);
    EXPECT_NE(dropout(x, p, true, &other).to_vector<double>(), values);
    EXPECT_NE(dropout(x, p, true, &generator).to_vector<double>(), values) << "it moved on";
    std::vector<double> places;
    for (double value : values) places.push_back(value != 0);
    if (first.empty()) first = places;
    EXPECT_EQ(places, first) << name(dtype);
  }
}

// Channels are whole: each is 0, or scaled everywhere.
template <Dropout f, int spatial>
void check_channels(Device device) {
  Shape shape{40, 50, 3};
  for (int d = 1; d < spatial; ++d) shape.push_back(2);
  Generator generator(7);
  const std::vector<double> values =
      f(ones(shape, {.device = device}), 0.25, true, &generator).template to_vector<double>();
  const size_t size = values.size() / 2000;
  int64_t dropped = 0;
  for (size_t channel = 0; channel < 2000; ++channel) {
    const double value = values[channel * size];
    dropped += value == 0;
    EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.75) < 1e-6) << value;
    for (size_t i = 1; i < size; ++i) ASSERT_EQ(values[channel * size + i], value);
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 2000, 0.25, 0.05);
}

}  // namespace

std::vector<Row> dropout_rows() {
  std::vector<Row> rows{
      row_of<dropout>(
          "dropout", check_elements,
          {{[] { dropout(ones({2}), 1.5); }, "dropout: p must lie in [0, 1], got 1.5"},
           {[] { dropout_(ones({2}), -0.5); }, "dropout_: p must lie in [0, 1], got -0.5"},
           {[] { dropout(ones({2}, {.dtype = i64})); },
            "dropout: dtype must be floating, got i64"}}),
      row_of<dropout1d>("dropout1d", check_channels<dropout1d, 1>,
                        {{[] { dropout1d(ones({5})); },
                          "dropout1d: input must be (C, L) or (N, C, L), got [5]"}}),
      row_of<dropout2d>("dropout2d", check_channels<dropout2d, 2>,
                        {{[] {
                            dropout2d(ones({5, 5}));
                          },
                          "dropout2d: input must be (N, C, L) or (N, C, H, W); dropout is for (N, "
                          "C), got [5,5]"}}),
      row_of<dropout3d>("dropout3d", check_channels<dropout3d, 3>,
                        {{[] {
                            dropout3d(ones({5, 5}));
                          },
                          "dropout3d: input must be (C, D, H, W) or (N, C, D, H, W), got [5,5]"}})};
  // The one that writes; evaluation leaves its tensor alone.
  rows[0].calls[2].in_place = [](const Tensors& x) { return dropout_(x[0], 1.0); };
  rows[0].functions = {"masked_dropout", "take_dropout_mask"};
  for (size_t i = 1; i < rows.size(); ++i) {
    rows[i].also = {"dropout", "fill_", "mul"};  // of ones, a channel each
    rows[i].large = nullptr;
  }
  return rows;
}

}  // namespace aorta::catalog

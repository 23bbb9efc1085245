#include <aorta/core/ops/recurrent.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

constexpr Tolerance kGates{8, 16, 8};

Tensors both(const LstmState& state) { return {state.h, state.c}; }

Tensors large_lstm() {
  return {numbers({40, 70}),    numbers({40, 300}), numbers({40, 300}), numbers({1200, 70}),
          numbers({1200, 300}), numbers({1200}),    numbers({1200})};
}
Tensors large_gru() {
  return {numbers({40, 70}),   numbers({40, 300}), numbers({900, 70}),
          numbers({900, 300}), numbers({900}),     numbers({900})};
}

// With N = 2, I = 3, H = 4.
LstmState lstm_of(const Shape& input, const Shape& h, const Shape& c, DType dtype = f32) {
  return lstm_cell(ones(input, {.dtype = dtype}), {ones(h, {.dtype = dtype}), ones(c)},
                   ones({16, 3}, {.dtype = dtype}), ones({16, 4}, {.dtype = dtype}));
}

Row lstm_row() {
  return {.op = "lstm_cell",
          .tolerance = kGates,
          .calls = {{"default",
                     [](const Tensors& x) {
                       return both(lstm_cell(x[0], {x[1], x[2]}, x[3], x[4], x[5], x[6]));
                     }},
                    {"no_bias",
                     [](const Tensors& x) {
                       return both(lstm_cell(x[0], {x[1], x[2]}, x[3], x[4]));
                     }}},
          .bad = {{[] {
                     lstm_of({3}, {2, 4}, {2, 4});
                   },
                   "lstm_cell: input must be (N, I), got [3]"},
                  {[] {
                     lstm_of({2, 3}, {1, 4}, {2, 4});
                   },
                   "lstm_cell: the hidden state must be (N, H), got [1,4] for input [2,3]"},
                  {[] {
                     lstm_of({2, 3}, {2, 4}, {2, 5});
                   },
                   "lstm_cell: hidden state and cell must have one shape, got [2,4] and [2,5]"},
                  {[] {
                     lstm_of({2, 5}, {2, 4}, {2, 4});
                   },
                   "lstm_cell: w_ih must have the shape [16,5], got [16,3]"},
                  {[] {
                     lstm_of({2, 3}, {2, 4}, {2, 4}, f64);
                   },
                   "lstm_cell: the cell must have the input's dtype, got f32 for f64"},
                  {[] {
                     lstm_of({2, 3}, {2, 4}, {2, 4}, i64);
                   },
                   "lstm_cell: dtype must be floating, got i64"}},
          .also = {"linear", "lstm_gates"},
          .large = large_lstm,
          .autocasts = Autocasts::half};
}

Row gru_row() {
  return {
      .op = "gru_cell",
      .tolerance = kGates,
      .calls = {{"default",
                 [](const Tensors& x) -> Tensors {
                   return {gru_cell(x[0], x[1], x[2], x[3], x[4], x[5])};
                 }},
                {"no_bias",
                 [](const Tensors& x) -> Tensors { return {gru_cell(x[0], x[1], x[2], x[3])}; }}},
      .bad = {{[] {
                 gru_cell(ones({3}), ones({2, 4}), ones({12, 3}), ones({12, 4}));
               },
               "gru_cell: input must be (N, I), got [3]"},
              {[] {
                 gru_cell(ones({2, 3}), ones({2, 4}), ones({12, 3}), ones({16, 4}));
               },
               "gru_cell: w_hh must have the shape [12,4], got [16,4]"},
              {[] {
                 gru_cell(ones({2, 3}), ones({2, 4}), ones({12, 3}), ones({12, 4}), ones({9}));
               },
               "gru_cell: b_ih must have the shape [12], got [9]"},
              {[] {
                 gru_cell(ones({2, 3}, {.device = "cpu:1"}), ones({2, 4}), ones({12, 3}),
                          ones({12, 4}));
               },
               "gru_cell: tensors must be on one device, got cpu:1 and cpu"}},
      .also = {"gru_gates", "linear"},
      .large = large_gru,
      .autocasts = Autocasts::half};
}

}  // namespace

std::vector<Row> recurrent_rows() { return {lstm_row(), gru_row()}; }

}  // namespace aorta::catalog

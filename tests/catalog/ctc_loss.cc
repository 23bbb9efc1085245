#include <aorta/core/called_op.h>
#include <aorta/core/ops/ctc_loss.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

namespace {

// The loss of logits, so that the gradient is the derivative.
Tensors of_logits(const Tensors& x, const CtcLossOptions& options) {
  const CalledOp called("ctc_loss");
  const Tensor log_probs = x[0].defined() ? log_softmax(x[0], -1) : x[0];
  return {ctc_loss(log_probs, x[1], x[2], x[3], options)};
}

void call(const Shape& shape, const Tensor& targets, const Tensor& inputs, const Tensor& lengths,
          const CtcLossOptions& options = {}) {
  ctc_loss(zeros(shape), targets, inputs, lengths, options);
}

}  // namespace

std::vector<Row> ctc_loss_rows() {
  return {
      {.op = "ctc_loss",
       .needs_values = true,  // of the lengths
       // Some terms of a size are added; half types are rounded between the ops of a call.
       .tolerance = {2, 4, 1, 0, true, 1},
       .calls = {{"default", [](const Tensors& x) { return of_logits(x, {}); }},
                 {"joined",
                  [](const Tensors& x) {
                    return of_logits(x, {.blank = 2, .reduction = Reduction::none});
                  }},
                 {"sum",
                  [](const Tensors& x) {
                    return of_logits(x, {.reduction = Reduction::sum, .zero_infinity = true});
                  }},
                 {"infinite",
                  [](const Tensors& x) { return of_logits(x, {.reduction = Reduction::none}); }},
                 {.name = "log_probs",
                  .run = [](const Tensors& x) -> Tensors {
                    return {ctc_loss(x[0], x[1], x[2], x[3],
                                     {.reduction = Reduction::none, .zero_infinity = true})};
                  },
                  // Greater by exp(log_probs), as PyTorch's.
                  .gradient_is_derivative = false}},
       .bad =
           {{[] {
               call({5, 4}, tensor({1, 7}), tensor(5), tensor(2));
             },
             "ctc_loss: targets must be in [0, C), got 7, C 4"},
            {[] {
               call({5, 2, 4}, ones({2, 3}, {.dtype = i64}), tensor({5, 6}), tensor({3, 3}));
             },
             "ctc_loss: input_lengths must be in [0, longest], got 6 for 5"},
            {[] {
               call({5, 2, 4}, ones({2, 3}, {.dtype = i64}), tensor({5, 5}), tensor({-1, 3}));
             },
             "ctc_loss: target_lengths must be in [0, longest], got -1 for 3"},
            {[] {
               call({5, 2, 4}, ones({7}, {.dtype = i64}), tensor({5, 5}), tensor({3, 3}));
             },
             "ctc_loss: target_lengths must add up to the targets, got 6 for [7]"},
            {[] {
               call({5, 2, 4}, ones({3, 3}, {.dtype = i64}), tensor({5, 5}), tensor({3, 3}));
             },
             "ctc_loss: targets must be (N, S) or (sum of lengths), got [3,3] for [5,2,4]"},
            {[] {
               call({5, 2, 4}, ones({2, 3}, {.dtype = i64}), tensor({5}), tensor({3, 3}));
             },
             "ctc_loss: input_lengths must be (N), or () for log_probs (T, C), got [1] for N 2"},
            {[] {
               call({5, 4}, tensor({1}), tensor(5), tensor(1), {.blank = 4});
             },
             "ctc_loss: blank must be in [0, C), got 4, C 4"},
            {[] { call({5}, tensor({1}), tensor(5), tensor(1)); },
             "ctc_loss: log_probs must be (T, N, C) or (T, C), got [5]"},
            {[] {
               call({5, 4}, tensor({1.0}), tensor(5), tensor(1));
             },
             "ctc_loss: targets must be i64 or i32, got f32"},
            {[] {
               call({5, 4}, tensor({1}), tensor(5), tensor(1), {.reduction = Reduction::batchmean});
             },
             "ctc_loss: reduction must be none, mean or sum, got batchmean"}},
       .also = {"clamp_min", "div", "eq", "find_bad_index", "gather", "ge", "log_softmax", "mean",
                "sum", "to", "where"},
       .large =
           [] {
             return Tensors{numbers({40, 32, 11}), places({32, 9}, 10),
                            full({32}, 40, {.dtype = i64}), full({32}, 9, {.dtype = i64})};
           },
       .autocasts = Autocasts::f32}};
}

}  // namespace aorta::catalog

// Errors of functions that are made of others name the function that was called, and the operand.
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/parameter_vector.h>
#include <aorta/nn/unpooling.h>
#include <aorta/optim/clip.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/undefined.h>

#include <functional>
#include <set>
#include <utility>

namespace aorta::nn {
namespace {

const Tensor kNone;
const Tensor& flags() {
  static const Tensor tensor = ones({2, 2}).to(DType::boolean);
  return tensor;
}

using Tensors = std::vector<Tensor>;

// A function of so many tensors, each of which it names.
struct Call {
  size_t operands;
  std::function<void(const Tensors&)> run;
};

// By families; all inputs are of 2 x 2 ones.
std::vector<Call> calls_of_layers() {
  return {
      {1, [](auto& x) { rrelu(x[0]); }},
      {1, [](auto& x) { rrelu_(x[0]); }},
      {1, [](auto& x) { gumbel_softmax(x[0]); }},
      {1, [](auto& x) { glu(x[0]); }},
      {1, [](auto& x) { alpha_dropout(x[0]); }},
      {1, [](auto& x) { feature_alpha_dropout(x[0]); }},
      {1, [](auto& x) { pixel_shuffle(x[0], 2); }},
      {1, [](auto& x) { pixel_unshuffle(x[0], 2); }},
      {1, [](auto& x) { channel_shuffle(x[0], 2); }},
      {1, [](auto& x) { local_response_norm(x[0], 2); }},
      {1, [](auto& x) { lp_pool1d(x[0], 2, 2); }},
      {1, [](auto& x) { lp_pool2d(x[0], 2, 2); }},
      {1, [](auto& x) { lp_pool3d(x[0], 2, 2); }},
      {2, [](auto& x) { embedding_bag(x[0], x[1]); }},
      {2, [](auto& x) { grid_sample(x[0], x[1]); }},
      {1,
       [](auto& x) {
         affine_grid(x[0], {1, 1, 2, 2});
       }},
      {1, [](auto& x) { nn::unfold(x[0], 2); }},
      {1, [](auto& x) { fold(x[0], 2, 2); }},
      {2, [](auto& x) { max_unpool1d(x[0], x[1], 2); }},
      {2, [](auto& x) { max_unpool2d(x[0], x[1], 2); }},
      {2, [](auto& x) { max_unpool3d(x[0], x[1], 2); }},
      {1, [](auto& x) { fractional_max_pool2d(x[0], 2, {.output_size = 1}); }},
      {1, [](auto& x) { fractional_max_pool3d(x[0], 2, {.output_size = 1}); }},
      {1, [](auto& x) { fractional_max_pool2d_with_indices(x[0], 2, {.output_size = 1}); }},
      {1, [](auto& x) { fractional_max_pool3d_with_indices(x[0], 2, {.output_size = 1}); }},
      {2,
       [](auto& x) {
         pack_padded_sequence(x[0], x[1].defined() ? tensor({2, 1}) : x[1]);
       }},
      {2, [](auto& x) { pad_packed_sequence({.data = x[0], .batch_sizes = x[1]}); }},
      {2,
       [](auto& x) {
         pad_sequence({x[0], x[1]});
       }},
      {2,
       [](auto& x) {
         pack_sequence({x[0], x[1]});
       }},
      {2, [](auto& x) { unpack_sequence({.data = x[0], .batch_sizes = x[1]}); }},
      {2,
       [](auto& x) {
         unpad_sequence(x[0], x[1].defined() ? tensor({2, 1}) : x[1]);
       }},
  };
}
std::vector<Call> calls_of_losses() {
  return {
      {2, [](auto& x) { dice_loss(x[0], x[1]); }},
      {2, [](auto& x) { focal_loss(x[0], x[1]); }},
      {2, [](auto& x) { pairwise_distance(x[0], x[1]); }},
      {2, [](auto& x) { hinge_embedding_loss(x[0], x[1]); }},
      {3, [](auto& x) { margin_ranking_loss(x[0], x[1], x[2]); }},
      {2, [](auto& x) { soft_margin_loss(x[0], x[1]); }},
      {3, [](auto& x) { triplet_margin_loss(x[0], x[1], x[2]); }},
      {3, [](auto& x) { triplet_margin_with_distance_loss(x[0], x[1], x[2]); }},
      {2,
       [](auto& x) {
         multi_margin_loss(x[0], x[1].defined() ? x[1].sum(1).to(DType::i64) - 2 : x[1]);
       }},
      {2,
       [](auto& x) { multilabel_margin_loss(x[0], x[1].defined() ? x[1].to(DType::i64) : x[1]); }},
      {2, [](auto& x) { multilabel_soft_margin_loss(x[0], x[1]); }},
      {2, [](auto& x) { poisson_nll_loss(x[0], x[1]); }},
      {3, [](auto& x) { gaussian_nll_loss(x[0], x[1], x[2]); }},
  };
}
std::vector<Call> calls_of_parameters() {
  return {
      {1, [](auto& x) { init::uniform_(x[0]); }},
      {1, [](auto& x) { init::normal_(x[0]); }},
      {1, [](auto& x) { init::trunc_normal_(x[0]); }},
      {1, [](auto& x) { init::constant_(x[0], 1); }},
      {1, [](auto& x) { init::ones_(x[0]); }},
      {1, [](auto& x) { init::zeros_(x[0]); }},
      {1, [](auto& x) { init::eye_(x[0]); }},
      {1, [](auto& x) { init::xavier_uniform_(x[0]); }},
      {1, [](auto& x) { init::xavier_normal_(x[0]); }},
      {1, [](auto& x) { init::kaiming_uniform_(x[0]); }},
      {1, [](auto& x) { init::kaiming_normal_(x[0]); }},
      {1, [](auto& x) { init::orthogonal_(x[0]); }},
      {1, [](auto& x) { init::dirac_(x[0].defined() ? x[0].unsqueeze(0) : x[0]); }},
      {1, [](auto& x) { init::sparse_(x[0], 0.5); }},
      {1, [](auto& x) { init::calculate_fans(x[0]); }},
      {2,
       [](auto& x) {
         optim::get_total_norm({x[0], x[1]});
       }},
      {2,
       [](auto& x) {
         optim::clip_grad_norm_({x[0], x[1]}, 1);
       }},
      {3,
       [](auto& x) {
         optim::clip_grads_with_norm_({x[0], x[1]}, 1, x[2]);
       }},
      {2,
       [](auto& x) {
         optim::clip_grad_value_({x[0], x[1]}, 1);
       }},
      {2,
       [](auto& x) {
         parameters_to_vector({x[0], x[1]});
       }},
      {3,
       [](auto& x) {
         const Tensor vector = x[0].defined() ? x[0].reshape({-1}).repeat({2}) : x[0];
         vector_to_parameters(vector, {x[1], x[2]});
       }},
  };
}

TEST(CalledNames, UndefinedOperands) {
  const Declared declared = declared_in({"nn", "optim/clip.h"});
  std::set<std::string> named;
  for (const auto& calls : {calls_of_layers(), calls_of_losses(), calls_of_parameters()}) {
    for (const auto& [count, run] : calls) {
      const Tensors inputs(count, ones({2, 2}));
      expect_operands_named(declared, "", inputs, run);
      for (const auto& one : missed_by(inputs, run))
        if (one) named.insert(one->function);
    }
  }
  // What losses, packed sequences, calls and tables are made of.
  named.insert({"reduced", "check_pair", "checked_sizes", "put_tensors", "limit_rows", "clear_row",
                "share_gradient", "fold_batch_norm"});
  for (const auto& [name, operands] : declared.functions) {
    const bool free = name.find(':') == std::string::npos;
    const bool needs_one =
        std::any_of(operands.begin(), operands.end(),
                    [](const OperandName& operand) { return !operand.optional; });
    EXPECT_TRUE(!free || !needs_one || named.contains(name)) << name << " needs a line above";
  }
}

TEST(CalledNames, UndefinedOperandsOfMethodsAndPictures) {
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"view: input", [] { kNone.view({1}); }},
      {"as_strided: input", [] { as_strided(kNone, {1}, {1}, 0); }},
      {"share_memory: input", [] { kNone.share_memory(); }},
      {"is_channels_last: tensor", [] { is_channels_last(kNone); }},
      {"to_dot: loss", [] { autograd::to_dot(kNone); }},
      {"fill_polygon: mask", [] { data::fill_polygon(kNone, {}); }},
      {"MultiheadAttention: query",
       [] {
         AttentionCache cache;
         MultiheadAttention(2, 1).step(kNone, cache);
       }},
      {"TransformerDecoder: memory",
       [] {
         std::vector<DecoderLayerCache> cache(1);
         TransformerDecoder(TransformerDecoderLayer(2, 1), 1).step(ones({1, 2}), kNone, cache);
       }},
      {"encode_png: image", [] { data::encode_png(kNone); }},
      {"encode_jpeg: image", [] { data::encode_jpeg(kNone); }},
      {"zero_: input", [] { kNone.zero_(); }},
      {"to_vector: input", [] { kNone.to_vector<float>(); }},
      {"cpu: input", [] { kNone.cpu(); }},
      {"cuda: input", [] { kNone.cuda(); }},
  };
  for (const auto& [name, call] : calls)
    EXPECT_EQ(error_of(call), std::string(name) + " must be defined, got an undefined tensor");
}

TEST(CalledNames, WhatAnInnerFunctionRefuses) {
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"pairwise_distance: ", [] { pairwise_distance(flags(), flags()); }},
      {"pairwise_distance: ", [] { pairwise_distance(ones({2}), ones({3})); }},
      {"rrelu: ", [] { rrelu(flags()); }},
      {"xavier_uniform_: ", [] { init::xavier_uniform_(flags()); }},
      {"kaiming_normal_: ", [] { init::kaiming_normal_(flags()); }},
      {"constant_: ", [] { init::constant_(ones({2}).to(DType::u8), 300); }},
      {"zero_: ", [] { ones({1}).expand({4}).zero_(); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string text = error_of(call);
    EXPECT_EQ(text.substr(0, std::string(name).size()), name) << text;
  }
}

}  // namespace
}  // namespace aorta::nn

// Errors of functions that are made of others name the function that was called, and the operand.
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/unpooling.h>
#include <aorta/optim/clip.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

#include <functional>
#include <utility>

namespace aorta::nn {
namespace {

const Tensor kNone;
const Tensor& some() {
  static const Tensor tensor = ones({2, 2});
  return tensor;
}
const Tensor& flags() {
  static const Tensor tensor = ones({2, 2}).to(DType::boolean);
  return tensor;
}

TEST(CalledNames, UndefinedOperands) {
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"rrelu: input", [] { rrelu(kNone); }},
      {"glu: input", [] { glu(kNone); }},
      {"alpha_dropout: input", [] { alpha_dropout(kNone); }},
      {"feature_alpha_dropout: input", [] { feature_alpha_dropout(kNone); }},
      {"pixel_shuffle: input", [] { pixel_shuffle(kNone, 2); }},
      {"pixel_unshuffle: input", [] { pixel_unshuffle(kNone, 2); }},
      {"channel_shuffle: input", [] { channel_shuffle(kNone, 2); }},
      {"dice_loss: target", [] { dice_loss(some(), kNone); }},
      {"focal_loss: input", [] { focal_loss(kNone, some()); }},
      {"pairwise_distance: x2", [] { pairwise_distance(some(), kNone); }},
      {"hinge_embedding_loss: input", [] { hinge_embedding_loss(kNone, some()); }},
      {"margin_ranking_loss: input2", [] { margin_ranking_loss(some(), kNone, some()); }},
      {"soft_margin_loss: target", [] { soft_margin_loss(some(), kNone); }},
      {"triplet_margin_loss: negative", [] { triplet_margin_loss(some(), some(), kNone); }},
      {"multi_margin_loss: target", [] { multi_margin_loss(some(), kNone); }},
      {"multilabel_margin_loss: input", [] { multilabel_margin_loss(kNone, some()); }},
      {"multilabel_soft_margin_loss: input", [] { multilabel_soft_margin_loss(kNone, some()); }},
      {"poisson_nll_loss: target", [] { poisson_nll_loss(some(), kNone); }},
      {"gaussian_nll_loss: var", [] { gaussian_nll_loss(some(), some(), kNone); }},
      {"triplet_margin_with_distance_loss: negative",
       [] { triplet_margin_with_distance_loss(some(), some(), kNone); }},
      {"local_response_norm: input", [] { local_response_norm(kNone, 2); }},
      {"lp_pool2d: input", [] { lp_pool2d(kNone, 2, 2); }},
      {"embedding_bag: weight", [] { embedding_bag(some(), kNone); }},
      {"grid_sample: grid", [] { grid_sample(some(), kNone); }},
      {"affine_grid: theta",
       [] {
         affine_grid(kNone, {1, 1, 2, 2});
       }},
      {"unfold: input", [] { nn::unfold(kNone, 2); }},
      {"fold: input", [] { fold(kNone, 2, 2); }},
      {"max_unpool2d: indices", [] { max_unpool2d(some(), kNone, 2); }},
      {"fractional_max_pool2d: input", [] { fractional_max_pool2d(kNone, 2, {.output_size = 1}); }},
      {"pack_padded_sequence: input", [] { pack_padded_sequence(kNone, kNone); }},
      {"pad_packed_sequence: data", [] { pad_packed_sequence({}); }},
      {"pad_sequence: sequences",
       [] {
         pad_sequence({some(), kNone});
       }},
      {"unpad_sequence: lengths", [] { unpad_sequence(some(), kNone); }},
      {"uniform_: tensor", [] { init::uniform_(kNone); }},
      {"trunc_normal_: tensor", [] { init::trunc_normal_(kNone); }},
      {"ones_: tensor", [] { init::ones_(kNone); }},
      {"zeros_: tensor", [] { init::zeros_(kNone); }},
      {"eye_: tensor", [] { init::eye_(kNone); }},
      {"xavier_normal_: tensor", [] { init::xavier_normal_(kNone); }},
      {"kaiming_uniform_: tensor", [] { init::kaiming_uniform_(kNone); }},
      {"orthogonal_: tensor", [] { init::orthogonal_(kNone); }},
      {"calculate_fans: tensor", [] { init::calculate_fans(kNone); }},
      {"get_total_norm: tensors[1]",
       [] {
         optim::get_total_norm({some(), kNone});
       }},
      {"clip_grad_norm_: parameters[0]", [] { optim::clip_grad_norm_({kNone}, 1); }},
      {"clip_grads_with_norm_: total_norm", [] { optim::clip_grads_with_norm_({}, 1, kNone); }},
      {"clip_grad_value_: parameters[0]", [] { optim::clip_grad_value_({kNone}, 1); }},
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

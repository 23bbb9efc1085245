#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/models/attention_parts.h>
#include <aorta/models/conv_parts.h>
#include <aorta/models/maxvit.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <algorithm>
#include <cmath>

namespace aorta::models {
namespace {

constexpr nn::BatchNormOptions kMaxVitNorm{.eps = 1e-3, .momentum = 0.01};

// Attention over (N, groups, positions, C), within each group.
struct GroupAttention : nn::Module {
  GroupAttention(int64_t channels, int64_t head_dim, int64_t side)
      : heads(channels / head_dim),
        relative_position_bias_table(*this, "relative_position_bias_table",
                                     detail::distance_table(side, heads)),
        relative_position_index(*this, "relative_position_index", detail::pair_distances(side)),
        to_qkv(*this, "to_qkv", channels, 3 * channels),
        merge(*this, "merge", channels, channels) {}
  Tensor forward(const Tensor& input) const override {
    const int64_t channels = input.size(3);
    // (3, N, groups, heads, positions, channels of a head)
    const Tensor all =
        to_qkv(input).unflatten(3, {3, heads, channels / heads}).permute({3, 0, 1, 4, 2, 5});
    const Tensor query = all.select(0, 0);
    const Tensor bias =
        detail::distance_bias(relative_position_bias_table, relative_position_index);
    // The root is that of all heads' channels, as torchvision has it.
    const double scale = 1 / std::sqrt(static_cast<double>(channels));
    const Tensor attended =
        scaled_dot_product_attention(query, all.select(0, 1), all.select(0, 2),
                                     {.attn_mask = bias.to(query.dtype()), .scale = scale});
    return merge(attended.transpose(2, 3).flatten(3, 4));
  }

  int64_t heads;
  nn::Parameter relative_position_bias_table;
  nn::Buffer relative_position_index;
  nn::Linear to_qkv, merge;
};

struct MaxVitSizes {
  int64_t channels, planes, head_dim, partition;
  double drop;
};

// Attention among the positions of a window of partition x partition, or among as many that lie
// evenly over the maps, and a small network of each position, each beside its input.
struct PartitionAttention : nn::Module {
  PartitionAttention(const MaxVitSizes& sizes, bool is_grid)
      : partition(sizes.partition),
        is_grid(is_grid),
        attn_layer(*this, "attn_layer", nn::LayerNorm(sizes.planes),
                   GroupAttention(sizes.planes, sizes.head_dim, sizes.partition)),
        mlp_layer(*this, "mlp_layer", nn::LayerNorm(sizes.planes),
                  nn::Linear(sizes.planes, 4 * sizes.planes), nn::GELU(),
                  nn::Linear(4 * sizes.planes, sizes.planes)),
        stochastic_dropout(*this, "stochastic_dropout", sizes.drop) {}
  Tensor forward(const Tensor& input) const override {
    const int64_t count = input.size(2) / partition;
    // A position is (row / inner, row % inner, column / inner, column % inner).
    const int64_t inner = is_grid ? count : partition, outer = is_grid ? partition : count;
    Tensor x = input.unflatten(3, {outer, inner}).unflatten(2, {outer, inner});
    x = x.permute(is_grid ? Dims{0, 3, 5, 2, 4, 1} : Dims{0, 2, 4, 3, 5, 1});
    x = x.flatten(3, 4).flatten(1, 2);
    x = x + stochastic_dropout(attn_layer(x));
    x = x + stochastic_dropout(mlp_layer(x));
    x = x.unflatten(2, {partition, partition}).unflatten(1, {count, count});
    x = x.permute(is_grid ? Dims{0, 5, 3, 1, 4, 2} : Dims{0, 5, 1, 3, 2, 4});
    return x.flatten(4, 5).flatten(2, 3);
  }

  int64_t partition;
  bool is_grid;
  nn::Sequential attn_layer, mlp_layer;
  detail::StochasticDepth stochastic_dropout;
};

// An inverted bottleneck beside its input, which a stride shrinks by means.
struct MaxVitConv : nn::Module {
  MaxVitConv(const MaxVitSizes& sizes, int64_t stride)
      : stochastic_depth(*this, "stochastic_depth", sizes.drop) {
    const int64_t channels = sizes.channels, planes = sizes.planes, wide = 4 * planes;
    if (stride == 2) proj.push_back(nn::AvgPool2d(3, {.stride = 2, .padding = 1}));
    if (stride == 2 || channels != planes) proj.push_back(nn::Conv2d(channels, planes, 1));
    const auto options = [](int64_t kernel, int64_t step, int64_t groups) {
      return detail::ConvNormOptions{.kernel_size = kernel,
                                     .stride = step,
                                     .groups = groups,
                                     .activation = detail::MapActivation::gelu,
                                     .norm = kMaxVitNorm};
    };
    layers.push_back("pre_norm", nn::BatchNorm2d(channels, kMaxVitNorm));
    layers.push_back("conv_a", detail::conv_norm(channels, wide, options(1, 1, 1)));
    layers.push_back("conv_b", detail::conv_norm(wide, wide, options(3, stride, wide)));
    layers.push_back("squeeze_excitation",
                     detail::SqueezeExcitation(wide, planes / 4, detail::MapActivation::silu,
                                               /*hard_sigmoid=*/false));
    layers.push_back("conv_c", nn::Conv2d(wide, planes, 1));
  }
  Tensor forward(const Tensor& input) const override {
    return proj(input) + stochastic_depth(layers(input));
  }

  nn::Sequential proj{*this, "proj"};
  detail::StochasticDepth stochastic_depth;
  nn::Sequential layers{*this, "layers"};
};

nn::Sequential maxvit_layer(const MaxVitSizes& sizes, int64_t stride) {
  const nn::Sequential parts({{"MBconv", MaxVitConv(sizes, stride)},
                              {"window_attention", PartitionAttention(sizes, false)},
                              {"grid_attention", PartitionAttention(sizes, true)}});
  return nn::Sequential({{"layers", parts}});
}

const MaxVitLayout& checked_maxvit(const MaxVitLayout& layout) {
  check(layout.stem_channels > 0 && layout.head_dim > 0 && layout.partition_size > 0 &&
            layout.input_size > 0,
        "MaxVit", "stem_channels, head_dim, partition_size and input_size must be positive",
        layout.stem_channels, ", ", layout.head_dim, ", ", layout.partition_size, " and ",
        layout.input_size);
  int64_t size = (layout.input_size + 1) / 2;
  for (size_t i = 0; i < 4; ++i) {
    size = (size + 1) / 2;
    check(size % layout.partition_size == 0, "MaxVit",
          "partition_size must divide the size of each block's maps", layout.partition_size,
          " for ", size);
    check(layout.layers[i] >= 0, "MaxVit", "layers must not be negative", layout.layers[i]);
    check(layout.channels[i] >= 4 && layout.channels[i] % layout.head_dim == 0, "MaxVit",
          "a block's channels must be at least 4, and a multiple of head_dim", layout.channels[i],
          " for ", layout.head_dim);
  }
  return layout;
}

}  // namespace

MaxVit::MaxVit(const MaxVitLayout& layout, int64_t num_classes)
    : input_size(checked_maxvit(layout).input_size) {
  stem.push_back(detail::conv_norm(
      3, layout.stem_channels,
      {.stride = 2, .activation = detail::MapActivation::gelu, .norm = kMaxVitNorm}));
  stem.push_back(
      nn::Sequential(nn::Conv2d(layout.stem_channels, layout.stem_channels, 3, {.padding = 1})));
  double all = -1, made = 0;
  for (const int count : layout.layers) all += count;
  int64_t channels = layout.stem_channels;
  for (size_t i = 0; i < 4; ++i) {
    nn::Sequential block;
    for (int layer = 0; layer < layout.layers[i]; ++layer) {
      const double drop = layout.stochastic_depth * made++ / std::max(1.0, all);
      block.push_back(
          maxvit_layer({channels, layout.channels[i], layout.head_dim, layout.partition_size, drop},
                       layer == 0 ? 2 : 1));
      channels = layout.channels[i];
    }
    blocks.push_back(nn::Sequential({{"layers", block}}));
  }
  classifier.push_back(nn::AdaptiveAvgPool2d(1));
  classifier.push_back(nn::Flatten(1));
  classifier.push_back(nn::LayerNorm(channels));
  classifier.push_back(nn::Linear(channels, channels));
  classifier.push_back(nn::Tanh());
  classifier.push_back(nn::Linear(channels, num_classes, {.bias = false}));
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::normal_(conv->weight, 0, 0.02);
      if (conv->bias.defined()) nn::init::zeros_(conv->bias);
    } else if (const auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::normal_(linear->weight, 0, 0.02);
      if (linear->bias.defined()) nn::init::zeros_(linear->bias);
    }
  });
}

Tensor MaxVit::forward(const Tensor& input) const {
  check(input.dim() == 4 && input.size(2) == input_size && input.size(3) == input_size, "MaxVit",
        "input must be (N, 3, input_size, input_size)", input.shape(), " for ", input_size);
  return classifier(blocks(stem(input)));
}

}  // namespace aorta::models

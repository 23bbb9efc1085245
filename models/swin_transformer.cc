#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/models/attention_parts.h>
#include <aorta/models/conv_parts.h>
#include <aorta/models/swin_transformer.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace aorta::models {
namespace {

// A stage's numbers.
struct SwinStage {
  int64_t channels, heads, window;
  SwinVersion version;
};

// The distances of the table on a logarithmic scale, (1, 2 window - 1, 2 window - 1, 2): what the
// second version's small network sees.
Tensor log_distances(int64_t window) {
  const Tensor steps = arange(1 - window, window, 1, {.dtype = DType::f32});
  const Tensor far = steps / static_cast<float>(window - 1) * 8;
  const Tensor line = sign(far) * log2(abs(far) + 1) / 3;
  const int64_t span = 2 * window - 1;
  return stack({line.unsqueeze(1).expand({span, span}), line.expand({span, span})}, 2).unsqueeze(0);
}

// The windows of maps, and how far they are shifted to the lower right.
struct WindowGrid {
  int64_t window, rows, columns, shift_down, shift_right;

  // A map that a window covers has nowhere to go.
  WindowGrid(const Tensor& maps, int64_t window, int64_t shift)
      : window(window),
        rows((maps.size(1) + window - 1) / window),
        columns((maps.size(2) + window - 1) / window),
        shift_down(rows > 1 ? shift : 0),
        shift_right(columns > 1 ? shift : 0) {}

  bool is_shifted() const { return shift_down + shift_right > 0; }

  // (N, H, W, C) -> (N, windows, positions, C)
  Tensor split(const Tensor& maps) const {
    Tensor x = maps;
    const int64_t below = rows * window - maps.size(1), beside = columns * window - maps.size(2);
    if (below + beside > 0) x = pad(x, {0, 0, 0, beside, 0, below});
    if (is_shifted()) x = roll(x, {-shift_down, -shift_right}, {1, 2});
    return x.unflatten(2, {columns, window})
        .unflatten(1, {rows, window})
        .transpose(2, 3)
        .flatten(3, 4)
        .flatten(1, 2);
  }

  // The way back, to maps of the size of `like`.
  Tensor join(const Tensor& windows, const Tensor& like) const {
    Tensor x = windows.unflatten(2, {window, window})
                   .unflatten(1, {rows, columns})
                   .transpose(2, 3)
                   .flatten(3, 4)
                   .flatten(1, 2);
    if (is_shifted()) x = roll(x, {shift_down, shift_right}, {1, 2});
    return x.narrow(1, 0, like.size(1)).narrow(2, 0, like.size(2));
  }

  // (windows, 1, positions, positions): -100 between positions that the shift has brought next to
  // each other, 0 elsewhere.
  Tensor mask() const {
    const auto part = [this](int64_t at, int64_t count, int64_t shift) -> int64_t {
      const int64_t size = count * window;
      if (shift == 0 || at < size - window) return 0;
      return at < size - shift ? 1 : 2;
    };
    std::vector<int64_t> parts;
    for (int64_t row = 0; row < rows * window; ++row)
      for (int64_t column = 0; column < columns * window; ++column)
        parts.push_back(3 * part(row, rows, shift_down) + part(column, columns, shift_right));
    const Tensor ids = tensor(parts)
                           .reshape({rows, window, columns, window})
                           .transpose(1, 2)
                           .reshape({rows * columns, 1, window * window});
    return where(ne(ids.unsqueeze(3), ids.unsqueeze(2)), full({}, -100.0), full({}, 0.0));
  }
};

// Attention within windows, which every other block shifts by half of their size.
struct WindowAttention : nn::Module {
  WindowAttention(const SwinStage& stage, int64_t shift);
  WindowAttention(nn::Module& owner, const char* name, const SwinStage& stage, int64_t shift)
      : WindowAttention(stage, shift) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;
  Tensor position_bias() const;
  Tensor bias_without_keys() const;

  SwinStage stage;
  int64_t shift;
  nn::Parameter relative_position_bias_table;  // v1: (distances, heads)
  nn::Parameter logit_scale;                   // v2: (heads, 1, 1), a logarithm
  nn::Buffer relative_coords_table;            // v2
  nn::Buffer relative_position_index;
  nn::Linear qkv, proj;
  nn::Sequential cpb_mlp{*this, "cpb_mlp"};  // v2: of a distance, a number a head
};

WindowAttention::WindowAttention(const SwinStage& stage, int64_t shift)
    : stage(stage),
      shift(shift),
      relative_position_bias_table(*this, "relative_position_bias_table",
                                   stage.version == SwinVersion::v1
                                       ? detail::distance_table(stage.window, stage.heads)
                                       : Tensor()),
      logit_scale(
          *this, "logit_scale",
          stage.version == SwinVersion::v2 ? full({stage.heads, 1, 1}, std::log(10.0)) : Tensor()),
      relative_coords_table(
          *this, "relative_coords_table",
          stage.version == SwinVersion::v2 ? log_distances(stage.window) : Tensor()),
      relative_position_index(*this, "relative_position_index",
                              detail::pair_distances(stage.window).flatten()),
      qkv(*this, "qkv", stage.channels, 3 * stage.channels),
      proj(*this, "proj", stage.channels, stage.channels) {
  if (stage.version == SwinVersion::v1) return;
  cpb_mlp.push_back(nn::Linear(2, 512));
  cpb_mlp.push_back(nn::ReLU());
  cpb_mlp.push_back(nn::Linear(512, stage.heads, {.bias = false}));
}

// (heads, positions, positions)
Tensor WindowAttention::position_bias() const {
  const bool is_v2 = stage.version == SwinVersion::v2;
  const Tensor table = is_v2 ? cpb_mlp(relative_coords_table).reshape({-1, stage.heads})
                             : static_cast<const Tensor&>(relative_position_bias_table);
  const Tensor bias = detail::distance_bias(table, relative_position_index);
  return is_v2 ? 16 * sigmoid(bias) : bias;
}

// The second version's: keys have none, whatever is there.
Tensor WindowAttention::bias_without_keys() const {
  const int64_t width = stage.channels;
  return cat({qkv.bias.narrow(0, 0, width), zeros_like(qkv.bias.narrow(0, width, width)),
              qkv.bias.narrow(0, 2 * width, width)},
             0);
}

Tensor WindowAttention::forward(const Tensor& input) const {
  const bool is_v2 = stage.version == SwinVersion::v2;
  const WindowGrid grid(input, stage.window, shift);
  const Tensor windows = grid.split(input);
  // (3, N, windows, heads, positions, channels of a head)
  const Tensor all = (is_v2 ? linear(windows, qkv.weight, bias_without_keys()) : qkv(windows))
                         .unflatten(3, {3, stage.heads, stage.channels / stage.heads})
                         .permute({3, 0, 1, 4, 2, 5});
  Tensor query = all.select(0, 0), key = all.select(0, 1);
  std::optional<double> scale;
  if (is_v2) {
    query = normalize(query, 2, -1) * exp(clamp(logit_scale, {}, std::log(100.0)));
    key = normalize(key, 2, -1);
    scale = 1;
  }
  Tensor added = position_bias();
  if (grid.is_shifted()) added = added + grid.mask().to(added.device()).to(added.dtype());
  const Tensor attended = scaled_dot_product_attention(
      query, key, all.select(0, 2), {.attn_mask = added.to(query.dtype()), .scale = scale});
  return grid.join(proj(attended.transpose(2, 3).flatten(3, 4)), input);
}

// Attention and a small network of each position, each normalised and beside its input.
struct SwinBlock : nn::Module {
  SwinBlock(const SwinStage& stage, int64_t shift, double drop)
      : is_v2(stage.version == SwinVersion::v2),
        norm1(*this, "norm1", stage.channels),
        attn(*this, "attn", stage, shift),
        stochastic_depth(*this, "stochastic_depth", drop),
        norm2(*this, "norm2", stage.channels) {
    mlp.push_back("0", nn::Linear(stage.channels, 4 * stage.channels));
    mlp.push_back("1", nn::GELU());
    mlp.push_back("3", nn::Linear(4 * stage.channels, stage.channels));
  }
  Tensor forward(const Tensor& input) const override {
    const Tensor x = input + stochastic_depth(is_v2 ? norm1(attn(input)) : attn(norm1(input)));
    return x + stochastic_depth(is_v2 ? norm2(mlp(x)) : mlp(norm2(x)));
  }

  bool is_v2;
  nn::LayerNorm norm1;
  WindowAttention attn;
  detail::StochasticDepth stochastic_depth;
  nn::LayerNorm norm2;
  nn::Sequential mlp{*this, "mlp"};
};

// Each 2 x 2 positions become one of twice the channels.
struct PatchMerging : nn::Module {
  explicit PatchMerging(const SwinStage& stage)
      : is_v2(stage.version == SwinVersion::v2),
        reduction(*this, "reduction", 4 * stage.channels, 2 * stage.channels, {.bias = false}),
        norm(*this, "norm", (is_v2 ? 2 : 4) * stage.channels) {}
  Tensor forward(const Tensor& input) const override {
    const int64_t below = input.size(1) % 2, beside = input.size(2) % 2;
    const Tensor even = below + beside > 0 ? pad(input, {0, 0, 0, beside, 0, below}) : input;
    const Tensor x = even.unflatten(2, {even.size(2) / 2, 2})
                         .unflatten(1, {even.size(1) / 2, 2})
                         .permute({0, 1, 3, 4, 2, 5})
                         .flatten(3, 5);
    return is_v2 ? norm(reduction(x)) : reduction(norm(x));
  }

  bool is_v2;
  nn::Linear reduction;
  nn::LayerNorm norm;
};

int64_t last_channels(const SwinLayout& layout) {
  check(layout.embed_dim > 0 && layout.embed_dim <= 1 << 20, "SwinTransformer",
        "embed_dim must be in [1, 2^20]", layout.embed_dim);
  const int64_t smallest = layout.version == SwinVersion::v2 ? 2 : 1;
  check(layout.window_size >= smallest && layout.window_size <= 64, "SwinTransformer",
        "window_size must be in [1, 64], and above 1 in the second version", layout.window_size);
  for (size_t i = 0; i < 4; ++i) {
    const int64_t channels = layout.embed_dim << i, heads = layout.num_heads[i];
    check(layout.depths[i] >= 0, "SwinTransformer", "depths must not be negative",
          layout.depths[i]);
    check(heads > 0 && channels % heads == 0, "SwinTransformer",
          "num_heads must be positive and divide a stage's channels", heads, " for ", channels);
  }
  return layout.embed_dim * 8;
}

}  // namespace

SwinTransformer::SwinTransformer(const SwinLayout& layout, int64_t num_classes)
    : norm(*this, "norm", last_channels(layout)),
      head(*this, "head", last_channels(layout), num_classes) {
  features.push_back(nn::Sequential(nn::Conv2d(3, layout.embed_dim, 4, {.stride = 4}),
                                    detail::Permute({0, 2, 3, 1}),
                                    nn::LayerNorm(layout.embed_dim)));
  double all = -1, made = 0;
  for (const int depth : layout.depths) all += depth;
  for (size_t i = 0; i < 4; ++i) {
    const SwinStage stage{layout.embed_dim << i, layout.num_heads[i], layout.window_size,
                          layout.version};
    nn::Sequential blocks;
    for (int block = 0; block < layout.depths[i]; ++block)
      blocks.push_back(SwinBlock(stage, block % 2 == 0 ? 0 : layout.window_size / 2,
                                 layout.stochastic_depth * made++ / std::max(1.0, all)));
    features.push_back(blocks);
    if (i < 3) features.push_back(PatchMerging(stage));
  }
  apply([](nn::Module& module) {
    if (const auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::trunc_normal_(linear->weight, {.std = 0.02});
      if (linear->bias.defined()) nn::init::zeros_(linear->bias);
    }
  });
}

Tensor SwinTransformer::forward(const Tensor& input) const {
  return head(avgpool(norm(features(input)).permute({0, 3, 1, 2})).flatten(1));
}

}  // namespace aorta::models

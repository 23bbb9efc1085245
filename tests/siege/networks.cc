#include <aorta/models/convnext.h>
#include <aorta/models/densenet.h>
#include <aorta/models/efficientnet.h>
#include <aorta/models/googlenet.h>
#include <aorta/models/lenet.h>
#include <aorta/models/make.h>
#include <aorta/models/maxvit.h>
#include <aorta/models/mlp.h>
#include <aorta/models/mnasnet.h>
#include <aorta/models/mobilenet.h>
#include <aorta/models/regnet.h>
#include <aorta/models/resnet.h>
#include <aorta/models/segmentation.h>
#include <aorta/models/shufflenet.h>
#include <aorta/models/squeezenet.h>
#include <aorta/models/swin_transformer.h>
#include <aorta/models/unet.h>
#include <aorta/models/unet_3d.h>
#include <aorta/models/video_resnet.h>
#include <aorta/models/vision_transformer.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/container.h>
#include <aorta/nn/draw_graph.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/fuse.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/margin_loss.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/nn/parametrizations.h>
#include <aorta/nn/pooling.h>
#include <aorta/nn/sizes.h>
#include <aorta/nn/step_plan.h>
#include <aorta/nn/summary.h>
#include <aorta/nn/transformer.h>
#include <aorta/nn/unpooling.h>
#include <aorta/optim/optimizer.h>

#include <aorta/tests/siege/targets.h>

#include <cmath>

// Networks of drawn sizes, their blocks, what is asked of whole modules, and optimizers of one's
// own.
namespace aorta::siege {
namespace {

using T = Tensor;

/// Few blocks, or none, or fewer.
models::ResNetLayout layout(const std::array<int64_t, 4>& blocks, bool bottleneck) {
  models::ResNetLayout made{{}, bottleneck};
  for (size_t i = 0; i < 4; ++i)
    made.blocks[i] = static_cast<int>(static_cast<uint64_t>(blocks[i]) % 4) - 1;
  return made;
}

/// What a network of pictures, or films, takes, or anything.
T picture_or(const T& other, bool picture, bool film = false) {
  if (!picture) return other;
  return film ? ones({1, 3, 2, 17, 17}) : ones({1, 3, 33, 33});
}

/// Few blocks a stage, or none, or fewer.
template <size_t stages>
std::array<int, stages> layout_of(int64_t blocks) {
  std::array<int, stages> made;
  made.fill(static_cast<int>(static_cast<uint64_t>(blocks) % 4) - 1);
  return made;
}

models::VisionTransformerOptions few_layers(models::VisionTransformerOptions options) {
  options.num_layers = options.num_layers % 3;
  return options;
}

template <class Network>
T classifier(int64_t classes, bool good, const T& x) {
  return Network(classes)(picture_or(x, good));
}

nn::Sequential small_net() {
  return nn::Sequential(nn::BatchNorm1d(3), nn::Linear(3, 2), nn::ReLU());
}

T size_of(const std::string& text) { return full({}, static_cast<int64_t>(text.size())); }

struct StepOptions {
  optim::Option<double> lr = optim::Default(1e-3);
  void fields(optim::Fields& f) { f("lr", lr); }
  void check() const { aorta::check(lr >= 0, "rule", "lr must be at least 0", lr); }
};

}  // namespace

void add_networks(std::vector<Target>& targets) {
  using namespace models;
  targets.insert(
      targets.end(),
      {
          of(
              "MLP",
              +[](const std::vector<int64_t>& sizes, int64_t which, const T& x) {
                return MLP(sizes, static_cast<MlpActivation>(static_cast<uint64_t>(which) % 3))(x);
              }),
          of("LeNet5", layer<LeNet5, int64_t>),
          of("UNet", layer<UNet, UNetOptions>),
          of("UNet3d", layer<UNet3d, UNet3dOptions>),
          of("BasicBlock", layer<BasicBlock, int64_t, int64_t, ResidualBlockOptions>),
          of("Bottleneck", layer<Bottleneck, int64_t, int64_t, ResidualBlockOptions>),
          of(
              "VideoBlock",
              +[](int64_t kind, int64_t channels, int64_t planes, int64_t stride, const T& x) {
                return VideoBlock(static_cast<VideoConv>(static_cast<uint64_t>(kind) % 3), channels,
                                  planes, stride)(x);
              }),
          of("MobileNetV2", classifier<MobileNetV2>),
          of(
              "MobileNetV3",
              +[](int64_t size, int64_t classes, bool good, const T& x) {
                return MobileNetV3(static_cast<MobileNetV3Size>(static_cast<uint64_t>(size) % 3),
                                   classes)(picture_or(x, good));
              }),
          of(
              "SqueezeNet",
              +[](int64_t which, int64_t classes, bool good, const T& x) {
                const auto kind = static_cast<SqueezeNetVersion>(static_cast<uint64_t>(which) % 3);
                return SqueezeNet(kind, classes)(picture_or(x, good));
              }),
          of(
              "EfficientNet",
              +[](double width, double depth, double dropout, int64_t classes, bool good,
                  const T& x) {
                // Wider and deeper ones take long.
                if (width > 1 && width <= 8) width = 1;
                if (depth > 1 && depth <= 8) depth = 1;
                return EfficientNet({width, depth, dropout}, classes)(picture_or(x, good));
              }),
          of(
              "MNASNet",
              +[](double alpha, int64_t classes, bool good, const T& x) {
                if (alpha > 1 && alpha <= 8) alpha = 1;
                return MNASNet(alpha, classes)(picture_or(x, good));
              }),
          of(
              "DenseNet",
              +[](int64_t a, int64_t growth, int64_t first, int64_t classes, bool good,
                  const T& x) {
                if (good) growth = first = 2;
                return DenseNet({layout_of<4>(a), growth, first}, classes)(picture_or(x, good));
              }),
          of(
              "ConvNeXt",
              +[](int64_t a, int64_t first, int64_t other, double drop, bool good, const T& x) {
                return ConvNeXt({layout_of<4>(a), {first, other, first, other}, drop},
                                3)(picture_or(x, good));
              }),
          of(
              "MBConvStage",
              +[](const std::array<int64_t, 4>& sizes, int64_t channels, bool fused,
                  int64_t classes, bool good, const T& x) {
                const MBConvStage stages[] = {{sizes[0] % 7, sizes[1] % 6, sizes[2] % 4,
                                               channels % 30, 8, sizes[3] % 3, fused}};
                return EfficientNet({.stages = stages, .last_channels = 20},
                                    classes)(picture_or(x, good));
              }),
          of(
              "RegNet",
              +[](int64_t depth, int64_t first, double slope, double step, int64_t group_width,
                  double squeeze, bool good, const T& x) {
                // Wide ones take long.
                return RegNet(RegNetLayout{depth % 5, first % 100, std::fmod(slope, 20), step,
                                           group_width, squeeze},
                              3)(picture_or(x, good));
              }),
          of(
              "MaxVit",
              +[](int64_t width, int64_t layers, int64_t head, int64_t partition, int64_t size,
                  bool good, const T& x) {
                // Wide and large ones take long.
                width = good ? 4 : width % 100;
                size = good ? 32 : size % 100;
                return MaxVit({width, {width, width, 4, 8}, layout_of<4>(layers), head % 5,
                               partition % 3, 0, size},
                              3)(good ? ones({2, 3, 32, 32}) : x);
              }),
          of(
              "SwinTransformer",
              +[](int64_t width, int64_t depths, int64_t heads, int64_t window, bool second,
                  bool good, const T& x) {
                // Wide ones take long.
                width = good ? 4 * std::abs(heads % 3) : width % 100;
                return SwinTransformer(
                    {width, layout_of<4>(depths), {heads % 3, heads % 3, 2, 2}, window % 10, 0,
                     second ? SwinVersion::v2 : SwinVersion::v1},
                    3)(picture_or(x, good));
              }),
          of(
              "ShuffleNetV2",
              +[](int64_t a, int64_t b, int64_t classes, bool good, const T& x) {
                return ShuffleNetV2(ShuffleNetV2Layout{{a, b, a, b}}, classes)(picture_or(x, good));
              }),
          of(
              "VisionTransformerEncoder",
              +[](const VisionTransformerOptions& options, const T& x) {
                return VisionTransformerEncoder(few_layers(options))(x);
              }),
          of(
              "VisionTransformer",
              +[](const VisionTransformerOptions& options, const T& x) {
                return VisionTransformer(few_layers(options))(x);
              }),
          of(
              "ResNetFeatures",
              +[](int64_t a, int64_t b, bool bottleneck, bool dilate, bool good, const T& x) {
                const auto maps = ResNetFeatures(layout({a, b, a, b}, bottleneck), dilate)
                                      .maps(picture_or(x, good));
                return Tensors{maps.layer3, maps.layer4};
              }),
          of(
              "ResNet",
              +[](int64_t a, int64_t b, bool bottleneck, int64_t classes, bool good, const T& x) {
                return ResNet(layout({a, b, a, b}, bottleneck), classes)(picture_or(x, good));
              }),
          of(
              "FCN",
              +[](int64_t a, bool bottleneck, int64_t classes, bool aux, bool good, const T& x) {
                const FCN net(layout({a, a, a, a}, bottleneck),
                              {.num_classes = classes, .aux_loss = aux});
                const SegmentationOutput found = net.heads(picture_or(x, good));
                return Tensors{found.out, found.aux};
              }),
          of(
              "DeepLabV3",
              +[](int64_t a, bool bottleneck, int64_t classes, bool aux, bool good, const T& x) {
                return DeepLabV3(layout({a, a, a, a}, bottleneck),
                                 {.num_classes = classes, .aux_loss = aux})(picture_or(x, good));
              }),
          of(
              "GoogLeNet",
              +[](GoogLeNetOptions options, bool good, const T& x) {
                if (good) options.num_classes = 3;
                const GoogLeNet net(options);
                const GoogLeNetOutput found = net.heads(good ? ones({2, 3, 33, 33}) : x);
                return Tensors{found.logits, found.aux_logits2, found.aux_logits1};
              }),
          of(
              "ASPP", +[](int64_t channels, const std::vector<int64_t>& rates,
                          const T& x) { return ASPP(channels, rates)(x); }),
          of(
              "VideoResNet",
              +[](int64_t first, int64_t others, int64_t classes, bool good, const T& x) {
                const auto kind = [](int64_t which) {
                  return static_cast<VideoConv>(static_cast<uint64_t>(which) % 3);
                };
                return VideoResNet({kind(first), kind(others)}, classes)(picture_or(x, good, true));
              }),
      });
}

void add_whole_modules(std::vector<Target>& targets) {
  using namespace nn;
  targets.insert(
      targets.end(),
      {
          of(
              "ParameterList",
              +[](const Tensors& parameters, int64_t at, const T& other) {
                ParameterList list(parameters);
                list.append(other);
                list.extend(parameters);
                return T(list[at]);
              }),
          of(
              "ParameterDict",
              +[](const T& x, const std::string& name, const std::string& other, const T& y) {
                ParameterDict dict({{name, x}});
                dict.insert(other, y);
                return T(dict[name]);
              }),
          of(
              "register_parametrization",
              +[](const T& x, const std::string& name, bool known, bool twice, bool leave) {
                Linear net(3, 2);
                const Text member = known ? Text("weight") : Text(name);
                register_parametrization(net, member, ReLU());
                if (twice) register_parametrization(net, member, AnyModule(Flatten(0)));
                if (!is_parametrized(net, name)) remove_parametrizations(net, member, leave);
                return Tensors{net(x), parametrized(net, name)};
              }),
          of(
              "weight_norm",
              +[](const T& x, int64_t channels, bool whole, int64_t dim) {
                const WeightNormOptions options{.dim = whole ? std::nullopt
                                                             : std::optional<int64_t>(dim)};
                return weight_norm(Conv2d(3, channels, 2), options)(x);
              }),
          of(
              "spectral_norm",
              +[](const T& x, int64_t features, int64_t iterations, double eps, int64_t dim) {
                return spectral_norm(
                    Linear(3, features),
                    {.n_power_iterations = iterations % 5, .eps = eps, .dim = dim})(x);
              }),
          of(
              "orthogonal",
              +[](const T& x, int64_t channels, int64_t map, bool by_default, bool trivial) {
                const char* const maps[] = {"matrix_exp", "cayley", "householder", "none"};
                OrthogonalOptions options{.use_trivialization = trivial};
                if (!by_default) options.orthogonal_map = maps[map & 3];
                return orthogonal(Conv2d(3, channels, 2), options)(x);
              }),
          of(
              "fuse_conv_bn_eval",
              +[](const T& x, int64_t outputs, int64_t features, int64_t groups, bool training) {
                Conv1d conv(4, outputs, 2, {.groups = groups});
                BatchNorm1d bn(features);
                conv.train(training);
                bn.eval();
                return fuse_conv_bn_eval(conv, bn)(x);
              }),
          of(
              "fuse_linear_bn_eval",
              +[](const T& x, int64_t outputs, int64_t features) {
                Linear linear(3, outputs);
                BatchNorm1d bn(features);
                linear.eval();
                bn.eval();
                return fuse_linear_bn_eval(linear, bn)(x);
              }),
          of(
              "summarize",
              +[](const T& x) {
                Sequential net = small_net();
                return size_of(summarize(net, x).at(0).type);
              }),
          of(
              "draw_graph",
              +[](const T& x, int depth) { return size_of(draw_graph(small_net(), x, depth)); }),
          of(
              "plan_step",
              +[](const T& x, const T& y, bool empty, double speed) {
                const StepPlan plan =
                    empty ? plan_step({}) : plan_step([&] { (x * y).sum().backward(); });
                // How long it is depends on the bytes, of which an expanded input has fewer.
                return full({}, plan.floor({.multiply_adds = speed, .bytes = speed}) > 0);
              }),
          of(
              "set_statistic_groups",
              +[](const T& x, int64_t groups) {
                Sequential net = small_net();
                set_statistic_groups(net, groups);
                return net(x);
              }),
          of(
              "update_bn",
              +[](const Tensors& batches, const T& x, bool empty) {
                Sequential net = small_net();
                if (empty)
                  update_bn(net, std::function<void()>());
                else
                  update_bn(net, batches);
                return net(x);
              }),
          of(
              "MultiheadAttention::step",
              +[](const T& x, const T& keys, const T& values, int64_t features, int64_t heads) {
                const MultiheadAttention attention(features, heads);
                AttentionCache cache{keys, values};
                return Tensors{attention.step(x, cache), cache.keys, cache.values};
              }),
          of(
              "TransformerDecoder::step",
              +[](const T& x, const T& memory, int64_t features, int64_t heads, int64_t count) {
                const TransformerDecoder decoder(
                    TransformerDecoderLayer(features, heads, {.dim_feedforward = 4, .dropout = 0}),
                    2);
                std::vector<DecoderLayerCache> cache(static_cast<uint64_t>(count) % 4);
                return decoder.step(x, memory, cache);
              }),
          of(
              "Transformer",
              +[](const T& source, const T& target, int64_t features, int64_t heads, int64_t layers,
                  double eps, bool batch_first) {
                return Transformer({.d_model = features,
                                    .nhead = heads,
                                    .num_encoder_layers = layers % 3,
                                    .num_decoder_layers = 1,
                                    .dim_feedforward = 4,
                                    .dropout = 0,
                                    .layer_norm_eps = eps,
                                    .batch_first = batch_first})(source, target);
              }),
          of(
              "triplet_margin_with_distance_loss",
              +[](const T& a, const T& b, const T& c, double margin, bool swap, bool own) {
                TripletMarginWithDistanceOptions options{.margin = margin, .swap = swap};
                if (own) options.distance_function = [](const T& x, const T&) { return x; };
                return triplet_margin_with_distance_loss(a, b, c, options);
              }),
          random_of(
              "fractional_max_pool3d",
              +[](const T& x, const Dims& kernel, const FractionalMaxPoolOptions& options) {
                return fractional_max_pool3d(x, kernel, options);
              }),
          random_of(
              "fractional_max_pool2d_with_indices",
              +[](const T& x, const Dims& kernel, const FractionalMaxPoolOptions& options) {
                const auto found = fractional_max_pool2d_with_indices(x, kernel, options);
                return Tensors{found.values, found.indices};
              }),
          random_of(
              "fractional_max_pool3d_with_indices",
              +[](const T& x, const Dims& kernel, const FractionalMaxPoolOptions& options) {
                const auto found = fractional_max_pool3d_with_indices(x, kernel, options);
                return Tensors{found.values, found.indices};
              }),
          of(
              "lp_pool2d",
              +[](const T& x, double norm, const Dims& kernel, const LPPoolOptions& options) {
                return lp_pool2d(x, norm, kernel, options);
              }),
          of(
              "max_unpool3d",
              +[](const T& x, const T& indices, const Dims& kernel, const Dims& stride,
                  const Dims& padding, const Dims& size) {
                return max_unpool3d(x, indices, kernel, stride, padding, size);
              }),
          of(
              "sizes_of",
              +[](const Dims& sizes, int64_t count) {
                const Dims found = sizes_of("sizes_of", "size", sizes, static_cast<int>(count % 5));
                return tensor(std::vector<int64_t>(found.begin(), found.end()));
              }),
          of(
              "load_weights",
              +[](const std::string& path) {
                Sequential net = small_net();
                models::load_weights(net, path);
                return full({}, 0);
              }),
          of(
              "DataParallel",
              +[](const T& x, const std::vector<Device>& devices, int64_t dim, double timeout) {
                Linear net(3, 2);
                const DataParallel parallel(net, devices, {.dim = dim, .timeout = timeout});
                return parallel(x);
              }),
          of(
              "CustomOptimizer",
              +[](const T& x, const T& gradient, double lr, const std::string& name) {
                struct Rule : optim::CustomOptimizer<StepOptions> {
                  using CustomOptimizer::CustomOptimizer;
                  std::string name;
                  void update(optim::Slot& slot, const StepOptions& o) override {
                    const T m = slot.state(name.c_str());
                    add_(m, slot.gradient);
                    sub_(slot.parameter, o.lr * m);
                  }
                };
                const T p = x.detach().clone().requires_grad_();
                Rule rule({p}, StepOptions{.lr = lr});
                rule.name = name;
                p.set_grad(gradient);
                rule.step();
                return p.detach();
              }),
      });
}

}  // namespace aorta::siege

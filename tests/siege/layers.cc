#include <aorta/nn/activation.h>
#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/loss.h>
#include <aorta/nn/margin_loss.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/padding.h>
#include <aorta/nn/pooling.h>
#include <aorta/nn/upsample.h>

#include <aorta/tests/siege/targets.h>

// Activations, the forms of layers for one and three dimensions, what nn has as functions, initial
// values, and modules that hold others.
namespace aorta::siege {
namespace {

using T = Tensor;

template <class E>
E enumerator(int64_t which, uint64_t count) {
  return static_cast<E>(static_cast<uint64_t>(which) % count);
}

template <const T& (*f)(const T&, const nn::init::KaimingOptions&, Generator*)>
Target kaiming(const char* name) {
  return random_of(
      name, +[](const T& x, double a, bool out, int64_t which) {
        using namespace nn::init;
        return f(x,
                 {.a = a,
                  .mode = out ? Fan::out : Fan::in,
                  .nonlinearity = enumerator<Nonlinearity>(which, 6)},
                 nullptr);
      });
}

/// A container's layers, by name: all in the image of the input.
nn::AnyModule layer_for(const std::string& name) {
  if (name.size() % 2 == 0) return nn::ReLU();
  return nn::Flatten(0, -1);
}

}  // namespace

void add_more_layers(std::vector<Target>& targets) {
  using namespace nn;
  targets.insert(
      targets.end(),
      {
          of("ReLU", layer<ReLU, bool>),
          of("ReLU6", layer<ReLU6, bool>),
          of("SELU", layer<SELU, bool>),
          of("SiLU", layer<SiLU, bool>),
          of("Mish", layer<Mish, bool>),
          of("Hardsigmoid", layer<Hardsigmoid, bool>),
          of("Hardswish", layer<Hardswish, bool>),
          of("Sigmoid", layer<Sigmoid>),
          of("Tanh", layer<Tanh>),
          of("LogSigmoid", layer<LogSigmoid>),
          of("Softsign", layer<Softsign>),
          of("Tanhshrink", layer<Tanhshrink>),
          of("Threshold", layer<Threshold, double, double, bool>),
          of("PReLU", layer<PReLU, PReLUOptions>),
          random_of("RReLU", layer<RReLU, double, double>),
          of("GLU", layer<GLU, int64_t>),
          of("Softmax", layer<Softmax, int64_t>),
          of("Softmin", layer<Softmin, int64_t>),
          of("LogSoftmax", layer<LogSoftmax, int64_t>),
          of("Softmax2d", layer<Softmax2d>),
          of("Identity", layer<Identity>),
          random_of("Dropout1d", layer<Dropout1d, double>),
          random_of("Dropout3d", layer<Dropout3d, double>),
          of("InstanceNorm3d", layer<InstanceNorm3d, int64_t, InstanceNormOptions>),
          of("LPPool1d", layer<LPPool1d, double, Dims, LPPoolOptions>),
          of("LPPool3d", layer<LPPool3d, double, Dims, LPPoolOptions>),
          of("AdaptiveMaxPool1d", layer<AdaptiveMaxPool1d, Dims>),
          of("AdaptiveMaxPool3d", layer<AdaptiveMaxPool3d, Dims>),
          of("AdaptiveAvgPool1d", layer<AdaptiveAvgPool1d, Dims>),
          of("AdaptiveAvgPool3d", layer<AdaptiveAvgPool3d, Dims>),
          of("ConstantPad1d", layer<ConstantPad1d, Dims, double>),
          of("ConstantPad3d", layer<ConstantPad3d, Dims, double>),
          of("ZeroPad2d", layer<ZeroPad2d, Dims>),
          of("ZeroPad3d", layer<ZeroPad3d, int64_t>),
          of("ReflectionPad1d", layer<ReflectionPad1d, Dims>),
          of("ReflectionPad3d", layer<ReflectionPad3d, Dims>),
          of("ReplicationPad1d", layer<ReplicationPad1d, int64_t>),
          of("ReplicationPad2d", layer<ReplicationPad2d, Dims>),
          of("CircularPad2d", layer<CircularPad2d, Dims>),
          of("CircularPad3d", layer<CircularPad3d, Dims>),
          of("CosineEmbeddingLoss", loss_of_three<CosineEmbeddingLoss, double, Reduction>),
      });
}

void add_layer_functions(std::vector<Target>& targets) {
  using namespace nn;
  const size_t first = targets.size();
  targets.insert(
      targets.end(),
      {
          of<T, const T&, int64_t>("glu", glu),
          random_of<T, const T&, double, double, bool>("rrelu", rrelu),
          random_of<T, const T&, double, double, bool>("rrelu_", rrelu_),
          random_of<T, const T&, double, bool, int64_t>("gumbel_softmax", gumbel_softmax),
          random_of<T, const T&, double, bool>("alpha_dropout", alpha_dropout),
          random_of<T, const T&, double, bool>("feature_alpha_dropout", feature_alpha_dropout),
          of<T, const T&, int64_t>("pixel_shuffle", pixel_shuffle),
          of<T, const T&, int64_t>("pixel_unshuffle", pixel_unshuffle),
          of<T, const T&, int64_t>("channel_shuffle", channel_shuffle),
          of<T, const T&, const T&, double, double, bool>("pairwise_distance", pairwise_distance),
          of<T, const T&, const T&, double, Reduction>("hinge_embedding_loss",
                                                       hinge_embedding_loss),
          of<T, const T&, const T&, const T&, double, Reduction>("margin_ranking_loss",
                                                                 margin_ranking_loss),
          of<T, const T&, const T&, Reduction>("soft_margin_loss", soft_margin_loss),
          of<T, const T&, const T&, const T&, const TripletMarginOptions&>("triplet_margin_loss",
                                                                           triplet_margin_loss),
          of<T, const T&, const T&, const MultiMarginOptions&>("multi_margin_loss",
                                                               multi_margin_loss),
          of<T, const T&, const T&, Reduction>("multilabel_margin_loss", multilabel_margin_loss),
          of<T, const T&, const T&, const MultiLabelSoftMarginOptions&>(
              "multilabel_soft_margin_loss", multilabel_soft_margin_loss),
          of<T, const T&, const T&, const PoissonNllOptions&>("poisson_nll_loss", poisson_nll_loss),
          of<T, const T&, const T&, const T&, const GaussianNllOptions&>("gaussian_nll_loss",
                                                                         gaussian_nll_loss),
          of<T, const T&, const T&, double, const GaussianNllOptions&>("gaussian_nll_loss",
                                                                       gaussian_nll_loss),
          of<T, const T&, const T&, const DiceOptions&>("dice_loss", dice_loss),
          of<T, const T&, const T&, const FocalOptions&>("focal_loss", focal_loss),
      });
  targets.insert(
      targets.end(),
      {
          random_of<const T&, const T&, double, double, Generator*>("uniform_", init::uniform_),
          random_of<const T&, const T&, double, double, Generator*>("normal_", init::normal_),
          random_of<const T&, const T&, double, double, double, double, Generator*>(
              "trunc_normal_", init::trunc_normal_),
          random_of<const T&, const T&, const init::TruncNormalOptions&, Generator*>(
              "trunc_normal_", init::trunc_normal_),
          of<const T&, const T&, double>("constant_", init::constant_),
          of<const T&, const T&>("ones_", init::ones_),
          of<const T&, const T&>("zeros_", init::zeros_),
          of<const T&, const T&>("eye_", init::eye_),
          random_of<const T&, const T&, double, Generator*>("xavier_uniform_",
                                                            init::xavier_uniform_),
          random_of<const T&, const T&, double, Generator*>("xavier_normal_", init::xavier_normal_),
          kaiming<init::kaiming_uniform_>("kaiming_uniform_"),
          kaiming<init::kaiming_normal_>("kaiming_normal_"),
          random_of<const T&, const T&, double, Generator*>("orthogonal_", init::orthogonal_),
          of<const T&, const T&, int64_t>("dirac_", init::dirac_),
          random_of<const T&, const T&, double, double, Generator*>("sparse_", init::sparse_),
          of(
              "calculate_gain",
              +[](int64_t which, double slope) {
                return full({},
                            init::calculate_gain(enumerator<init::Nonlinearity>(which, 6), slope));
              }),
          of(
              "calculate_fans",
              +[](const T& x) {
                const init::Fans fans = init::calculate_fans(x);
                return tensor({fans.in, fans.out});
              }),
      });
  for (size_t i = first; i < targets.size(); ++i) targets[i].functions = {targets[i].name};
}

void add_containers(std::vector<Target>& targets) {
  using namespace nn;
  targets.insert(
      targets.end(),
      {
          of(
              "Sequential",
              +[](const std::vector<std::string>& names, bool named, int64_t place, const T& x) {
                Sequential net;
                for (const std::string& name : names)
                  named ? net.push_back(name, layer_for(name)) : net.push_back(layer_for(name));
                const T all = net(x);
                return place < 4 ? net[place](x) : all;
              }),
          of(
              "ModuleList",
              +[](const std::vector<std::string>& names, int64_t place, const T& x) {
                ModuleList list;
                for (const std::string& name : names) list.push_back(layer_for(name));
                return list[place](x);
              }),
          of(
              "ModuleDict",
              +[](const std::vector<std::string>& names, const std::string& name, const T& x) {
                ModuleDict dict;
                for (const std::string& one : names) dict.insert(one, layer_for(one));
                return dict[name](x);
              }),
          of(
              "Module::load_state_dict",
              +[](const T& weight, const T& bias, const std::string& other, bool more) {
                Linear net(3, 2);
                NamedTensors state{{"weight", weight}, {"bias", bias}};
                if (more) state.emplace_back(other, bias);
                net.load_state_dict(state);
                return net(ones({1, 3}));
              }),
          of(
              "Module::register_forward_hook",
              +[](const Tensors& inputs, const Tensors& outputs, bool before, const T& x) {
                ReLU net;
                net.register_forward_pre_hook([&](const Module&, Tensors& given) {
                  if (before) given = inputs;
                });
                net.register_forward_hook([&](const Module&, const Tensors&, Tensors& results) {
                  if (!before) results = outputs;
                });
                return net(x);
              }),
          of(
              "Module::register_full_backward_hook",
              +[](const Tensors& gradients, const T& x) {
                ReLU net;
                net.register_full_backward_hook(
                    [&](Tensors& given, const Tensors&) { given = gradients; });
                const T leaf = x.detach().clone();
                leaf.requires_grad_();
                const T y = net(leaf);
                y.backward(ones_like(y.detach()));
                return leaf.grad();
              }),
      });
}

}  // namespace aorta::siege

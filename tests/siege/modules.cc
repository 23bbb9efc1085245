#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/data/distributed_sampler.h>
#include <aorta/data/loader.h>
#include <aorta/data/random_samplers.h>
#include <aorta/models/make.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/adaptive_softmax.h>
#include <aorta/nn/attention.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/ctc_loss.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/embedding_bag.h>
#include <aorta/nn/fold.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/grid_sample.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/loss.h>
#include <aorta/nn/margin_loss.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/padding.h>
#include <aorta/nn/pooling.h>
#include <aorta/nn/recurrent.h>
#include <aorta/nn/transformer.h>
#include <aorta/nn/unpooling.h>
#include <aorta/nn/upsample.h>
#include <aorta/optim/adadelta.h>
#include <aorta/optim/adafactor.h>
#include <aorta/optim/adagrad.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/adamax.h>
#include <aorta/optim/asgd.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/muon.h>
#include <aorta/optim/nadam.h>
#include <aorta/optim/plateau.h>
#include <aorta/optim/radam.h>
#include <aorta/optim/rmsprop.h>
#include <aorta/optim/rprop.h>
#include <aorta/optim/schedules.h>
#include <aorta/optim/sgd.h>
#include <aorta/optim/sparse_adam.h>

#include <aorta/tests/siege/targets.h>

// Layers, optimizers, schedules, networks and loaders, each made with drawn options and run once.
namespace aorta::siege {
namespace {

using T = Tensor;

void add_layers(std::vector<Target>& targets) {
  using namespace nn;
  targets.insert(
      targets.end(),
      {
          of("Linear", layer<Linear, int64_t, int64_t, LinearOptions>),
          of("Flatten", layer<Flatten, int64_t, int64_t>),
          of("Unflatten", layer<Unflatten, int64_t, Dims>),
          of("Conv1d", layer<Conv1d, int64_t, int64_t, Dims, ConvOptions>),
          of("Conv2d", layer<Conv2d, int64_t, int64_t, Dims, ConvOptions>),
          of("Conv3d", layer<Conv3d, int64_t, int64_t, Dims, ConvOptions>),
          of("ConvTranspose1d",
             layer<ConvTranspose1d, int64_t, int64_t, Dims, ConvTransposeOptions>),
          of("ConvTranspose2d",
             layer<ConvTranspose2d, int64_t, int64_t, Dims, ConvTransposeOptions>),
          of("ConvTranspose3d",
             layer<ConvTranspose3d, int64_t, int64_t, Dims, ConvTransposeOptions>),
          of("MaxPool1d", layer<MaxPool1d, Dims, MaxPoolOptions>),
          of("MaxPool2d", layer<MaxPool2d, Dims, MaxPoolOptions>),
          of("MaxPool3d", layer<MaxPool3d, Dims, MaxPoolOptions>),
          of("AvgPool1d", layer<AvgPool1d, Dims, AvgPoolOptions>),
          of("AvgPool2d", layer<AvgPool2d, Dims, AvgPoolOptions>),
          of("AvgPool3d", layer<AvgPool3d, Dims, AvgPoolOptions>),
          of("AdaptiveMaxPool2d", layer<AdaptiveMaxPool2d, Dims>),
          of("AdaptiveAvgPool2d", layer<AdaptiveAvgPool2d, Dims>),
          of("BatchNorm1d", layer<BatchNorm1d, int64_t, BatchNormOptions>),
          of("BatchNorm2d", layer<BatchNorm2d, int64_t, BatchNormOptions>),
          of("BatchNorm3d", layer<BatchNorm3d, int64_t, BatchNormOptions>),
          of("InstanceNorm1d", layer<InstanceNorm1d, int64_t, InstanceNormOptions>),
          of("InstanceNorm2d", layer<InstanceNorm2d, int64_t, InstanceNormOptions>),
          of("LayerNorm", layer<LayerNorm, Dims, LayerNormOptions>),
          of("GroupNorm", layer<GroupNorm, int64_t, int64_t, GroupNormOptions>),
          of("RMSNorm", layer<RMSNorm, Dims, RMSNormOptions>),
          of("Embedding", layer<Embedding, int64_t, int64_t, EmbeddingOptions>),
          random_of("Dropout", layer<Dropout, DropoutOptions>),
          random_of("Dropout2d", layer<Dropout2d, double>),
          of("Upsample", layer<Upsample, InterpolateOptions>),
          of("PixelShuffle", layer<PixelShuffle, int64_t>),
          of("PixelUnshuffle", layer<PixelUnshuffle, int64_t>),
          of("LeakyReLU", layer<LeakyReLU, double>),
          of("ELU", layer<ELU, double>),
          of("CELU", layer<CELU, double>),
          of("Hardtanh", layer<Hardtanh, double, double>),
          of("Hardshrink", layer<Hardshrink, double>),
          of("Softshrink", layer<Softshrink, double>),
          of("Softplus", layer<Softplus, double, double>),
          of("GELU", layer<GELU, GeluApproximation>),
          of("MSELoss", loss<MSELoss, Reduction>),
          of("L1Loss", loss<L1Loss, Reduction>),
          of("SmoothL1Loss", loss<SmoothL1Loss, Reduction, double>),
          of("HuberLoss", loss<HuberLoss, Reduction, double>),
          of("KLDivLoss", loss<KLDivLoss, Reduction, bool>),
          of("BCELoss", loss<BCELoss, BceOptions>),
          of("BCEWithLogitsLoss", loss<BCEWithLogitsLoss, BceWithLogitsOptions>),
          of("CrossEntropyLoss", loss<CrossEntropyLoss, CrossEntropyOptions>),
          of("NLLLoss", loss<NLLLoss, NllLossOptions>),
          of("DiceLoss", loss<DiceLoss, DiceOptions>),
          of("FocalLoss", loss<FocalLoss, FocalOptions>),
          of("LocalResponseNorm", layer<LocalResponseNorm, int64_t, LocalResponseNormOptions>),
          of("LPPool2d", layer<LPPool2d, double, Dims, LPPoolOptions>),
          of("ChannelShuffle", layer<ChannelShuffle, int64_t>),
          random_of("AlphaDropout", layer<AlphaDropout, double>),
          random_of("FeatureAlphaDropout", layer<FeatureAlphaDropout, double>),
          of("ConstantPad2d", layer<ConstantPad2d, Dims, double>),
          of("ZeroPad1d", layer<ZeroPad1d, Dims>),
          of("ReflectionPad2d", layer<ReflectionPad2d, int64_t>),
          of("ReplicationPad3d", layer<ReplicationPad3d, Dims>),
          of("CircularPad1d", layer<CircularPad1d, int64_t>),
          of("HingeEmbeddingLoss", loss<HingeEmbeddingLoss, double, Reduction>),
          of("MarginRankingLoss", loss_of_three<MarginRankingLoss, double, Reduction>),
          of("SoftMarginLoss", loss<SoftMarginLoss, Reduction>),
          of("TripletMarginLoss", loss_of_three<TripletMarginLoss, TripletMarginOptions>),
          of("MultiMarginLoss", loss<MultiMarginLoss, MultiMarginOptions>),
          of("MultiLabelMarginLoss", loss<MultiLabelMarginLoss, Reduction>),
          of("MultiLabelSoftMarginLoss",
             loss<MultiLabelSoftMarginLoss, MultiLabelSoftMarginOptions>),
          of("PoissonNLLLoss", loss<PoissonNLLLoss, PoissonNllOptions>),
          of("GaussianNLLLoss", loss_of_three<GaussianNLLLoss, GaussianNllOptions>),
          of("PairwiseDistance", loss<PairwiseDistance, double, double, bool>),
          of("CosineSimilarity", loss<CosineSimilarity, int64_t, double>),
          of("Bilinear", loss<Bilinear, int64_t, int64_t, int64_t, LinearOptions>),
      });
  targets.insert(
      targets.end(),
      {
          of(
              "RNN", +[](int64_t in, int64_t hidden, const RNNOptions& o, const T& x,
                         const T& h) { return RNN(in, hidden, o)(x, h).output; }),
          of(
              "GRU", +[](int64_t in, int64_t hidden, const RecurrentOptions& o, const T& x,
                         const T& h) { return GRU(in, hidden, o)(x, h).output; }),
          of(
              "LSTM", +[](int64_t in, int64_t hidden, const RecurrentOptions& o, const T& x,
                          const LstmState& s) { return LSTM(in, hidden, o)(x, s).output; }),
          of(
              "RNNCell", +[](int64_t in, int64_t hidden, const RNNCellOptions& o, const T& x,
                             const T& h) { return RNNCell(in, hidden, o)(x, h); }),
          of(
              "GRUCell", +[](int64_t in, int64_t hidden, const RecurrentCellOptions& o, const T& x,
                             const T& h) { return GRUCell(in, hidden, o)(x, h); }),
          of(
              "LSTMCell", +[](int64_t in, int64_t hidden, const RecurrentCellOptions& o, const T& x,
                              const LstmState& s) { return LSTMCell(in, hidden, o)(x, s).h; }),
          random_of(
              "MultiheadAttention",
              +[](int64_t embed, int64_t heads, const MultiheadAttentionOptions& o, const T& q,
                  const T& k, const T& v, const AttentionMasks& masks) {
                return MultiheadAttention(embed, heads, o)(q, k, v, masks).output;
              }),
          random_of(
              "TransformerEncoderLayer",
              +[](int64_t model, int64_t heads, const TransformerEncoderLayerOptions& o, const T& x,
                  const AttentionMasks& masks) {
                return TransformerEncoderLayer(model, heads, o)(x, masks);
              }),
          random_of(
              "TransformerDecoderLayer",
              +[](int64_t model, int64_t heads, const TransformerDecoderLayerOptions& o, const T& x,
                  const T& memory, const DecoderMasks& masks) {
                return TransformerDecoderLayer(model, heads, o)(x, memory, masks);
              }),
          random_of(
              "TransformerEncoder",
              +[](int64_t heads, int64_t layers, const TransformerEncoderLayerOptions& o,
                  const T& x, const AttentionMasks& masks) {
                const TransformerEncoderLayer layer(x.size(-1), heads, o);
                return TransformerEncoder(layer, layers % 4)(x, masks);
              }),
          random_of(
              "TransformerDecoder",
              +[](int64_t heads, int64_t layers, const TransformerDecoderLayerOptions& o,
                  const T& x, const T& memory, const DecoderMasks& masks) {
                const TransformerDecoderLayer layer(x.size(-1), heads, o);
                return TransformerDecoder(layer, layers % 4)(x, memory, masks);
              }),
          random_of(
              "Transformer",
              +[](int64_t model, int64_t heads, int64_t layers, const T& x, const T& target,
                  const TransformerMasks& masks) {
                return Transformer({.d_model = model,
                                    .nhead = heads,
                                    .num_encoder_layers = layers % 4,
                                    .num_decoder_layers = 1,
                                    .dim_feedforward = 8})(x, target, masks);
              }),
          of(
              "models::make",
              +[](int64_t which, const models::ModelOptions& o, const T& x) {
                static constexpr const char* kNames[] = {"mlp",      "lenet5", "unet_small",
                                                         "resnet18", "",       "resnet1"};
                nn::AnyModule net =
                    models::make(kNames[static_cast<uint64_t>(which) % std::size(kNames)], o);
                return (*net)(x);
              }),
      });
}

void add_tables_and_windows(std::vector<Target>& targets) {
  using namespace nn;
  // All of them: an enumerator that isn't one says nothing.
  static constexpr EmbeddingBagMode kModes[] = {EmbeddingBagMode::sum, EmbeddingBagMode::mean,
                                                EmbeddingBagMode::max};
  targets.insert(
      targets.end(),
      {
          of(
              "EmbeddingBag",
              +[](int64_t rows, int64_t size, uint64_t mode, bool with_last,
                  std::optional<int64_t> padding, const T& input, const T& offsets,
                  const T& factors) {
                const EmbeddingBag bag(rows, size, {kModes[mode % 3], with_last, padding});
                return bag(input, offsets, factors);
              }),
          of(
              "embedding_bag",
              +[](uint64_t mode, std::optional<int64_t> padding, const T& input, const T& weight,
                  const T& offsets) {
                return embedding_bag(input, weight, offsets,
                                     {.mode = kModes[mode % 3], .padding_idx = padding});
              }),
          of(
              "grid_sample",
              +[](uint64_t mode, uint64_t padding, bool align, const T& x, const T& grid) {
                return grid_sample(x, grid,
                                   {static_cast<GridSampleMode>(mode % 3),
                                    static_cast<GridSamplePadding>(padding % 3), align});
              }),
          // Values of every kind in shapes that fit.
          of(
              "grid_sample of values",
              +[](uint64_t mode, uint64_t padding, bool align, const T& x, const T& y) {
                const int64_t n = y.numel() / 2;
                return grid_sample(x.reshape({1, 1, 1, x.numel()}),
                                   y.flatten().narrow(0, 0, 2 * n).reshape({1, 1, n, 2}),
                                   {static_cast<GridSampleMode>(mode % 3),
                                    static_cast<GridSamplePadding>(padding % 3), align});
              }),
          of(
              "embedding_bag of values",
              +[](uint64_t mode, std::optional<int64_t> padding, const T& x, const T& y) {
                const T index = remainder(y.flatten().to(DType::i64), x.numel());
                return embedding_bag(index, x.reshape({x.numel(), 1}), tensor({0, 0}),
                                     {.mode = kModes[mode % 3], .padding_idx = padding});
              }),
          of(
              "ctc_loss of values",
              +[](const CtcLossOptions& o, const T& x, const T& y) {
                const int64_t steps = x.numel() / 3;
                const T classes = remainder(y.flatten().to(DType::i64), 3);
                return ctc_loss(x.flatten().narrow(0, 0, 3 * steps).reshape({steps, 3}), classes,
                                tensor(steps), tensor(classes.numel()), o);
              }),
          of(
              "fractional_max_pool2d of values",
              +[](int64_t kernel, int64_t size, const T& x, const T& u) {
                const T samples = u.flatten().narrow(0, 0, 2).reshape({1, 1, 2});
                return fractional_max_pool2d(x.reshape({1, 1, 1, x.numel()}), {1, kernel},
                                             {.output_size = {1, size}, .random_samples = samples});
              }),
          of(
              "max_unpool1d of values",
              +[](int64_t kernel, const T& x) {
                const auto [values, indices] = max_pool1d_with_indices(x.reshape({1, -1}), kernel);
                return max_unpool1d(values, indices, kernel);
              }),
          of<T, const T&, const Dims&, bool>("affine_grid", affine_grid),
          of<T, const T&, const Dims&, const FoldOptions&>("unfold", nn::unfold),
          of<T, const T&, int64_t, const LocalResponseNormOptions&>("local_response_norm",
                                                                    local_response_norm),
          of<T, const T&, double, const Dims&, const LPPoolOptions&>("lp_pool1d", lp_pool1d),
          of<T, const T&, double, const Dims&, const LPPoolOptions&>("lp_pool3d", lp_pool3d),
          of<T, const T&, const Dims&, const Dims&, const FoldOptions&>("fold", fold),
          of("Unfold", layer<Unfold, Dims, FoldOptions>),
          of("Fold", layer<Fold, Dims, Dims, FoldOptions>),
          of<T, const T&, const T&, const Dims&, const Dims&, const Dims&, const Dims&>(
              "max_unpool1d", max_unpool1d),
          of<T, const T&, const T&, const Dims&, const Dims&, const Dims&, const Dims&>(
              "max_unpool2d", max_unpool2d),
          of(
              "MaxUnpool3d", +[](const Dims& kernel, const MaxUnpoolOptions& o, const T& x,
                                 const T& indices) { return MaxUnpool3d(kernel, o)(x, indices); }),
          random_of<T, const T&, const Dims&, const FractionalMaxPoolOptions&>(
              "fractional_max_pool2d", fractional_max_pool2d),
          random_of("FractionalMaxPool3d",
                    layer<FractionalMaxPool3d, Dims, FractionalMaxPoolOptions>),
          of(
              "AdaptiveLogSoftmaxWithLoss",
              +[](int64_t in, int64_t classes, const List<int64_t>& cutoffs,
                  const AdaptiveLogSoftmaxOptions& o, const T& x, const T& target) {
                return AdaptiveLogSoftmaxWithLoss(in, classes, cutoffs, o)(x, target).output;
              }),
          of(
              "TripletMarginWithDistanceLoss",
              +[](double margin, bool swap, Reduction reduction, const T& a, const T& b,
                  const T& c) {
                const auto distance = [](const T& x, const T& y) { return (x - y).abs().sum(-1); };
                return TripletMarginWithDistanceLoss({distance, margin, swap, reduction})(a, b, c);
              }),
          of(
              "CTCLoss", +[](const CtcLossOptions& o, const T& x, const T& y, const T& steps,
                             const T& lengths) { return CTCLoss(o)(x, y, steps, lengths); }),
          of<PackedSequence, const T&, const T&, bool, bool>("pack_padded_sequence",
                                                             pack_padded_sequence),
          of<PaddedSequence, const PackedSequence&, bool, double, std::optional<int64_t>>(
              "pad_packed_sequence", pad_packed_sequence),
          of<T, const List<T>&, bool, double, PaddingSide>("pad_sequence", pad_sequence),
          of<Tensors, const T&, const T&, bool>("unpad_sequence", unpad_sequence),
          of<PackedSequence, const List<T>&, bool>("pack_sequence", pack_sequence),
          of<Tensors, const PackedSequence&>("unpack_sequence", unpack_sequence),
          of(
              "packed LSTM",
              +[](int64_t in, int64_t hidden, const RecurrentOptions& o, const PackedSequence& x,
                  const LstmState& s) { return LSTM(in, hidden, o)(x, s).output.data; }),
          of(
              "LSTM of sequences",
              +[](int64_t hidden, bool sorted, const RecurrentOptions& o, const T& x,
                  const T& lengths) {
                const PackedSequence packed = pack_padded_sequence(x, lengths, false, sorted);
                return LSTM(x.size(-1), hidden, o)(packed).output.data;
              }),
          of(
              "Embedding::from_pretrained",
              +[](bool freeze, const EmbeddingOptions& o, const T& table, const T& x) {
                return Embedding::from_pretrained(table, freeze, o)(x);
              }),
      });
}

/// Two steps on one parameter.
template <class O, class Options>
T step(const Options& options, const T& parameter, const T& gradient) {
  const T p = parameter.detach().clone();
  p.requires_grad_();
  p.set_grad(gradient);
  O optimizer({p}, options);
  optimizer.step();
  optimizer.step();
  optimizer.zero_grad();
  return p.detach();
}

/// Steps with a sparse gradient of drawn rows, with what an embedding adds to it, and without rows.
T sparse_steps(const optim::SparseAdamOptions& options, const T& parameter,
               const std::vector<int64_t>& places, double number, int64_t padding) {
  const T p = parameter.detach().clone();
  p.requires_grad_();
  const bool has_rows = p.dim() > 0 && p.size(0) > 0;
  const T indices = remainder(tensor(places), has_rows ? p.size(0) : 1).to(p.device());
  Shape shape = p.shape();
  if (p.dim() > 0) shape[0] = indices.numel();
  const T values = full(shape, number, {.dtype = p.dtype(), .device = p.device()});
  autograd::set_sparse_grad(p, {indices, values, p.shape()});
  optim::SparseAdam optimizer({p}, options);
  optimizer.step();
  embedding(indices, p, padding, true).sum().backward();
  optimizer.step();
  const T dense = autograd::sparse_grad(p)->to_dense();
  autograd::zero_grad(p, false);
  optimizer.step();
  return dense + p.detach();
}

/// Two steps of L-BFGS on a product of the parameter, with at most 40 directions each.
T lbfgs_steps(const optim::LBFGSOptions& given, const T& parameter, const T& factor) {
  const T p = parameter.detach().clone();
  p.requires_grad_();
  optim::LBFGSOptions options = given;
  if (options.max_iter > 40) options.max_iter = 40;
  optim::LBFGS optimizer({p}, options);
  for (int i = 0; i < 2; ++i) {
    optimizer.step([&] {
      optimizer.zero_grad();
      const T loss = sum(square(p) * factor);
      loss.backward();
      return loss;
    });
  }
  return p.detach();
}

/// Some steps of a schedule; its rates.
template <class S>
T schedule(const typename S::Options& options) {
  const T p = ones({2}).requires_grad_();
  optim::SGD optimizer({p}, {.lr = 0.1, .momentum = 0.5});
  S schedule(optimizer, options);
  for (int i = 0; i < 5; ++i) {
    p.set_grad(ones({2}));
    optimizer.step();
    if constexpr (std::is_same_v<S, optim::ReduceLROnPlateau>) {
      schedule.step(1.0);
    } else {
      schedule.step();
    }
  }
  return p.detach();
}

void add_training(std::vector<Target>& targets) {
  using namespace optim;
  targets.insert(targets.end(),
                 {
                     of("SGD", step<SGD, SGDOptions>),
                     of("Adam", step<Adam, AdamOptions>),
                     of("AdamW", step<AdamW, AdamWOptions>),
                     of("Adagrad", step<Adagrad, AdagradOptions>),
                     of("Adadelta", step<Adadelta, AdadeltaOptions>),
                     of("Adamax", step<Adamax, AdamaxOptions>),
                     of("NAdam", step<NAdam, NAdamOptions>),
                     of("RMSprop", step<RMSprop, RMSpropOptions>),
                     of("RAdam", step<RAdam, RAdamOptions>),
                     of("Rprop", step<Rprop, RpropOptions>),
                     of("ASGD", step<ASGD, ASGDOptions>),
                     of("Adafactor", step<Adafactor, AdafactorOptions>),
                     of("Muon", step<Muon, MuonOptions>),
                     of("SparseAdam", sparse_steps),
                     of("LBFGS", lbfgs_steps),
                     of("StepLR", schedule<StepLR>),
                     of("MultiStepLR", schedule<MultiStepLR>),
                     of("ConstantLR", schedule<ConstantLR>),
                     of("LinearLR", schedule<LinearLR>),
                     of("ExponentialLR", schedule<ExponentialLR>),
                     of("PolynomialLR", schedule<PolynomialLR>),
                     of("CosineAnnealingLR", schedule<CosineAnnealingLR>),
                     of("CosineAnnealingWarmRestarts", schedule<CosineAnnealingWarmRestarts>),
                     of("OneCycleLR", schedule<OneCycleLR>),
                     of("SWALR", schedule<SWALR>),
                     of("ReduceLROnPlateau", schedule<ReduceLROnPlateau>),
                 });
}

/// The indices that a sampler gives, as a tensor.
T indices_of(const data::Sampler& sampler, int64_t epoch) {
  Generator random;
  return tensor(sampler.indices(epoch, random));
}

void add_data(std::vector<Target>& targets) {
  using namespace data;
  targets.insert(
      targets.end(),
      {
          of(
              "SequentialSampler",
              +[](int64_t size, int64_t epoch) {
                return indices_of(SequentialSampler(size), epoch);
              }),
          of(
              "RandomSampler",
              +[](int64_t size, const RandomSamplerOptions& o, int64_t epoch) {
                return indices_of(RandomSampler(size, o), epoch);
              }),
          of(
              "DistributedSampler",
              +[](int64_t size, const DistributedSamplerOptions& o, int64_t epoch) {
                return indices_of(DistributedSampler(size, o), epoch);
              }),
          of(
              "DistributedBatchSampler",
              +[](int64_t size, int64_t batch_size, int64_t replicas, int64_t rank,
                  bool every_nth) {
                const auto all = std::make_shared<BatchSampler>(
                    std::make_shared<SequentialSampler>(size), batch_size, false);
                const DistributedBatchSampler mine(
                    all, replicas, rank,
                    every_nth ? BatchShare::every_nth : BatchShare::part_of_each);
                Generator random;
                Tensors batches;
                for (const auto& batch : mine.batches(0, random)) batches.push_back(tensor(batch));
                return batches;
              }),
          of(
              "SubsetRandomSampler",
              +[](const std::vector<int64_t>& places, int64_t epoch) {
                return indices_of(SubsetRandomSampler(places), epoch);
              }),
          of(
              "WeightedRandomSampler",
              +[](const std::vector<double>& weights, int64_t samples, bool replacement) {
                return indices_of(WeightedRandomSampler(weights, samples, replacement), 0);
              }),
          of(
              "DataLoader",
              +[](int64_t batch_size, bool shuffle, bool drop_last, double timeout,
                  std::optional<int> prefetch, int reads, const T& x, const T& y) {
                const auto set = make_dataset<TensorDataset>(NamedTensors{{"x", x}, {"y", y}});
                DataLoader loader(set, {.batch_size = batch_size,
                                        .shuffle = shuffle,
                                        .drop_last = drop_last,
                                        .timeout = timeout,
                                        .prefetch_factor = prefetch,
                                        .reads_in_flight = reads,
                                        .seed = 1});
                Tensors batches;
                for (const auto& batch : loader) batches.push_back(batch["x"]);
                return batches;
              }),
      });
}

}  // namespace

void add_distributions(std::vector<Target>& targets);
void add_more_layers(std::vector<Target>& targets);
void add_layer_functions(std::vector<Target>& targets);
void add_containers(std::vector<Target>& targets);
void add_more_training(std::vector<Target>& targets);
void add_datasets(std::vector<Target>& targets);
void add_report(std::vector<Target>& targets);
void add_networks(std::vector<Target>& targets);
void add_whole_modules(std::vector<Target>& targets);
void add_machinery(std::vector<Target>& targets);
void add_pictures(std::vector<Target>& targets);
void add_pages(std::vector<Target>& targets);

std::vector<Target> module_targets() {
  std::vector<Target> targets;
  add_layers(targets);
  add_tables_and_windows(targets);
  add_training(targets);
  add_data(targets);
  add_distributions(targets);
  add_more_layers(targets);
  add_layer_functions(targets);
  add_containers(targets);
  add_more_training(targets);
  add_datasets(targets);
  add_report(targets);
  add_networks(targets);
  add_whole_modules(targets);
  add_machinery(targets);
  add_pictures(targets);
  add_pages(targets);
  // What they start from is drawn from the default generator, which every call seeds.
  return targets;
}

}  // namespace aorta::siege

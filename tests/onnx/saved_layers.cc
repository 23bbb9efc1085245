// Ops and layers that few networks have, a network of many outputs a family.
#include <aorta/aorta.h>
#include <aorta/tests/onnx/saved_networks.h>

namespace aorta::onnx {
namespace {

using Tensors = std::vector<Tensor>;
using Run = std::function<Tensors(const Tensors& x)>;

// Two batches of as many inputs of `shape` as `run` takes.
SavedNetwork ops(const Shape& shape, int64_t inputs, const Run& run) {
  manual_seed(0);
  SavedNetwork network{std::make_shared<nn::Module>(), run, {}, {}};
  for (int64_t i = 0; i < inputs; ++i) {
    for (const int64_t batch : {2, 3}) {
      Shape sized = shape;
      sized.insert(0, batch);
      (batch == 2 ? network.examples : network.others).push_back(randn(sized));
    }
  }
  return network;
}

SavedNetwork unary() {
  return ops({3, 4}, 1, [](const Tensors& in) {
    const Tensor x = in[0], p = x.sigmoid() * 0.9 + 0.05;  // p in (0.05, 0.95)
    return Tensors{-x,
                   x.abs(),
                   x.sign(),
                   x.square(),
                   p.reciprocal(),
                   x.floor(),
                   x.ceil(),
                   x.round(),
                   x.trunc(),
                   x.frac(),
                   p.sqrt(),
                   p.rsqrt(),
                   x.exp(),
                   x.exp2(),
                   x.expm1(),
                   p.log(),
                   p.log1p(),
                   p.log2(),
                   p.log10(),
                   x.sin(),
                   x.cos(),
                   p.tan(),
                   p.asin(),
                   p.acos(),
                   x.atan(),
                   x.sinh(),
                   x.cosh(),
                   x.tanh(),
                   x.asinh(),
                   (1 + p).acosh(),
                   p.atanh(),
                   x.erf(),
                   x.erfc(),
                   p.logit(),
                   x.sigmoid(),
                   x.sinc(),
                   x.round().sinc(),
                   x.signbit(),
                   (x.relu() * -1).signbit(),
                   isposinf(x / 0),
                   isneginf(x / 0),
                   signbit((4 * x).to(i64))};
  });
}

SavedNetwork activations() {
  return ops({3, 4}, 1, [](const Tensors& in) {
    const Tensor x = 2 * in[0];
    return Tensors{relu(x),
                   relu6(x),
                   leaky_relu(x, 0.2),
                   elu(x, 0.7),
                   selu(x),
                   celu(x, 1.3),
                   gelu(x),
                   gelu(x, GeluApproximation::tanh),
                   silu(x),
                   mish(x),
                   softplus(x),
                   softplus(x, 2.0, 20.0),
                   softplus(x, 1.0, 0.5),
                   softplus(x, 2.0, 1.0),
                   logsigmoid(x),
                   softsign(x),
                   hardtanh(x, -0.5, 0.7),
                   hardsigmoid(x),
                   hardswish(x),
                   threshold(x, 0.1, -3.0),
                   hardshrink(x),
                   softshrink(x),
                   tanhshrink(x),
                   x.clamp(-0.5, 0.5),
                   x.clamp_min(0.1),
                   x.clamp_max(0.1)};
  });
}

SavedNetwork binary() {
  return ops({3, 4}, 2, [](const Tensors& in) {
    const Tensor &x = in[0], &y = in[1], p = y.abs() + 0.5;
    const Tensor i = (4 * x).to(i64), j = (2 * p).to(i64) + 1;
    return Tensors{x + y,
                   add(x, y, 0.3),
                   x - y,
                   sub(x, y, 2.5),
                   x * y,
                   x / p,
                   1 - x,
                   2 / p,
                   x + i,
                   floor_divide(x, p),
                   fmod(x, p),
                   remainder(x, p),
                   floor_divide(i, j),
                   fmod(i, j),
                   remainder(i, j),
                   pow(p, x),
                   pow(x, 2),
                   minimum(x, y),
                   maximum(x, y),
                   hypot(x, y),
                   atan2(x, y),
                   xlogy(p, p),
                   logaddexp(x, y),
                   logaddexp2(x, y),
                   ldexp(x, i),
                   copysign(x, y),
                   heaviside(x.round(), y),
                   prelu(x, p),
                   lerp(x, y, 0.3),
                   addcmul(x, y, p, 0.5),
                   addcdiv(x, y, p),
                   i + 1,
                   i * j};
  });
}

// Where a formula that is right elsewhere rounds, overflows, divides by 0 or loses NaN.
SavedNetwork ends() {
  return ops({1}, 1, [](const Tensors& in) {
    const Tensor one = in[0] * 0 + 1;  // (N, 1)
    const float inf = INFINITY, step = 0.1F, big = 3e20F;
    const auto of = [&](const std::vector<float>& values) { return one * tensor(values); };
    const Tensor a = of({1, 6, -6, 6, 5, -5, 5, -5}),
                 b = of({step, step, step, -step, inf, inf, -inf, -inf});
    const Tensor y = of({1, -1, 0, -0.0F, 0, inf, inf, -inf, -inf, 1, -1, 1});
    const Tensor x = of({-0.0F, -0.0F, -0.0F, -0.0F, 0, inf, -inf, inf, -inf, -inf, -inf, inf});
    const Tensor c = of({-inf, inf, inf, -inf, 1}), d = of({-inf, inf, -inf, 2, 1});
    const Tensor nan = of({NAN});
    return Tensors{floor_divide(a, b),
                   floor_divide(a, 0.0),
                   remainder(a, b),
                   logaddexp(c, d),
                   logaddexp2(c, d),
                   atan2(y, x),
                   hypot(of({big, 0, inf, 1e-30F, 3, -4}), of({big, 0, -inf, 1e-30F, inf, 3})),
                   softplus(of({1e38F}), 100.0, 20.0),
                   isnan(hardshrink(nan)),
                   isnan(softshrink(nan)),
                   isnan(threshold(nan, 0.1, -3.0))};
  });
}

SavedNetwork comparisons() {
  return ops({3, 4}, 2, [](const Tensors& in) {
    const Tensor &x = in[0], &y = in[1], a = x > 0, b = y < 0.3;
    const Tensor i = (4 * x).to(i64), j = (4 * y).to(i64), shifts = tensor({-1, 2, 31, 63});
    return Tensors{eq(i, j),
                   ne(i, j),
                   x<y, x <= y, x>
                       y,
                   x >= y,
                   a & b,
                   a | b,
                   a ^ b,
                   ~a,
                   logical_and(x, b),
                   logical_or(a, i),
                   logical_xor(a, b),
                   logical_not(i),
                   i & j,
                   i | 3,
                   i ^ j,
                   ~i,
                   bitwise_left_shift(i, 3),
                   bitwise_right_shift(i, 1),
                   bitwise_left_shift(i, shifts),
                   bitwise_right_shift(i, shifts),
                   bitwise_left_shift(i.to(i32), shifts.to(i32)),
                   bitwise_right_shift(i.to(i32), shifts.to(i32)),
                   bitwise_left_shift(i.abs().to(u8), 2),
                   bitwise_right_shift(i.abs().to(u8), 1),
                   where(a, x, y),
                   where(a, x, 0.0),
                   where(x > y, i, j),
                   isnan(x / 0),
                   isinf(x / 0),
                   isfinite(x / 0),
                   x.masked_fill(b, 7.0)};
  });
}

SavedNetwork reductions() {
  return ops({3, 4}, 1, [](const Tensors& in) {
    const Tensor& x = in[0];
    const auto [largest, at] = max(x, 1);
    const auto [smallest, where_smallest] = min(x, 2, true);
    const auto [variance, mean_of] = var_mean(x, 2);
    const auto [cumulated, cumulated_at] = cummax(x, 1);
    const auto [falling, falling_at] = cummin(x, 2);
    return Tensors{x.sum(),
                   x.sum({1, 2}),
                   x.mean(1, true),
                   x.prod(2),
                   x.amax({0, 2}),
                   x.amin(1),
                   largest,
                   at,
                   smallest,
                   where_smallest,
                   argmax(x, 2),
                   argmin(x, 1),
                   argmax(x),
                   any(x > 1, 1),
                   all(x < 2),
                   count_nonzero(x > 0, 1),
                   x.var({1, 2}),
                   x.std(2, 0),
                   variance,
                   mean_of,
                   norm(x, 2, 1),
                   norm(x, 1, {1, 2}),
                   norm(x, 3, 2),
                   norm(x, INFINITY, 2),
                   logsumexp(x, 2),
                   softmax(x, 1),
                   log_softmax(x, -1),
                   cumsum(x, 2),
                   cumprod(x, 1),
                   logcumsumexp(x, 2),
                   cumulated,
                   cumulated_at,
                   falling,
                   falling_at,
                   cumprod((3 * x).to(i64), 2),
                   cummax((3 * x).to(i32), 2).indices,
                   (x > 0).sum(1)};
  });
}

SavedNetwork shapes() {
  return ops({4, 6}, 1, [](const Tensors& in) {
    const Tensor& x = in[0];  // (N, 4, 6)
    const int64_t n = x.size(0);
    return Tensors{x.reshape({n, 24}),
                   x.reshape({2 * n, 12}),
                   x.flatten(0, 1),
                   x.permute(2, 0, 1),
                   x.transpose(1, 2),
                   x.unsqueeze(1).expand(-1, 3, -1, -1),
                   x.narrow(1, 1, 2),
                   x.slice(2, 1, 6, 2),
                   x.slice(2, 0, 5, 2),
                   x.select(1, 3),
                   x.slice(0, 1),
                   cat({x, x.slice(0, 0, 1)}, 0),
                   stack({x, 2 * x}, 1),
                   chunk(x, 2, 2)[1],
                   flip(x, {1, 2}),
                   roll(x, 2, 2),
                   roll(x, {1, -2}, {1, 2}),
                   diagonal(x, 1, 1, 2),
                   pad(x, {1, 2}),
                   pad(x, {2, 1, 1, 0}, PadMode::constant, 1.5),
                   pad(x, {2, 1}, PadMode::reflect),
                   pad(x, {1, 2}, PadMode::replicate),
                   pad(x, {3, 2}, PadMode::circular),
                   tril(x),
                   triu(x, 1),
                   x.to(f64),
                   x.to(i32),
                   zeros({n, 3}),
                   x + arange(6),
                   full_like(x, 2.5),
                   repeat_interleave(x, 2, 1),
                   x.repeat({1, 2, 1}),
                   x.select(1, 0).unsqueeze(1) * x,
                   ones({1, n}).matmul(x.sum(2))};
  });
}

SavedNetwork indexing() {
  return ops({5, 6}, 1, [](const Tensors& in) {
    const Tensor& x = in[0];
    const Tensor places = tensor({4, 0, 2}), order = argsort(x, 2);
    const auto [values, at] = topk(x, 3, 2);
    const auto [sorted, from] = sort(x, 1, true);
    const Tensor ones_at = zeros_like(x).scatter(2, order.slice(2, 0, 2), 1.0);
    const Tensor embedded =
        embedding((x.abs() * 2).to(i64).clamp(0, 3), ones({4, 2}) * tensor({1.0, 2.0}));
    return Tensors{index_select(x, 1, places),
                   x.gather(2, order),
                   order,
                   values,
                   at,
                   sorted,
                   from,
                   ones_at,
                   zeros_like(x).scatter_add(2, order, x),
                   x(Slice(), places),
                   x.transpose(0, 1)(places, tensor({0, 1, 0})),
                   x(Slice(), places, tensor({{0, 1, 5}, {2, 3, 4}})),
                   x.unsqueeze(0)(tensor({0, 0, 0}), Slice(), places),
                   searchsorted(tensor({-1.0, -0.5, 0.5, 1.0}).to(f32), x),
                   searchsorted(sorted.transpose(1, 2).flip({2}), x.transpose(1, 2), true),
                   embedded};
  });
}

// Written in place, whole and through views.
SavedNetwork in_place() {
  return ops({5, 6}, 1, [](const Tensors& in) {
    const Tensor a = in[0].clone(), b = zeros_like(in[0]), c = 2 * in[0], d = in[0] + 1;
    a.add_(1).mul_(in[0]);
    b.narrow(1, 1, 2).copy_(in[0].narrow(1, 0, 2));
    b.select(2, 5).fill_(4);
    c.transpose(1, 2).select(1, 2).add_(10);
    const Tensor view = d.slice(2, 1, 3);
    d.mul_(3);
    const Tensor e = in[0] * 3, f = in[0] * 1;
    e.slice(2, 1, 6, 2).mul_(-2);
    f.diagonal(1, 2, 1).copy_(in[0].select(2, 0).narrow(1, 0, 4));
    return Tensors{a, b, c, view, d, relu_(in[0] * 1), e, f, diag_embed(in[0].select(2, 1), -1)};
  });
}

SavedNetwork pooling() {
  return ops({4, 9, 10}, 1, [](const Tensors& in) {
    const Tensor& x = in[0];
    const auto [values, at] = max_pool2d_with_indices(x, 2, 2);
    return Tensors{max_pool2d(x, 3, 2, 1),
                   max_pool2d(x, 2, 2, 0, 1, true),
                   max_pool2d(x, 2, 1, 0, 2),
                   values,
                   at,
                   avg_pool2d(x, 3, 2, 1),
                   avg_pool2d(x, 2, 2, 0, true),
                   avg_pool2d(x, 3, 2, 1, false, false),
                   avg_pool2d(x, 2, 2, 0, false, true, 3),
                   adaptive_avg_pool2d(x, 1),
                   adaptive_avg_pool2d(x, {3, 5}),
                   adaptive_avg_pool2d(x, {4, 7}),
                   adaptive_max_pool2d(x, {3, 2}),
                   max_pool1d(x.select(2, 0), 3),
                   avg_pool1d(x.select(2, 0), 2)};
  });
}

SavedNetwork resizing() {
  return ops({2, 5, 6}, 1, [](const Tensors& in) {
    const Tensor& x = in[0];
    Tensors results;
    for (const InterpolateMode mode : {InterpolateMode::nearest, InterpolateMode::nearest_exact,
                                       InterpolateMode::bilinear, InterpolateMode::bicubic}) {
      results.push_back(interpolate(x, {.size = {10, 12}, .mode = mode}));
      results.push_back(interpolate(x, {.size = {3, 7}, .mode = mode}));
      results.push_back(interpolate(x, {.scale_factor = {1.65}, .mode = mode}));
    }
    for (const InterpolateMode mode : {InterpolateMode::bilinear, InterpolateMode::bicubic}) {
      for (const Dims& size : {Dims{1, 1}, Dims{1, 7}, Dims{6, 1}})
        results.push_back(interpolate(x, {.size = size, .mode = mode}));
      // 63 in f64, 62 in f32; 52 in f64 and in f32, but for the factor of f32 in f64; and a size
      // that stays.
      results.push_back(
          interpolate(x.reshape({-1, 1, 30, 2}), {.scale_factor = {2.1}, .mode = mode}));
      results.push_back(interpolate(x.reshape({-1, 1, 30, 2}).narrow(2, 0, 25),
                                    {.scale_factor = {2.08}, .mode = mode}));
      results.push_back(interpolate(x, {.scale_factor = {1.15}, .mode = mode}));
      results.push_back(interpolate(x, {.size = {9, 4}, .mode = mode, .align_corners = true}));
      results.push_back(
          interpolate(x, {.scale_factor = {1.65}, .mode = mode, .align_corners = true}));
    }
    // Sizes whose ratio decides in f32, and factors that do or don't count.
    const Tensor line = x.flatten(1).unsqueeze(1);  // (N, 1, 60)
    for (const InterpolateMode mode : {InterpolateMode::nearest, InterpolateMode::nearest_exact}) {
      results.push_back(interpolate(line.narrow(2, 0, 14), {.size = {8}, .mode = mode}));
      results.push_back(interpolate(line.narrow(2, 0, 3), {.size = {123}, .mode = mode}));
      for (const double factor : {1.05, 2.1})
        results.push_back(interpolate(x, {.scale_factor = {factor}, .mode = mode}));
    }
    const Tensor volume = x.unsqueeze(1);  // (N, 1, 2, 5, 6)
    for (const Dims& size : {Dims{3, 9, 1}, Dims{1, 1, 4}}) {
      results.push_back(interpolate(volume, {.size = size}));
      results.push_back(interpolate(volume, {.size = size, .mode = InterpolateMode::trilinear}));
    }
    for (const int64_t size : {1, 7, 90})
      results.push_back(interpolate(line, {.size = {size}, .mode = InterpolateMode::linear}));
    return results;
  });
}

struct Convolutions : nn::ModuleOf<Convolutions> {
  Tensors forward(Tensor x) const {  // (N, 4, 9, 10)
    const Tensor line = x.select(2, 0);
    return {same(x),
            grouped(x),
            up(x),
            wide(line),
            long_up(line),
            deep(x.unsqueeze(2)),
            nn::fold(nn::unfold(x, {2, 3}, {.padding = 1, .stride = 2}), {9, 10}, {2, 3},
                     {.padding = 1, .stride = 2}),
            nn::unfold(x, {2, 3}, {.padding = 1, .stride = 2}),
            x.unfold(2, 3, 2).unfold(3, 4, 1)};
  }
  nn::Conv2d same{*this, "same", 4, 6, {4, 3}, {.padding = "same"}};
  nn::Conv2d grouped{*this, "grouped", 4,
                     8,     3,         {.stride = 2, .padding = 1, .dilation = 2, .groups = 2}};
  nn::ConvTranspose2d up{
      *this, "up", 4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}};
  nn::Conv1d wide{*this, "wide", 4, 3, 5, {.padding = 2, .bias = false}};
  nn::ConvTranspose1d long_up{*this, "long_up", 4, 3, 4, {.stride = 3, .dilation = 2}};
  nn::Conv3d deep{*this, "deep", 4, 2, {1, 3, 3}};
};
SavedNetwork convolutions() {
  const auto net = make_net<Convolutions>();
  SavedNetwork network = ops({4, 9, 10}, 1, [net](const Tensors& x) { return (*net)(x[0]); });
  network.net = net;
  return network;
}

struct Normalizations : nn::ModuleOf<Normalizations> {
  Tensors forward(Tensor x) const {  // (N, 6, 5, 4)
    return {batch(x),   plain(x), line(x.flatten(2)),    groups(x), instance(x),
            tracked(x), layer(x), layer_norm(x, {5, 4}), rms(x)};
  }
  nn::BatchNorm2d batch{*this, "batch", 6}, plain{*this, "plain", 6, {.eps = 0.1, .affine = false}};
  nn::BatchNorm1d line{*this, "line", 6};
  nn::GroupNorm groups{*this, "groups", 3, 6};
  nn::InstanceNorm2d instance{*this, "instance", 6, {.eps = 0.1}};
  nn::InstanceNorm2d tracked{*this, "tracked", 6, {.affine = true, .track_running_stats = true}};
  nn::LayerNorm layer{*this, "layer", {5, 4}, {.eps = 0.1}};
  nn::RMSNorm rms{*this, "rms", {4}};
};
SavedNetwork normalizations() {
  const auto net = make_net<Normalizations>();
  for (const auto& [name, tensor] : net->named_parameters()) uniform_(tensor.detach(), 0.5, 1.5);
  for (const auto& [name, tensor] : net->named_buffers())
    if (is_floating(tensor.dtype())) uniform_(tensor, 0.5, 1.5);
  SavedNetwork network = ops({6, 5, 4}, 1, [net](const Tensors& x) { return (*net)(x[0]); });
  network.net = net;
  return network;
}

SavedNetwork losses() {
  return ops({5, 4}, 2, [](const Tensors& in) {
    const Tensor &x = in[0], &y = in[1], p = x.sigmoid(), q = softmax(y, 1);
    const Tensor w = arange(4, {.dtype = f32}) + 1, classes = argmax(y, 1);  // (N, 4)
    return Tensors{
        mse_loss(x, y),
        l1_loss(x, y, Reduction::sum),
        smooth_l1_loss(x, y, Reduction::none, 0.7),
        huber_loss(x, y, Reduction::mean, 0.6),
        mse_loss(x, y, Reduction::mean, p),
        huber_loss(x, y, Reduction::mean, 0.6, q),
        kl_div(log_softmax(x, 1), q, Reduction::batchmean),
        kl_div(log_softmax(x, 1), log_softmax(y, 1), Reduction::mean, true),
        binary_cross_entropy(p, q, {.weight = w}),
        binary_cross_entropy_with_logits(x, q, {.reduction = Reduction::none, .pos_weight = w}),
        cross_entropy(x, classes, {.reduction = Reduction::sum}),
        cross_entropy(x, classes, {.weight = arange(5, {.dtype = f32}) + 1, .ignore_index = 2}),
        nll_loss(log_softmax(x, 1), classes, {.ignore_index = 1, .reduction = Reduction::none})};
  });
}

struct Recurrent : nn::ModuleOf<Recurrent> {
  Tensors forward(Tensor x) const {                                   // (N, 5, 4)
    const Tensor start = x.select(1, 0).slice(1, 0, 3).unsqueeze(0);  // (1, N, 3)
    const auto [output, h] = bare(x, cat({start, 2 * start}));
    const LstmState state = steps(x.transpose(0, 1), {start, -start}).state;
    return {rnn(x).output,
            lstm(x).output,
            gru(x).output,
            state.c,
            output,
            h,
            gru(x.narrow(1, 2, 1)).h,
            steps(x.select(0, 0)).output,
            projected(x).output};
  }
  nn::RNN rnn{*this, "rnn", 4, 3, {.batch_first = true}};
  nn::LSTM lstm{*this, "lstm", 4, 3, {.num_layers = 2, .batch_first = true, .bidirectional = true}};
  nn::GRU gru{*this, "gru", 4, 3, {.batch_first = true, .bidirectional = true}};
  nn::LSTM steps{*this, "steps", 4, 3};
  nn::RNN bare{*this,
               "bare",
               4,
               3,
               {.nonlinearity = nn::RNNNonlinearity::relu,
                .bias = false,
                .batch_first = true,
                .bidirectional = true}};
  nn::LSTM projected{*this, "projected", 4, 3, {.batch_first = true, .proj_size = 2}};
};
SavedNetwork recurrent() {
  const auto net = make_net<Recurrent>();
  SavedNetwork network = ops({5, 4}, 1, [net](const Tensors& x) { return (*net)(x[0]); });
  network.net = net;
  return network;
}

struct Parametrized : nn::ModuleOf<Parametrized> {
  Tensors forward(Tensor x) const { return {normed(x), scaled(x)}; }  // (N, 3, 4)
  nn::Conv1d normed{*this, "normed", 3, 2, 2};
  nn::Linear scaled{*this, "scaled", 4, 5};
};
SavedNetwork parametrized() {
  const auto net = make_net<Parametrized>();
  nn::weight_norm(net->normed);
  nn::spectral_norm(net->scaled);
  SavedNetwork network = ops({3, 4}, 1, [net](const Tensors& x) { return (*net)(x[0]); });
  network.net = net;
  return network;
}

struct Attentions : nn::ModuleOf<Attentions> {
  Tensors forward(Tensor x) const {  // (N, 5, 8)
    const Tensor heads = x.view(x.size(0), 5, 2, 4).transpose(1, 2);
    const Tensor mask = tril(ones({5, 5}, {.dtype = boolean}), -1);
    return {scaled_dot_product_attention(heads, heads, heads),
            scaled_dot_product_attention(heads, heads, heads, {.is_causal = true}),
            scaled_dot_product_attention(heads, heads, heads, {.attn_mask = mask}),
            scaled_dot_product_attention(heads, heads, heads,
                                         {.attn_mask = mask.to(f32), .scale = 0.3}),
            encoder(x),
            decoder(x, 2 * x)};
  }
  nn::TransformerEncoderLayer encoder{
      *this, "encoder", 8, 2, {.dim_feedforward = 16, .batch_first = true}};
  nn::TransformerDecoderLayer decoder{
      *this, "decoder", 8, 2, {.dim_feedforward = 16, .batch_first = true}};
};
SavedNetwork attentions() {
  const auto net = make_net<Attentions>();
  SavedNetwork network = ops({5, 8}, 1, [net](const Tensors& x) { return (*net)(x[0]); });
  network.net = net;
  return network;
}

SavedNetwork products() {
  return ops({3, 4}, 2, [](const Tensors& in) {
    const Tensor &x = in[0], &y = in[1], left = arange(12, {.dtype = f32}).view(4, 3) / 10;
    return Tensors{matmul(x, left),
                   matmul(x, y.transpose(1, 2)),
                   bmm(x, y.transpose(1, 2)),
                   matmul(x, left.select(1, 0)),
                   mm(x.select(1, 0), left),
                   addmm(ones({3}), x.select(1, 0), left, {.beta = 0.5, .alpha = 2}),
                   baddbmm(x.matmul(y.transpose(1, 2)), x, y.transpose(1, 2), {.alpha = 3}),
                   linalg::det(x.matmul(y.transpose(1, 2))),
                   einsum("nij,nkj->nik", {x, y}),
                   matmul(x, eye(4, 5)),
                   cosine_similarity(x, y, 2)};
  });
}

}  // namespace

const std::vector<NamedNetwork>& layer_networks() {
  static const std::vector<NamedNetwork> networks{{"unary", unary},
                                                  {"activations", activations},
                                                  {"binary", binary},
                                                  {"ends", ends},
                                                  {"comparisons", comparisons},
                                                  {"reductions", reductions},
                                                  {"shapes", shapes},
                                                  {"indexing", indexing},
                                                  {"in_place", in_place},
                                                  {"pooling", pooling},
                                                  {"resizing", resizing},
                                                  {"convolutions", convolutions},
                                                  {"normalizations", normalizations},
                                                  {"losses", losses},
                                                  {"recurrent", recurrent},
                                                  {"parametrized", parametrized},
                                                  {"attentions", attentions},
                                                  {"products", products},
                                                  {"points_of_grids", points_of_grids},
                                                  {"mantissas", mantissas}};
  return networks;
}

}  // namespace aorta::onnx

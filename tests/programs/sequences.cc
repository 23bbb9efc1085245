// Networks of tokens: a character GPT, language models with LSTM and GRU, a text CNN.
#include <aorta/tests/programs/program.h>

namespace aorta::programs {
namespace {

struct Block : nn::Module {
  Block(int64_t width, int64_t head_count)
      : heads(head_count),
        ln_1(*this, "ln_1", width, {.bias = false}),
        qkv(*this, "qkv", width, 3 * width, {.bias = false}),
        proj(*this, "proj", width, width, {.bias = false}),
        ln_2(*this, "ln_2", width, {.bias = false}),
        fc(*this, "fc", width, 4 * width, {.bias = false}),
        out(*this, "out", 4 * width, width, {.bias = false}) {}

  Tensor forward(const Tensor& input) const override {
    const int64_t b = input.size(0), t = input.size(1), w = input.size(2);
    std::vector<Tensor> parts = split(qkv(ln_1(input)), w, 2);
    for (Tensor& part : parts) part = part.view({b, t, heads, -1}).transpose(1, 2);
    const Tensor y =
        scaled_dot_product_attention(parts[0], parts[1], parts[2], {.is_causal = true});
    const Tensor x = input + proj(y.transpose(1, 2).reshape({b, t, w}));
    return x + out(gelu(fc(ln_2(x))));
  }

  int64_t heads;
  nn::LayerNorm ln_1;
  nn::Linear qkv, proj;
  nn::LayerNorm ln_2;
  nn::Linear fc, out;
};

struct Gpt : nn::Module {
  Gpt(int64_t vocabulary, int64_t length, int64_t width, int64_t heads, int layers)
      : wte(*this, "wte", vocabulary, width),
        wpe(*this, "wpe", length, width),
        ln_f(*this, "ln_f", width, {.bias = false}),
        head(*this, "head", width, vocabulary, {.bias = false}) {
    for (int i = 0; i < layers; ++i) h.push_back(Block(width, heads));
    wte.weight = head.weight;
  }

  Tensor forward(const Tensor& tokens) const override {
    Tensor x = wte(tokens) + wpe(arange(tokens.size(1)));
    for (const auto& block : h) x = block(x);
    return head(ln_f(x));
  }

  nn::Embedding wte, wpe;
  nn::ModuleList h{*this, "h"};
  nn::LayerNorm ln_f;
  nn::Linear head;
};

template <class Rnn, class State>
struct LanguageModel : nn::ModuleOf<LanguageModel<Rnn, State>> {
  LanguageModel(int64_t vocabulary, int64_t width)
      : encoder(*this, "encoder", vocabulary, width),
        rnn(*this, "rnn", width, width, {.num_layers = 2}),
        decoder(*this, "decoder", width, vocabulary) {}

  std::pair<Tensor, State> forward(const Tensor& x, const State& state) const {
    const auto [output, next] = rnn(encoder(x), state);
    return {decoder(output), next};
  }

  nn::Embedding encoder;
  Rnn rnn;
  nn::Linear decoder;
};

Tensor detached(const Tensor& state) { return state.defined() ? state.detach() : state; }
LstmState detached(const LstmState& state) { return {detached(state.h), detached(state.c)}; }

template <class Rnn, class State>
Losses train_language_model(DType dtype) {
  LanguageModel<Rnn, State> net(30, 16);
  set_weights(net, dtype);
  const Tensor tokens = integers("recurrent.tokens", 30, {4, 8, 4});
  optim::SGD optimizer(net.parameters(), {.lr = 1});
  State state;
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    optimizer.zero_grad();
    const Tensor x = tokens[i % 4];
    auto [y, next] = net(x.slice(0, 0, -1), detached(state));
    const Tensor loss = nn::cross_entropy(y.view({-1, 30}), x.slice(0, 1).reshape({-1}));
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 0.25);
    optimizer.step();
    state = next;
    losses.push_back(loss.item<double>());
  }
  return losses;
}

struct TextCnn : nn::Module {
  TextCnn() {
    for (const int size : {3, 4, 5}) convs.push_back(nn::Conv1d(8, 6, size));
  }

  Tensor forward(const Tensor& words) const override {
    const Tensor e = embed(words).transpose(1, 2);
    std::vector<Tensor> largest;
    for (const auto& conv : convs) largest.push_back(amax(relu(conv(e)), 2));
    return fc(cat(largest, 1));
  }

  nn::Embedding embed{*this, "embed", 50, 8, {.padding_idx = 0}};
  nn::ModuleList convs{*this, "convs"};
  nn::Linear fc{*this, "fc", 18, 2};
};

}  // namespace

Losses gpt(DType dtype) {
  Gpt net(17, 12, 16, 2, 2);
  set_weights(net, dtype);
  const Tensor tokens = integers("gpt.tokens", 17, {4, 3, 13});
  std::vector<Tensor> decay, rest;
  for (const Tensor& p : net.parameters()) (p.dim() > 1 ? decay : rest).push_back(p);
  optim::AdamW optimizer({{decay}, {rest, {.weight_decay = 0}}},
                         {.lr = 1e-2, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  optim::SequentialLR schedule(
      optimizer,
      {std::make_shared<optim::LinearLR>(
           optimizer, optim::LinearLR::Options{.start_factor = 0.1, .total_iters = 10}),
       std::make_shared<optim::CosineAnnealingLR>(
           optimizer, optim::CosineAnnealingLR::Options{.T_max = 15, .eta_min = 1e-4})},
      {10});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    optimizer.zero_grad();
    const Tensor x = tokens[i % 4];
    const Tensor y = net(x.slice(1, 0, -1));
    const Tensor loss = nn::cross_entropy(y.view({-1, 17}), x.slice(1, 1).reshape({-1}));
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1);
    optimizer.step();
    schedule.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses lstm(DType dtype) { return train_language_model<nn::LSTM, LstmState>(dtype); }
Losses gru(DType dtype) { return train_language_model<nn::GRU, Tensor>(dtype); }

Losses text_cnn(DType dtype) {
  TextCnn net;
  set_weights(net, dtype);
  const Tensor words = integers("text_cnn.words", 50, {4, 5, 12});
  const Tensor targets = integers("text_cnn.targets", 2, {4, 5});
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    optimizer.zero_grad();
    const Tensor loss = nn::cross_entropy(net(words[i % 4]), targets[i % 4]);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

}  // namespace aorta::programs

// A character GPT: it learns a text by guessing each next character, and then writes by itself.
//
//     char_gpt [TEXT FILE = a rhyme that the program makes] [STEPS = 300] [WIDTH = 128]
#include <aorta/aorta.h>

#include <fstream>
#include <iostream>

using namespace aorta;
constexpr int64_t kLength = 64, kBatch = 32;

struct CharGpt : nn::Module {
  CharGpt(int64_t characters, int64_t length, int64_t width, int64_t heads, int64_t layers)
      : token(*this, "token", characters, width),
        position(*this, "position", length, width),
        blocks(*this, "blocks",
               nn::TransformerEncoderLayer(width, heads,
                                           {.dim_feedforward = 4 * width,
                                            .dropout = 0,
                                            .activation = nn::TransformerActivation::gelu,
                                            .batch_first = true,
                                            .norm_first = true}),
               layers, nn::LayerNorm(width)),
        head(*this, "head", width, characters) {}
  // Characters (N, T) -> logits of those that follow (N, T, characters).
  Tensor forward(const Tensor& text) const override {
    return head(blocks(token(text) + position(arange(text.size(1))), {.is_causal = true}));
  }
  // The text (1, T) and `count` characters more, each from the keys and values of those before it.
  Tensor generate(Tensor text, int64_t count, double temperature) const {
    const NoGradGuard no_grad;
    std::vector<nn::AttentionCache> cache;
    Tensor fresh = text;
    for (int64_t seen = 0; count > 0; --count) {
      if (seen + fresh.size(1) > position.num_embeddings) {  // full: begin with half a window
        cache.clear(), seen = 0;
        fresh = text.slice(1, -position.num_embeddings / 2);
      }
      const Tensor x = token(fresh) + position(arange(seen, seen + fresh.size(1)));
      seen += fresh.size(1);
      const Tensor logits = head(blocks.step(x, cache).select(1, -1));
      fresh = multinomial((logits / temperature).softmax(-1), 1);
      text = cat({text, fresh}, 1);
    }
    return text;
  }
  nn::Embedding token, position;
  nn::TransformerEncoder blocks;
  nn::Linear head;
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  std::string text, end = " weight.\n";
  if (argc > 1)
    std::getline(std::ifstream(argv[1]), text, '\0');  // all of it
  else
    for (const char* verse : {"layer that holds", "net that has", "loss that judges", ""})
      text += "This is the" + end, end = std::string(" ") + verse + " the" + end;
  check(text.size() > kLength, "char_gpt", "the text must be longer than 64", text.size());
  const int steps = argc > 2 ? std::stoi(argv[2]) : 300;
  const int64_t width = argc > 3 ? std::stoi(argv[3]) : 128;
  const Tensor codes = tensor(std::vector<uint8_t>(text.begin(), text.end())).to(i64);
  const CharGpt net(256, kLength, width, 4, 2);
  optim::AdamW optimizer(net.parameters(), {.lr = 3e-3, .betas = {0.9, 0.99}});
  for (int step = 1; step <= steps; ++step) {
    const Tensor start = randint(codes.numel() - kLength, {kBatch, 1});
    const Tensor window = codes[start + arange(kLength + 1)];
    const Tensor logits = net(window.slice(1, 0, -1));
    const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), window.slice(1, 1).flatten());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 50 == 0) std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
  }
  const Tensor story = net.generate(codes.slice(0, 0, 1).unsqueeze(0), 300, 0.3);
  for (const uint8_t c : story.to_vector<uint8_t>()) std::cout << c;
}

// A language model of words: two layers of LSTM, whose state goes on from batch to batch.
//
//     lstm_language_model [TEXT FILE = sentences that the program makes] [EPOCHS = 6] [WIDTH = 64]
//
// Each of the sentences made here has five words that are drawn from eight, and three that are
// sure: nobody's perplexity is below 8^(5/8) = 3.67.
#include <aorta/aorta.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace aorta;
constexpr int64_t kBatch = 20, kLength = 24;

struct WordModel : nn::ModuleOf<WordModel> {
  WordModel(int64_t words, int64_t width)
      : embedding(*this, "embedding", words, width),
        lstm(*this, "lstm", width, width, {.num_layers = 2, .batch_first = true}),
        decoder(*this, "decoder", width, words) {}
  // Words (N, T) -> logits of those that follow (N, T, words), and the state behind them.
  std::pair<Tensor, LstmState> forward(const Tensor& text, const LstmState& state) const {
    const auto [output, next] = lstm(embedding(text), state);
    return {decoder(output), next};
  }
  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear decoder;
};

std::string make_sentences(int64_t count) {
  const std::string adjectives[] = {"old", "wet", "red", "big", "shy", "dry", "mad", "new"},
                    nouns[] = {"cat", "dog", "fox", "hen", "man", "pig", "owl", "bee"},
                    verbs[] = {"sees",  "hears", "likes", "meets",
                               "finds", "needs", "calls", "eats"};
  std::string text;
  for (const Tensor& d : randint(8, {count, 5}).unbind()) {
    const std::vector<int64_t> i = d.to_vector<int64_t>();
    text += "the " + adjectives[i[0]] + " " + nouns[i[1]] + " " + verbs[i[2]] + " the " +
            adjectives[i[3]] + " " + nouns[i[4]] + " .\n";
  }
  return text;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  std::stringstream text(make_sentences(1500));
  if (argc > 1) text = std::stringstream() << std::ifstream(argv[1]).rdbuf();
  std::map<std::string, int64_t> places;
  std::vector<std::string> words;
  std::vector<int64_t> codes;
  for (std::string word; text >> word; codes.push_back(places[word]))
    if (places.try_emplace(word, std::ssize(words)).second) words.push_back(word);
  // Rows of text, each of which goes on where its part of the batch before ended.
  const int64_t columns = std::ssize(codes) / kBatch;
  const Tensor data = tensor(codes).slice(0, 0, kBatch * columns).view(kBatch, columns);
  const WordModel net(std::ssize(words), argc > 3 ? std::stoi(argv[3]) : 64);
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  LstmState state;
  for (int epoch = 1; epoch <= (argc > 2 ? std::stoi(argv[2]) : 6); ++epoch) {
    double total = 0, count = 0;
    state = {};
    for (int64_t at = 0; at + kLength < columns; at += kLength, ++count) {
      const Tensor window = data.narrow(1, at, kLength + 1);
      const auto [logits, next] = net(window.slice(1, 0, -1), state);
      const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), window.slice(1, 1).flatten());
      optimizer.zero_grad();
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 1);
      optimizer.step();
      state = {next.h.detach(), next.c.detach()};
      total += loss.item<double>();
    }
    std::cout << "epoch " << epoch << ": perplexity " << std::exp(total / count) << std::endl;
  }
}

#pragma once

// A network whose parameters are divided among ranks, and what the tests of that do with it.

#include <aorta/aorta.h>
#include <aorta/nn/parallel/fully_shard.h>

namespace aorta::nn {

// A block whose parameters are of every kind of shape: fewer rows than ranks, none that divides
// them, none at all, in another layout, and one under two names.
struct Block : Module {
  Conv2d conv{*this, "conv", 3, 5, 3, {.padding = 1}};
  LayerNorm norm{*this, "norm", 4};
  Linear one{*this, "one", 4, 1};
  Linear back{*this, "back", 1, 4};
  Linear tied{*this, "tied", 1, 4};
  Linear last{*this, "last", 20, 3};
  Parameter scale{*this, "scale", full({}, 0.5)};
  Parameter nothing{*this, "nothing", zeros({0, 2})};
  Block(Module& owner, const char* name) : Module(owner, name) {
    tied.weight = back.weight;
    conv.to(MemoryFormat::channels_last);
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = norm(conv(x)) * scale + nothing.sum();  // (N, 5, H, 4)
    y = y + back(tanh(one(y))) + tied(relu(one(y)));
    return last(y.mean(2).flatten(1));  // (N, 3)
  }
};

struct BlockNet : Module {
  Embedding embedding{*this, "embedding", 7, 12};
  Block first{*this, "first"};
  Linear between{*this, "between", 3, 12};
  Block second{*this, "second"};
  Linear head{*this, "head", 3, 2, {.bias = false}};
  Tensor forward(const Tensor& words) const override {
    const Tensor x = embedding(words).view({words.size(0), 3, 3, 4});  // of 3 words each
    return head(second(between(first(x)).view({-1, 3, 1, 4})));
  }
};

inline BlockNet block_net(uint64_t seed) {
  Generator random(seed);
  const DefaultGeneratorScope scope(random);
  return BlockNet();
}

inline void shard(BlockNet& net, Communicator& group, const FullyShardOptions& options = {}) {
  fully_shard(net.first, group, options);
  fully_shard(net.second, group, options);
  fully_shard(net, group, options);
}

// A batch of each rank's own in each step.
inline Tensor words(int rank, int step) {
  Generator random(static_cast<uint64_t>(100 * step + rank));
  return randint(7, {4, 3}, {}, &random);
}

inline Tensor loss_of(const Tensor& y, int rank) { return square(y - rank).sum(); }

}  // namespace aorta::nn

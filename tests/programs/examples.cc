// Networks of examples/, the very sources, trained as there.
#include <aorta/tests/programs/program.h>

#include <fstream>
#include <iostream>

// main alone may end without a return.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace char_gpt_example {
#include "examples/char_gpt.cc"
}

namespace aorta::programs {

Losses char_gpt(DType dtype) {
  char_gpt_example::CharGpt net(19, 12, 16, 2, 2);
  set_weights(net, dtype);
  const Tensor tokens = integers("char_gpt.tokens", 19, {4, 3, 13});
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2, .betas = {0.9, 0.99}});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = tokens[i % 4];
    const Tensor logits = net(x.slice(1, 0, -1));
    const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), x.slice(1, 1).flatten());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

}  // namespace aorta::programs

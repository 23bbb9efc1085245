// Optimizer state divided among ranks that are threads, against one optimizer of all parameters.
#include <aorta/aorta.h>
#include <aorta/optim/zero_redundancy.h>
#include <aorta/tests/nn/parallel/ranks.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

namespace aorta::optim {
namespace {

nn::Sequential net() {
  Generator random(4);
  const DefaultGeneratorScope scope(random);
  return nn::Sequential(nn::Linear(20, 30), nn::Linear(30, 10), nn::Linear(10, 3));
}

void set_gradients(const std::vector<Tensor>& parameters, uint64_t step) {
  Generator random(9, step);
  for (const Tensor& parameter : parameters)
    parameter.set_grad(randn(parameter.shape(), {}, &random));
}

const ZeroRedundancyOptimizer::Make kAdam = [](const std::vector<Tensor>& mine) {
  return std::make_unique<Adam>(mine, AdamOptions{.lr = 0.01});
};

void expect_same(const State& found, const State& wanted) {
  EXPECT_EQ(found.names(), wanted.names());
  for (const auto& [name, value] : wanted.values())
    EXPECT_TRUE(found.values().at(name) == value) << name;
  for (const auto& [name, tensor] : wanted.tensors())
    EXPECT_TRUE(same_bits(found.tensor(name), tensor)) << name;
}

int64_t bytes_of(const State& state) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : state.tensors()) bytes += tensor.nbytes();
  return bytes;
}

State copy_of(const State& state) {
  State copy;
  for (const auto& [name, value] : state.values()) copy.set(name, value);
  for (const auto& [name, tensor] : state.tensors()) copy.set(name, tensor.clone());
  return copy;
}

TEST(ZeroRedundancyOptimizer, HasTheBitsOfOneAndPartsOfItsState) {
  const nn::Sequential whole = net();
  Adam adam(whole.parameters(), {.lr = 0.01});
  for (uint64_t step = 0; step < 3; ++step) {
    set_gradients(whole.parameters(), step);
    adam.step();
  }
  for (const int size : {1, 2, 4}) {
    std::mutex mutex;
    int64_t bytes = 0, most = 0;
    const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
      const nn::Sequential own = net();
      ZeroRedundancyOptimizer optimizer(own.parameters(), end, kAdam);
      for (uint64_t step = 0; step < 3; ++step) {
        set_gradients(own.parameters(), step);
        optimizer.step();
        optimizer.zero_grad();
        for (const Tensor& parameter : own.parameters()) EXPECT_FALSE(parameter.grad().defined());
      }
      for (size_t i = 0; i < own.parameters().size(); ++i)
        EXPECT_TRUE(same_bits(own.parameters()[i], whole.parameters()[i])) << i;
      const State state = optimizer.state();
      const std::lock_guard lock(mutex);
      if (end.rank() == 0) expect_same(state, adam.state());
      const int64_t mine = bytes_of(optimizer.own().state());
      bytes += mine;
      most = std::max(most, mine);
    });
    EXPECT_EQ(errors, no_errors(size));
    EXPECT_EQ(bytes, bytes_of(adam.state()));
    // The largest parameter has 600 of 973 elements, and each has two averages of 4 bytes.
    EXPECT_LE(most, std::max<int64_t>(600 * 8, bytes / size + 30 * 8));
  }
}

TEST(ZeroRedundancyOptimizer, GoesOnFromAnyNumberOfRanks) {
  const nn::Sequential whole = net();
  Adam adam(whole.parameters(), {.lr = 0.01});
  State before;
  std::vector<Tensor> start;
  for (uint64_t step = 0; step < 4; ++step) {
    if (step == 2) {
      before = copy_of(adam.state());
      for (const Tensor& parameter : whole.parameters())
        start.push_back(parameter.detach().clone());
    }
    set_gradients(whole.parameters(), step);
    adam.step();
  }
  for (const int size : {1, 3}) {
    const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
      const nn::Sequential own = net();
      for (size_t i = 0; i < start.size(); ++i) own.parameters()[i].detach().copy_(start[i]);
      ZeroRedundancyOptimizer optimizer(own.parameters(), end, kAdam);
      optimizer.restore(before);
      for (uint64_t step = 2; step < 4; ++step) {
        set_gradients(own.parameters(), step);
        optimizer.step();
      }
      for (size_t i = 0; i < start.size(); ++i)
        EXPECT_TRUE(same_bits(own.parameters()[i], whole.parameters()[i])) << i;
    });
    EXPECT_EQ(errors, no_errors(size));
  }
}

TEST(ZeroRedundancyOptimizer, WhatItRefuses) {
  const auto errors = on_ranks(3, {.timeout = 60}, [](Communicator& end) {
    const nn::Linear own(2, 2);
    ZeroRedundancyOptimizer(own.parameters(), end, kAdam);
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error, "ZeroRedundancyOptimizer: there must be a parameter a rank, got 2 for 3");
  // The states of others, on every rank alike.
  const Tensor a = ones({2}).requires_grad_(), b = ones({2}).requires_grad_(),
               c = ones({2}).requires_grad_();
  const State groups = Adam({{{a, b}, {.lr = 0.5}}, {{c}, {.lr = 0.25}}}).state();
  const State three = Adam({a, b, c}).state();
  on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    const nn::Linear own(2, 2);
    ZeroRedundancyOptimizer optimizer(own.parameters(), end, kAdam);
    EXPECT_EQ(error_of([&] { optimizer.restore(groups); }),
              "load_state_dict: the state must have as many groups as the optimizer, got more than "
              "1");
    EXPECT_EQ(error_of([&] { optimizer.restore(three); }),
              "load_state_dict: the state must be of as many parameters as the optimizer's, got 3 "
              "for 2");
    for (const char* const name : {"extra", "state.foo", "state.-1.exp_avg", "state.7.exp_avg"}) {
      State other = copy_of(Adam({a, b}).state());
      other.set(name, ones({2}));
      EXPECT_EQ(error_of([&] { optimizer.restore(other); }),
                std::string("load_state_dict: the state must hold nothing but the optimizer's "
                            "groups and parameters, got ") +
                    name);
    }
  });
}

TEST(ZeroRedundancyOptimizer, DealsParametersWithoutElementsToo) {
  const auto errors = on_ranks(3, {.timeout = 60}, [](Communicator& end) {
    std::vector<Tensor> parameters;
    for (const int64_t size : {10, 0, 0}) parameters.push_back(ones({size}).requires_grad_());
    ZeroRedundancyOptimizer optimizer(parameters, end, kAdam);
    for (const Tensor& parameter : parameters) parameter.set_grad(zeros_like(parameter));
    optimizer.step();
  });
  EXPECT_EQ(errors, no_errors(3));
}

}  // namespace
}  // namespace aorta::optim

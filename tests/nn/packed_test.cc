// Packed sequences: their layout, and recurrent layers over them as over each sequence alone.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/nn/adaptive_softmax.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

using Numbers = std::vector<int64_t>;

// Sequences of 2, 4, 1 and 4 steps with I features, in the batch's order.
std::vector<Tensor> sequences(int64_t features) {
  std::vector<Tensor> all;
  for (const int64_t length : {2, 4, 1, 4})
    all.push_back(randn({length, features}, {.dtype = DType::f64}).requires_grad_());
  return all;
}

// As the page of PyTorch's pack_padded_sequence has it.
TEST(PackedSequences, AreOfStepsOneAfterAnother) {
  const Tensor padded = tensor({{1, 2, 0}, {3, 0, 0}, {4, 5, 6}});
  const Tensor lengths = tensor({2, 1, 3});
  const PackedSequence packed = pack_padded_sequence(padded, lengths, true, false);
  EXPECT_EQ(packed.data.to_vector<int64_t>(), (Numbers{4, 1, 3, 5, 2, 6}));
  EXPECT_EQ(packed.batch_sizes.to_vector<int64_t>(), (Numbers{3, 2, 1}));
  EXPECT_EQ(packed.sorted_indices.to_vector<int64_t>(), (Numbers{2, 0, 1}));
  EXPECT_EQ(packed.unsorted_indices.to_vector<int64_t>(), (Numbers{1, 2, 0}));
  const PaddedSequence back = pad_packed_sequence(packed, true);
  EXPECT_EQ(back.output.to_vector<int64_t>(), padded.to_vector<int64_t>());
  EXPECT_EQ(back.lengths.to_vector<int64_t>(), (Numbers{2, 1, 3}));
  const PaddedSequence wide = pad_packed_sequence(packed, false, -1, 4);
  EXPECT_EQ(wide.output.to_vector<int64_t>(), (Numbers{1, 3, 4, 2, -1, 5, -1, -1, 6, -1, -1, -1}));
  const PackedSequence sorted = pack_sequence({tensor({4, 5, 6}), tensor({1, 2}), tensor({3})});
  EXPECT_FALSE(sorted.sorted_indices.defined());
  EXPECT_EQ(sorted.data.to_vector<int64_t>(), packed.data.to_vector<int64_t>());
}

TEST(PackedSequences, PadAndUnpad) {
  const std::vector<Tensor> rows{tensor({{1, 2}, {3, 4}}), tensor({{5, 6}})};
  const Tensor right = pad_sequence(rows), left = pad_sequence(rows, true, 9, PaddingSide::left);
  EXPECT_EQ(right.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(right.to_vector<int64_t>(), (Numbers{1, 2, 5, 6, 3, 4, 0, 0}));
  EXPECT_EQ(left.to_vector<int64_t>(), (Numbers{1, 2, 3, 4, 9, 9, 5, 6}));
  const auto unpadded = unpad_sequence(right, tensor({2, 1}));
  const auto unpacked = unpack_sequence(pack_sequence(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(unpadded[i].to_vector<int64_t>(), rows[i].to_vector<int64_t>());
    EXPECT_EQ(unpacked[i].to_vector<int64_t>(), rows[i].to_vector<int64_t>());
  }
}

TEST(PackedSequences, HaveGradients) {
  const std::vector<Tensor> all = sequences(2);
  const auto there_and_back = [](const std::vector<Tensor>& in) {
    const PackedSequence packed = pack_sequence(in, false);
    return std::vector<Tensor>{packed.data, pad_packed_sequence(packed, true, 7, 5).output};
  };
  EXPECT_GRADIENTS(there_and_back, all);
}

TEST(PackedSequences, Refuse) {
  const Tensor x = ones({3, 2, 4});
  EXPECT_EQ(error_of([&] {
              pack_padded_sequence(x, tensor({2, 3}));
            }),
            "pack_padded_sequence: lengths must not rise with enforce_sorted, got [2]");
  EXPECT_EQ(error_of([&] {
              pack_padded_sequence(x, tensor({4, 3}));
            }),
            "pack_padded_sequence: lengths must be in [1, T], got 4 for T 3");
  EXPECT_EQ(error_of([&] {
              pack_padded_sequence(x, tensor({3, 0}));
            }),
            "pack_padded_sequence: lengths must be in [1, T], got 0 for T 3");
  EXPECT_EQ(error_of([&] { pack_padded_sequence(x, tensor({3})); }),
            "pack_padded_sequence: lengths must be (N), got [1] for N 2");
  EXPECT_EQ(error_of([&] { pad_sequence({}); }),
            "pad_sequence: there must be a sequence, got none");
  const PackedSequence packed = pack_padded_sequence(x, tensor({3, 1}));
  EXPECT_EQ(error_of([&] { pad_packed_sequence(packed, false, 0, 2); }),
            "pad_packed_sequence: total_length must be at least the largest length, got 2 for 3");
  PackedSequence wrong = packed;
  wrong.batch_sizes = tensor({1, 2, 1});
  EXPECT_EQ(error_of([&] { pad_packed_sequence(wrong); }),
            "pad_packed_sequence: batch_sizes must be positive and not rise, got 2 behind 1");
  wrong.batch_sizes = tensor({2, 1});
  EXPECT_EQ(error_of([&] {
              GRU(4, 3)
              (wrong);
            }),
            "GRU: batch_sizes must add up to the rows of data, got 3 for [4,4]");
  EXPECT_EQ(error_of([&] {
              GRU(5, 3)
              (packed);
            }),
            "GRU: input must have input_size features, got [4,4] for 5");
  EXPECT_EQ(error_of([&] {
              GRU(4, 3)(packed, ones({1, 3, 3}));
            }),
            "GRU: states must be (layers x directions, N, H), here [1,2,3], got [1,3,3]");
  EXPECT_EQ(error_of([&] { GRU(4, 3, {.proj_size = 2}); }),
            "GRU: proj_size is for an LSTM alone, got 2");
  EXPECT_EQ(error_of([&] { LSTM(4, 3, {.proj_size = 3}); }),
            "Recurrent: proj_size must be in [0, hidden_size), got 3 for 3");
}

// Outputs and final states of each sequence run alone, padded and stacked as the batch has them.
struct Wanted {
  Tensor output;
  std::vector<Tensor> states;
};

template <class M>
std::vector<Tensor> call(const M& module, const Tensor& x, const std::vector<Tensor>& states) {
  if constexpr (std::is_same_v<M, LSTM>) {
    const LstmOutput result = module(x, LstmState{states.at(0), states.at(1)});
    return {result.output, result.state.h, result.state.c};
  } else {
    const RnnOutput result = module(x, states.at(0));
    return {result.output, result.h};
  }
}

template <class M>
std::vector<Tensor> call(const M& module, const PackedSequence& x,
                         const std::vector<Tensor>& states) {
  if constexpr (std::is_same_v<M, LSTM>) {
    const PackedLstmOutput result = module(x, LstmState{states.at(0), states.at(1)});
    return {pad_packed_sequence(result.output).output, result.state.h, result.state.c};
  } else {
    const PackedRnnOutput result = module(x, states.at(0));
    return {pad_packed_sequence(result.output).output, result.h};
  }
}

// The numbers and the gradients of a batch are those of its sequences, whose order is no matter.
template <class M, class Options>
void expect_as_alone(const Options& options, const std::vector<int64_t>& state_sizes) {
  manual_seed(5);
  M module(3, 4, options);
  module.to(DType::f64);
  const std::vector<Tensor> all = sequences(3);
  std::vector<Tensor> states;
  for (const int64_t size : state_sizes)
    states.push_back(randn({4, 4, size}, {.dtype = DType::f64}).requires_grad_());
  std::vector<Tensor> outputs;
  std::vector<std::vector<Tensor>> finals(states.size());
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<Tensor> own;
    for (const Tensor& state : states) own.push_back(state.narrow(1, static_cast<int64_t>(i), 1));
    const std::vector<Tensor> result = call(module, all[i].unsqueeze(1), own);
    outputs.push_back(result[0].squeeze(1));
    for (size_t k = 0; k < finals.size(); ++k) finals[k].push_back(result[k + 1]);
  }
  std::vector<Tensor> wanted{pad_sequence(outputs)};
  for (const auto& parts : finals) wanted.push_back(cat(parts, 1));
  const std::vector<Tensor> got = call(module, pack_sequence(all, false), states);
  std::vector<Tensor> leaves = all;
  leaves.insert(leaves.end(), states.begin(), states.end());
  for (const Tensor& parameter : module.parameters()) leaves.push_back(parameter);
  const auto gradients = [&](const std::vector<Tensor>& results) {
    Tensor total = zeros({}, {.dtype = DType::f64});
    for (const Tensor& result : results)
      total = total +
              sum(result * cos(arange(result.numel(), {.dtype = DType::f64})).view(result.shape()));
    return autograd::grad(std::vector<Tensor>{total}, leaves);
  };
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(near(got[i], wanted[i], 1e-12)) << i;
  const auto of_wanted = gradients(wanted), of_got = gradients(got);
  for (size_t i = 0; i < of_got.size(); ++i)
    EXPECT_TRUE(near(of_got[i], of_wanted[i], 1e-12)) << "gradient " << i;
}

TEST(PackedSequences, RnnSeesEachAlone) {
  expect_as_alone<RNN>(RNNOptions{.num_layers = 2, .bidirectional = true}, {4});
}
TEST(PackedSequences, LstmSeesEachAlone) {
  expect_as_alone<LSTM>(RecurrentOptions{.num_layers = 2, .bidirectional = true}, {4, 4});
  expect_as_alone<LSTM>(RecurrentOptions{.num_layers = 2, .bidirectional = true, .proj_size = 2},
                        {2, 4});
}
TEST(PackedSequences, GruSeesEachAlone) {
  // batch_first is of padded batches alone.
  expect_as_alone<GRU>(RecurrentOptions{.num_layers = 4, .bias = false}, {4});
}

TEST(PackedSequences, HooksSeeTheirTensors) {
  const GRU gru(3, 4);
  std::vector<Tensor> seen;
  GRU hooked = gru;
  hooked.register_forward_pre_hook(
      [&](const Module&, std::vector<Tensor>& inputs) { seen = inputs; });
  const PackedSequence packed = pack_padded_sequence(ones({3, 2, 3}), tensor({3, 2}));
  const PackedRnnOutput result = hooked(packed);
  EXPECT_EQ(seen.size(), 5u);  // data, sizes, two orders, states
  EXPECT_EQ(result.output.data.shape(), (Shape{5, 4}));
}

// All classes' log-probabilities add up to 1, hold the targets' and name the likeliest.
TEST(AdaptiveLogSoftmax, AllClasses) {
  manual_seed(1);
  const AdaptiveLogSoftmaxWithLoss net(8, 12, {3, 7}, {.div_value = 2});
  const Tensor x = randn({20, 8}) * 3, classes = arange(20) % 12;
  const Tensor all = net.log_prob(x);
  EXPECT_TRUE(near(sum(exp(all), {1}), ones({20}), 1e-5));
  EXPECT_TRUE(near(net(x, classes).output, gather(all, 1, classes.unsqueeze(1)).squeeze(1), 1e-5));
  EXPECT_TRUE(near(net(x, classes).loss, -mean(net(x, classes).output), 1e-6));
  EXPECT_EQ(net.predict(x).to_vector<int64_t>(), argmax(all, 1).to_vector<int64_t>());
  EXPECT_EQ(net.predict(x[0]).item<int64_t>(), argmax(all[0]).item<int64_t>());
  EXPECT_TRUE(near(net(x[1], classes[1]).output, net(x, classes).output[1], 1e-6));
  EXPECT_EQ(error_of([&] { net(x, classes + 1); }),
            "AdaptiveLogSoftmaxWithLoss: target must be in [0, n_classes), got 12 for 12");
  EXPECT_EQ(error_of([] {
              AdaptiveLogSoftmaxWithLoss(8, 12, {7, 3});
            }),
            "AdaptiveLogSoftmaxWithLoss: cutoffs must rise, from 1 on and below n_classes, got 3 "
            "behind 7");
  EXPECT_EQ(error_of([] { AdaptiveLogSoftmaxWithLoss(8, 12, {12}); }),
            "AdaptiveLogSoftmaxWithLoss: cutoffs must rise, from 1 on and below n_classes, got 12 "
            "behind 12");
}

}  // namespace
}  // namespace aorta::nn

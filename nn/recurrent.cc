#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/call.h>
#include <aorta/nn/init.h>
#include <aorta/nn/packed_sizes.h>
#include <aorta/nn/recurrent.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace aorta::nn {
namespace {

constexpr int64_t kMostLayers = 65536;
constexpr int64_t kMostSteps = (1 << 28) - 1;

using Tensors = std::vector<Tensor>;

// Parts of the first dimension under one node, whose gradient is one cat: T views would add up T
// tensors of the whole's size.
Tensors parts_of(const Tensor& whole, const std::vector<int64_t>& sizes) {
  Tensors parts;
  {
    const NoGradGuard no_grad;
    parts = split(whole.detach(), sizes);
  }
  if (!grad_enabled() || !whole.requires_grad()) return parts;
  const Tensor* const inputs[] = {&whole};
  const size_t count = parts.size();
  const auto node = autograd::make_node("split", inputs, count, [count](autograd::Gradients& g) {
    Tensors gradients;
    for (size_t i = 0; i < count; ++i) gradients.push_back(g.output(i));
    g.input() = cat(gradients);
  });
  for (uint32_t i = 0; i < count; ++i) {
    parts[i] = parts[i].detach();  // no view of `whole` for the graph
    autograd::set_history(parts[i], node, i);
  }
  return parts;
}

// Whether autocast takes the tensor in its own dtype, whichever it has: such a state was given
// back.
bool is_cast(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  return autocast_dtype() != DType::f32 && is_floating(dtype) && dtype != DType::f64;
}

void check_states(const std::string& layer, const Tensors& states, const Tensor& input) {
  for (const Tensor& state : states) {
    check(state.defined() == states[0].defined(), layer,
          "the states h and c must be given, or neither",
          states[0].defined() ? "h alone" : "c alone");
    if (state.defined() && state.dtype() != input.dtype() && !(is_cast(state) && is_cast(input)))
      fail(layer, "states must have the input's dtype", state.dtype(), " for ", input.dtype());
  }
}

// Every weight and bias is uniform in +-1 / sqrt(hidden).
void reset(const Module& layer, int64_t hidden) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (const Tensor& weight : layer.parameters(false)) init::uniform_(weight, -bound, bound);
}

// The rows of the weights.
int64_t checked_rows(const char* op, int64_t gates, int64_t input, int64_t hidden) {
  check(input > 0 && hidden > 0, op, "sizes must be positive", input, " and ", hidden);
  return checked_numel(op, {gates, hidden});
}

// One direction of a layer: the outputs of the steps, and `states`, which become the final ones.
// Sequences that have ended wait with the state of their end; backwards they enter there.
Tensors run_direction(const Tensors& gates, const std::vector<int64_t>& sizes, bool backwards,
                      Tensors& states, const std::function<void(const Tensor&, Tensors&)>& step) {
  const size_t steps = gates.size();
  Tensors outputs(steps), now = states;
  std::vector<Tensors> ended(states.size());
  int64_t alive = sizes[0];
  if (backwards && sizes.back() < alive) {
    alive = sizes.back();
    for (Tensor& state : now) state = state.narrow(0, 0, alive);
  }
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = backwards ? steps - 1 - i : i;
    for (size_t k = 0; k < now.size() && sizes[t] != alive; ++k) {
      if (backwards) {
        now[k] = cat({now[k], states[k].narrow(0, alive, sizes[t] - alive)});
      } else {
        ended[k].push_back(now[k].narrow(0, sizes[t], alive - sizes[t]));
        now[k] = now[k].narrow(0, 0, sizes[t]);
      }
    }
    alive = sizes[t];
    step(gates[t], now);
    outputs[t] = now[0];
  }
  for (size_t k = 0; k < now.size(); ++k) {
    ended[k].push_back(now[k]);
    std::reverse(ended[k].begin(), ended[k].end());
    states[k] = ended[k].size() == 1 ? now[k] : cat(ended[k]);
  }
  return outputs;
}

}  // namespace

Recurrent::Recurrent(int64_t gates, int64_t input, int64_t hidden, const RecurrentOptions& options)
    : input_size(input), hidden_size(hidden), options(options), gates_(gates) {
  checked_rows("Recurrent", gates, input, hidden);
  check(options.num_layers > 0, "Recurrent", "num_layers must be positive", options.num_layers);
  check(options.num_layers <= kMostLayers, "Recurrent", "num_layers must be at most 65536",
        options.num_layers);
  check(options.dropout >= 0 && options.dropout <= 1, "Recurrent", "dropout must be in [0, 1]",
        options.dropout);
  check(options.proj_size >= 0 && options.proj_size < hidden, "Recurrent",
        "proj_size must be in [0, hidden_size)", options.proj_size, " for ", hidden);
  const int64_t directions = options.bidirectional ? 2 : 1;
  const auto fresh = [](const Shape& shape) { return empty(shape, {.requires_grad = true}); };
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const int64_t columns = layer == 0 ? input : directions * output_size();
    for (int64_t direction = 0; direction < directions; ++direction) {
      Weights w{
          fresh({gates * hidden, columns}), fresh({gates * hidden, output_size()}), {}, {}, {}};
      if (options.bias) {
        w.b_ih = fresh({gates * hidden});
        w.b_hh = fresh({gates * hidden});
      }
      if (options.proj_size > 0) w.w_hr = fresh({options.proj_size, hidden});
      weights_.push_back(w);
    }
  }
  reset(*this, hidden);
}

void Recurrent::reset_parameters() { reset(*this, hidden_size); }

void Recurrent::append_members(Members& members) const {
  const size_t directions = options.bidirectional ? 2 : 1;
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weights& w = const_cast<Weights&>(weights_[i]);
    const std::string suffix =
        "_l" + std::to_string(i / directions) + (i % directions ? "_reverse" : "");
    members.parameters.emplace_back("weight_ih" + suffix, &w.w_ih);
    members.parameters.emplace_back("weight_hh" + suffix, &w.w_hh);
    if (options.bias) {
      members.parameters.emplace_back("bias_ih" + suffix, &w.b_ih);
      members.parameters.emplace_back("bias_hh" + suffix, &w.b_hh);
    }
    if (options.proj_size > 0) members.parameters.emplace_back("weight_hr" + suffix, &w.w_hr);
  }
}

const Recurrent::Weights& Recurrent::weights(int64_t layer, int64_t direction) const {
  return weights_[static_cast<size_t>(layer * (options.bidirectional ? 2 : 1) + direction)];
}

void Recurrent::check_input(const Tensor& data) const {
  if (data.size(-1) != input_size)
    fail(type_name(), "input must have input_size features", data.shape(), " for ", input_size);
  const int64_t directions = options.bidirectional ? 2 : 1;
  if (options.num_layers * directions != static_cast<int64_t>(weights_.size())) {
    fail(type_name(), "the weights must be those of num_layers and bidirectional", weights_.size(),
         " for ", options.num_layers, " x ", directions);
  }
}

Tensors Recurrent::initial_states(const Tensors& given, size_t count, const Tensor& data,
                                  int64_t batch, bool unbatched) const {
  const int64_t rows = static_cast<int64_t>(weights_.size());
  check_states(type_name(), given, data);
  Tensors states;
  for (size_t i = 0; i < count; ++i) {
    const Shape shape{rows, batch, i == 0 ? output_size() : hidden_size};
    if (i >= given.size() || !given[i].defined()) {
      states.push_back(zeros(shape, {.dtype = data.dtype(), .device = data.device()}));
      continue;
    }
    const Tensor state = unbatched && given[i].dim() == 2 ? given[i].unsqueeze(1) : given[i];
    if (state.shape() != shape) {
      fail(type_name(), "states must be (layers x directions, N, H), here " + to_string(shape),
           given[i].shape());
    }
    states.push_back(state);
  }
  return states;
}

Tensor Recurrent::run_steps(const Tensor& data, const std::vector<int64_t>& sizes, Tensors& states,
                            bool from_zeros, const Step& step) const {
  const int64_t directions = options.bidirectional ? 2 : 1;
  const Tensors initial = states;
  std::vector<Tensors> finals(states.size());
  Tensor x = data;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    if (layer > 0) x = dropout(x, options.dropout, is_training());
    Tensors sides;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const Weights& w = weights(layer, direction);
      const Tensors gates = parts_of(linear(x, w.w_ih, w.b_ih), sizes);
      Tensors now;
      for (const Tensor& state : initial) {
        // Under autocast the gates are of a half type.
        now.push_back(state.select(0, layer * directions + direction).to(gates[0].dtype()));
      }
      sides.push_back(cat(run_direction(
          gates, sizes, direction == 1, now,
          [&](const Tensor& gate, Tensors& current) { step.run(w, gate, current); })));
      for (size_t i = 0; i < now.size(); ++i) finals[i].push_back(now[i]);
    }
    const Tensor rows = directions == 1 ? sides[0] : cat(sides, 1);
    const bool is_whole =
        sizes.back() == sizes[0] && rows.dtype() == x.dtype() && !weights(layer, 0).w_hr.defined();
    if (kernel::is_traced() && is_whole) {
      // The layer as one op: of rows, and each direction's weights and initial states or none, to
      // rows, and each direction's final states.
      TracedCall call{step.op, {rows}, {x}};
      for (int64_t direction = 0; direction < directions; ++direction) {
        const Weights& w = weights(layer, direction);
        const int64_t place = layer * directions + direction;
        call.inputs.insert(call.inputs.end(), {w.w_ih, w.w_hh, w.b_ih, w.b_hh});
        for (size_t i = 0; i < states.size(); ++i) {
          call.inputs.push_back(from_zeros ? Tensor() : initial[i].select(0, place));
          call.outputs.push_back(finals[i][static_cast<size_t>(place)]);
        }
      }
      call.options = std::tuple<int64_t>(static_cast<int64_t>(sizes.size()));
      kernel::tracing::tell(std::move(call));
    }
    x = rows;
  }
  for (size_t i = 0; i < states.size(); ++i) states[i] = stack(finals[i]);
  return x;
}

Tensor Recurrent::run(const Tensor& input, Tensors& states, size_t count, const Step& step) const {
  check_given({{"input", input}});
  const bool unbatched = input.dim() == 2;
  if (!unbatched && input.dim() != 3) {
    fail(type_name(), "input must be (T, N, I), (N, T, I) with batch_first, or (T, I)",
         input.shape());
  }
  check_input(input);
  const Tensor x = unbatched             ? input.unsqueeze(1)
                   : options.batch_first ? input.transpose(0, 1)
                                         : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  if (steps == 0) fail(type_name(), "input must have a step", input.shape());
  if (steps > kMostSteps) fail(type_name(), "input must have fewer than 2^28 steps", input.shape());
  const bool from_zeros = !states[0].defined();
  states = initial_states(states, count, x, batch, unbatched);
  const std::vector<int64_t> sizes(static_cast<size_t>(steps), batch);
  const Tensor rows =
      run_steps(x.reshape({steps * batch, input_size}), sizes, states, from_zeros, step);
  const Tensor output = rows.reshape({steps, batch, rows.size(1)});
  if (!unbatched) return options.batch_first ? output.transpose(0, 1) : output;
  for (Tensor& state : states) state = state.squeeze(1);
  return output.squeeze(1);
}

PackedSequence Recurrent::run(const PackedSequence& input, Tensors& states, size_t count,
                              const Step& step) const {
  const std::string layer = type_name();
  const std::vector<int64_t> sizes = checked_sizes(layer.c_str(), input);
  if (input.data.dim() != 2)
    fail(layer, "the data of a packed sequence must be (sum of lengths, I)", input.data.shape());
  check_input(input.data);
  const bool from_zeros = !states[0].defined();
  states = initial_states(states, count, input.data, sizes[0], false);
  PackedSequence output = input;
  if (input.sorted_indices.defined())
    for (Tensor& state : states) state = index_select(state, 1, input.sorted_indices);
  output.data = run_steps(input.data, sizes, states, from_zeros, step);
  if (input.unsorted_indices.defined())
    for (Tensor& state : states) state = index_select(state, 1, input.unsorted_indices);
  return output;
}

std::string Recurrent::extra_repr() const {
  std::string text = fmt::format("{}, {}", input_size, hidden_size);
  if (options.proj_size != 0) text += fmt::format(", proj_size={}", options.proj_size);
  if (options.num_layers != 1) text += fmt::format(", num_layers={}", options.num_layers);
  if (!options.bias) text += ", bias=False";
  if (options.batch_first) text += ", batch_first=True";
  if (options.dropout != 0) text += fmt::format(", dropout={}", options.dropout);
  if (options.bidirectional) text += ", bidirectional=True";
  return text;
}

int64_t Recurrent::multiply_adds(const Tensors& inputs, const Tensors&) const {
  const int64_t steps = inputs.at(0).numel() / input_size;  // of all samples
  int64_t products = 0;
  for (const Weights& w : weights_) {
    products += w.w_ih.numel() + w.w_hh.numel();
    if (w.w_hr.defined()) products += w.w_hr.numel();
  }
  return steps * products;
}

RNN::RNN(int64_t input, int64_t hidden, const RNNOptions& o)
    : Recurrent(1, input, hidden,
                {.num_layers = o.num_layers,
                 .bias = o.bias,
                 .batch_first = o.batch_first,
                 .dropout = o.dropout,
                 .bidirectional = o.bidirectional}),
      nonlinearity(o.nonlinearity) {}
RNN::RNN(Module& owner, const char* name, int64_t input, int64_t hidden,
         const RNNOptions& rnn_options)
    : RNN(input, hidden, rnn_options) {
  join(owner, name);
}

Recurrent::Step RNN::rule() const {
  const bool is_relu = nonlinearity == RNNNonlinearity::relu;
  return {is_relu ? "rnn_relu" : "rnn_tanh",
          [is_relu](const Weights& w, const Tensor& gates, Tensors& state) {
            const Tensor sum = gates + linear(state[0], w.w_hh, w.b_hh);
            state[0] = is_relu ? relu(sum) : tanh(sum);
          }};
}

RnnOutput RNN::forward(const Tensor& input, const Tensor& h) const {
  Tensors states{h};
  const Tensor output = run(input, states, 1, rule());
  return {output, states[0]};
}

PackedRnnOutput RNN::forward(const PackedSequence& input, const Tensor& h) const {
  Tensors states{h};
  const PackedSequence output = run(input, states, 1, rule());
  return {output, states[0]};
}

RnnOutput RNN::operator()(const Tensor& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

PackedRnnOutput RNN::operator()(const PackedSequence& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

Tensor RNN::forward(const Tensor& input) const { return forward(input, Tensor()).output; }

LSTM::LSTM(int64_t input, int64_t hidden, const RecurrentOptions& lstm_options)
    : Recurrent(4, input, hidden, lstm_options) {}
LSTM::LSTM(Module& owner, const char* name, int64_t input, int64_t hidden,
           const RecurrentOptions& lstm_options)
    : LSTM(input, hidden, lstm_options) {
  join(owner, name);
}

Recurrent::Step LSTM::rule() const {
  return {"lstm", [](const Weights& w, const Tensor& gates, Tensors& now) {
            const LstmState next =
                kernel::lstm_gates(gates, linear(now[0], w.w_hh, w.b_hh), now[1]);
            now = {w.w_hr.defined() ? linear(next.h, w.w_hr) : next.h, next.c};
          }};
}

LstmOutput LSTM::forward(const Tensor& input, const LstmState& state) const {
  Tensors states{state.h, state.c};
  const Tensor output = run(input, states, 2, rule());
  return {output, {states[0], states[1]}};
}

PackedLstmOutput LSTM::forward(const PackedSequence& input, const LstmState& state) const {
  Tensors states{state.h, state.c};
  const PackedSequence output = run(input, states, 2, rule());
  return {output, {states[0], states[1]}};
}

LstmOutput LSTM::operator()(const Tensor& input, const LstmState& state) const {
  return call_module(*this, input, state);
}

PackedLstmOutput LSTM::operator()(const PackedSequence& input, const LstmState& state) const {
  return call_module(*this, input, state);
}

Tensor LSTM::forward(const Tensor& input) const { return forward(input, LstmState()).output; }

GRU::GRU(int64_t input, int64_t hidden, const RecurrentOptions& gru_options)
    : Recurrent(3, input, hidden, gru_options) {
  check(gru_options.proj_size == 0, "GRU", "proj_size is for an LSTM alone", gru_options.proj_size);
}
GRU::GRU(Module& owner, const char* name, int64_t input, int64_t hidden,
         const RecurrentOptions& gru_options)
    : GRU(input, hidden, gru_options) {
  join(owner, name);
}

Recurrent::Step GRU::rule() const {
  return {"gru", [](const Weights& w, const Tensor& gates, Tensors& state) {
            state[0] = kernel::gru_gates(gates, linear(state[0], w.w_hh, w.b_hh), state[0]);
          }};
}

RnnOutput GRU::forward(const Tensor& input, const Tensor& h) const {
  Tensors states{h};
  const Tensor output = run(input, states, 1, rule());
  return {output, states[0]};
}

PackedRnnOutput GRU::forward(const PackedSequence& input, const Tensor& h) const {
  Tensors states{h};
  const PackedSequence output = run(input, states, 1, rule());
  return {output, states[0]};
}

RnnOutput GRU::operator()(const Tensor& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

PackedRnnOutput GRU::operator()(const PackedSequence& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

Tensor GRU::forward(const Tensor& input) const { return forward(input, Tensor()).output; }

RecurrentCell::RecurrentCell(int64_t gates, int64_t input, int64_t hidden, bool bias)
    : input_size(input),
      hidden_size(hidden),
      weight_ih(*this, "weight_ih",
                empty({checked_rows("RecurrentCell", gates, input, hidden), input})),
      weight_hh(*this, "weight_hh", empty({gates * hidden, hidden})),
      bias_ih(*this, "bias_ih", bias ? empty({gates * hidden}) : Tensor()),
      bias_hh(*this, "bias_hh", bias ? empty({gates * hidden}) : Tensor()) {
  reset(*this, hidden);
}

void RecurrentCell::reset_parameters() { reset(*this, hidden_size); }

RecurrentCell::Step RecurrentCell::begin(const Tensor& input, const Tensors& states) const {
  check_given({{"input", input}});
  if (input.dim() != 1 && input.dim() != 2)
    fail(type_name(), "input must be (N, I) or (I)", input.shape());
  if (input.size(-1) != input_size) {
    fail(type_name(), "input must have input_size features", input.shape(), " for ", input_size);
  }
  check_states(type_name(), states, input);
  Step step;
  const Tensor x = input.dim() == 1 ? input.unsqueeze(0) : input;
  step.gates = linear(x, weight_ih, bias_ih);
  // Under autocast the gates are of a half type.
  for (const Tensor& state : states)
    step.states.push_back(state_of(state, input).to(step.gates.dtype()));
  return step;
}

Tensor RecurrentCell::state_of(const Tensor& given, const Tensor& input) const {
  Shape shape = input.shape();
  shape.back() = hidden_size;
  if (!given.defined())
    return zeros({shape.numel() / hidden_size, hidden_size},
                 {.dtype = input.dtype(), .device = input.device()});
  if (given.shape() != shape) {
    fail(type_name(), "states must be (N, H), or (H) unbatched, here " + to_string(shape),
         given.shape());
  }
  return input.dim() == 1 ? given.unsqueeze(0) : given;
}

Tensor RecurrentCell::hidden_gates(const Tensor& h) const { return linear(h, weight_hh, bias_hh); }

std::string RecurrentCell::extra_repr() const {
  return fmt::format("{}, {}{}", input_size, hidden_size, bias_ih.defined() ? "" : ", bias=False");
}

int64_t RecurrentCell::multiply_adds(const Tensors& inputs, const Tensors&) const {
  return inputs.at(0).numel() / input_size * (weight_ih.numel() + weight_hh.numel());
}

RNNCell::RNNCell(int64_t input, int64_t hidden, const RNNCellOptions& options)
    : RecurrentCell(1, input, hidden, options.bias), nonlinearity(options.nonlinearity) {}
RNNCell::RNNCell(Module& owner, const char* name, int64_t input, int64_t hidden,
                 const RNNCellOptions& options)
    : RNNCell(input, hidden, options) {
  join(owner, name);
}

Tensor RNNCell::forward(const Tensor& input, const Tensor& h) const {
  const Step step = begin(input, {h});
  const Tensor sums = step.gates + hidden_gates(step.states[0]);
  const Tensor next = nonlinearity == RNNNonlinearity::relu ? relu(sums) : tanh(sums);
  return input.dim() == 1 ? next.squeeze(0) : next;
}

Tensor RNNCell::operator()(const Tensor& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

Tensor RNNCell::forward(const Tensor& input) const { return forward(input, Tensor()); }

std::string RNNCell::extra_repr() const {
  return RecurrentCell::extra_repr() +
         (nonlinearity == RNNNonlinearity::relu ? ", nonlinearity=relu" : "");
}

LSTMCell::LSTMCell(int64_t input, int64_t hidden, const RecurrentCellOptions& options)
    : RecurrentCell(4, input, hidden, options.bias) {}
LSTMCell::LSTMCell(Module& owner, const char* name, int64_t input, int64_t hidden,
                   const RecurrentCellOptions& options)
    : LSTMCell(input, hidden, options) {
  join(owner, name);
}

LstmState LSTMCell::forward(const Tensor& input, const LstmState& state) const {
  const Step step = begin(input, {state.h, state.c});
  const LstmState next =
      kernel::lstm_gates(step.gates, hidden_gates(step.states[0]), step.states[1]);
  if (input.dim() == 2) return next;
  return {next.h.squeeze(0), next.c.squeeze(0)};
}

LstmState LSTMCell::operator()(const Tensor& input, const LstmState& state) const {
  return call_module(*this, input, state);
}

Tensor LSTMCell::forward(const Tensor& input) const { return forward(input, LstmState()).h; }

GRUCell::GRUCell(int64_t input, int64_t hidden, const RecurrentCellOptions& options)
    : RecurrentCell(3, input, hidden, options.bias) {}
GRUCell::GRUCell(Module& owner, const char* name, int64_t input, int64_t hidden,
                 const RecurrentCellOptions& options)
    : GRUCell(input, hidden, options) {
  join(owner, name);
}

Tensor GRUCell::forward(const Tensor& input, const Tensor& h) const {
  const Step step = begin(input, {h});
  const Tensor next = kernel::gru_gates(step.gates, hidden_gates(step.states[0]), step.states[0]);
  return input.dim() == 1 ? next.squeeze(0) : next;
}

Tensor GRUCell::operator()(const Tensor& input, const Tensor& h) const {
  return call_module(*this, input, h);
}

Tensor GRUCell::forward(const Tensor& input) const { return forward(input, Tensor()); }

}  // namespace aorta::nn

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/empty.h>
#include <aorta/core/io/state_format.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/optim/zero_redundancy.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <span>
#include <sstream>

namespace aorta::optim {
namespace {

constexpr const char* kGroup = "param_groups.0.";
constexpr const char* kParams = "param_groups.0.params";

// By rank: the largest first, each to who has fewest elements, and of those fewest parameters.
std::vector<int> deal(const std::vector<Tensor>& parameters, int ranks) {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return parameters[a].numel() > parameters[b].numel();
  });
  std::vector<std::pair<int64_t, int64_t>> shares(static_cast<size_t>(ranks));
  std::vector<int> owners(parameters.size());
  for (const size_t i : order) {
    const auto least = std::min_element(shares.begin(), shares.end());
    least->first += parameters[i].numel();
    ++least->second;
    owners[i] = static_cast<int>(least - shares.begin());
  }
  return owners;
}

// `text` of rank `root`.
std::string broadcast_text(const std::string& text, Communicator& group, int root) {
  const Tensor length = tensor({static_cast<int64_t>(text.size())});
  group.broadcast(length, root);
  std::vector<uint8_t> bytes(static_cast<size_t>(length.item<int64_t>()));
  if (group.rank() == root) std::copy(text.begin(), text.end(), bytes.begin());
  const Tensor all = tensor(bytes);
  group.broadcast(all, root);
  const auto* data = all.data<uint8_t>();
  return {data, data + all.numel()};
}

// "state.3.exp_avg" with another position; empty for what isn't a parameter's.
std::string with_position(const std::string& name, const std::function<int64_t(int64_t)>& other) {
  if (!name.starts_with("state.")) return "";
  const size_t start = std::string("state.").size();
  int64_t position = -1;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + start, last, position);
  if (error != std::errc() || position < 0 || end == last || *end != '.') return "";
  position = other(position);
  return position < 0 ? "" : "state." + std::to_string(position) + std::string(end, last);
}

}  // namespace

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(List<Tensor> parameters, Communicator& group,
                                                 const Make& make)
    : parameters_(std::move(parameters)), group_(group) {
  check(parameters_.size() >= static_cast<size_t>(group.size()), "ZeroRedundancyOptimizer",
        "there must be a parameter a rank", parameters_.size(), " for ", group.size());
  for (const Tensor& parameter : parameters_)
    autograd::check_whole("ZeroRedundancyOptimizer", parameter);
  owners_ = deal(parameters_, group.size());
  std::vector<Tensor> mine;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (owners_[i] != group.rank()) continue;
    positions_.push_back(i);
    mine.push_back(parameters_[i]);
  }
  own_ = make(mine);
  check(own_ && own_->group_count() == 1, "ZeroRedundancyOptimizer",
        "the optimizer must have one group", own_ ? own_->group_count() : 0);
}

void ZeroRedundancyOptimizer::step() {
  own_->step();
  const NoGradGuard no_grad;
  for (int rank = 0; rank < group_.size(); ++rank) {
    std::vector<Tensor> theirs;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (owners_[i] == rank) theirs.push_back(parameters_[i]);
    kernel::broadcast_together(theirs, group_, rank);
  }
}

void ZeroRedundancyOptimizer::zero_grad(bool set_to_none) {
  own_->zero_grad(set_to_none);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (owners_[i] != group_.rank()) autograd::zero_grad(parameters_[i], set_to_none);
  }
}

State ZeroRedundancyOptimizer::state() const {
  const State mine = own_->state();
  State all;
  std::vector<int64_t> positions(parameters_.size());
  std::iota(positions.begin(), positions.end(), 0);
  for (const auto& [name, value] : mine.values())
    if (name.starts_with(kGroup)) all.set(name, name == kParams ? State::Value(positions) : value);
  for (int rank = 0; rank < group_.size(); ++rank) broadcast_entries(mine, rank, all);
  return all;
}

// A line an entry: what it is, its name, and its value or its tensor's dtype and shape; then the
// tensors in their order.
void ZeroRedundancyOptimizer::broadcast_entries(const State& mine, int root, State& all) const {
  const NoGradGuard no_grad;
  const auto whole = [&](const std::string& name) {
    return with_position(name, [&](int64_t own) {
      return static_cast<int64_t>(positions_[static_cast<size_t>(own)]);
    });
  };
  std::string text;
  std::vector<Tensor> tensors;
  if (group_.rank() == root) {
    for (const auto& [name, value] : mine.values())
      if (const std::string place = whole(name); !place.empty())
        text += "value " + place + " " + state_format::value_text(value) + "\n";
    for (const auto& [name, tensor] : mine.tensors()) {
      std::vector<int64_t> like{static_cast<int64_t>(tensor.dtype())};
      for (const int64_t size : tensor.shape()) like.push_back(size);
      text += "tensor " + whole(name) + " " + state_format::value_text(like) + "\n";
      tensors.push_back(tensor);
    }
  }
  std::istringstream lines(broadcast_text(text, group_, root));
  std::string kind, name, rest;
  for (size_t i = 0; lines >> kind >> name && std::getline(lines, rest);) {
    const State::Value value = state_format::parse_value(rest.substr(1), name);
    if (kind == "value") {
      if (group_.rank() == 0) all.set(name, value);
      continue;
    }
    const auto& like = std::get<std::vector<int64_t>>(value);
    const Shape shape{std::span(like).subspan(1)};
    const Tensor tensor = group_.rank() == root
                              ? tensors[i++]
                              : empty(shape, {.dtype = static_cast<DType>(like[0]),
                                              .device = parameters_[0].device()});
    group_.broadcast(tensor, root);
    if (group_.rank() == 0) all.set(name, tensor);
  }
}

// On every rank alike: each takes a part of it alone.
void ZeroRedundancyOptimizer::check_whole(const State& state) const {
  constexpr const char* kLoad = "load_state_dict";
  const auto count = static_cast<int64_t>(parameters_.size());
  const auto positions = state.get<std::vector<int64_t>>(kParams);
  std::vector<int64_t> all(parameters_.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  check(positions == all, kLoad, "the state must be of as many parameters as the optimizer's",
        positions.size(), " for ", count);
  for (const std::string& name : state.names()) {
    check(name.starts_with(kGroup) || !name.starts_with("param_groups."), kLoad,
          "the state must have as many groups as the optimizer", "more than 1");
    const std::string place =
        with_position(name, [&](int64_t position) { return position < count ? position : -1; });
    check(name.starts_with(kGroup) || !place.empty(), kLoad,
          "the state must hold nothing but the optimizer's groups and parameters", name);
  }
}

void ZeroRedundancyOptimizer::restore(const State& state) {
  check_whole(state);
  std::map<int64_t, int64_t> own;
  std::vector<int64_t> positions(positions_.size());
  for (size_t i = 0; i < positions_.size(); ++i) {
    own[static_cast<int64_t>(positions_[i])] = static_cast<int64_t>(i);
    positions[i] = static_cast<int64_t>(i);
  }
  const auto mine = [&](const std::string& name) {
    return with_position(name, [&](int64_t position) {
      const auto found = own.find(position);
      return found == own.end() ? -1 : found->second;
    });
  };
  State part;
  for (const auto& [name, value] : state.values()) {
    if (name.starts_with(kGroup))
      part.set(name, name == kParams ? State::Value(positions) : value);
    else if (const std::string place = mine(name); !place.empty())
      part.set(place, value);
  }
  for (const auto& [name, tensor] : state.tensors())
    if (const std::string place = mine(name); !place.empty()) part.set(place, tensor);
  own_->restore(part);
}

}  // namespace aorta::optim

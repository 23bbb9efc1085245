#include <aorta/optim/group.h>

#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/recording.h>
#include <aorta/optim/multi_tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace aorta::optim {
namespace {

constexpr const char* kOptimizer = "optimizer";
constexpr int64_t kAligned = 16;  // elements of an arena: a cache line of f32

// What a graph fills with its first values it would fill so at each launch.
void refuse_new_state() {
  kernel::refuse_in_capture(kOptimizer, "state must be there before a step is captured",
                            "a parameter whose first step it is");
}

void check_parameter(const Tensor& parameter) {
  check(is_floating(parameter.dtype()), kOptimizer, "parameters must be of a floating dtype",
        parameter.dtype());
  check(parameter.is_leaf(), kOptimizer, "parameters must be leaves", "the result of ",
        parameter.grad_fn());
  kernel::check_writable(kOptimizer, parameter);
}

}  // namespace

GroupData::GroupData(std::vector<Tensor> given) : parameters(std::move(given)) {
  check(!parameters.empty(), kOptimizer, "a group must have parameters", "none");
  check_defined(kOptimizer, "parameters", parameters);
  for (const Tensor& parameter : parameters) {
    check_parameter(parameter);
    auto bucket = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) {
      return b.dtype == parameter.dtype() && b.device == parameter.device();
    });
    if (bucket == buckets.end()) {
      buckets.push_back({parameter.dtype(), parameter.device(), {}, 0});
      bucket = buckets.end() - 1;
    }
    const bool dense = is_dense(parameter);
    bucket->members.push_back(places.size());
    places.push_back({static_cast<size_t>(bucket - buckets.begin()),
                      bucket->size,
                      dense,
                      parameter.shape(),
                      parameter.strides(),
                      dense ? parameter.strides() : contiguous_strides(parameter.shape()),
                      {},
                      {}});
    bucket->size += round_up(parameter.numel(), kAligned);
  }
  steps.resize(parameters.size());
}

void GroupData::follow_parameters() {
  const auto has_its_place = [&](size_t i) {
    const Tensor& parameter = parameters[i];
    const Bucket& bucket = buckets[places[i].bucket];
    return parameter.dtype() == bucket.dtype && parameter.device() == bucket.device &&
           parameter.strides() == places[i].layout && parameter.shape() == places[i].shape;
  };
  size_t i = 0;
  while (i < parameters.size() && has_its_place(i)) ++i;
  if (i == parameters.size()) return;
  for (i = 0; i < parameters.size(); ++i)
    check(kinds.empty() || parameters[i].shape() == places[i].shape, kOptimizer,
          "parameters must keep their shapes from the first step on", parameters[i].shape(),
          ", before ", places[i].shape);
  GroupData now(parameters);
  for (const auto& kind : kinds) {
    if (!kind->shaped.empty()) {
      for (size_t p = 0; p < parameters.size(); ++p) {
        Tensor& tensor = kind->shaped[p];
        if (tensor.defined())
          tensor = tensor.to(compute_dtype(parameters[p].dtype())).to(parameters[p].device());
      }
      continue;
    }
    const StateKind& moved = now.kind({kind->name.c_str(), kind->initial});
    for (size_t p = 0; p < parameters.size(); ++p) now.state_of(moved, p).copy_(state_of(*kind, p));
    kind->arenas = moved.arenas;
  }
  places = std::move(now.places);
  buckets = std::move(now.buckets);
}

StateKind* GroupData::find(std::string_view name) const {
  for (const auto& kind : kinds) {
    if (kind->name == name) return kind.get();
  }
  return nullptr;
}

StateKind& GroupData::kind(const StateName& name) {
  if (StateKind* known = find(name.name)) {
    if (known->initial != name.initial) {  // restored, or set again before some have it
      known->initial = name.initial;
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (!known->has(i)) state_of(*known, i).fill_(name.initial);
      }
    }
    return *known;
  }
  refuse_new_state();
  auto kind = std::make_unique<StateKind>();
  kind->name = name.name;
  kind->initial = name.initial;
  kind->saved = name.saved;
  kind->present.resize(parameters.size());
  for (const Bucket& bucket : buckets) {
    kind->arenas.push_back(full({bucket.size}, name.initial,
                                {.dtype = compute_dtype(bucket.dtype), .device = bucket.device}));
  }
  kinds.push_back(std::move(kind));
  return *kinds.back();
}

StateKind& GroupData::shaped_kind(const char* name, size_t place, const Shape& shape) {
  StateKind* kind = find(name);
  if (!kind) {
    kinds.push_back(std::make_unique<StateKind>());
    kind = kinds.back().get();
    kind->name = name;
    kind->shaped.resize(parameters.size());
    kind->present.resize(parameters.size());
  }
  Tensor& tensor = kind->shaped[place];
  if (!tensor.defined() || !kind->has(place)) {
    const Tensor& parameter = parameters[place];
    tensor =
        zeros(shape, {.dtype = compute_dtype(parameter.dtype()), .device = parameter.device()});
  }
  return *kind;
}

std::vector<double>& GroupData::value(const std::string& name) {
  std::vector<double>& values_of = values[name];
  values_of.resize(parameters.size(), std::nan(""));
  return values_of;
}

Tensor GroupData::state_of(const StateKind& kind, size_t place) const {
  if (!kind.shaped.empty()) return kind.shaped[place];
  const Tensor& arena = kind.arenas[places[place].bucket];
  return Tensor(arena.storage(), arena.dtype(), parameters[place].shape(), places[place].strides,
                arena.storage_offset() + places[place].offset);
}

bool GroupData::gather(size_t place, bool with_gradient) {
  const Tensor& parameter = parameters[place];
  StatePlace& where = places[place];
  const TensorOptions like{.dtype = parameter.dtype(), .device = parameter.device()};
  const void* gradient_data = nullptr;
  if (with_gradient) {
    if (const auto sparse = autograd::sparse_grad(parameter)) {
      gather_rows(place, sparse->coalesce());
      return true;
    }
    Tensor gradient = parameter.grad();
    if (!gradient.defined()) return false;
    if (!has_strides(gradient, where.strides) && !(captured && captured->renews)) {
      if (!where.gradient.defined())
        where.gradient = empty_strided(parameter.shape(), where.strides, like);
      where.gradient.copy_(gradient.detach());
      gradient = where.gradient;
    }
    gradient_data = gradient.data();
    gradients.push_back(std::move(gradient));
  }
  void* data = parameter.data();
  if (!where.dense && !(captured && captured->renews)) {
    if (!where.copy.defined()) where.copy = empty_strided(parameter.shape(), where.strides, like);
    where.copy.copy_(parameter.detach());
    data = where.copy.data();
  }
  add(place, data, gradient_data, parameter.numel());
  return true;
}

void GroupData::gather_rows(size_t place, const autograd::SparseGradient& gradient) {
  kernel::refuse_in_capture(kOptimizer, "a captured step takes dense gradients", "a sparse one");
  const Tensor rows = index_select(parameters[place].detach(), 0, gradient.indices).contiguous();
  gradients.push_back(gradient.values.contiguous());
  rows_.push_back({tensors.size(), gradient.indices, rows});
  add(place, rows.data(), gradients.back().data(), rows.numel());
}

void GroupData::add(size_t place, void* data, const void* gradient, int64_t count) {
  const int64_t first = tensors.empty() ? 0 : tensors.back().first + tensors.back().count;
  tensors.push_back({data, gradient, {}, count, first, 0});
  gathered_.push_back(place);
}

void GroupData::run(UpdateRule rule, const Bucket& bucket, std::span<StateKind* const> states) {
  if (tensors.empty()) return forget_gathered();
  const size_t index = static_cast<size_t>(&bucket - buckets.data());
  for (size_t k = 0; k < states.size(); ++k) {
    const Tensor& arena = states[k]->arenas[index];
    char* const base = static_cast<char*>(arena.data());
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].states[k] = base + places[gathered_[i]].offset * item_size(arena.dtype());
      states[k]->present[gathered_[i]] = 1;
    }
    for (StepRows& rows : rows_) {
      const Tensor state = state_of(*states[k], gathered_[rows.tensor]);
      rows.states[k] = index_select(state, 0, rows.indices).contiguous();
      tensors[rows.tensor].states[k] = rows.states[k].data();
    }
    arena.bump_version();
  }
  const bool renews = captured && captured->renews;
  if (renews) {
    captured->renew(captured_run(rule));
  } else {
    const auto* live = captured ? captured->record(captured_run(rule)) : nullptr;
    kernel::UpdateArgs args{rule, bucket.dtype, tensors, numbers, live};
    Tensor gate;
    if (must_be_finite.defined()) {
      gate = must_be_finite.to(bucket.device);
      args.must_be_finite = gate.data<double>();
    }
    kernel::run_update(bucket.device, args);
  }
  auto rows = rows_.begin();
  for (size_t i = 0; i < gathered_.size(); ++i) {
    const size_t place = gathered_[i];
    if (rows != rows_.end() && rows->tensor == i) {
      for (size_t k = 0; k < states.size(); ++k)
        index_copy_(state_of(*states[k], place), 0, rows->indices, rows->states[k]);
      index_copy_(parameters[place].detach(), 0, rows->indices, rows->parameter);
      ++rows;
    } else if (places[place].dense || renews) {
      parameters[place].bump_version();
    } else {
      parameters[place].detach().copy_(places[place].copy);
    }
  }
  forget_gathered();
}

CapturedRuns::Run GroupData::captured_run(UpdateRule rule) const {
  CapturedRuns::Run run{rule, {}, numbers};
  for (size_t i = 0; i < tensors.size(); ++i) {
    CapturedRuns::Operands& one = run.operands.emplace_back();
    one.parameter = parameters[gathered_[i]].data();  // not the copy of one that isn't dense
    std::copy_n(tensors[i].states, kMaxUpdateStates, one.states);
    one.numbers = tensors[i].numbers;
  }
  return run;
}

const UpdateNumbers<double>* CapturedRuns::record(Run now) {
  const auto run = std::make_shared<Run>(std::move(now));
  runs.push_back(run);
  const auto copy = [run](void* to) {
    std::memcpy(to, run->numbers.data(), run->numbers.size() * sizeof(UpdateNumbers<double>));
  };
  return static_cast<const UpdateNumbers<double>*>(kernel::Recording::current()->numbers(
      run->numbers.data(),
      static_cast<int64_t>(run->numbers.size() * sizeof(UpdateNumbers<double>)), copy));
}

void CapturedRuns::renew(const Run& now) {
  check(next < runs.size() && runs[next]->rule == now.rule &&
            runs[next]->operands == now.operands &&
            runs[next]->numbers.size() == now.numbers.size(),
        kOptimizer, "rule and parameters must be those that the captured step had", "others");
  runs[next++]->numbers = now.numbers;
}

void GroupData::forget_gathered() {
  gradients.clear();
  tensors.clear();
  numbers.clear();
  gathered_.clear();
  rows_.clear();
}

}  // namespace aorta::optim

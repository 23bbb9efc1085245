#include <aorta/optim/muon.h>

#include <aorta/autograd/shard.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim {
namespace {

constexpr const char* kMuon = "muon";

double adjustment(const std::string& function, double rows, double columns) {
  if (function == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  if (function == "spectral_unclamped") return std::sqrt(rows / columns);
  return std::sqrt(std::max(1.0, rows / columns));
}

// `update` (m, n) made orthogonal by the Newton-Schulz iteration in its dtype.
Tensor orthogonalized(const Tensor& update, const MuonOptions& o) {
  const bool tall = update.size(0) > update.size(1);
  Tensor x = tall ? update.t() : update;
  x = x / clamp_min(norm(x), o.eps);
  for (int64_t i = 0; i < o.ns_steps; ++i) {
    const Tensor gram = matmul(x, x.t());
    const Tensor factor =
        addmm(gram, gram, gram, {.beta = o.ns_coefficients[1], .alpha = o.ns_coefficients[2]});
    x = addmm(x, factor, x, {.beta = o.ns_coefficients[0]});
  }
  return tall ? x.t() : x;
}

}  // namespace

void MuonOptions::check() const {
  aorta::check(lr >= 0, kMuon, "lr must be at least 0", lr);
  aorta::check(weight_decay >= 0, kMuon, "weight_decay must be at least 0", weight_decay);
  aorta::check(momentum >= 0, kMuon, "momentum must be at least 0", momentum);
  aorta::check(eps >= 0, kMuon, "eps must be at least 0", eps);
  aorta::check(ns_steps >= 0 && ns_steps < 100, kMuon, "ns_steps must be from 0 to 99", ns_steps);
  const std::string& function = adjust_lr_fn;
  aorta::check(
      function == "original" || function == "match_rms_adamw" || function == "spectral_unclamped",
      kMuon, "adjust_lr_fn must be original, match_rms_adamw or spectral_unclamped",
      io::quote(function));
}

Muon::Muon(List<Tensor> parameters, const MuonOptions& options)
    : Muon(std::vector<Group>{{std::move(parameters), options}}, options) {}
Muon::Muon(List<Group> groups, const MuonOptions& options)
    : CustomOptimizer(std::move(groups), options) {
  for (size_t g = 0; g < group_count(); ++g) Muon::check_options(g);
}

// Checks groups that are added later too.
void Muon::check_options(size_t group) const {
  CustomOptimizer::check_options(group);
  for (const Tensor& parameter : parameters(group)) {
    check(parameter.dim() == 2, kMuon, "parameters must be matrices", parameter.shape());
    autograd::check_whole(kMuon, parameter);
  }
}

void Muon::update(Slot& slot, const MuonOptions& o) {
  const Tensor average = slot.state("momentum_buffer");
  if (slot.parameter.numel() == 0) return;
  const DType computed = compute_dtype(slot.parameter.dtype());
  const Tensor g = slot.gradient.to(computed);
  lerp_(average, g, 1 - o.momentum);
  const Tensor update = o.nesterov ? lerp(g, average, o.momentum) : average;
  const Tensor x = orthogonalized(o.bf16 ? update.to(DType::bf16) : update, o).to(computed);
  const double step = o.lr * adjustment(o.adjust_lr_fn, static_cast<double>(update.size(0)),
                                        static_cast<double>(update.size(1)));
  const Tensor p = slot.parameter.detach().to(computed) * (1 - o.lr * o.weight_decay);
  slot.parameter.copy_(p - step * x);
}

StateNames Muon::state_names(size_t) const { return {.required = {"momentum_buffer"}}; }

}  // namespace aorta::optim

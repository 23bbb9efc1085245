#pragma once

#include <aorta/nn/module.h>
#include <aorta/nn/parallel/placement.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace aorta::nn {

// How parallelize_module divides a module, with PyTorch's names and defaults. What a module gets
// and gives are each rank's own tensors: `use_local_output` is no option.

/// Linear (weight and bias by outputs) or Embedding (by columns): each rank computes its part of
/// the output. Several layers that take one input, in a module with PrepareModuleInput, send one
/// gradient of it, past `autograd::grad` with respect to that input within the module.
struct ColwiseParallel {
  Placement input_layouts = Replicate();
  Placement output_layouts = Shard(-1);
};

/// Linear (weight by inputs, of which each rank has its part; the bias is whole) or Embedding (by
/// rows of the table): the ranks' outputs are added up.
struct RowwiseParallel {
  Placement input_layouts = Shard(-1);
  Placement output_layouts = Replicate();
};

/// A module that each rank calls with rows of its own (a part of the sequence): LayerNorm, RMSNorm,
/// Dropout. Parameters are whole, their gradients added up; random numbers are each rank's own. A
/// Dropout between a ColwiseParallel and a RowwiseParallel layer must have it too: else all ranks
/// drop the same places of their parts, and where these are not of one size the ranks' generators
/// part for good.
struct SequenceParallel {};

/// The tensors that a module is called with come as `input_layouts` says, and are handed on as
/// `desired_input_layouts`; those that have none in both stay as they are.
struct PrepareModuleInput {
  std::vector<std::optional<Placement>> input_layouts = {}, desired_input_layouts = {};
};

/// PrepareModuleInput for the tensors that the module gives.
struct PrepareModuleOutput {
  std::vector<std::optional<Placement>> output_layouts = {}, desired_output_layouts = {};
};

using ParallelStyle = std::variant<ColwiseParallel, RowwiseParallel, SequenceParallel,
                                   PrepareModuleInput, PrepareModuleOutput>;
/// Styles by the names of modules inside, "" for the module itself; a `*` stands for any part of a
/// name between dots: {"layers.*.attention.wq", ColwiseParallel{}}.
using ParallelPlan = std::vector<std::pair<std::string, ParallelStyle>>;

/// Divides the layers of a network among the ranks of a group, which compute one batch together:
/// PyTorch's parallelize_module (Megatron-LM's tensor parallelism, Shoeybi et al., 2019, with
/// Korthikanti et al.'s along the sequence, 2022). Of a transformer's feed-forward part
///
///     nn::parallelize_module(block, group, {{"w1", nn::ColwiseParallel{}},
///                                           {"w2", nn::RowwiseParallel{}}});
///
/// each rank has some of the hidden units, and one all_reduce a pass adds up what comes of them. In
/// an attention layer whose projections are divided so each rank has some of the heads: it says
/// `view({batch, length, -1, head_size})`.
///
/// All ranks call it, and then the module, never its forward() directly, with the same inputs and
/// the same seed; one thread at a time. All take rank 0's parameters and buffers first, but for
/// those on "meta". One that fails in a backward pass ends the group. A divided parameter stays the
/// object that it was and is this rank's part: ceil(N / size()) rows or columns, or what is left of
/// them; `reset_parameters()` and the functions of nn::init draw those of the whole one. Optimizers
/// that work element by element are those of the whole network; Muon, Adafactor, LBFGS and
/// ZeroRedundancyOptimizer refuse. `clip_grad_norm_` and `GradScaler` ask the other ranks,
/// `full_state_dict()` gathers, and `load_state_dict()` takes whole tensors too.
///
/// Several such groups train on batches of their own by DistributedDataParallel or fully_shard
/// (after this) over the other dimension of a DeviceMesh. The module keeps a reference of `group`.
///
/// Forward hooks that a module had before see what this rank computes.
///
/// Errors, before anything is changed: a name that no module inside has; a style that the module
/// can't have, or two that compute; an Embedding with `max_norm`, `sparse` or `scale_grad_by_freq`;
/// a parameter that is divided otherwise, computed, or a module's that the plan doesn't name.
void parallelize_module(Module& module, Communicator& group, const ParallelPlan& plan);

}  // namespace aorta::nn

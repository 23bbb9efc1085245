#pragma once

#include <aorta/core/comm.h>
#include <aorta/nn/module.h>

#include <optional>

namespace aorta::nn {

/// The dtypes in which a sharded module computes, as PyTorch's class of that name. The parameters
/// stay of theirs, and the optimizer's state with them.
struct MixedPrecisionPolicy {
  std::optional<DType> param_dtype = {};   // parameters are gathered in it; theirs where it is none
  std::optional<DType> reduce_dtype = {};  // gradients are reduced in it; else in param_dtype
  std::optional<DType> output_dtype = {};  // of floating outputs; as they come where it is none
  bool cast_forward_inputs = true;         // floating inputs become param_dtype
};

/// The options of fully_shard, with PyTorch's names and defaults.
struct FullyShardOptions {
  /// Whether the parameters are let go after the forward pass and gathered again for the backward
  /// pass. Where it isn't said, they are, but for those of the outermost module, with which the
  /// backward pass begins.
  std::optional<bool> reshard_after_forward = {};
  MixedPrecisionPolicy mp_policy = {};
  /// Parts, their gradients and so the optimizer's state lie in host memory; parameters are
  /// gathered on the device on which the module is now.
  bool cpu_offload = false;
  /// A parameter that gets no gradient on any rank keeps the grad() that it has; on GPUs each
  /// backward pass then waits for the device. Without it such a one is an error.
  bool find_unused_parameters = false;
};

/// Divides the parameters of a module, those of the modules inside with it, among the ranks of a
/// group, for networks that one device can't hold: PyTorch's fully_shard (FSDP2), the third stage
/// of ZeRO (Rajbhandari et al., 2020). Each part of the network that is gathered together is
/// sharded by itself, from the inside out:
///
///     for (nn::Module* block : net.blocks.children()) nn::fully_shard(*block, group);
///     nn::fully_shard(net, group);                       // what is left
///     optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
///     nn::cross_entropy(net(images), labels).backward(); // of this rank's images
///     optimizer.step();
///
/// From then on a parameter (N, *) is this rank's ceil(N / size()) rows, or what is left of them;
/// it stays the object that it was. When the module is called, its parameters are gathered, and are
/// whole until the call ends. A backward pass gathers them again and leaves in grad() this rank's
/// rows of the mean over the ranks' gradients: the bits that DistributedDataParallel gives where a
/// module runs once in a pass and without Autocast, and so are those of any optimizer that works
/// element by element. Of the others Muon, Adafactor, LBFGS and ZeroRedundancyOptimizer refuse;
/// `clip_grad_norm_` and `GradScaler` ask the other ranks, `get_total_norm` of gradients doesn't.
///
/// The module is called, `net(x)`, never its forward() directly, by one thread at a time, its
/// copies too. It doesn't write to its parameters meanwhile. All ranks make the same calls of the
/// same modules; one whose backward pass fails ends the group. All take rank 0's parameters and
/// buffers first, but for a module on "meta". Buffers are each rank's own; SyncBatchNorm's are the
/// group's. Under Autocast the graph keeps its casts of whole parameters: `mp_policy` doesn't.
///
/// `state_dict()` has this rank's parts; `full_state_dict()` the whole tensors, and
/// `load_state_dict()` takes either. It keeps a reference of `group`. A step with parts can't be
/// captured, a module with parts not be cloned, and Embedding has no `sparse` and no `max_norm`.
///
/// Errors: a module that is sharded already; parameters of several dtypes or devices; one that a
/// module outside of this one has too, when that is called.
void fully_shard(Module& module, Communicator& group, const FullyShardOptions& options = {});

/// Whether fully_shard was called with this module.
bool is_fully_sharded(const Module& module);

/// Whether backward passes reduce the gradients of this module and of those inside it. Those that
/// don't keep whole gradients, which the next one that does, and that the module is part of, adds:
/// several small batches as a large one. zero_grad() leaves them.
void set_requires_gradient_sync(Module& module, bool requires_gradient_sync);

}  // namespace aorta::nn

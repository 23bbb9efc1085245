#pragma once

#include <aorta/core/ops/ctc_loss.h>
#include <aorta/nn/call.h>

namespace aorta::nn {

using aorta::ctc_loss;
using aorta::CtcLossOptions;

/// See ctc_loss; called with log_probs, targets, input_lengths and target_lengths.
class CTCLoss : public ModuleOf<CTCLoss> {
 public:
  explicit CTCLoss(const CtcLossOptions& options = {});
  CTCLoss(Module& owner, const char* name, const CtcLossOptions& options = {});
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) const;

  CtcLossOptions options;
};

}  // namespace aorta::nn

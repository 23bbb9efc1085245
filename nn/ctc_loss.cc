#include <aorta/nn/ctc_loss.h>

namespace aorta::nn {

CTCLoss::CTCLoss(const CtcLossOptions& options) : options(options) {}
CTCLoss::CTCLoss(Module& owner, const char* name, const CtcLossOptions& options)
    : CTCLoss(options) {
  join(owner, name);
}
Tensor CTCLoss::forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                        const Tensor& target_lengths) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

}  // namespace aorta::nn

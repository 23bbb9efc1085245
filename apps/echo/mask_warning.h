#pragma once

#include <aorta/apps/echo/trainer.h>

namespace aorta::echo {

/// Why the masks of an epoch are of no use, for a person, where they have nothing of the tracings
/// (a Dice below 0.005) or are nearly the whole frame: by how many pixels the network and the
/// tracings mark, and by how the loss of a pixel stands to ln 2, that of a network that knows
/// nothing, and to `loss_before`, that of the epoch before (NaN for none). Empty for other masks.
std::string mask_warning(const Totals& train, const Totals& validation, double loss_before,
                         double lr);

}  // namespace aorta::echo

#include <aorta/apps/echo/mask_warning.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace aorta::echo {

std::string mask_warning(const Totals& train, const Totals& validation, double loss_before,
                         double lr) {
  constexpr double kNoDice = 0.005, kWhole = 0.95;
  const double dice = overlaps_of(validation).dice();
  const MarkedPixels marked = marked_pixels(validation);
  const double share = marked.found / marked.all;
  if (dice >= kNoDice && share < kWhole) return "";
  std::string text =
      fmt::format("the Dice of validation is {:.4f}: ", std::isnan(dice) ? 0. : dice);
  if (marked.traced == 0) return text + "the tracings enclose no pixel; look at VolumeTracings.csv";
  if (marked.found == 0)
    text += "the network marks no pixel (empty masks)";
  else if (share >= kWhole)
    text += fmt::format("the network marks {:.0f} % of the pixels (all foreground)", 100 * share);
  else
    text += fmt::format("the network marks {:.1f} % of the pixels, and hardly one in the tracings",
                        100 * share);
  const double loss = train.mean_loss();
  text += fmt::format("; its training loss is {:.4f}", loss);
  // A network that has just begun may lie somewhat above ln 2.
  constexpr double kKnowsNothing = std::numbers::ln2;
  if (loss > 3 * kKnowsNothing || (loss > kKnowsNothing && loss >= loss_before))
    return text + fmt::format(
                      ", above 0.6931, that of a network that knows nothing: a learning rate "
                      "(--lr) of {:g} is too high",
                      lr);
  if (std::isnan(loss_before))
    return text + fmt::format(
                      " after its first epoch: it may need more steps, or a learning rate "
                      "(--lr) above {:g}",
                      lr);
  if (loss > 0.99 * loss_before)
    return text + fmt::format(
                      ", not 1 % lower than an epoch before: a learning rate (--lr) of {:g} "
                      "is too low, or the steps are too few",
                      lr);
  return text +
         fmt::format(", and falls: it needs more steps, or a learning rate (--lr) above {:g}", lr);
}

}  // namespace aorta::echo

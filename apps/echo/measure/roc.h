#pragma once

#include <aorta/apps/echo/measure/bootstrap.h>

#include <string>
#include <vector>

namespace aorta::echo {

/// How well values that were found tell things apart of which some are told to be higher: a
/// receiver operating characteristic (Hanley and McNeil, "The meaning and use of the area under a
/// receiver operating characteristic (ROC) curve", Radiology 1982). A thing counts as high where
/// it was told above `threshold`, as EchoNet counts; pairs with a number that isn't finite are left
/// out.
struct Roc {
  double threshold = 0;
  int64_t low = 0, high = 0;  // how many were told at most so, and above
  /// The curve's points from (0, 0) to (1, 1): of those told to be low, and of those told to be
  /// high, the shares that are found above a value, for each value that was found.
  std::vector<double> false_positives = {}, true_positives = {};
  /// The area under it: the probability that of one low and one high thing the high one is found
  /// higher, ties counted half. NaN where low or high is 0.
  Interval area = {};
};
Roc roc(std::span<const double> told, std::span<const double> found, double threshold,
        const BootstrapOptions& options = {});

/// The curves in one plot; those without an area are left out.
void plot_roc(const std::string& path, std::span<const Roc> curves);

}  // namespace aorta::echo

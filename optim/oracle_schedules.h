#pragma once

#include <aorta/optim/oracle.h>
#include <aorta/optim/schedules.h>

namespace aorta::optim::oracle {

/// The learning rates of a schedule, known without running one: a closed form of a group, the
/// learning rate that it began with, and how often step() was called.
struct ScheduleForm {
  using Function = std::function<double(size_t group, double base, int64_t t)>;

  ScheduleForm(const StepLR::Options& options);                       // NOLINT: implicit, as these
  ScheduleForm(const MultiStepLR::Options& options);                  // NOLINT
  ScheduleForm(const ConstantLR::Options& options);                   // NOLINT
  ScheduleForm(const LinearLR::Options& options);                     // NOLINT
  ScheduleForm(const ExponentialLR::Options& options);                // NOLINT
  ScheduleForm(const PolynomialLR::Options& options);                 // NOLINT
  ScheduleForm(const CosineAnnealingLR::Options& options);            // NOLINT
  ScheduleForm(const CosineAnnealingWarmRestarts::Options& options);  // NOLINT
  ScheduleForm(const OneCycleLR::Options& options);                   // NOLINT
  ScheduleForm(const CyclicLR::Options& options);                     // NOLINT
  ScheduleForm(const SWALR::Options& options);                        // NOLINT
  /// Any other: the first `steps` steps, at least one, are looked at.
  ScheduleForm(std::string name, Function lr, int64_t steps);

  std::string name;
  Function lr;
  int64_t steps;
};

/// LambdaLR's form, base times function(t), and MultiplicativeLR's, base times the function of 1 to
/// t.
ScheduleForm lambda_form(const LambdaLR::Function& function, int64_t steps = 20);
ScheduleForm multiplicative_form(const MultiplicativeLR::Function& function, int64_t steps = 20);

/// Makes the schedule under test.
using MakeSchedule = std::function<std::unique_ptr<LRScheduler>(Optimizer& optimizer)>;

/// The schedule gives both groups of an optimizer the form's learning rates after each step, within
/// `tolerance`, says so by get_last_lr(), and goes on from its state bit for bit. Where it doesn't,
/// the message names the mistake that gives the same rates, if one is known: a step late or early,
/// one group's rates for all, a factor of the first rate that is taken of the one before.
Result check_schedule(const MakeSchedule& make, const ScheduleForm& form, double tolerance = 1e-12);

/// The maker of a T with these options.
template <class T, class Options>
MakeSchedule schedule_maker(const Options& options) {
  return [options](Optimizer& optimizer) -> std::unique_ptr<LRScheduler> {
    return std::make_unique<T>(optimizer, options);
  };
}

}  // namespace aorta::optim::oracle

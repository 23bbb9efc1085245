#pragma once

#include <aorta/optim/oracle.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim::oracle {

/// Whether `got` is within tolerance max(1, |expected|) of `expected`; NaN is near NaN, and
/// infinity near infinity alone.
template <class Real>
bool is_within(Real got, Real expected, Real tolerance) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return true;
  const Real allowed = tolerance * std::max(Real(1), std::fabs(expected));
  return std::isfinite(expected) && std::fabs(got - expected) <= allowed;
}

/// The known mistake that leads a rule to these positions on the problem, in words ("no bias
/// correction"); empty when none does. The elements' positions after step 1, 2, ...
std::string find_mistake(const Rule& rule, const Problem& problem,
                         const std::vector<std::vector<double>>& positions);

// Adafactor and Muon, whose rules see a parameter as a whole (oracle_matrix.cc).

std::vector<Trajectory> matrix_trajectories(const Rule& rule);
std::string find_matrix_mistake(const Rule& rule, const Problem& problem,
                                const std::vector<std::vector<double>>& positions);
/// What Muon's step of a matrix is multiplied by.
double muon_adjustment(const Rule& rule, double rows, double columns);

// L-BFGS, whose rule sees all parameters as one vector (oracle_lbfgs.cc).

std::vector<Trajectory> lbfgs_trajectories(const Rule& rule);
std::string find_lbfgs_mistake(const Rule& rule, const Problem& problem,
                               const std::vector<std::vector<double>>& positions);

}  // namespace aorta::optim::oracle

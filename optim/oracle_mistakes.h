#pragma once

#include <aorta/optim/oracle.h>

namespace aorta::optim::oracle {

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

#pragma once

#include <aorta/optim/oracle.h>

namespace aorta::optim::oracle {

/// The known mistake that leads a rule to these positions on the problem, in words ("no bias
/// correction"); empty when none does. The elements' positions after step 1, 2, ...
std::string find_mistake(const Rule& rule, const Problem& problem,
                         const std::vector<std::vector<double>>& positions);

}  // namespace aorta::optim::oracle

#pragma once

#include <cstdint>
#include <vector>

namespace aorta::mpi {

/// Whether a signal, or a debugger, has stopped the process.
bool is_stopped(int64_t pid);
/// The other children of this process's parent, mpirun's or srun's, that are stopped.
std::vector<int64_t> stopped_siblings();

}  // namespace aorta::mpi

#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/op_catalog.h>

#include <functional>
#include <set>
#include <string>

// Which kernels of the op table a row of the catalogue runs, and which a device lacks for it.
namespace aorta::catalog {

/// The op of that name in the op table; null where there is none.
const kernel::OpRow* find_op(const std::string& name);

/// The ops whose CPU kernels `run` asks for, given copies of `inputs`. The library need not help:
/// with all kernels taken out of the table, the call fails by the name of the first that it misses;
/// that one is put back, and the call made anew.
std::set<std::string> kernels_run(const std::function<void(const Tensors& inputs)>& run,
                                  const Tensors& inputs = {});

/// The ops whose CPU kernels all samples of the row's calls ask for, in place too.
std::set<std::string> kernels_run(const Row& row);

/// The first op among the row's own and its `also` that has a kernel on the CPU and none on
/// `device`; empty where there is none.
std::string missing_kernel(const Row& row, DeviceType device);

}  // namespace aorta::catalog

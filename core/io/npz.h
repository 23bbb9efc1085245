#pragma once

#include <aorta/core/io/npz_format.h>
#include <aorta/core/io/tensors.h>

/// numpy's `.npz` format: a zip file of `.npy` members.
///
/// Members may be stored or deflated, with or without ".npy" in their name, with zip64 fields or
/// without. Encrypted or otherwise compressed members, members that overlap or lie outside the
/// file, double names, wrong CRCs and sizes that disagree are refused; so is what npy.h refuses.
namespace aorta::npz {

/// Every array in the file, in its order. Stored arrays are read through a mapping without a copy.
NamedTensors load(const std::string& path, const ReadOptions& options = {});

/// Writes the tensors as members NAME.npy, whole or not at all (see AtomicFile). Uncompressed
/// members are aligned so that reading needs no copy.
void save(const NamedTensors& tensors, const std::string& path, bool compress = false);

}  // namespace aorta::npz

#pragma once

#include <aorta/core/io/zip.h>

/// The arrays of an `.npz` file, without tensors. What is accepted stands in npz.h.
namespace aorta::npz {

/// What reading is asked to check and to bear.
struct ReadOptions {
  /// Compare every member with its CRC-32.
  bool verify = true;
  /// What deflated members may inflate to, together: the bound against a file that is a bomb.
  uint64_t max_inflated_bytes = uint64_t{16} << 30;
};

/// The arrays by name (without ".npy"), in the order of the file. Stored ones stay where they are
/// mapped, deflated ones are inflated, and nothing is allocated before a member's header and size
/// agree.
io::NamedArrays parse(const std::shared_ptr<const io::FileBytes>& file,
                      const ReadOptions& options = {});

}  // namespace aorta::npz

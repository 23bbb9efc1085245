#pragma once

#include <aorta/core/io/npy_format.h>
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

/// A member of the file under its array's name.
struct Entry {
  std::string name;  ///< without ".npy"
  io::ZipMember member;
};

/// The members in the order of the file; no two give one name.
std::vector<Entry> read_entries(const io::FileBytes& file, const ReadOptions& options = {});

/// What the member's `.npy` header says; of a deflated member only the header is inflated.
npy::Header read_header(const io::FileBytes& file, const Entry& entry);

/// The member's array. A stored one stays where it is mapped, a deflated one is inflated, and
/// nothing is allocated before its header and its size agree.
io::Array read_array(const std::shared_ptr<const io::FileBytes>& file, const Entry& entry,
                     const ReadOptions& options = {});

/// Every array by name.
io::NamedArrays parse(const std::shared_ptr<const io::FileBytes>& file,
                      const ReadOptions& options = {});

}  // namespace aorta::npz

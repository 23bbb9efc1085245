#pragma once

#include <aorta/core/io/npz_format.h>
#include <aorta/core/io/tensors.h>
#include <aorta/core/list.h>

#include <map>

/// numpy's `.npz` format: a zip file of `.npy` members.
///
/// Members may be stored or deflated, with or without ".npy" in their name, with zip64 fields or
/// without. Encrypted or otherwise compressed members, members that overlap or lie outside the
/// file, double names, wrong CRCs and sizes that disagree are refused; so is what npy.h refuses.
namespace aorta::npz {

/// A file that is open for reading: arrays are read, and checked, when they are asked for.
class Reader {
 public:
  explicit Reader(const Text& path, const ReadOptions& options = {});

  /// The names in the order of the file.
  std::vector<std::string> names() const;
  bool contains(const Text& name) const { return index_.contains(name); }
  /// Throws `path: array must be in the file, got "NAME"`.
  Tensor tensor(const Text& name) const;
  /// numpy's code of the elements in the file, "f4" or "i1" or "b1"; throws for one that can't be
  /// read.
  std::string numpy_dtype(const Text& name) const;

 private:
  const Entry& entry(const Text& name) const;

  std::shared_ptr<const io::FileBytes> file_;
  ReadOptions options_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t> index_;
};

/// Every array in the file, in its order. Stored arrays are read through a mapping without a copy.
NamedTensors load(const Text& path, const ReadOptions& options = {});

/// Writes the tensors as members NAME.npy, whole or not at all (see AtomicFile). Uncompressed
/// members are aligned so that reading needs no copy.
void save(const NamedTensors& tensors, const Text& path, bool compress = false);

}  // namespace aorta::npz

#pragma once

#include <aorta/core/process/descriptor.h>

#include <filesystem>
#include <string>
#include <vector>

namespace aorta::echo {

/// Throws a Failure of storage unless the folder isn't there, is empty, or, with `overwrite`, holds
/// nothing but `names`, the files of what it replaces. What killed processes left beside it and in
/// it is removed before, and a folder that one of them had set aside has its name again.
void check_replaceable(const std::filesystem::path& folder, bool overwrite,
                       const std::vector<std::string>& names);

/// A folder with Videos/ in it beside the output, renamed to it when all is written, else removed.
/// It is locked while its process lives, so that check_replaceable knows which are abandoned.
class FolderInMaking {
 public:
  /// Throws a Failure of storage where it can't be made.
  explicit FolderInMaking(std::filesystem::path output);
  FolderInMaking(const FolderInMaking&) = delete;
  FolderInMaking& operator=(const FolderInMaking&) = delete;
  ~FolderInMaking();

  /// Where to write.
  std::filesystem::path path() const { return std::filesystem::path(beside_).concat(".tmp"); }
  /// The folder that is there is set aside until the new one has its name. Throws a Failure of
  /// storage.
  void commit();

 private:
  std::filesystem::path output_;
  std::filesystem::path beside_;
  Descriptor lock_;
};

}  // namespace aorta::echo

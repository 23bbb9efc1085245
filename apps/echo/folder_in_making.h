#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace aorta::echo {

/// Throws a Failure of storage unless the folder isn't there, is empty, or, with `overwrite`, holds
/// nothing but `names`, the files of what it replaces.
void check_replaceable(const std::filesystem::path& folder, bool overwrite,
                       const std::vector<std::string>& names);

/// A folder with Videos/ in it beside the output, renamed to it when all is written, else removed.
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
};

}  // namespace aorta::echo

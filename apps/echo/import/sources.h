#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace aorta::echo {

/// A file to import.
struct Source {
  std::string path;
  std::string below;      // its path in the folder that was named, or its name
  bool is_found = false;  // in a folder; else it was named itself
};

struct SourceList {
  std::vector<Source> files;  // those of a folder in the order of their names
  int64_t passed_over = 0;    // files in folders that are no videos by their beginning and name
};

/// The files that are meant. In folders: DICOM files but DICOMDIR, and what ends as videos do.
/// Throws for a path where nothing is.
SourceList sources_of(const std::vector<std::string>& paths);

/// FNV-1a, of text and of a file's bytes; never 0.
uint64_t hash_of(std::string_view text);
uint64_t hash_of_file(const std::string& path);

/// What a table says of a file; empty where it doesn't.
struct ToldRow {
  std::string ef, esv, edv, split, patient;
};

/// A table of what is known of files, by FileName.
class ToldTable {
 public:
  /// Reads it; nothing of an empty path. Throws what data::read_csv throws, with file and line for
  /// a number that isn't one, an EF that isn't 0 to 100, an unknown Split and a name that comes
  /// twice.
  explicit ToldTable(const std::string& path);

  /// By the source's path in its folder, its name, or its name without suffix.
  ToldRow row_of(const Source& source) const;
  /// Names that no source has asked for.
  std::vector<std::string> unused() const;

 private:
  std::map<std::string, ToldRow> rows_;
  mutable std::set<std::string> used_;
};

}  // namespace aorta::echo

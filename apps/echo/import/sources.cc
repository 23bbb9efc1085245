#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/import/sources.h>
#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <aorta/data/csv.h>
#include <aorta/data/video/dicom.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace aorta::echo {
namespace {

namespace fs = std::filesystem;

std::string small_suffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  for (char& c : suffix)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return suffix;
}

// Whether a file that lies in a folder is taken: by its beginning, or by its name.
bool looks_like_a_video(const fs::path& path) {
  constexpr std::array kSuffixes = {".avi", ".mp4", ".m4v",  ".mov", ".mkv",  ".webm",
                                    ".wmv", ".mpg", ".mpeg", ".dcm", ".dicom"};
  if (path.filename() == "DICOMDIR") return false;
  const std::string suffix = small_suffix(path);
  if (std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end()) return true;
  return data::is_dicom(*data::ByteSource::open(path.string()));
}

void add_folder(const std::string& folder, SourceList& list) {
  std::error_code error;
  std::vector<fs::path> found;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->is_regular_file(error)) found.push_back(entry->path());
  if (error) fail(folder, "the folder must be readable", error.message());
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    if (looks_like_a_video(path))
      list.files.push_back({path.string(), path.lexically_relative(folder).string(), true});
    else
      ++list.passed_over;
  }
}

constexpr uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;

uint64_t not_zero(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

SourceList sources_of(const std::vector<std::string>& paths) {
  SourceList list;
  for (const std::string& path : paths) {
    if (is_folder(path)) {
      add_folder(path, list);
    } else {
      check(is_there(path), path, "a file or folder must be there", "none");
      list.files.push_back({path, fs::path(path).filename().string(), false});
    }
  }
  return list;
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = kBasis;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * kPrime;
  return not_zero(hash);
}

uint64_t hash_of_file(const std::string& path) {
  const auto file = data::ByteSource::open(path);
  std::vector<std::byte> bytes(1 << 18);
  uint64_t hash = kBasis, offset = 0;
  while (const size_t got = file->read(offset, bytes)) {
    for (size_t i = 0; i < got; ++i) hash = (hash ^ std::to_integer<uint8_t>(bytes[i])) * kPrime;
    offset += got;
  }
  return not_zero(hash);
}

ToldTable::ToldTable(const std::string& path) {
  if (path.empty()) return;
  data::CsvReader rows(path);
  const int name = rows.column("FileName");
  const int ef = rows.find_column("EF"), esv = rows.find_column("ESV");
  const int edv = rows.find_column("EDV"), split = rows.find_column("Split");
  const int patient = rows.find_column("Patient");
  const auto number = [&](int column) {
    if (column < 0 || rows.text(column).empty()) return std::string();
    rows.number(column);  // else it throws
    return std::string(rows.text(column));
  };
  while (rows.next()) {
    ToldRow row{number(ef), number(esv), number(edv), "", ""};
    if (!row.ef.empty() && (rows.number(ef) < 0 || rows.number(ef) > 100))
      rows.fail_here("EF must be 0 to 100", io::quote(row.ef));
    if (split >= 0) row.split = io::upper(rows.text(split));
    if (!row.split.empty() && row.split != "TRAIN" && row.split != "VAL" && row.split != "TEST")
      rows.fail_here("Split must be TRAIN, VAL or TEST", io::quote(row.split));
    if (patient >= 0) row.patient = rows.text(patient);
    if (!rows_.emplace(rows.text(name), row).second)
      rows.fail_here("names must differ", io::quote(rows.text(name)) + " twice");
  }
}

ToldRow ToldTable::row_of(const Source& source) const {
  const std::string name = fs::path(source.path).filename().string();
  for (const std::string& key : {source.below, name, stem_of(source.path)}) {
    const auto row = rows_.find(key);
    if (row == rows_.end()) continue;
    used_.insert(key);
    return row->second;
  }
  return {};
}

std::vector<std::string> ToldTable::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows_)
    if (!used_.contains(name)) names.push_back(name);
  return names;
}

}  // namespace aorta::echo

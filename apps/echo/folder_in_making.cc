#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/folder_in_making.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace aorta::echo {

namespace fs = std::filesystem;

namespace {

Failure storage_failure(const std::string& path, const std::string& rule,
                        const std::error_code& error) {
  return Failure(ExitCode::storage, path + ": " + rule + ", got " + error.message());
}

}  // namespace

void check_replaceable(const fs::path& folder, bool overwrite,
                       const std::vector<std::string>& names) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::none)
    throw storage_failure(folder.string(), "output must be a folder that can be read", error);
  if (status.type() != fs::file_type::directory)
    throw Failure(ExitCode::storage, folder.string() + ": output must be a folder, got a file");
  io::remove_abandoned(folder.string());
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!overwrite)
      throw Failure(ExitCode::storage, folder.string() +
                                           ": output must be new or empty (--overwrite replaces a "
                                           "data set), got a folder with " +
                                           io::quote(name));
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Failure(ExitCode::storage, folder.string() +
                                           ": --overwrite replaces data sets only, got a folder "
                                           "with " +
                                           io::quote(name));
  }
  if (error)
    throw storage_failure(folder.string(), "output must be a folder that can be read", error);
}

FolderInMaking::FolderInMaking(fs::path output) : output_(std::move(output)) {
  if (output_.filename().empty()) output_ = output_.parent_path();  // "folder/"
  beside_ = output_.parent_path() /
            fmt::format(".{}.{}", output_.filename().string(), static_cast<int>(getpid()));
  std::error_code error;
  fs::create_directories(path() / "Videos", error);
  if (error) throw storage_failure(output_.string(), "output must be a folder to write", error);
}

FolderInMaking::~FolderInMaking() {
  std::error_code ignored;
  fs::remove_all(path(), ignored);
}

void FolderInMaking::commit() {
  std::error_code error;
  const fs::path old = fs::path(beside_).concat(".old");
  const bool replaces = fs::exists(output_, error);
  if (replaces) fs::rename(output_, old, error);
  if (!error) fs::rename(path(), output_, error);
  if (error) {
    std::error_code ignored;
    if (replaces && !fs::exists(output_, ignored)) fs::rename(old, output_, ignored);
    throw storage_failure(output_.string(), "output must be a folder to write", error);
  }
  if (replaces) fs::remove_all(old, error);
}

}  // namespace aorta::echo

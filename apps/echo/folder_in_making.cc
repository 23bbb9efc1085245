#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/folder_in_making.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <aorta/core/resource_error.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace aorta::echo {

namespace fs = std::filesystem;

namespace {

Failure storage_failure(const std::string& path, const std::string& rule,
                        const std::error_code& error) {
  return Failure(lacks_resources(error.value()) ? ExitCode::environment : ExitCode::storage,
                 path + ": " + rule + ", got " + error.message());
}

// "folder/" is folder.
fs::path without_slash(fs::path folder) {
  return folder.filename().empty() ? folder.parent_path() : folder;
}

// Locks a folder for as long as the descriptor is open; none where another process has it, or where
// it is gone or can't be locked, which errno tells.
Descriptor lock_folder(const fs::path& folder) {
  Descriptor result(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!result || flock(result.get(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
  struct ::stat status;
  if (fstat(result.get(), &status) == 0 && status.st_nlink > 0) return result;
  errno = ENOENT;
  return Descriptor();
}

// Removes what killed processes left beside `output`: ".NAME.PID.tmp", and ".NAME.PID.old", which
// goes back where nothing has replaced it.
void remove_abandoned_folders(const fs::path& output) {
  const std::string start = "." + output.filename().string() + ".";
  const fs::path parent = output.has_parent_path() ? output.parent_path() : fs::path(".");
  std::error_code error;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(start) || (!name.ends_with(".tmp") && !name.ends_with(".old"))) continue;
    const std::string number = name.substr(start.size(), name.size() - start.size() - 4);
    if (!number.empty() && number.find_first_not_of("0123456789") == std::string::npos)
      left.push_back(entry->path());
  }
  for (const fs::path& folder : left) {
    const Descriptor lock = lock_folder(folder);
    if (!lock) continue;
    if (folder.extension() == ".old" && !fs::exists(output, error))
      fs::rename(folder, output, error);
    else
      fs::remove_all(folder, error);
  }
}

}  // namespace

void check_replaceable(const fs::path& folder, bool overwrite,
                       const std::vector<std::string>& names) {
  remove_abandoned_folders(without_slash(folder));
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

FolderInMaking::FolderInMaking(fs::path output) : output_(without_slash(std::move(output))) {
  beside_ = output_.parent_path() /
            fmt::format(".{}.{}", output_.filename().string(), static_cast<int>(getpid()));
  std::error_code error;
  // Another process may take it for abandoned before it is locked.
  for (int attempt = 0; attempt < 10 && !error && !lock_; ++attempt) {
    fs::create_directories(path(), error);
    if (!error) lock_ = lock_folder(path());
    // Where the file system has no locks nobody takes it for abandoned either.
    if (!lock_ && errno != ENOENT && errno != EWOULDBLOCK) break;
  }
  if (!error && !lock_ && errno == EWOULDBLOCK)
    throw Failure(ExitCode::storage, output_.string() +
                                         ": no other program may make it at the same time, got " +
                                         io::quote(path().string()) + " locked");
  if (!error) fs::create_directories(path() / "Videos", error);
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
  Descriptor lock;  // so that nobody takes what is set aside for abandoned
  if (replaces) lock = lock_folder(output_);
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

#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/core/io/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace aorta::echo {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void remove_abandoned_beside(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path();
  io::remove_abandoned(folder.empty() ? "." : folder);
}

void write_file(const std::string& path, std::string_view text) {
  remove_abandoned_beside(path);
  with_code(ExitCode::storage, [&] {
    io::AtomicFile file(path);
    file.write(text);
    file.commit();
  });
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error)
    throw Failure(ExitCode::environment, path +
                                             ": a folder must be there, and files written to "
                                             "it, got " +
                                             error.message());
  io::remove_abandoned(path);
}

void stop_if_interrupted(const std::string& kept) {
  if (const int number = interrupted())
    throw Failure(ExitCode{128 + number},
                  std::string("stopped by ") + signal_name(number) + ": " + kept);
}

std::string data_folder(const std::string& data_dir) {
  if (!data_dir.empty()) return data_dir;
  const char* folder = std::getenv("AORTA_ECHO");
  if (!folder || !*folder)
    throw Failure(ExitCode::usage,
                  "--data_dir: must name a folder in EchoNet-Dynamic's layout, or AORTA_ECHO must, "
                  "got none; `aorta-echo synth --output synthetic` makes one");
  return folder;
}

bool has_tracings(const std::string& data_dir) {
  return is_there(data_folder(data_dir) + "/VolumeTracings.csv");
}

void check_workers(const char* flag, int value) {
  constexpr int kMost = 65520;  // data_loader's, of one read each
  check_not_negative(flag, value);
  if (value > kMost)
    throw Failure(ExitCode::usage,
                  fmt::format("{}: must be at most {}, got {}", flag, kMost, value));
}

namespace {

std::filesystem::file_type type_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none)
    throw Failure(ExitCode::environment,
                  path + ": the path must be readable, got " + error.message());
  return type;
}

}  // namespace

bool is_there(const std::string& path) {
  return type_of(path) != std::filesystem::file_type::not_found;
}
bool is_folder(const std::string& path) {
  return type_of(path) == std::filesystem::file_type::directory;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem(); }

}  // namespace aorta::echo

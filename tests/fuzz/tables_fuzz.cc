#include <aorta/data/datasets/echo.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("aorta_tables_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path / "Videos"); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void write(const char* name, std::string_view text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }
};

}  // namespace

// FileList.csv, a line of dashes, and VolumeTracings.csv; the videos are missing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find("\n---\n"), size);
  folder.write("FileList.csv", text.substr(0, cut));
  folder.write("VolumeTracings.csv", cut < size ? text.substr(cut + 5) : "");
  const auto judge = [&](const std::string& message) {
    // The name of its folder has a number of its own.
    std::string plain = message;
    const std::string long_name = folder.path.string();
    for (size_t at; (at = plain.find(long_name)) != std::string::npos;)
      plain.replace(at, long_name.size(), "input");
    fuzz::judge(plain, data, size, ".csv");
  };
  auto options = data::EchoOptions::segmentation(data::EchoSplit::all);
  try {
    for (const auto& fault : data::check_echo(folder.path, options)) {
      const std::string said = to_string(fault);
      if (said.find("must be there") == std::string::npos) judge("siege: " + said);
    }
  } catch (const Error& error) {
    judge(error.what());
  }
  try {
    const data::Echo set(folder.path, options);
  } catch (const Error& error) {
    judge(error.what());
  }
  return 0;
}

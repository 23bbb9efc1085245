#include <aorta/apps/echo/run_folder.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <sys/mman.h>
#include <unistd.h>

// args.yaml, the file of --config.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  const int file = memfd_create("args.yaml", 0);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    for (const auto& flag : echo::flags_of_yaml(path)) {
      if (!flag.flag.starts_with("--") || flag.flag.find('=') == std::string::npos) std::abort();
    }
  } catch (const Error& error) {
    fuzz::judge(error.what(), data, size, path);
  }
  close(file);
  return 0;
}

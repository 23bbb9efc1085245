#include <aorta/core/init.h>
#include <aorta/core/zygote.h>

#include <mutex>

namespace aorta {
namespace {

struct Program {
  std::once_flag once;
  std::string name;
};

Program& program() {
  static Program instance;
  return instance;
}

}  // namespace

void init(int argc, const char* const* argv) {
  std::call_once(program().once, [&] {
    start_zygote();
    // POSIX lets a caller of exec leave out even the name.
    if (argc < 1 || argv == nullptr || argv[0] == nullptr) return;
    const std::string path = argv[0];
    program().name = path.substr(path.rfind('/') + 1);
  });
}

const std::string& program_name() { return program().name; }

}  // namespace aorta

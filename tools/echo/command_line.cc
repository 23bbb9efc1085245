#include <aorta/tools/echo/command_line.h>
#include <aorta/tools/echo/failure.h>

#include <CLI/CLI.hpp>

namespace aorta::echo {

int run_command_line(int argc, char** argv) {
  CLI::App app("Trains, evaluates and applies a segmenter of the left ventricle.", "aorta-echo");
  CLI11_PARSE(app, argc, argv);
  return 0;
}

}  // namespace aorta::echo

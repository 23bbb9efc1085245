#pragma once

namespace aorta::echo {

/// Does what the command line says and returns the exit code; errors are one line on stderr.
int run_command_line(int argc, char** argv);

}  // namespace aorta::echo

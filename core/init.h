#pragma once

#include <string>

namespace aorta {

/// The first statement of a program's `main`, before threads and devices are used:
/// `aorta::init(argc, argv)`. It remembers the program's name and forks the zygote, a small process
/// that worker processes are forked from later and that ends with the program. The arguments are
/// the program's own and are left alone. Calling it again changes nothing.
void init(int argc, const char* const* argv);

/// The file name of the program that `init` was given; empty before.
const std::string& program_name();

}  // namespace aorta

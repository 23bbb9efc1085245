#pragma once

#include <string>

namespace aorta {

/// The first statement of a program's `main`, before threads and devices are used:
/// `aorta::init(argc, argv)`. It
///
/// - opens standard input, output and error on /dev/null where they are closed, as a daemon's may
///   be: else the next file that is opened is taken for them;
/// - ignores SIGXFSZ where nobody has said what it does: a file beyond `ulimit -f` is then an error
///   of its writing, EFBIG, and not the program's end;
/// - lets what was printed reach a pipe or file, too, before an error that nobody catches ends the
///   program;
/// - does the work of a process that StartMethod::spawn started, and ends with it;
/// - remembers the program's name, and forks the zygote, a small process that worker processes are
///   forked from later and that ends with the program;
/// - where mpirun or srun started the program, makes the group of all its processes
///   (distributed::init_process_group); AORTA_MPI_PLUGIN=none leaves each by itself.
///
/// The arguments are the program's own and are left alone. Calling it again changes nothing. Throws
/// where the machine lets none of it happen: too few descriptors, processes, threads, or too small
/// a stack, or MPI isn't there for processes that were started together.
void init(int argc, const char* const* argv);

/// The file name of the program that `init` was given; empty before.
const std::string& program_name();

}  // namespace aorta

#pragma once

namespace aorta::echo {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGXCPU (the CPU time of `ulimit -St`) ask the program
/// to end: interrupted() gives the signal's number, 0 before. A second one ends it at once, with
/// 128 + its number, unless it comes within half a second: then it is the first one, sent twice;
/// SIGXCPU, which the system sends each second, never does. On a terminal the first one is answered
/// by a line; where standard output or error is a pipe that nobody reads, it gets no more, for the
/// program would wait for its reader. A SIGHUP that is ignored, as nohup has it, stays so, and a
/// SIGXCPU. SIGPIPE is ignored: a reader that goes away doesn't end a training.
void catch_interrupts();
int interrupted();
/// Whether text was thrown away, for nobody read it when the signal came.
bool text_is_lost();

/// From now on, until catch_interrupts(), the same signals end the program at once, with a line
/// that says which: for commands that leave nothing half-done.
void end_on_interrupts();

/// What ended it: "Ctrl-C", "SIGTERM", "SIGHUP" or "SIGXCPU (...)".
const char* signal_name(int number);

}  // namespace aorta::echo

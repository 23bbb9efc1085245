#pragma once

namespace aorta::echo {

/// From now on SIGINT and SIGTERM ask the program to end: interrupted() gives the signal's number,
/// 0 before. A second one ends it at once, with 128 + its number. SIGPIPE is ignored: a reader that
/// goes away doesn't end a training.
void catch_interrupts();
int interrupted();

}  // namespace aorta::echo

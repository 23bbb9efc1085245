// Loaded before MPI, stops the process where it calls STOPS_IN, a function of MPI.

#include <csignal>

// MPI declares it with arguments, which a caller may pass to a function that takes none.
extern "C" int STOPS_IN() { return raise(SIGSTOP); }

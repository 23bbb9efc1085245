// judge.h for the tests in Python: the fault of a program's message or output of `size` bytes,
// empty for none, in memory of the library's that stays until the next call.
#include <aorta/tests/siege/judge.h>

extern "C" const char* aorta_fault_of(const char* message, size_t size) {
  static thread_local std::string fault;
  fault = aorta::siege::fault_of({message, size}, aorta::siege::Speaker::program);
  return fault.c_str();
}

extern "C" const char* aorta_fault_of_output(const char* output, size_t size) {
  static thread_local std::string fault;
  fault = aorta::siege::fault_of_output({output, size});
  return fault.c_str();
}

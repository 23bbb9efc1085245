// Switches AddressSanitizer's check of uses after return on, which takes as long again as all else
// it does where small functions are called millions of times. It asks for this as a program starts;
// what ASAN_OPTIONS says counts more.

extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:"
         // It looks through its frames for a free one: with the usual 1 MB of them for long.
         "max_uar_stack_size_log=24";
}

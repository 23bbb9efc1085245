// A kernel's access that isn't aligned to its type: the kernels are compiled with
// -fsanitize=alignment.
#include <aorta/tests/cuda/emulated/block.h>
#include <aorta/tests/cuda/emulated/report.h>

#include <cstdint>
#include <string>

/// What -fsanitize=alignment hands over: the place in the source and the type.
struct Misaligned {
  const char* file;
  uint32_t line, column;
  const struct {
    uint16_t kind, info;
    char name[1];
  } * type;
  unsigned char log_alignment, use;
};

extern "C" void __ubsan_handle_type_mismatch_v1(Misaligned* what, uintptr_t address) {
  const aorta::emulated::OutsideKernel outside;
  if (!outside.run()) return;
  outside.run()->fail("a vector is aligned to its size",
                      std::string(what->type->name) + " at ..." + std::to_string(address % 256) +
                          ", in " + what->file + ":" + std::to_string(what->line),
                      aorta::emulated::kAlignmentPage);
}

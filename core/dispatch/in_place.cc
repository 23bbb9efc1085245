#include <aorta/core/dispatch/in_place.h>

namespace aorta::kernel {

constinit Op<NoKernel, void (*)(const char*, const Tensor&)> in_place_hook{"in_place"};
constinit Op<NoKernel, Tensor (*)(const Tensor&)> keep_hook{"keep"};

void check_in_place(const char* op, const Tensor& self) { in_place_hook.gradient()(op, self); }
Tensor keep_before_write(const Tensor& self) { return keep_hook.gradient()(self); }

}  // namespace aorta::kernel

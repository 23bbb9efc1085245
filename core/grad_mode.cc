#include <aorta/core/grad_mode.h>

namespace aorta {
namespace {

thread_local constinit GradMode mode;

}  // namespace

GradMode grad_mode() { return mode; }
void set_grad_mode(GradMode wanted) { mode = wanted; }

}  // namespace aorta

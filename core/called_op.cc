#include <aorta/core/called_op.h>

namespace aorta {
namespace {

thread_local constinit const char* called = nullptr;

}  // namespace

CalledOp::CalledOp(const char* op) : outer_(called) {
  if (!called) called = op;
}

CalledOp::~CalledOp() { called = outer_; }

const char* called_op() { return called; }

}  // namespace aorta

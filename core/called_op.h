#pragma once

namespace aorta {

/// While it lives, errors of this thread are about `op`, the function that was called, and not
/// about those that it is made of: "masked_fill_: ..." where a `where` has failed. Within another
/// one it does nothing.
class CalledOp {
 public:
  explicit CalledOp(const char* op);
  ~CalledOp();
  CalledOp(const CalledOp&) = delete;
  CalledOp& operator=(const CalledOp&) = delete;

 private:
  const char* outer_;
};

/// The function that was called; null outside every CalledOp.
const char* called_op();

}  // namespace aorta

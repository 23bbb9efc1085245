#pragma once

#include <aorta/core/check.h>

namespace aorta::data {

/// Where and what went wrong with a sample.
struct SampleFault {
  int64_t sample = -1;  // its index; -1 for one of an IterableDataset
  std::string type;     // of the exception, "std::out_of_range"; empty for a process that ended
  std::string message;  // of the exception
  std::string file;     // that was being read, where the dataset said so
  int worker = -1;      // -1: the program itself
  int pid = 0;
};

/// A sample couldn't be read: `sample 17 (heart.avi, worker 1): avi: ...`. The loader goes on with
/// the next batch.
class SampleError : public Error {
 public:
  explicit SampleError(SampleFault fault);
  const SampleFault& fault() const { return fault_; }

 private:
  SampleFault fault_;
};

/// A batch wasn't there within the loader's timeout. It isn't lost: the iterator waits for it again
/// when it is asked again.
class TimeoutError : public Error {
 public:
  using Error::Error;
};

/// The type and the text of the exception that is being handled.
std::pair<std::string, std::string> describe_exception();
/// Both in one: our own errors say what they are.
std::string text_with_type(const std::string& type, const std::string& text);

}  // namespace aorta::data

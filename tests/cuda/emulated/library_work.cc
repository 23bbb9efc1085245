#include <aorta/tests/cuda/emulated/library_work.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <library_types.h>

#include <utility>

namespace aorta::emulated {
namespace {

std::string problem_of(const std::vector<Span>& spans, int device, bool when_it_runs) {
  for (const Span& span : spans) {
    if (span.bytes == 0) continue;
    const std::string problem = Memory::get().problem(
        span.data, span.bytes, when_it_runs ? span.access : Access::named, device, false);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace

std::string queue_work(const char* name, const char* page, cudaStream_t handle, int device,
                       std::vector<Span> spans, std::function<void()> run) {
  CUstream_st* stream = Streams::get().find(handle, device);
  if (!stream || stream->destroyed || stream->device != device) {
    const std::string rule = "the stream is one of the handle's device";
    report(name, rule, "", page);
    return rule;
  }
  if (const std::string problem = problem_of(spans, device, false); !problem.empty()) {
    const std::string rule = "operands lie in memory of the device";
    report(name, rule, problem, page);
    return rule;
  }
  const auto work = [name, page, device, spans = std::move(spans), run = std::move(run)] {
    if (const std::string problem = problem_of(spans, device, true); !problem.empty()) {
      report(name, "operands lie in memory of the device that is allocated and written", problem,
             page);
      Streams::get().sticky = cudaErrorIllegalAddress;
      return;
    }
    for (const Span& span : spans)
      span.access == Access::read ? show_read(span.data, span.bytes)
                                  : show_write(span.data, span.bytes);
    run();
    for (const Span& span : spans)
      if (span.access == Access::write)
        Memory::get().set_written(reinterpret_cast<uintptr_t>(span.data), span.bytes);
  };
  return Streams::get().queue(*stream, {name, work, {}}) == cudaSuccess ? "" : "nothing is queued";
}

size_t number_bytes(int type) {
  switch (type) {
    case CUDA_C_64F:
      return 16;
    case CUDA_C_32F:
    case CUDA_R_64F:
      return 8;
    default:
      return 4;
  }
}

std::complex<double> load_number(const void* data, int type, int64_t i) {
  switch (type) {
    case CUDA_C_64F:
      return static_cast<const std::complex<double>*>(data)[i];
    case CUDA_C_32F:
      return static_cast<std::complex<double>>(static_cast<const std::complex<float>*>(data)[i]);
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    default:
      return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}

void store_number(void* data, int type, int64_t i, std::complex<double> value) {
  switch (type) {
    case CUDA_C_64F:
      static_cast<std::complex<double>*>(data)[i] = value;
      break;
    case CUDA_C_32F:
      static_cast<std::complex<float>*>(data)[i] = static_cast<std::complex<float>>(value);
      break;
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = value.real();
      break;
    default:
      static_cast<float*>(data)[i] = static_cast<float>(value.real());
  }
}

}  // namespace aorta::emulated

#include <aorta/apps/echo/failure.h>
#include <aorta/data/sample_error.h>

namespace aorta::echo {

ExitCode code_of(const Error& error, ExitCode code) {
  bool environment =
      dynamic_cast<const ResourceError*>(&error) || dynamic_cast<const data::TimeoutError*>(&error);
  if (const auto* sample = dynamic_cast<const data::SampleError*>(&error)) {
    const std::string& type = sample->fault().type;
    environment = type == "aorta::ResourceError" || type == "std::bad_alloc";
  }
  return environment ? ExitCode::environment : code;
}

}  // namespace aorta::echo

#include <aorta/core/text.h>
#include <aorta/data/sample_error.h>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace aorta::data {

std::string text_with_type(const std::string& type, const std::string& text) {
  return type.empty() || type.starts_with("aorta::") ? text : type + ": " + text;
}

namespace {

std::string text_of(const SampleFault& fault) {
  std::string text = fault.sample < 0 ? "sample" : "sample " + std::to_string(fault.sample);
  std::string where = fault.file;
  if (fault.worker >= 0) {
    if (!where.empty()) where += ", ";
    where += "worker " + std::to_string(fault.worker);
  }
  if (!where.empty()) text += " (" + where + ")";
  return printable(text + ": " + text_with_type(fault.type, fault.message));
}

}  // namespace

SampleError::SampleError(SampleFault fault) : Error(text_of(fault)), fault_(std::move(fault)) {}

std::pair<std::string, std::string> describe_exception() {
  std::string type = "an exception of no known type";
  if (const std::type_info* info = abi::__cxa_current_exception_type()) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(info->name(), nullptr, nullptr, &status), &std::free);
    type = name ? name.get() : info->name();
  }
  try {
    throw;
  } catch (const std::exception& error) {
    return {type, error.what()};
  } catch (...) {
    return {type, "no text"};
  }
}

}  // namespace aorta::data

#pragma once

#include <string>
#include <string_view>

// What makes a message of an error unclear, by rule. Everything that hunts for bad messages asks
// here: the siege's programs, the fuzz targets and, through libjudge.so, the tests in Python.
namespace aorta::siege {

/// Whose message it is: the library's must name what it got, one of a program may say a flag, a
/// path or a remedy instead.
enum class Speaker { library, program };

/// Why the text of an Error isn't clear, or nothing. It must be one line of UTF-8 that reads
/// `op: rule, got values`; speak no C++ or system library's own words; hold no number longer than
/// any that there is; and its value must break its rule ("must be positive, got 3" doesn't).
std::string fault_of(std::string_view message, Speaker speaker = Speaker::library);

/// Finds what is wrong with all that a program wrote: a sanitizer's report, or an unhandled
/// exception.
std::string fault_of_output(std::string_view output);

/// A number in `message` of six digits or more that isn't in `input`, nor a size or a place in it:
/// as text, as an integer of 4 or 8 bytes of either order, or as protobuf's of any. Or nothing.
std::string number_not_in(std::string_view message, std::string_view input);

}  // namespace aorta::siege

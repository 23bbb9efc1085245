#pragma once

// An entry of a table of facts: a name, and what a header says of it.

#include <string>

namespace aorta::emulated {

template <class T>
std::string name_of_type() {
  return __PRETTY_FUNCTION__;
}

}  // namespace aorta::emulated

#define VALUE(name) {#name, std::to_string(static_cast<long>(name))},
#define SIZE(name) {"sizeof " #name, std::to_string(sizeof(name))},
#define PLACE(name, member) {#name "." #member, std::to_string(offsetof(name, member))},
#define CALL(name) {#name, name_of_type<decltype(&name)>()},

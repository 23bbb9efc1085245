#pragma once

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>

namespace aorta::data {

/// Throws `op: name must be one of "image", "label", got "images"`; `name_of(entry)` is the name of
/// one of the `known` ones.
template <class Entries, class NameOf>
[[noreturn]] void fail_unknown_name(const char* op, std::string_view name, const Entries& known,
                                    NameOf name_of) {
  std::string rule = "name must be one of";
  for (const auto& entry : known)
    rule += (rule.back() == 'f' ? " " : ", ") + io::quote(name_of(entry));
  if (known.empty()) rule = "there must be tensors to name";
  fail(op, rule, io::quote(name));
}

}  // namespace aorta::data

#pragma once

#include <aorta/core/process/process_group.h>
#include <aorta/tests/error_text.h>

#include <string>

// What the processes of rpc_test.py say and look at.

namespace aorta {

inline void must(bool right, const std::string& what) { check(right, "workers", what, "another"); }

inline void must_say(const std::string& said, const std::string& wanted) {
  check(said == wanted, "workers", "the error must be \"" + wanted + '"', said);
}

inline int rank() { return distributed::get_rank(); }
inline int size() { return distributed::get_world_size(); }
inline std::string name_of(int of) { return "worker" + std::to_string(of); }
inline std::string next_name() { return name_of((rank() + 1) % size()); }

}  // namespace aorta

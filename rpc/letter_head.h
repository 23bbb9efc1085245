#pragma once

#include <aorta/rpc/agent.h>

#include <functional>
#include <string>

// The bytes that a letter of rpc's begins with.

namespace aorta::distributed::rpc::detail {

/// What a letter is: a call, its answer, a change of holds (Hold), or that the sender has ended.
enum class Kind : uint8_t { call, value, failure, holds, goodbye };

/// What a letter begins with. The autograd context of the call, and the number that its tensors
/// with gradients are known by; the process and the count of holds that are meant.
struct Head {
  Kind kind = Kind::call;
  int64_t call = 0;
  RRefId rref = {};
  int64_t context = 0, number = 0;
  int rank = 0, count = 0;
  int64_t generation = 0;  // that of the sender's init_rpc(): others' letters come too late
  template <class Visit>
  void fields(Visit&& visit) {
    visit(kind, call, rref, context, number, rank, count, generation);
  }
};

/// How a tensor goes: where to, and whether its gradient comes back.
struct Passenger {
  bool is_there = false, requires_grad = false;
  Device device;
};

inline void write_passenger(ArgumentWriter& writer, const Passenger& one) {
  Portable<bool>::write(writer, one.is_there);
  Portable<bool>::write(writer, one.requires_grad);
  Portable<std::string>::write(writer, to_string(one.device));
}

inline Passenger read_passenger(ArgumentReader& reader) {
  Passenger one;
  one.is_there = Portable<bool>::read(reader);
  one.requires_grad = Portable<bool>::read(reader);
  one.device = Device(Portable<std::string>::read(reader));
  return one;
}

/// What is written where there are bytes alone.
inline std::string bytes_of(const std::function<void(ArgumentWriter& writer)>& write) {
  ArgumentWriter writer;
  write(writer);
  return writer.text();
}

}  // namespace aorta::distributed::rpc::detail

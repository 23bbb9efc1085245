#pragma once

#include <aorta/core/process/channel.h>
#include <aorta/core/process/portable.h>
#include <aorta/core/process/shared_memory.h>

namespace aorta::data {

/// A message of any size: what is too long for a channel goes in shared memory.
bool send_parcel(Channel& channel, const ArgumentWriter& writer);

/// What arrived; its reader is good as long as it lives.
class Parcel {
 public:
  explicit Parcel(Channel::Message message);
  ArgumentReader reader() { return ArgumentReader(text_, descriptors_); }

 private:
  Channel::Message message_;
  std::shared_ptr<SharedMemory> memory_;
  std::string_view text_;
  std::span<Descriptor> descriptors_;
};

}  // namespace aorta::data

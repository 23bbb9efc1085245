#pragma once

#include <aorta/core/descriptor.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aorta {

/// One end of a connection between two processes that keeps messages apart and passes descriptors.
class Channel {
 public:
  /// What arrived: some bytes, and descriptors that are now this process's, too.
  struct Message {
    std::string bytes;
    std::vector<Descriptor> descriptors;
  };
  static constexpr size_t kMaxBytes = 64 << 10;
  static constexpr size_t kMaxDescriptors = 16;

  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  /// Two connected ends.
  static std::pair<Channel, Channel> make();

  /// False when the other end is closed. The message must fit kMaxBytes and kMaxDescriptors.
  bool send(std::string_view bytes, std::span<const int> descriptors = {});
  /// Waits for the next message; none when the other end is closed, or after `timeout_ms`
  /// milliseconds (-1: no limit).
  std::optional<Message> receive(int timeout_ms = -1);
  /// The next message if it is there already.
  std::optional<Message> poll() { return receive(0); }

  int descriptor() const { return socket_.get(); }
  explicit operator bool() const { return bool(socket_); }
  void close() { socket_ = Descriptor(); }
  Descriptor release() { return std::move(socket_); }

 private:
  Descriptor socket_;
};

}  // namespace aorta

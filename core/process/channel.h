#pragma once

#include <aorta/core/process/descriptor.h>

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
  static constexpr size_t kMaxDescriptors = 250;

  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  /// Two connected ends.
  static std::pair<Channel, Channel> make();

  /// False when the other end is closed. The message must fit kMaxBytes and kMaxDescriptors.
  bool send(std::string_view bytes, std::span<const int> descriptors = {});
  /// Waits for the next message; none when the other end is closed (see closed()), or after
  /// `timeout_ms` milliseconds (-1: no limit). Processes may share an end: each message goes to
  /// one.
  std::optional<Message> receive(int timeout_ms = -1);
  /// The next message if it is there already.
  std::optional<Message> poll() { return receive(0); }

  /// Whether the other end was found closed.
  bool closed() const { return closed_; }

  int descriptor() const { return socket_.get(); }
  explicit operator bool() const { return bool(socket_); }
  void close() { socket_ = Descriptor(); }

 private:
  Descriptor socket_;
  bool closed_ = false;
};

}  // namespace aorta

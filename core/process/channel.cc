#include <aorta/core/process/channel.h>
#include <aorta/core/resource_error.h>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace aorta {

std::pair<Channel, Channel> Channel::make() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    fail_for_resources("channel",
                       "a socket must be there (ulimit -n shows how many files may be open)",
                       errno_text(errno));
  return {Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

bool Channel::send(std::string_view bytes, std::span<const int> descriptors) {
  check(bytes.size() <= kMaxBytes && descriptors.size() <= kMaxDescriptors, "channel",
        "a message must fit", bytes.size(), " bytes, ", descriptors.size(), " descriptors");
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return false;
    fail_after_call(errno, "channel", "a message must be sendable", errno_text(errno));
  }
}

std::optional<Channel::Message> Channel::receive(int timeout_ms) {
  pollfd wait{socket_.get(), POLLIN, 0};
  const int ready = ::poll(&wait, 1, timeout_ms);
  if (ready == 0) return {};
  if (ready < 0) return errno == EINTR ? receive(timeout_ms) : std::nullopt;

  Message result;
  result.bytes.resize(kMaxBytes);
  iovec part{result.bytes.data(), result.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  // Another process with this end was faster.
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return timeout_ms < 0 ? receive(timeout_ms) : std::nullopt;
  for (cmsghdr* header = size < 0 ? nullptr : CMSG_FIRSTHDR(&message); header;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      result.descriptors.emplace_back(number);
    }
  }
  // The kernel hands over fewer descriptors where the process has too many open.
  if (size >= 0 && message.msg_flags & MSG_CTRUNC)
    fail_for_resources("channel",
                       "descriptors must be there (ulimit -n shows how many files may be open)",
                       errno_text(EMFILE));
  closed_ = size <= 0;
  if (closed_) return {};
  result.bytes.resize(static_cast<size_t>(size));
  return result;
}

}  // namespace aorta

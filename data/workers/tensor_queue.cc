#include <aorta/core/clock.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/process/channel.h>
#include <aorta/core/process/shared_memory.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/workers/parcel.h>
#include <aorta/data/workers/tensor_queue.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <tuple>

namespace aorta::data {
namespace {

constexpr size_t kMaxTensors = 200;

}  // namespace

struct TensorQueue::State {
  // Memory that this process has made for tensors, to be used again when nobody has it any more.
  class Buffers {
   public:
    std::shared_ptr<SharedMemory> take(int64_t size_bytes) {
      const std::lock_guard lock(mutex_);
      const auto is_free = [](const auto& memory) {
        return memory.use_count() == 1 && memory->given() == 0;
      };
      for (const auto& memory : made_) {
        // Far larger memory is left for larger tensors.
        const int64_t room = memory->size_bytes();
        if (size_bytes <= room && room <= 2 * size_bytes && is_free(memory)) return memory;
      }
      if (made_.size() == kMost) {
        const auto free = std::find_if(made_.begin(), made_.end(), is_free);
        made_.erase(free == made_.end() ? made_.begin() : free);  // it is its users' alone
      }
      made_.push_back(SharedMemory::create("tensor_queue", std::max<int64_t>(size_bytes, 1)));
      return made_.back();
    }

   private:
    static constexpr size_t kMost = 64;  // each is an open file

    std::mutex mutex_;
    std::deque<std::shared_ptr<SharedMemory>> made_;  // the oldest first
  };

  // Both ends of one connection: any process puts into one and takes out of the other.
  Channel in, out;
  Descriptor room;  // an eventfd: how many more puts there is room for
  Buffers buffers;  // this process's

  // Waits for room for a put; false after the limit.
  bool take_room(std::optional<double> end) {
    uint64_t token = 0;
    while (read(room.get(), &token, sizeof token) < 0)
      if (!wait(room.get(), POLLIN, end)) return false;
    return true;
  }
  void give_room(uint64_t puts) {
    [[maybe_unused]] const ssize_t size = write(room.get(), &puts, sizeof puts);
  }
  // Waits until the descriptor is ready; false after the limit.
  static bool wait(int descriptor, short events, std::optional<double> end) {
    for (;;) {
      pollfd wait{descriptor, events, 0};
      const int left = end ? poll_milliseconds(*end - seconds_now()) : -1;
      const int ready = ::poll(&wait, 1, left);
      if (ready > 0) return true;
      if (ready == 0 && seconds_now() < *end) continue;
      if (ready == 0) return false;
      check(errno == EINTR, "tensor_queue", "a queue must be waitable", errno_text(errno));
    }
  }
};

TensorQueue::TensorQueue(int capacity) : state_(std::make_shared<State>()) {
  check(capacity >= 1, "tensor_queue", "capacity must be at least 1", capacity);
  std::tie(state_->in, state_->out) = Channel::make();
  state_->room = Descriptor(
      eventfd(static_cast<unsigned>(capacity), EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  check_resources(bool(state_->room), "tensor_queue", "an eventfd must be there",
                  errno_text(errno));
}

Tensor TensorQueue::buffer(const Shape& shape, DType dtype) const {
  const int64_t bytes = checked_numel("tensor_queue", shape, item_size(dtype)) *
                        static_cast<int64_t>(item_size(dtype));
  return Tensor(storage_on(state_->buffers.take(bytes)), dtype, shape, contiguous_strides(shape));
}

bool TensorQueue::put(const List<Tensor>& tensors, std::optional<double> seconds) const {
  check(tensors.size() <= kMaxTensors, "tensor_queue", "a put must have at most 200 tensors",
        tensors.size());
  for (const Tensor& tensor : tensors)
    check(tensor.device().is_cpu(), "tensor_queue", "tensors must be on the CPU", tensor.device());
  std::optional<double> end;
  if (seconds) end = seconds_now() + *seconds;
  if (!state_->take_room(end)) return false;
  try {
    std::vector<Tensor> shared;
    for (const Tensor& tensor : tensors) {
      shared.push_back(tensor.detach());
      if (tensor.is_shared()) continue;
      shared.back() = buffer(tensor.shape(), tensor.dtype());
      shared.back().copy_(tensor.detach());
    }
    ArgumentWriter writer;
    Portable<std::vector<Tensor>>::write(writer, shared);
    check(send_parcel(state_->in, writer), "tensor_queue", "a queue must be open", "a closed one");
  } catch (...) {
    state_->give_room(1);
    throw;
  }
  return true;
}

std::optional<std::vector<Tensor>> TensorQueue::get(std::optional<double> seconds) const {
  std::optional<double> end;
  if (seconds) end = seconds_now() + *seconds;
  std::optional<Channel::Message> message;
  while (!message) {  // another process may be faster
    if (!State::wait(state_->out.descriptor(), POLLIN, end)) return {};
    message = state_->out.poll();
    if (state_->out.closed()) return {};
  }
  state_->give_room(1);
  Parcel parcel(std::move(*message));
  ArgumentReader reader = parcel.reader();
  return Portable<std::vector<Tensor>>::read(reader);
}

void TensorQueue::close() const {
  shutdown(state_->in.descriptor(), SHUT_WR);
  state_->give_room(1 << 20);  // whoever waits for it finds the queue closed
}

}  // namespace aorta::data

namespace aorta {

void Portable<data::TensorQueue>::write(ArgumentWriter& writer, const data::TensorQueue& value) {
  writer.descriptor(value.state_->in.descriptor());
  writer.descriptor(value.state_->out.descriptor());
  writer.descriptor(value.state_->room.get());
}

data::TensorQueue Portable<data::TensorQueue>::read(ArgumentReader& reader) {
  auto state = std::make_shared<data::TensorQueue::State>();
  state->in = Channel(reader.descriptor());
  state->out = Channel(reader.descriptor());
  state->room = reader.descriptor();
  return data::TensorQueue(std::move(state));
}

}  // namespace aorta

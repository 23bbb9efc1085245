#include <aorta/core/channel.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/shared_memory.h>
#include <aorta/data/clock.h>
#include <aorta/data/workers/parcel.h>
#include <aorta/data/workers/tensor_queue.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

namespace aorta::data {
namespace {

constexpr size_t kMaxTensors = 200;

// Memory that this process has put into queues and that returns to it.
class Buffers {
 public:
  Buffers() { std::tie(ours_, theirs_) = Channel::make(); }

  // Memory of at least that size that has returned, else new memory.
  std::shared_ptr<SharedMemory> take(int64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    collect();
    const auto fits = free_.lower_bound(size_bytes);
    // Far larger memory is left for larger tensors.
    if (fits != free_.end() && fits->first <= 2 * size_bytes) {
      auto memory = std::move(fits->second);
      free_.erase(fits);
      return memory;
    }
    return SharedMemory::create("tensor_queue", std::max<int64_t>(size_bytes, 1));
  }

  // Remembers memory that goes out; the number by which it is told to be back.
  int64_t lend(std::shared_ptr<SharedMemory> memory) {
    const std::lock_guard lock(mutex_);
    collect();
    lent_[++last_] = std::move(memory);
    return last_;
  }

  int return_descriptor() const { return theirs_.descriptor(); }

 private:
  void collect() {
    while (const auto message = ours_.poll()) {
      if (message->bytes.size() != sizeof(int64_t)) continue;
      const auto back = lent_.find(io::load<int64_t>(std::as_bytes(std::span(message->bytes)), 0));
      if (back == lent_.end()) continue;
      // Still in use where it was put from, it isn't free.
      if (back->second.use_count() == 1)
        free_.emplace(back->second->size_bytes(), std::move(back->second));
      lent_.erase(back);
    }
  }

  std::mutex mutex_;
  Channel ours_, theirs_;
  std::map<int64_t, std::shared_ptr<SharedMemory>> lent_;
  std::multimap<int64_t, std::shared_ptr<SharedMemory>> free_;
  int64_t last_ = 0;
};

// Received memory: the last one to let go of it sends its number back.
std::shared_ptr<SharedMemory> returning(std::shared_ptr<SharedMemory> memory, int64_t number,
                                        Descriptor way_back) {
  auto channel = std::make_shared<Channel>(std::move(way_back));
  SharedMemory* plain = memory.get();
  return {plain, [memory = std::move(memory), number, channel](SharedMemory*) mutable {
            memory.reset();
            std::string message;
            io::append(message, number);
            try {
              channel->send(message);
            } catch (const Error&) {
              // Its owner takes new memory instead.
            }
          }};
}

}  // namespace

struct TensorQueue::State {
  // Both ends of one connection: any process puts into one and takes out of the other.
  Channel in, out;
  Descriptor room;  // an eventfd: how many more puts there is room for
  Buffers buffers;  // this process's
  // Waits until the descriptor is ready; false after the limit.
  static bool wait(int descriptor, short events, std::optional<double> end) {
    for (;;) {
      pollfd wait{descriptor, events, 0};
      const int left = end ? static_cast<int>(1e3 * std::max(0., *end - seconds_now())) : -1;
      const int ready = ::poll(&wait, 1, left);
      if (ready > 0) return true;
      if (ready == 0) return false;
      check(errno == EINTR, "tensor_queue", "a queue must be waitable", errno);
    }
  }
};

TensorQueue::TensorQueue(int capacity) : state_(std::make_shared<State>()) {
  check(capacity >= 1, "tensor_queue", "capacity must be at least 1", capacity);
  std::tie(state_->in, state_->out) = Channel::make();
  state_->room = Descriptor(
      eventfd(static_cast<unsigned>(capacity), EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  check(bool(state_->room), "tensor_queue", "an eventfd must be there", errno);
}

Tensor TensorQueue::buffer(const Shape& shape, DType dtype) const {
  const int64_t bytes = checked_numel("tensor_queue", shape, item_size(dtype)) *
                        static_cast<int64_t>(item_size(dtype));
  return Tensor(storage_on(state_->buffers.take(bytes)), dtype, shape, contiguous_strides(shape));
}

bool TensorQueue::put(const std::vector<Tensor>& tensors, std::optional<double> seconds) const {
  check(tensors.size() <= kMaxTensors, "tensor_queue", "a put must have at most 200 tensors",
        tensors.size());
  std::optional<double> end;
  if (seconds) end = seconds_now() + *seconds;
  uint64_t token = 0;
  while (read(state_->room.get(), &token, sizeof token) < 0)
    if (!State::wait(state_->room.get(), POLLIN, end)) return false;

  ArgumentWriter writer;
  std::vector<Tensor> shared;
  writer.descriptor(state_->buffers.return_descriptor());
  Portable<size_t>::write(writer, tensors.size());
  for (const Tensor& tensor : tensors) {
    check(tensor.device().is_cpu(), "tensor_queue", "tensors must be on the CPU", tensor.device());
    shared.push_back(tensor.detach());
    if (!tensor.is_shared()) {
      shared.back() = buffer(tensor.shape(), tensor.dtype());
      shared.back().copy_(tensor.detach());
    }
    Portable<int64_t>::write(writer,
                             state_->buffers.lend(SharedMemory::of(*shared.back().storage())));
    Portable<Tensor>::write(writer, shared.back());
  }
  check(send_parcel(state_->in, writer), "tensor_queue", "a queue must be open", "a closed one");
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
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = write(state_->room.get(), &one, sizeof one);

  Parcel parcel(std::move(*message));
  ArgumentReader reader = parcel.reader();
  const Descriptor way_back = reader.descriptor();
  std::vector<Tensor> tensors;
  const auto count = Portable<size_t>::read(reader);
  while (tensors.size() < count) {
    const auto number = Portable<int64_t>::read(reader);
    const Tensor plain = Portable<Tensor>::read(reader);
    auto memory =
        returning(SharedMemory::of(*plain.storage()), number, Descriptor(dup(way_back.get())));
    tensors.push_back(Tensor(storage_on(std::move(memory)), plain.dtype(), plain.shape(),
                             plain.strides(), plain.storage_offset()));
  }
  return tensors;
}

void TensorQueue::close() const {
  shutdown(state_->in.descriptor(), SHUT_WR);
  const uint64_t many = 1 << 20;  // whoever waits for room finds the queue closed
  [[maybe_unused]] const ssize_t size = write(state_->room.get(), &many, sizeof many);
}

void Portable<TensorQueue>::write(ArgumentWriter& writer, const TensorQueue& value) {
  writer.descriptor(value.state_->in.descriptor());
  writer.descriptor(value.state_->out.descriptor());
  writer.descriptor(value.state_->room.get());
}

TensorQueue Portable<TensorQueue>::read(ArgumentReader& reader) {
  auto state = std::make_shared<TensorQueue::State>();
  state->in = Channel(reader.descriptor());
  state->out = Channel(reader.descriptor());
  state->room = reader.descriptor();
  return TensorQueue(std::move(state));
}

}  // namespace aorta::data

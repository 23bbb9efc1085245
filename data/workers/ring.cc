#include <aorta/core/integers.h>
#include <aorta/data/workers/ring.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>

namespace aorta::data {
namespace {

constexpr int64_t kAlignment = 64;  // of tensors and of what processes change at a time

}  // namespace

void put_text(std::span<char> place, std::string_view text) {
  text = text.substr(0, place.size() - 1);
  *std::copy(text.begin(), text.end(), place.begin()) = '\0';
}

Ring::Ring(const Layout& layout, TensorSpecs specs) : layout_(layout), specs_(std::move(specs)) {
  lay_out();
  samples_ = SharedMemory::create("data_loader", samples_bytes());
  control_ = SharedMemory::create("data_loader", control_bytes_);
  new (&header()) Header;
  header().cursor.store(uint64_t{1} << kPositionBits);
  for (int i = 0; i < layout_.slots; ++i) new (&slot(i)) Slot;
  for (int i = 0; i < layout_.readers; ++i) new (&reader(i)) Reader;
}

Ring::Ring(const Layout& layout, TensorSpecs specs, std::shared_ptr<SharedMemory> samples,
           std::shared_ptr<SharedMemory> control)
    : layout_(layout),
      specs_(std::move(specs)),
      samples_(std::move(samples)),
      control_(std::move(control)) {
  lay_out();
  const int64_t bytes = samples_bytes() + control_bytes_;
  const int64_t given = samples_->size_bytes() + control_->size_bytes();
  check(bytes == given, "data_loader", "a dataset's specs must be the same in every process", bytes,
        " bytes for a ring of ", given);
}

void Ring::lay_out() {
  readers_offset_ =
      round_up(static_cast<int64_t>(sizeof(Header) + sizeof(std::atomic<int32_t>) * layout_.slots),
               kAlignment);
  slots_offset_ = round_up(readers_offset_ + static_cast<int64_t>(sizeof(Reader)) * layout_.readers,
                           kAlignment);
  const int64_t samples = layout_.capacity;
  check(samples < int64_t{1} << kPositionBits, "data_loader",
        "a batch must have fewer than 2^24 samples", samples);
  int64_t end = sizeof(Slot);
  const auto place = [&](int64_t bytes) {
    const int64_t start = round_up(end, kAlignment);
    end = start + bytes;
    return start;
  };
  for (const TensorSpec& spec : *specs_) dims_ += spec.shape.size();
  owners_offset_ = place(samples * 8);
  indices_offset_ = place(samples * 8);
  shapes_offset_ = place(samples * dims_ * 8);
  errors_offset_ = place(layout_.readers * static_cast<int64_t>(sizeof(ErrorRecord)));
  slot_bytes_ = round_up(end, kAlignment);
  control_bytes_ = slots_offset_ + layout_.slots * slot_bytes_;

  for (const TensorSpec& spec : *specs_) {
    const int64_t bytes = checked_numel("data_loader", spec.shape, item_size(spec.dtype)) *
                          static_cast<int64_t>(item_size(spec.dtype));
    check(bytes == 0 || samples <= (int64_t{1} << 46) / bytes, "data_loader",
          "a batch must have at most 2^46 bytes", samples, " samples of ", bytes, " bytes");
    sample_bytes_.push_back(bytes);
    tensor_offsets_.push_back(samples_slot_bytes_);
    samples_slot_bytes_ += round_up(bytes * samples, kAlignment);
  }
}

void Ring::ring_bell() {
  header().bell.fetch_add(1);
  syscall(SYS_futex, &header().bell, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr,
          0);
}

void Ring::wait(uint32_t bell) {
  syscall(SYS_futex, &header().bell, FUTEX_WAIT, bell, nullptr, nullptr, 0);
}

void Ring::stop() {
  header().stop.store(1);
  ring_bell();
}

void Ring::open(uint64_t sequence, int number, std::span<const int64_t> indices) {
  Slot& slot = this->slot(number);
  const auto count = static_cast<int64_t>(indices.size());
  slot.count.store(count);
  slot.remaining.store(sequence << kPositionBits |
                       static_cast<uint64_t>(layout_.iterable ? 1 : count));
  slot.tell_always.store(0);
  slot.ended.store(0);
  std::copy(indices.begin(), indices.end(), this->indices(number));
  for (int i = 0; i < layout_.readers; ++i) error(number, i).position = -1;
  for (int64_t i = 0; i < count; ++i) owners(number)[i].store(owner(sequence, kFree));
  (&header().order[0])[sequence % static_cast<uint64_t>(layout_.slots)].store(number);
  slot.sequence.store(sequence);
  header().opened.store(sequence);
  ring_bell();
}

void Ring::clear(int number, bool ended) {
  Slot& slot = this->slot(number);
  slot.count.store(ended ? 0 : layout_.capacity);
  slot.ended.store(ended ? 1 : 0);
  slot.calls.store(0);
  for (int i = 0; i < layout_.readers; ++i) error(number, i).position = -1;
}

void Ring::look_again(uint64_t sequence, int64_t position) {
  const uint64_t wish = sequence << kPositionBits | static_cast<uint64_t>(position);
  if (header().cursor.load() > wish) header().cursor.store(wish);
  ring_bell();
}

std::optional<Ring::Claim> Ring::claim(int reader) {
  Header& header = this->header();
  while (!stopped()) {
    uint64_t cursor = header.cursor.load();
    const uint64_t sequence = cursor >> kPositionBits;
    const auto position = static_cast<int64_t>(cursor & ((uint64_t{1} << kPositionBits) - 1));
    if (sequence > header.opened.load()) return {};
    const int number = (&header.order[0])[sequence % static_cast<uint64_t>(layout_.slots)].load();
    Slot& slot = this->slot(number);
    // A batch that was dropped, or that is complete and whose slot has another one by now.
    if (slot.sequence.load() != sequence || position >= slot.count.load()) {
      header.cursor.compare_exchange_strong(cursor, (sequence + 1) << kPositionBits);
      continue;
    }
    const auto take = [&] {
      uint64_t expected = owner(sequence, kFree);
      return owners(number)[position].compare_exchange_strong(
          expected, owner(sequence, static_cast<uint64_t>(reader) + 1));
    };
    const bool mine = take();
    header.cursor.compare_exchange_strong(cursor, cursor + 1);
    // It may have become free before the cursor left it, when look_again() had nothing to do.
    if (mine || take()) return Claim{number, sequence, position};
  }
  return {};
}

std::optional<Ring::Claim> Ring::claim_suspect(int reader) {
  for (int i = 0; i < layout_.slots && !stopped(); ++i) {
    const uint64_t sequence = slot(i).sequence.load();
    const int64_t count = slot(i).count.load();
    for (int64_t position = 0; position < count; ++position) {
      uint64_t expected = owner(sequence, kSuspect);
      if (owners(i)[position].compare_exchange_strong(
              expected, owner(sequence, static_cast<uint64_t>(reader) + 1)))
        return Claim{i, sequence, position};
    }
  }
  return {};
}

std::optional<Ring::Claim> Ring::claim_batch(int reader, int worker) {
  if (stopped()) return {};
  std::optional<Claim> oldest;
  for (int i = 0; i < layout_.slots; ++i) {
    Slot& slot = this->slot(i);
    const uint64_t sequence = slot.sequence.load();
    if (sequence == 0 || slot.worker.load() != worker ||
        owners(i)[0].load() != owner(sequence, kFree))
      continue;
    if (!oldest || sequence < oldest->sequence) oldest = Claim{i, sequence, 0};
  }
  if (!oldest) return {};
  uint64_t expected = owner(oldest->sequence, kFree);
  if (!owners(oldest->slot)[0].compare_exchange_strong(
          expected, owner(oldest->sequence, static_cast<uint64_t>(reader) + 1)))
    return {};  // the loader dropped it
  return oldest;
}

void Ring::finish(const Claim& claim, bool failed) {
  owners(claim.slot)[claim.position].store(owner(claim.sequence, failed ? kFailed : kDone));
}

bool Ring::count_down(const Claim& claim) {
  Slot& slot = this->slot(claim.slot);
  uint64_t remaining = slot.remaining.load();
  // Since finish() the loader may have taken the batch and opened another one in its slot.
  while (remaining >> kPositionBits == claim.sequence)
    if (slot.remaining.compare_exchange_weak(remaining, remaining - 1))
      return remaining == (claim.sequence << kPositionBits | 1) || slot.tell_always.load() != 0;
  return false;
}

std::vector<Tensor> Ring::places(const Ref<Storage>& storage, int slot, int64_t position,
                                 int64_t count) {
  std::vector<Tensor> places;
  for (size_t i = 0; i < specs_->size(); ++i) {
    const TensorSpec& spec = (*specs_)[i];
    Shape shape = spec.shape;
    if (position < 0) shape.insert(0, count);
    const int64_t offset = slot * samples_slot_bytes_ + tensor_offsets_[i] +
                           std::max<int64_t>(position, 0) * sample_bytes_[i];
    places.emplace_back(storage, spec.dtype, shape, contiguous_strides(shape),
                        offset / static_cast<int64_t>(item_size(spec.dtype)));
  }
  return places;
}

void Ring::put_shapes(int slot, int64_t position, const Sample& sample) {
  int64_t* size = sizes(slot, position);
  for (const Tensor& tensor : sample.tensors())
    for (const int64_t length : tensor.shape()) *size++ = length;
}

std::optional<std::vector<Shape>> Ring::common_shapes(int slot, int64_t count) {
  const int64_t* first = sizes(slot, 0);
  for (int64_t i = 1; i < count; ++i)
    if (!std::equal(first, first + dims_, sizes(slot, i))) return {};
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : *specs_) {
    shapes.push_back(spec.shape);
    for (int d = 0; d < spec.shape.size(); ++d) shapes.back()[d] = *first++;
  }
  return shapes;
}

void Ring::get_shapes(int slot, int64_t position, Sample& sample) {
  const int64_t* size = sizes(slot, position);
  for (size_t i = 0; i < specs_->size(); ++i) {
    const TensorSpec& spec = (*specs_)[i];
    Shape shape = spec.shape;
    for (int d = 0; d < shape.size(); ++d) shape[d] = *size++;
    if (shape != spec.shape) sample.resize(spec.name, shape);
  }
}

}  // namespace aorta::data

#pragma once

#include <aorta/core/process/shared_memory.h>
#include <aorta/core/random.h>
#include <aorta/data/sample.h>
#include <aorta/data/stages.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace aorta::data {

/// What went wrong with a sample, in memory that outlives the process that writes it.
struct ErrorRecord {
  static constexpr size_t kTypeBytes = 128, kTextBytes = 1536, kFileBytes = 256;
  int64_t position = -1;  // of the sample in its batch
  char type[kTypeBytes];  // of the exception
  char text[kTextBytes];
  char file[kFileBytes];
};
/// Copies text into a record, cut to its place.
void put_text(std::span<char> place, std::string_view text);

/// The memory that a loader and its workers share: places for batches (slots) and, in a segment of
/// its own, what is said about them. Nothing in it is locked, so that a worker may die at any
/// point.
///
/// The loader opens batches, numbered from 1 (`sequence`), in any free slot. Workers take the
/// samples of the oldest open batch first: sample `position` belongs to the reader that changes its
/// owner word from (sequence, free) to (sequence, reader). The cursor says where to look next; it
/// is only a hint. When a sample is read its owner becomes `done` or `failed`. The loader alone
/// judges what is complete, by the owner words.
class Ring {
 public:
  /// Sizes that loader and workers agree on.
  struct Layout {
    int32_t slots = 0;
    int32_t readers = 0;    // all workers' together
    int64_t capacity = 0;   // samples a batch
    bool iterable = false;  // batches belong to one worker each, which reads them to the end
  };

  /// An owner word: sequence * 2^16 + one of these, or the reader + 1.
  static constexpr uint64_t kFree = 0, kDone = 0xffff, kFailed = 0xfffe, kDropped = 0xfffd;
  /// Free, and to be read while its worker reads nothing else: several were under way when a worker
  /// ended, and one of them has ended it.
  static constexpr uint64_t kSuspect = 0xfffc;
  static constexpr int kMaxReaders = 0xfff0;
  static constexpr uint64_t owner(uint64_t sequence, uint64_t who) { return sequence << 16 | who; }

  struct Slot {
    std::atomic<uint64_t> sequence{0};
    std::atomic<int64_t> epoch{0};
    std::atomic<int64_t> pass{0};   // over the data, from 1: an epoch may be read again
    std::atomic<int64_t> count{0};  // samples; of an iterable's batch set by the worker
    // sequence * 2^24 + samples not yet counted down: tells who has to wake the loader
    std::atomic<uint64_t> remaining{0};
    std::atomic<uint32_t> tell_always{0};
    std::atomic<int32_t> worker{0};  // an iterable's: whose it is
    std::atomic<uint32_t> ended{0};  // an iterable's: its stream has no more
    std::atomic<int64_t> calls{0};   // an iterable's: how often its stream was asked up to its end
  };
  /// What one reader is doing.
  struct alignas(64) Reader {
    std::atomic<int64_t> sample{-1};
    std::atomic<int64_t> since{0};  // nanoseconds of the monotonic clock
    std::atomic<int64_t> stages[kStages] = {};
    std::atomic<int64_t> busy{0};  // nanoseconds inside of Dataset::read
    // For a worker that follows one that died in this pass: how often that one's stream was asked,
    // or -1 when it has no more to give.
    std::atomic<int64_t> pass{0}, calls{0};
    char file[ErrorRecord::kFileBytes] = {};
    // What has ended its worker that no sample is to blame for. Its position: kAtStart or kLater.
    static constexpr int64_t kAtStart = 0, kLater = 1;
    ErrorRecord fault;
  };
  /// The sample that a reader took.
  struct Claim {
    int slot = 0;
    uint64_t sequence = 0;
    int64_t position = 0;
  };

  Ring(const Layout& layout, TensorSpecs specs);
  /// Maps a ring's memory in another process, a worker's.
  Ring(const Layout& layout, TensorSpecs specs, std::shared_ptr<SharedMemory> samples,
       std::shared_ptr<SharedMemory> control);

  const Layout& layout() const { return layout_; }
  const TensorSpecs& specs() const { return specs_; }
  /// Where the tensors lie, and everything else.
  const std::shared_ptr<SharedMemory>& samples() const { return samples_; }
  const std::shared_ptr<SharedMemory>& control() const { return control_; }

  Slot& slot(int number) { return at<Slot>(slot_offset(number)); }
  Reader& reader(int number) { return (&at<Reader>(readers_offset_))[number]; }
  std::atomic<uint64_t>* owners(int slot) {
    return &at<std::atomic<uint64_t>>(slot_offset(slot) + owners_offset_);
  }
  int64_t* indices(int slot) { return &at<int64_t>(slot_offset(slot) + indices_offset_); }
  ErrorRecord& error(int slot, int reader) {
    return (&at<ErrorRecord>(slot_offset(slot) + errors_offset_))[reader];
  }

  /// For the loader: opens `sequence`, one more than the last, in a slot whose other words are set.
  void open(uint64_t sequence, int slot, std::span<const int64_t> indices);
  /// For the loader: forgets what was read of an iterable's batch, for another worker to read it,
  /// or for good when it `ended` the stream.
  void clear(int slot, bool ended);
  /// Makes readers look at `position` of `sequence` again.
  void look_again(uint64_t sequence, int64_t position);
  /// The last sequence that was opened.
  uint64_t opened() const { return header().opened.load(); }
  /// Nobody takes samples any more.
  void stop();
  void restart() { header().stop.store(0); }
  bool stopped() const { return header().stop.load() != 0; }

  /// For a reader: the next sample that nobody has; none when there is none now.
  std::optional<Claim> claim(int reader);
  /// Any that is to be read alone; none when there is none.
  std::optional<Claim> claim_suspect(int reader);
  /// An iterable's: the next batch that is for `worker`, taken as its sample 0.
  std::optional<Claim> claim_batch(int reader, int worker);
  /// What wait() is to be given; read before claim().
  uint32_t bell() const { return header().bell.load(); }
  /// Sleeps until there may be something to take that wasn't there at `bell`.
  void wait(uint32_t bell);
  /// Says that the sample is read.
  void finish(const Claim& claim, bool failed);
  /// Counts it, once it is finished; true when the loader is to be woken.
  bool count_down(const Claim& claim);

  /// The places of one sample, or with `position` -1 those of a whole batch of `count`.
  std::vector<Tensor> places(const Ref<Storage>& storage, int slot, int64_t position,
                             int64_t count = 0);
  /// Shapes smaller than declared, as Sample::resize gave them.
  void put_shapes(int slot, int64_t position, const Sample& sample);
  void get_shapes(int slot, int64_t position, Sample& sample);
  /// The shapes that all of a batch's samples have; none where they differ.
  std::optional<std::vector<Shape>> common_shapes(int slot, int64_t count);

 private:
  struct Header {
    std::atomic<uint64_t> opened{0};
    alignas(64) std::atomic<uint64_t> cursor{0};  // sequence * 2^24 + position
    alignas(64) std::atomic<uint32_t> stop{0};
    std::atomic<uint32_t> bell{0};  // a futex that readers sleep on; rung when it changes
    alignas(64) std::atomic<int32_t> order[1];  // the slot of each open sequence, modulo slots
  };
  static constexpr int kPositionBits = 24;

  void lay_out();
  void ring_bell();
  template <class T>
  T& at(int64_t offset) const {
    return *reinterpret_cast<T*>(control_->data() + offset);
  }
  Header& header() const { return at<Header>(0); }
  int64_t* sizes(int slot, int64_t position) {
    return &at<int64_t>(slot_offset(slot) + shapes_offset_) + position * dims_;
  }
  // Never nothing, for memory has a size.
  int64_t samples_bytes() const {
    return std::max<int64_t>(layout_.slots * samples_slot_bytes_, 1);
  }
  int64_t slot_offset(int number) const { return slots_offset_ + number * slot_bytes_; }

  Layout layout_;
  TensorSpecs specs_;
  std::shared_ptr<SharedMemory> samples_, control_;
  // Offsets in the control memory; those of a slot's words are in bytes from the slot's beginning.
  int64_t readers_offset_ = 0, slots_offset_ = 0, slot_bytes_ = 0, control_bytes_ = 0;
  int64_t owners_offset_ = 0, indices_offset_ = 0, shapes_offset_ = 0, errors_offset_ = 0;
  int64_t dims_ = 0;                     // of all tensors together
  int64_t samples_slot_bytes_ = 0;       // of the sample memory
  std::vector<int64_t> tensor_offsets_;  // there, those of slot 0
  std::vector<int64_t> sample_bytes_;    // of each tensor
};

}  // namespace aorta::data

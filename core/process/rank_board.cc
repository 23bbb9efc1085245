#include <aorta/core/clock.h>
#include <aorta/core/process/rank_board.h>
#include <aorta/core/resource_error.h>

#include <fcntl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

namespace aorta {
namespace detail {

// A text that one process writes while others read: its version is odd meanwhile.
template <size_t kSize>
struct SharedText {
  std::atomic<uint32_t> version;
  char bytes[kSize];

  void write(std::string_view text) {
    version.fetch_add(1);
    const size_t size = std::min(text.size(), kSize - 1);
    std::memcpy(bytes, text.data(), size);
    bytes[size] = '\0';
    version.fetch_add(1);
  }
  std::string read() const {
    for (int i = 0; i < 1000; ++i) {
      const uint32_t before = version.load();
      const std::string text(bytes, strnlen(bytes, kSize));
      if (before % 2 == 0 && version.load() == before) return text;
      std::this_thread::yield();
    }
    return "";  // whoever wrote it was stopped or killed meanwhile
  }
};

}  // namespace detail

namespace {

std::string number_text(double value) {
  std::string text;
  detail::append(text, value);
  return text;
}

std::string seconds_text(int64_t nanoseconds) {
  return number_text(std::round(static_cast<double>(nanoseconds) * 1e-8) / 10) + " s";
}

// Unix time to the microsecond; `shift` is how far it is ahead of nanoseconds_now().
std::string time_text(int64_t nanoseconds, int64_t shift) {
  const int64_t micros = (nanoseconds + shift) / 1000;
  std::string digits = std::to_string(micros % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  return std::to_string(micros / 1'000'000) + "." + digits;
}

int64_t unix_shift() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec - nanoseconds_now();
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

}  // namespace

struct RankBoard::Slot {
  std::atomic<int64_t> number, bytes, entered_ns, left_ns;
  detail::SharedText<64> group;
  detail::SharedText<256> call;
  detail::SharedText<256> path;
};

struct RankBoard::Layout {
  int64_t token;
  int64_t slots;
  std::atomic<int64_t> calls;           // in all, so that the next slot is calls % slots
  std::atomic<int64_t> activity_since;  // nanoseconds_now()
  std::atomic<bool> ended;
  detail::SharedText<128> activity;
  detail::SharedText<2048> reason;
  // Slots follow.

  Slot& slot(int64_t call) {
    return reinterpret_cast<Slot*>(reinterpret_cast<char*>(this) + sizeof(Layout))[call % slots];
  }
};

struct RankBoard::Record {
  std::string group, call, path;
  int64_t number, bytes, entered_ns, left_ns;
};

RankBoard::RankBoard(int records)
    : memory_(SharedMemory::create(
          "init_process_group",
          static_cast<int64_t>(sizeof(Layout) + sizeof(Slot) * static_cast<size_t>(records)))) {
  static_assert(std::atomic<int64_t>::is_always_lock_free);
  layout().slots = records;
  if (getrandom(&layout().token, sizeof layout().token, 0) < 0)
    layout().token = nanoseconds_now() ^ getpid();
  layout().activity_since = nanoseconds_now();
}

RankBoard::RankBoard(pid_t pid, int descriptor, int64_t token) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  check(bool(file), "rank_board", "another rank's must be readable", errno_text(errno));
  memory_ = SharedMemory::open(std::move(file));
  check(memory_->size_bytes() >= static_cast<int64_t>(sizeof(Layout)) && layout().token == token,
        "rank_board", "it must be the rank's", path);
}

RankBoard::Layout& RankBoard::layout() const { return *reinterpret_cast<Layout*>(memory_->data()); }

int64_t RankBoard::token() const { return layout().token; }

void RankBoard::enter(const std::string& group, const CollectiveRecord& record) {
  const std::lock_guard lock(mutex_);
  Slot& slot = layout().slot(layout().calls);
  slot.left_ns = 0;
  slot.number = record.number;
  slot.bytes = record.bytes;
  slot.group.write(group);
  slot.call.write(record.call());
  slot.path.write(record.path);
  slot.entered_ns = record.entered_ns;
  ++layout().calls;
}

void RankBoard::leave(const std::string& group, const CollectiveRecord& record) {
  const std::lock_guard lock(mutex_);
  const int64_t calls = layout().calls;
  for (int64_t i = calls - 1; i >= std::max<int64_t>(calls - layout().slots, 0); --i) {
    Slot& slot = layout().slot(i);
    if (slot.number != record.number || slot.group.read() != group) continue;
    slot.left_ns = record.left_ns;
    return;
  }
}

void RankBoard::set_activity(const char* what) {
  layout().activity.write(what);
  layout().activity_since = nanoseconds_now();
}

void RankBoard::end(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (layout().ended) return;
  layout().reason.write(reason);
  layout().ended = true;
}

std::string RankBoard::reason() const {
  return layout().ended ? layout().reason.read() : std::string();
}

std::vector<RankBoard::Record> RankBoard::records() const {
  std::vector<Record> found;
  const int64_t calls = layout().calls;
  for (int64_t i = std::max<int64_t>(calls - layout().slots, 0); i < calls; ++i) {
    const Slot& slot = layout().slot(i);
    found.push_back({.group = slot.group.read(),
                     .call = slot.call.read(),
                     .path = slot.path.read(),
                     .number = slot.number,
                     .bytes = slot.bytes,
                     .entered_ns = slot.entered_ns,
                     .left_ns = slot.left_ns});
  }
  return found;
}

std::string RankBoard::what_it_does() const {
  const int64_t now = nanoseconds_now();
  const std::string activity = layout().activity.read();
  std::string text;
  if (!activity.empty())
    text = "it is " + activity + ", for " + seconds_text(now - layout().activity_since) + "; ";
  const std::vector<Record> all = records();
  if (all.empty()) return text + "it has made no call";
  const Record& last = all.back();
  text += "its last call: " + last.call + " of " + last.group;
  if (!last.path.empty()) text += ", in " + last.path;
  return text + (last.left_ns == 0 ? ", for " + seconds_text(now - last.entered_ns) + " so far"
                                   : ", done " + seconds_text(now - last.left_ns) + " ago");
}

std::string RankBoard::csv() const {
  const int64_t shift = unix_shift();
  std::string text = "group,number,call,bytes,module,entered,left\n";
  for (const Record& record : records())
    text += record.group + "," + std::to_string(record.number) + "," + quoted(record.call) + "," +
            std::to_string(record.bytes) + "," + quoted(record.path) + "," +
            time_text(record.entered_ns, shift) + "," +
            (record.left_ns == 0 ? "" : time_text(record.left_ns, shift)) + "\n";
  return text;
}

}  // namespace aorta

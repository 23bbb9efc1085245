#include <aorta/core/io/bytes.h>
#include <aorta/core/io/crc32c.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/images/png.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include <aorta/report/events.h>

namespace aorta::report {
namespace {

constexpr size_t kWriteAt = size_t{1} << 20;
constexpr size_t kDropAt = size_t{64} << 20;

// Protocol Buffers' wire format: a key is field << 3 | type.
namespace wire {

void varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void integer(std::string& out, uint64_t field, int64_t value) {
  varint(out, field << 3);
  varint(out, static_cast<uint64_t>(value));
}
void number(std::string& out, uint64_t field, double value) {
  varint(out, field << 3 | 1);
  io::append(out, value);
}
void number(std::string& out, uint64_t field, float value) {
  varint(out, field << 3 | 5);
  io::append(out, value);
}
void bytes(std::string& out, uint64_t field, std::string_view value) {
  varint(out, field << 3 | 2);
  varint(out, value.size());
  out += value;
}

}  // namespace wire

// Fields of the messages in tensorflow's event.proto, summary.proto, tensor.proto.
namespace event {
constexpr uint64_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr uint64_t kValue = 1;
}
namespace value {
constexpr uint64_t kTag = 1, kSimpleValue = 2, kImage = 4, kTensor = 8, kMetadata = 9;
}
namespace picture {
constexpr uint64_t kHeight = 1, kWidth = 2, kColourspace = 3, kEncoded = 4;
}

// As TFRecord keeps a checksum: rotated and moved, since a checksum of data with checksums is weak.
uint32_t masked_crc(std::string_view data) {
  return std::rotr(io::crc32c(data.data(), data.size()), 15) + 0xa282ead8u;
}

std::string record(std::string_view message) {
  std::string out;
  io::append(out, static_cast<uint64_t>(message.size()));
  io::append(out, masked_crc(out));
  out += message;
  io::append(out, masked_crc(message));
  return out;
}

// The first record of a file.
std::string file_version(double now) {
  std::string message;
  wire::number(message, event::kWallTime, now);
  wire::bytes(message, event::kFileVersion, "brain.Event:2");
  return record(message);
}

constexpr size_t kFrame = 16;  // bytes of a record beside its message

// Whether a record ends at `size`: frame by frame, each length proved by its checksum.
bool ends_a_record(std::span<const std::byte> bytes, uint64_t size) {
  if (size > bytes.size()) return false;
  uint64_t at = 0;
  while (at < size) {
    if (size - at < kFrame) return false;
    const auto length = io::load<uint64_t>(bytes, at);
    const auto crc = io::load<uint32_t>(bytes, at + 8);
    if (crc != masked_crc(io::as_text(bytes.subspan(at, 8))) || length > size - at - kFrame)
      return false;
    at += kFrame + length;
  }
  return at == size;
}

// UTF-8, as a string of Protocol Buffers must be; other bytes become '?'.
std::string utf8(std::string_view text) {
  std::string out(text);
  if (is_utf8(out)) return out;
  for (char& c : out)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return out;
}

std::string host() {
  char name[256] = "localhost";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "localhost";
  std::string text(name);
  for (char& c : text)
    if (c == '/') c = '_';
  return text;
}

}  // namespace

struct EventWriter::File {
  std::string path;
  Clock clock = wall_clock;
  int descriptor = -1;
  uint64_t written = 0;  // bytes of the file
  uint64_t whole = 0;    // those up to the end of a record
  std::string pending;   // what comes after `written`
  bool failed = false;
  uint64_t dropped = 0;

  File(std::string at, Clock time) : path(std::move(at)), clock(time) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor < 0) return;
    try {
      write_pending();
    } catch (const Error&) {  // said already, or nobody is left to hear it
    }
    io::file_system().close(descriptor);
  }

  [[noreturn]] void fail_on(const char* what, int error) {
    failed = true;
    fail_after_call(error, path, fmt::format("cannot {} the event file", what), errno_text(error));
  }

  void open(int flags) {
    do {
      descriptor = io::file_system().open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
  }

  void write_pending() {
    size_t done = 0;
    int error = 0;
    while (done < pending.size()) {
      const ssize_t count =
          io::file_system().write(descriptor, pending.data() + done, pending.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        error = count < 0 ? errno : EIO;
        break;
      }
      done += static_cast<size_t>(count);
    }
    pending.erase(0, done);
    written += done;
    if (error != 0) fail_on("write", error);
    whole = written;
    failed = false;
  }

  void sync() {
    if (io::file_system().fsync(descriptor) != 0 && errno != EINTR && errno != EINVAL)
      fail_on("sync", errno);
  }
};

double EventWriter::wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventWriter::EventWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;
EventWriter::~EventWriter() = default;

EventWriter::EventWriter(const Text& folder, Clock clock) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder.c_str()), error);
  check(!error, folder, "cannot create the folder of the event file", errno_text(error.value()));
  const double now = clock();
  for (int count = 0; count < 1000; ++count) {
    file_ = std::make_unique<File>(fmt::format("{}/events.out.tfevents.{:010d}.{}.{}.{}", folder,
                                               static_cast<int64_t>(now), host(), getpid(), count),
                                   clock);
    file_->open(O_CREAT | O_EXCL);
    if (file_->descriptor >= 0) break;
    if (errno != EEXIST) file_->fail_on("create", errno);
  }
  if (file_->descriptor < 0) file_->fail_on("create", EEXIST);
  file_->pending = file_version(now);
}

EventWriter EventWriter::resume(const Text& path, uint64_t size_bytes, Clock clock) {
  {
    const auto bytes = io::FileBytes::map(path);
    check(ends_a_record(bytes->bytes(), size_bytes), path,
          "size must be at the end of a record of an event file", size_bytes, " of ", bytes->size(),
          " bytes");
  }
  auto file = std::make_unique<File>(path, clock);
  file->open(0);
  if (file->descriptor < 0) file->fail_on("open", errno);
  if (::ftruncate(file->descriptor, static_cast<off_t>(size_bytes)) != 0)
    file->fail_on("cut", errno);
  if (::lseek(file->descriptor, 0, SEEK_END) < 0) file->fail_on("open", errno);
  file->written = file->whole = size_bytes;
  file->sync();
  if (size_bytes == 0) file->pending = file_version(clock());
  return EventWriter(std::move(file));
}

void EventWriter::add(int64_t step, std::string_view value) {
  std::string sum, message;
  wire::bytes(sum, summary::kValue, value);
  wire::number(message, event::kWallTime, file_->clock());
  if (step != 0) wire::integer(message, event::kStep, step);
  wire::bytes(message, event::kSummary, sum);
  if (file_->pending.size() + message.size() > kDropAt && file_->failed) {
    ++file_->dropped;
    return;
  }
  file_->pending += record(message);
  if (file_->pending.size() >= kWriteAt && !file_->failed) file_->write_pending();
}

void EventWriter::scalar(const Text& tag, double value, int64_t step) {
  std::string message;
  wire::bytes(message, value::kTag, utf8(tag));
  wire::number(message, value::kSimpleValue, static_cast<float>(value));
  add(step, message);
}

void EventWriter::image(const Text& tag, const Tensor& image, int64_t step) {
  check_defined("events", {{"image", image}});
  check(image.dtype() == u8 && image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3) &&
            image.numel() > 0,
        "events", "image must be u8 (1|3, H, W)", image.dtype(), " ", image.shape());
  const Tensor png = data::encode_png(image);
  std::string inner, message;
  wire::integer(inner, picture::kHeight, image.size(1));
  wire::integer(inner, picture::kWidth, image.size(2));
  wire::integer(inner, picture::kColourspace, image.size(0));
  wire::bytes(inner, picture::kEncoded,
              {static_cast<const char*>(png.data()), static_cast<size_t>(png.numel())});
  wire::bytes(message, value::kTag, utf8(tag));
  wire::bytes(message, value::kImage, inner);
  add(step, message);
}

void EventWriter::text(const Text& tag, const Text& text, int64_t step) {
  // What torch.utils.tensorboard writes: a tensor of one string for the plugin "text".
  constexpr int64_t kString = 7;  // DT_STRING
  std::string size, shape, tensor, plugin, metadata, message;
  wire::integer(size, 1, 1);    // TensorShapeProto.Dim.size
  wire::bytes(shape, 2, size);  // TensorShapeProto.dim
  wire::integer(tensor, 1, kString);
  wire::bytes(tensor, 2, shape);
  wire::bytes(tensor, 8, utf8(text));  // string_val
  wire::bytes(plugin, 1, "text");      // SummaryMetadata.PluginData.plugin_name
  wire::bytes(metadata, 1, plugin);
  wire::bytes(message, value::kTag, utf8(tag) + "/text_summary");
  wire::bytes(message, value::kTensor, tensor);
  wire::bytes(message, value::kMetadata, metadata);
  add(step, message);
}

void EventWriter::flush() {
  file_->write_pending();
  file_->sync();
}

const std::string& EventWriter::path() const { return file_->path; }
uint64_t EventWriter::size_bytes() const { return file_->whole; }
uint64_t EventWriter::dropped() const { return file_->dropped; }

}  // namespace aorta::report

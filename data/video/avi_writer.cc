#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/video/avi_writer.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>

namespace aorta::data {
namespace {

constexpr uint32_t kHasIndex = 0x10;  // of avih
constexpr uint32_t kKeyFrame = 0x10;  // of an entry of idx1

std::string error_text(int error) {
  const char* symbol = strerrorname_np(error);
  return symbol ? symbol : "errno " + std::to_string(error);
}

void append_chunk(std::string& text, std::string_view name, std::string_view data) {
  text += name;
  io::append(text, static_cast<uint32_t>(data.size()));
  text += data;
}

std::string list(std::string_view name, std::string_view data) {
  std::string text;
  append_chunk(text, "LIST", std::string(name) + std::string(data));
  return text;
}

// A frequency as a fraction: whole ones, those of television (30000/1001), and any other to four
// digits.
std::pair<uint32_t, uint32_t> fraction(double fps) {
  if (fps >= 1 && fps == std::floor(fps)) return {static_cast<uint32_t>(fps), 1};
  const double thousands = std::round(fps * 1.001);
  if (thousands >= 1 && std::abs(thousands / 1.001 - fps) < 1e-3)
    return {static_cast<uint32_t>(thousands) * 1000, 1001};
  const auto rate = static_cast<uint32_t>(std::lround(fps * 10000));
  const uint32_t common = std::gcd(rate, 10000u);
  return {rate / common, 10000 / common};
}

}  // namespace

AviWriter::AviWriter(const std::string& path, int64_t height, int64_t width, double fps)
    : path_(path), height_(height), width_(width), fps_(fps) {
  check(height >= 1 && width >= 1 && height <= 32767 && width <= 32767, path_,
        "AVI video must be 1 to 32767 pixels wide and high", height, " x ", width);
  check(fps >= 0.001 && fps <= 100000, path_, "fps must be 0.001 to 100000", fps);
  const io::FileSystem& fs = io::file_system();
  struct ::stat status;
  if (fs.stat(path_.c_str(), &status) == 0)
    check(S_ISREG(status.st_mode), path_, "file to write must be a regular file",
          S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
  static std::atomic<unsigned> counter{0};
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  check(!name.empty(), path_, "path must name a file", io::quote(path_));
  for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
    temporary_ = folder + "." + name.substr(0, 200) + "." + std::to_string(::getpid()) + "-" +
                 std::to_string(counter++) + ".tmp";
    descriptor_ = fs.open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST && errno != EINTR) break;
  }
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail_and_discard("open", error);
  }
  const std::string start = headers();
  write(start.data(), start.size());
  movi_ = start.size() - 4;
}

AviWriter::~AviWriter() { discard(); }

void AviWriter::discard() {
  if (descriptor_ >= 0) io::file_system().close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) io::file_system().unlink(temporary_.c_str());
  temporary_.clear();
}

void AviWriter::fail_and_discard(const char* call, int error) {
  discard();
  fail(path_, std::string("writing must succeed: ") + call, error_text(error), " after ",
       size_bytes_, " bytes; the file is as it was before");
}

void AviWriter::write(const void* data, size_t size_bytes) {
  check(descriptor_ >= 0, path_, "nothing can be written after close or a failure");
  const auto* bytes = static_cast<const char*>(data);
  for (size_t done = 0; done < size_bytes;) {
    const ssize_t count = io::file_system().write(descriptor_, bytes + done, size_bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_and_discard("write", count < 0 ? errno : EIO);
    done += static_cast<size_t>(count);
    size_bytes_ += static_cast<uint64_t>(count);
  }
}

// All that stands before the first frame; the sizes in it are right when the last one was written.
std::string AviWriter::headers() const {
  const auto [rate, scale] = fraction(fps_);
  const auto count = static_cast<uint32_t>(frames());
  std::string avih, strh, strf;
  for (const uint32_t value :
       {static_cast<uint32_t>(std::lround(1e6 * scale / rate)),
        static_cast<uint32_t>(std::min(4e9, std::ceil(1.0 * largest_ * rate / scale))), 0u,
        kHasIndex, count, 0u, 1u, largest_, static_cast<uint32_t>(width_),
        static_cast<uint32_t>(height_), 0u, 0u, 0u, 0u})
    io::append(avih, value);
  strh = "vidsMJPG";
  for (const uint32_t value : {0u, 0u, 0u, scale, rate, 0u, count, largest_, 0xffffffffu, 0u, 0u,
                               static_cast<uint32_t>(width_ | height_ << 16)})
    io::append(strh, value);
  for (const uint32_t value : {40u, static_cast<uint32_t>(width_), static_cast<uint32_t>(height_),
                               1u | 24u << 16})  // one plane of 24 bits
    io::append(strf, value);
  strf += "MJPG";
  for (const uint32_t value : {static_cast<uint32_t>(width_ * height_ * 3), 0u, 0u, 0u, 0u})
    io::append(strf, value);
  std::string stream, all;
  append_chunk(stream, "strh", strh);
  append_chunk(stream, "strf", strf);
  append_chunk(all, "avih", avih);
  all = list("hdrl", all + list("strl", stream));
  // At the end: 'movi' is what follows, without the index.
  const uint64_t start = 12 + all.size() + 8;
  const uint64_t index = 8 + index_.size();
  const uint64_t movi = size_bytes_ > start + index ? size_bytes_ - start - index : 4;
  std::string text = "RIFF";
  io::append(text, static_cast<uint32_t>(start - 8 + movi + index));
  text += "AVI " + all + "LIST";
  io::append(text, static_cast<uint32_t>(movi));
  return text + "movi";
}

void AviWriter::add(std::span<const std::byte> jpeg) {
  check(!jpeg.empty(), path_, "AVI frame must not be empty", "0 bytes");
  check(size_bytes_ + jpeg.size() + index_.size() + 64 <= kMaxBytes, path_,
        "an AVI file must have at most 1 GiB", "a frame more after ", size_bytes_, " bytes");
  const auto size = static_cast<uint32_t>(jpeg.size());
  std::string head = "00dc";
  io::append(head, size);
  index_ += "00dc";
  // Offsets count from the name of 'movi', which the headers end with.
  for (const uint32_t value : {kKeyFrame, static_cast<uint32_t>(size_bytes_ - movi_), size})
    io::append(index_, value);
  write(head.data(), head.size());
  write(jpeg.data(), jpeg.size());
  if (size % 2 == 1) write("", 1);
  largest_ = std::max(largest_, size);
}

void AviWriter::close() {
  check(frames() > 0, path_, "AVI file must have frames", "none");
  std::string idx1;
  append_chunk(idx1, "idx1", index_);
  write(idx1.data(), idx1.size());
  const std::string start = headers();
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail_and_discard("lseek", errno);
  const uint64_t size = size_bytes_;
  write(start.data(), start.size());
  size_bytes_ = size;
  const io::FileSystem& fs = io::file_system();
  if (fs.fsync(descriptor_) < 0) fail_and_discard("fsync", errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (fs.close(descriptor) < 0 && errno != EINTR) fail_and_discard("close", errno);
  if (fs.rename(temporary_.c_str(), path_.c_str()) < 0) fail_and_discard("rename", errno);
  temporary_.clear();
}

}  // namespace aorta::data

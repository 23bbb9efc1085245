#include <aorta/core/check.h>
#include <aorta/data/gzip.h>
#include <zlib.h>

#include <algorithm>

namespace aorta::data {
namespace {

constexpr uint64_t kDeflateLimit = 1032;  // zlib's technical details: the largest ratio
constexpr int kGzipWindow = MAX_WBITS + 16;

// zlib's counters have 32 bits.
uInt chunk(size_t left) { return static_cast<uInt>(std::min<size_t>(left, 1u << 30)); }

}  // namespace

struct GzipReader::Stream {
  z_stream z{};
  Stream() { check(inflateInit2(&z, kGzipWindow) == Z_OK, "gzip", "zlib must start", "an error"); }
  ~Stream() { inflateEnd(&z); }
};

bool GzipReader::is_gzip(const io::FileBytes& file) {
  return file.size() >= 2 && file.bytes()[0] == std::byte{0x1f} &&
         file.bytes()[1] == std::byte{0x8b};
}

GzipReader::GzipReader(const io::FileBytes& file)
    : file_(file), stream_(std::make_unique<Stream>()) {}

GzipReader::~GzipReader() = default;

uint64_t GzipReader::most_left() const {
  // zlib may hold back what it has inflated: a window and the longest match.
  constexpr uint64_t kHeldBack = (uint64_t{1} << MAX_WBITS) + 258;
  return (file_.size() - position_) * kDeflateLimit + kHeldBack;
}

bool GzipReader::next_member() {
  if (position_ == file_.size()) return false;
  between_members_ = false;
  check(inflateReset(&stream_->z) == Z_OK, file_.name(), "zlib must start again", "an error");
  return true;
}

size_t GzipReader::read(std::span<std::byte> out) {
  z_stream& z = stream_->z;
  size_t count = 0;
  while (count < out.size()) {
    if (between_members_ && !next_member()) break;
    const uInt in = chunk(file_.size() - position_);
    const uInt room = chunk(out.size() - count);
    // zlib's input pointer lacks a const; it doesn't write there.
    z.next_in = reinterpret_cast<Bytef*>(file_.data() + position_);
    z.avail_in = in;
    z.next_out = reinterpret_cast<Bytef*>(out.data() + count);
    z.avail_out = room;
    const int status = inflate(&z, Z_NO_FLUSH);
    position_ += in - z.avail_in;
    count += room - z.avail_out;
    done_ += room - z.avail_out;
    check(status == Z_OK || status == Z_STREAM_END, file_.name(), "gzip data must be sound",
          z.msg ? z.msg : "the end of the file", " after ", done_, " bytes");
    between_members_ = status == Z_STREAM_END;
  }
  return count;
}

void GzipReader::check_end() {
  const uint64_t expected = done_;
  std::byte beyond{};
  // Reading on also takes the trailer, whose checksum zlib compares.
  const bool at_end = read({&beyond, 1}) == 0;
  check(at_end, file_.name(), "contents must end where they should", "more than ", expected,
        " bytes");
}

}  // namespace aorta::data

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/video/avi_writer.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace aorta::data {
namespace {

constexpr uint32_t kHasIndex = 0x10;  // of avih
constexpr uint32_t kKeyFrame = 0x10;  // of an entry of idx1

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
  file_.emplace(path_);
  const std::string start = headers();
  file_->write(start);
  movi_ = start.size() - 4;
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
  const uint64_t size = file_->size_bytes();
  const uint64_t movi = size > start + index ? size - start - index : 4;
  std::string text = "RIFF";
  io::append(text, static_cast<uint32_t>(start - 8 + movi + index));
  text += "AVI " + all + "LIST";
  io::append(text, static_cast<uint32_t>(movi));
  return text + "movi";
}

void AviWriter::add(std::span<const std::byte> jpeg) {
  check(!jpeg.empty(), path_, "AVI frame must not be empty", "0 bytes");
  check(file_.has_value(), path_, "nothing can be written after close", "a frame");
  check(file_->size_bytes() + jpeg.size() + index_.size() + 64 <= kMaxBytes, path_,
        "an AVI file must have at most 1 GiB", "a frame more after ", file_->size_bytes(),
        " bytes");
  const auto size = static_cast<uint32_t>(jpeg.size());
  std::string head = "00dc";
  io::append(head, size);
  index_ += "00dc";
  // Offsets count from the name of 'movi', which the headers end with.
  for (const uint32_t value : {kKeyFrame, static_cast<uint32_t>(file_->size_bytes() - movi_), size})
    io::append(index_, value);
  file_->write(head);
  file_->write(io::as_text(jpeg));
  if (size % 2 == 1) file_->write("", 1);
  largest_ = std::max(largest_, size);
}

void AviWriter::close() {
  check(frames() > 0, path_, "AVI file must have frames", "none");
  check(file_.has_value(), path_, "nothing can be written after close", "another close");
  std::string idx1;
  append_chunk(idx1, "idx1", index_);
  file_->write(idx1);
  file_->rewrite_start(headers());
  file_->commit();
  file_.reset();
}

}  // namespace aorta::data

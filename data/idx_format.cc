#include <aorta/core/check.h>
#include <aorta/core/shape.h>
#include <aorta/data/gzip.h>
#include <aorta/data/idx_format.h>

#include <algorithm>
#include <optional>

namespace aorta::data {
namespace {

constexpr size_t kPreambleSize = 4;

struct Element {
  int code;
  DType dtype;
  int64_t size_bytes;  // in the file
};
constexpr Element kElements[] = {{0x08, DType::u8, 1},  {0x09, DType::i32, 1},
                                 {0x0b, DType::i32, 2}, {0x0c, DType::i32, 4},
                                 {0x0d, DType::f32, 4}, {0x0e, DType::f64, 8}};

// The bytes of the IDX file one after another, from the file itself or inflated.
class Contents {
 public:
  explicit Contents(const io::FileBytes& file) : file_(file) {
    if (GzipReader::is_gzip(file)) gzip_.emplace(file);
  }

  // Fills `out` as far as there are bytes: how many.
  size_t read(std::span<std::byte> out) {
    if (gzip_) return gzip_->read(out);
    const size_t count = std::min(out.size(), file_.size() - position_);
    std::copy_n(file_.bytes().begin() + static_cast<std::ptrdiff_t>(position_), count, out.begin());
    position_ += count;
    return count;
  }
  // No more than this many bytes are left.
  uint64_t most_left() const {
    return gzip_ ? gzip_->most_left() : uint64_t{file_.size() - position_};
  }
  bool is_gzip() const { return gzip_.has_value(); }
  size_t position() const { return position_; }
  void check_end() {
    if (gzip_) gzip_->check_end();
  }

 private:
  const io::FileBytes& file_;
  std::optional<GzipReader> gzip_;
  size_t position_ = 0;
};

const Element& parse_preamble(std::span<const std::byte> preamble, const std::string& name) {
  check(preamble[0] == std::byte{0} && preamble[1] == std::byte{0}, name,
        "IDX file must start with two bytes of 0", io::quote(io::as_text(preamble)));
  const int code = std::to_integer<int>(preamble[2]);
  const auto* element = std::find_if(std::begin(kElements), std::end(kElements),
                                     [&](const Element& each) { return each.code == code; });
  check(element != std::end(kElements), name,
        "IDX element must be 8 (unsigned byte), 9 (signed byte), 11 (short), 12 (int), 13 (float) "
        "or 14 (double)",
        code);
  const int dims = std::to_integer<int>(preamble[3]);
  check(dims >= 1 && dims <= kMaxDims, name,
        "IDX array must have 1 to " + std::to_string(kMaxDims) + " dimensions", dims);
  return *element;
}

void read_header(Contents& contents, std::span<std::byte> out, const std::string& name) {
  const size_t count = contents.read(out);
  check(count == out.size(), name, "IDX header must be whole", count, " of ", out.size(),
        " bytes of it");
}

// Big-endian bits at `from` become an Out at `to`; Value is what they mean.
template <class Bits, class Value, class Out>
void convert(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof bits);
    if constexpr (sizeof(Bits) == 2) bits = __builtin_bswap16(bits);
    if constexpr (sizeof(Bits) == 4) bits = __builtin_bswap32(bits);
    if constexpr (sizeof(Bits) == 8) bits = __builtin_bswap64(bits);
    if constexpr (std::is_integral_v<Out>) {
      const Out value = static_cast<Value>(bits);
      std::memcpy(to + i * sizeof(Out), &value, sizeof value);
    } else {
      std::memcpy(to + i * sizeof(Out), &bits, sizeof bits);
    }
  }
}

void convert(int code, const std::byte* from, std::byte* to, size_t count) {
  switch (code) {
    case 0x09:
      return convert<uint8_t, int8_t, int32_t>(from, to, count);
    case 0x0b:
      return convert<uint16_t, int16_t, int32_t>(from, to, count);
    case 0x0c:
      return convert<uint32_t, int32_t, int32_t>(from, to, count);
    case 0x0d:
      return convert<uint32_t, float, float>(from, to, count);
    default:
      return convert<uint64_t, double, double>(from, to, count);
  }
}

}  // namespace

io::Array parse_idx(std::shared_ptr<const io::FileBytes> file) {
  const std::string& name = file->name();
  Contents contents(*file);
  std::byte header[kPreambleSize + 4 * kMaxDims];
  const std::span<std::byte> preamble(header, kPreambleSize);
  read_header(contents, preamble, name);
  const Element& element = parse_preamble(preamble, name);
  const auto dims = std::to_integer<size_t>(preamble[3]);
  const std::span<std::byte> sizes(header + kPreambleSize, 4 * dims);
  read_header(contents, sizes, name);

  io::Array array;
  array.dtype = element.dtype;
  for (size_t i = 0; i < dims; ++i)
    array.shape.push_back(__builtin_bswap32(io::load<uint32_t>(sizes, 4 * i)));
  const uint64_t size = io::size_in_bytes(name, array.shape, element.size_bytes * 8);
  array.size_bytes = io::size_in_bytes(name, array.shape, item_size(element.dtype) * 8);
  const auto what = [&] {
    return std::string(" bytes for shape ") + io::shape_text(array.shape) + " of " +
           std::to_string(element.size_bytes) + "-byte elements";
  };
  const char* rule = "data must be as long as the shape says";
  // Before any memory is taken: deflate gives at most 1032 bytes for one.
  const uint64_t most = contents.most_left();
  check(contents.is_gzip() ? size <= most : size == most, name, rule,
        contents.is_gzip() ? "at most " : "", most, what());

  if (!contents.is_gzip() && element.dtype == DType::u8) {
    array.bytes = file;
    array.offset = contents.position();
    return array;
  }
  auto data = io::FileBytes::allocate(name, size);
  const size_t count = contents.read({data->data(), data->size()});
  check(count == size, name, rule, count, what());
  contents.check_end();
  if (element.dtype == DType::u8) {
    array.bytes = data;
    return array;
  }
  array.bytes = io::FileBytes::allocate(name, array.size_bytes);
  const uint64_t elements = size / static_cast<uint64_t>(element.size_bytes);
  if (elements > 0) convert(element.code, data->data(), array.bytes->data(), elements);
  return array;
}

}  // namespace aorta::data

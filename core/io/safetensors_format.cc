#include <aorta/core/check.h>
#include <aorta/core/io/crc32c.h>
#include <aorta/core/io/safetensors_format.h>
#include <aorta/core/shape.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace aorta::safetensors {
namespace {

constexpr size_t kLengthSize = 8;
constexpr uint64_t kLongestHeader = 100'000'000;  // the reference implementation's limit
constexpr size_t kAlignment = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct Known {
  std::string_view name;
  int64_t bits;
  int aorta;  // the DType, -1 for none
};

// By the order in which the reference implementation writes: widest first, so that data is aligned.
constexpr Known kKnown[] = {{"U64", 64, -1},
                            {"I64", 64, static_cast<int>(DType::i64)},
                            {"F64", 64, static_cast<int>(DType::f64)},
                            {"C64", 64, static_cast<int>(DType::c64)},
                            {"F32", 32, static_cast<int>(DType::f32)},
                            {"U32", 32, -1},
                            {"I32", 32, static_cast<int>(DType::i32)},
                            {"BF16", 16, static_cast<int>(DType::bf16)},
                            {"F16", 16, static_cast<int>(DType::f16)},
                            {"U16", 16, -1},
                            {"I16", 16, -1},
                            {"F8_E8M0", 8, -1},
                            {"F8_E4M3FNUZ", 8, -1},
                            {"F8_E5M2FNUZ", 8, -1},
                            {"F8_E4M3", 8, -1},
                            {"F8_E5M2", 8, -1},
                            {"I8", 8, -1},
                            {"U8", 8, static_cast<int>(DType::u8)},
                            {"F6_E3M2", 6, -1},
                            {"F6_E2M3", 6, -1},
                            {"F4", 4, -1},
                            {"BOOL", 8, static_cast<int>(DType::boolean)}};

const Known* find_dtype(std::string_view name) {
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& entry) { return entry.name == name; });
  return known == std::end(kKnown) ? nullptr : known;
}

size_t writing_rank(DType dtype) {
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& entry) {
    return entry.aorta == static_cast<int>(dtype);
  });
  return static_cast<size_t>(known - std::begin(kKnown));
}

// Takes the JSON parser's events: {"__metadata__": {text: text}, NAME: {"dtype": text, "shape":
// [sizes], "data_offsets": [begin, end]}}. No document is built, so nothing nests deeper than this.
class Events {
 public:
  using json = nlohmann::json;

  Events(Header& header, const std::string& name) : header_(header), name_(name) {}

  bool start_object(size_t) {
    if (depth_ == 1 && key_ == kMetadata) {
      check(!in_metadata_ && !metadata_seen_, name_, "header must have each name once",
            "\"__metadata__\" twice");
      in_metadata_ = metadata_seen_ = true;
    } else if (depth_ == 1) {
      header_.tensors.emplace_back().name = key_;
      fields_ = 0;
    } else {
      check(depth_ == 0, name_, kNesting, "an object inside ", where());
    }
    ++depth_;
    return true;
  }

  bool end_object() {
    --depth_;
    if (depth_ == 1 && !in_metadata_)
      check(fields_ == 7, name_, "tensor must have dtype, shape and data_offsets", where(),
            " without one of them");
    in_metadata_ = false;
    return true;
  }

  bool key(std::string& text) {
    if (depth_ == 1) {
      key_ = text;
    } else {
      field_ = text;
      if (!in_metadata_) begin_field();
    }
    return true;
  }

  bool string(std::string& text) {
    if (in_metadata_) {
      check(header_.metadata.emplace(field_, text).second, name_,
            "__metadata__ must have each key once", io::quote(field_), " twice");
    } else {
      expect(depth_ == 2 && field_ == "dtype", "text");
      header_.tensors.back().dtype = text;
    }
    return true;
  }

  bool start_array(size_t) {
    expect(depth_ == 2 && !in_metadata_ && field_ != "dtype", "an array");
    ++depth_;
    return true;
  }

  bool end_array() {
    --depth_;
    if (field_ == "data_offsets")
      check(offsets_ == 2, name_, "data_offsets must be [begin, end]", offsets_, " numbers in ",
            where());
    return true;
  }

  bool number_unsigned(uint64_t value) {
    expect(depth_ == 3, "a number");
    Entry& entry = header_.tensors.back();
    if (field_ == "shape") {
      check(value <= std::numeric_limits<int64_t>::max(), name_, "sizes must be below 2^63", value,
            " in ", where());
      check(entry.shape.size() < static_cast<size_t>(kMaxDims), name_,
            "tensor must have at most " + std::to_string(kMaxDims) + " dimensions", "more in ",
            where());
      entry.shape.push_back(static_cast<int64_t>(value));
    } else {
      check(++offsets_ <= 2, name_, "data_offsets must be [begin, end]", "more in ", where());
      (offsets_ == 1 ? entry.begin : entry.end) = value;
    }
    return true;
  }

  bool number_integer(int64_t value) {
    fail(name_, "numbers must be whole and not negative", value, " in ", where());
  }
  bool number_float(double, const std::string& text) {
    fail(name_, "numbers must be whole and below 2^64", io::quote(text), " in ", where());
  }
  bool null() { return expect(false, "null"); }
  bool boolean(bool) { return expect(false, "a bool"); }
  bool binary(std::vector<uint8_t>&) { return expect(false, "binary data"); }
  bool parse_error(size_t position, const std::string&, const json::exception&) {
    fail(name_, "header must be JSON", "an error at byte ", kLengthSize + position);
  }

 private:
  static constexpr const char* kNesting = "header must hold tensors and __metadata__ alone";

  void begin_field() {
    unsigned bit = field_ == "dtype" ? 1 : field_ == "shape" ? 2 : field_ == "data_offsets" ? 4 : 0;
    check(bit != 0, name_, "tensor must have dtype, shape and data_offsets alone",
          io::quote(field_), " in ", where());
    check((fields_ & bit) == 0, name_, "tensor must have each field once", io::quote(field_),
          " twice in ", where());
    fields_ |= bit;
    offsets_ = 0;
  }

  bool expect(bool ok, const char* found) {
    check(ok, name_, in_metadata_ ? "__metadata__ must map text to text" : kNesting, found, " in ",
          where());
    return true;
  }

  std::string where() const { return depth_ == 0 ? "the header" : io::quote(key_); }

  Header& header_;
  const std::string& name_;
  int depth_ = 0;
  bool in_metadata_ = false, metadata_seen_ = false;
  unsigned fields_ = 0;
  int offsets_ = 0;
  std::string key_, field_;
};

void check_names_differ(const Header& header, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : header.tensors) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    fail(name, "header must have each name once", io::quote(*twice), " twice");
}

// Sorts the tensors by their place; each begins where the one before ends, the last ends the file.
void check_places(Header& header, uint64_t data_size, const std::string& name) {
  std::sort(header.tensors.begin(), header.tensors.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t expected = 0;
  for (const Entry& entry : header.tensors) {
    const std::string place = io::quote(entry.name) + " at [" + std::to_string(entry.begin) + "," +
                              std::to_string(entry.end) + "]";
    check(entry.begin <= entry.end, name, "data_offsets must not decrease", place);
    check(entry.end <= data_size, name, "tensors must lie inside the file", place, " of ",
          data_size);
    check(entry.begin >= expected, name, "tensors must not overlap", place, " after ", expected);
    check(entry.begin == expected, name, "there must be no hole before a tensor", place, " after ",
          expected);
    expected = entry.end;
    const Known* dtype = find_dtype(entry.dtype);
    check(dtype != nullptr, name, "dtype must be one of the safetensors format",
          io::quote(entry.dtype), " in ", io::quote(entry.name));
    uint64_t size = io::size_in_bytes(name + ":" + io::quote(entry.name), entry.shape, dtype->bits);
    check(size == entry.end - entry.begin, name, "shape x dtype must be the tensor's bytes", place,
          " for ", entry.dtype, " ", io::shape_text(entry.shape));
  }
  check(expected == data_size, name, "tensors must fill the file", data_size - expected,
        " bytes after the last");
}

std::string hex(uint32_t value) {
  std::string text(8, '0');
  for (size_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  return text;
}

// The checksum of length and header, with the checksum's own digits counted as zeros.
uint32_t header_checksum(std::string_view header, size_t digits) {
  uint32_t crc = io::crc32c(header.data(), digits);
  crc = io::crc32c("00000000", 8, crc);
  return io::crc32c(header.data() + digits + 8, header.size() - digits - 8, crc);
}

std::string checksum_key(std::string_view tensor) {
  return std::string(kChecksumKey) + "." + std::string(tensor);
}

std::string json_text(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

bool is_checksum_key(std::string_view key) {
  return key == kChecksumKey || key.starts_with(std::string(kChecksumKey) + ".");
}

Header parse_header(std::span<const std::byte> file, const std::string& name) {
  check(file.size() >= kLengthSize, name, "file must start with an 8-byte header length",
        file.size(), " bytes");
  auto length = io::load<uint64_t>(file, 0);
  check(length <= kLongestHeader, name, "header must be at most 100,000,000 bytes", length);
  check(length <= file.size() - kLengthSize, name, "header must lie inside the file", length,
        " bytes in a file of ", file.size());
  std::string_view text = io::as_text(file.subspan(kLengthSize, length));
  check(text.starts_with('{'), name, "header must start with '{'", io::quote(text.substr(0, 1)));
  check(is_utf8(text), name, "header must be UTF-8", "other bytes");
  // The JSON parser takes a zero byte for the end of its input.
  size_t zero = text.find('\0');
  check(zero == std::string_view::npos, name, "header must be JSON", "an error at byte ",
        kLengthSize + zero + 1);
  Header header;
  header.data_offset = kLengthSize + length;
  Events events(header, name);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  check_names_differ(header, name);
  check_places(header, file.size() - header.data_offset, name);
  return header;
}

bool verify_header(std::span<const std::byte> file, const Header& header, const std::string& name) {
  auto ours = [](const auto& item) { return item.first.starts_with("aorta."); };
  if (std::none_of(header.metadata.begin(), header.metadata.end(), ours)) return false;
  auto stored = header.metadata.find(std::string(kChecksumKey));
  check(stored != header.metadata.end(), name, "header must have its CRC-32C",
        "none: the file is damaged");
  std::string_view text = io::as_text(file.first(header.data_offset));
  const std::string start = "\"" + std::string(kChecksumKey) + "\":\"";
  size_t digits = text.find(start);
  bool found = stored->second.size() == 8 && digits != std::string_view::npos;
  check(found && text.substr(digits + start.size(), 8) == stored->second, name,
        "header's CRC-32C must be 8 digits", io::quote(stored->second));
  const std::string actual = hex(header_checksum(text, digits + start.size()));
  check(actual == stored->second, name, "header must match its CRC-32C", actual, " instead of ",
        io::quote(stored->second), ": the file is damaged");
  return true;
}

void verify_tensor(std::span<const std::byte> file, const Header& header, const Entry& entry,
                   const std::string& name) {
  auto stored = header.metadata.find(checksum_key(entry.name));
  check(stored != header.metadata.end(), name, "every tensor must have its CRC-32C", "none for ",
        io::quote(entry.name));
  const std::string actual =
      hex(io::crc32c(file.data() + header.data_offset + entry.begin, entry.end - entry.begin));
  check(actual == stored->second, name, "tensor must match its CRC-32C", io::quote(entry.name),
        " with ", actual, " instead of ", io::quote(stored->second), ": the file is damaged");
}

io::Array read_array(const std::shared_ptr<const io::FileBytes>& file, const Header& header,
                     const Entry& entry) {
  const Known* known = find_dtype(entry.dtype);
  check(known != nullptr && known->aorta >= 0, file->name(),
        "dtype must be one of BOOL U8 I32 I64 F16 BF16 F32 F64 C64", entry.dtype, " in ",
        io::quote(entry.name));
  io::Array array{static_cast<DType>(known->aorta), entry.shape, file,
                  header.data_offset + entry.begin, entry.end - entry.begin};
  if (array.dtype == DType::boolean)
    io::check_bools(file->name() + ":" + io::quote(entry.name),
                    file->bytes().subspan(array.offset, array.size_bytes));
  return array;
}

void write(io::AtomicFile& file, std::vector<Source> sources, const Metadata& metadata,
           const std::string& name) {
  for (const Source& source : sources)
    check(source.dtype != DType::c128, name, "dtype must be one of the safetensors format",
          to_string(source.dtype) + " in " + io::quote(source.name));
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return std::pair(writing_rank(a.dtype), std::string_view(a.name)) <
           std::pair(writing_rank(b.dtype), std::string_view(b.name));
  });
  Metadata all = metadata;
  all[std::string(kChecksumKey)] = "00000000";
  std::string tensors;
  uint64_t offset = 0;
  for (const Source& source : sources) {
    check(source.name != kMetadata, name, "tensor must not have the name of the metadata",
          kMetadata);
    all[checksum_key(source.name)] = hex(io::crc32c(source.data.data(), source.data.size()));
    tensors += "," + json_text(source.name) + ":{\"dtype\":\"" +
               std::string(kKnown[writing_rank(source.dtype)].name) +
               "\",\"shape\":" + io::shape_text(source.shape) + ",\"data_offsets\":[" +
               std::to_string(offset) + "," + std::to_string(offset + source.data.size()) + "]}";
    offset += source.data.size();
  }
  std::string text;
  for (const auto& [key, value] : all) {
    check(is_utf8(key) && is_utf8(value), name, "metadata must be UTF-8", io::quote(key));
    text += (text.empty() ? "{\"__metadata__\":{" : ",") + json_text(key) + ":" + json_text(value);
  }
  text += "}" + tensors + "}";
  text.append((kAlignment - (kLengthSize + text.size()) % kAlignment) % kAlignment, ' ');
  check(text.size() <= kLongestHeader, name, "header must be at most 100,000,000 bytes",
        text.size());
  std::string header;
  io::append(header, uint64_t{text.size()});
  header += text;
  const std::string start = "\"" + std::string(kChecksumKey) + "\":\"";
  size_t digits = header.find(start) + start.size();
  header.replace(digits, 8, hex(header_checksum(header, digits)));
  file.write(header);
  for (const Source& source : sources) file.write(source.data.data(), source.data.size());
}

}  // namespace aorta::safetensors

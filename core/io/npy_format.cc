#include <aorta/core/check.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/shape.h>

#include <algorithm>

namespace aorta::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;
constexpr size_t kLongestDictionary = size_t{1} << 20;  // 12 dimensions need 350 bytes

// Reads the Python literal of the header: {'descr': '<f4', 'fortran_order': False, 'shape': (2,)}.
class Literal {
 public:
  Literal(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  void skip_space() {
    size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) malformed(std::string("'") + wanted + "'");
  }

  char peek() {
    skip_space();
    return rest_.empty() ? '\0' : rest_[0];
  }

  std::string_view string() {
    char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a string");
    size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) malformed("the end of a string");
    std::string_view value = rest_.substr(1, end - 1);
    if (value.find('\\') != std::string_view::npos) malformed("a string without escapes");
    rest_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    skip_space();
    for (std::string_view word : {"False", "True"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    malformed("True or False");
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, rest_[digits] - '0', &value))
        malformed("a size below 2^63");
    }
    if (digits == 0) malformed("a size");
    rest_.remove_prefix(digits);
    if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // Python 2 wrote longs so
    return value;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    expect('(');
    bool comma = true;  // "(3)" is a number in Python, not a shape
    while (!accept(')')) {
      if (!comma) malformed("',' between sizes");
      check(sizes.size() < static_cast<size_t>(kMaxDims), name_,
            "array must have at most " + std::to_string(kMaxDims) + " dimensions", "more");
      sizes.push_back(integer());
      comma = accept(',');
    }
    if (sizes.size() == 1 && !comma) malformed("a shape such as (3,)");
    return sizes;
  }

  void expect_end() {
    skip_space();
    if (!rest_.empty()) malformed("nothing after the dictionary");
  }

 private:
  [[noreturn]] void malformed(const std::string& wanted) {
    fail(name_, "npy header must have " + wanted + " here", rest_.empty() ? "its end" : "",
         rest_.empty() ? "" : io::quote(rest_.substr(0, 24)));
  }

  std::string_view rest_;
  const std::string& name_;
};

void parse_dtype(std::string_view text, const std::string& name, Header& header) {
  std::string_view code = text;
  char order = '|';
  if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  check(!code.starts_with('O'), name, "object dtype (a Python pickle) is refused", io::quote(text));
  struct Known {
    std::string_view code;
    DType dtype;
  };
  constexpr Known kKnown[] = {{"f4", DType::f32},     {"f8", DType::f64}, {"f2", DType::f16},
                              {"i8", DType::i64},     {"i4", DType::i32}, {"u1", DType::u8},
                              {"b1", DType::boolean}, {"i1", DType::i32}, {"i2", DType::i32},
                              {"u2", DType::i32},     {"u4", DType::i64}, {"c8", DType::c64},
                              {"c16", DType::c128}};
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& entry) { return entry.code == code; });
  check(known != std::end(kKnown), name,
        "numpy dtype must be one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 b1 c8 c16", io::quote(text));
  header.dtype = known->dtype;
  header.kind = code[0];
  header.item_size = code == "c16" ? 16 : code[1] - '0';
  header.big_endian = order == '>' && header.item_size > 1;
  check(order != '|' || header.item_size == 1, name, "numpy dtype must name its byte order",
        io::quote(text));
}

void parse_dictionary(std::string_view text, const std::string& name, Header& header) {
  Literal literal(text, name);
  bool seen[3] = {};
  constexpr std::string_view kKeys[3] = {"descr", "fortran_order", "shape"};
  literal.expect('{');
  bool comma = true;
  while (!literal.accept('}')) {
    if (!comma) literal.expect(',');
    std::string_view key = literal.string();
    auto index = static_cast<size_t>(std::find(kKeys, kKeys + 3, key) - kKeys);
    check(index < 3, name, "npy header must have the keys descr, fortran_order and shape alone",
          io::quote(key));
    check(!seen[index], name, "npy header must have each key once", io::quote(key));
    seen[index] = true;
    literal.expect(':');
    if (index == 0) {
      check(literal.peek() != '[' && literal.peek() != '(', name, "structured dtype is refused",
            "a dtype with fields");
      parse_dtype(literal.string(), name, header);
    } else if (index == 1) {
      header.fortran_order = literal.boolean();
    } else {
      header.shape = literal.shape();
    }
    comma = literal.accept(',');
  }
  literal.expect_end();
  for (int i = 0; i < 3; ++i)
    check(seen[i], name, "npy header must have the keys descr, fortran_order and shape",
          "none named ", kKeys[i]);
}

uint8_t swap_bytes(uint8_t value) { return value; }
uint16_t swap_bytes(uint16_t value) { return __builtin_bswap16(value); }
uint32_t swap_bytes(uint32_t value) { return __builtin_bswap32(value); }
uint64_t swap_bytes(uint64_t value) { return __builtin_bswap64(value); }

// Calls visit(position in the file) for every element in row-major order.
template <class Visit>
void for_each_element(const Header& header, Visit visit) {
  size_t dims = header.shape.size();
  std::vector<int64_t> strides(dims, 1), index(dims, 0);
  int64_t count = 1;
  for (size_t i = 0; i < dims; ++i) {
    size_t dim = header.fortran_order ? i : dims - 1 - i;
    strides[dim] = count;
    count *= header.shape[dim];
  }
  int64_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(static_cast<size_t>(position));
    for (size_t dim = dims; dim-- > 0;) {
      position += strides[dim];
      if (++index[dim] < header.shape[dim]) break;
      position -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

// The bits of a complex number, whose parts are of type Part.
template <class Part>
struct ComplexBits {
  Part real, imaginary;
};
template <class Part>
ComplexBits<Part> swap_bytes(ComplexBits<Part> value) {
  return {swap_bytes(value.real), swap_bytes(value.imaginary)};
}

// `In` is the element's bits in the file, `Value` what they mean, `Out` what they become.
template <class In, class Value = In, class Out = Value>
void convert(const Header& header, const std::byte* from, std::byte* to) {
  for_each_element(header, [&](size_t position) {
    In bits;
    std::memcpy(&bits, from + position * sizeof(In), sizeof(In));
    if (header.big_endian) bits = swap_bytes(bits);
    Out value = static_cast<Out>(static_cast<Value>(bits));
    std::memcpy(to, &value, sizeof(Out));
    to += sizeof(Out);
  });
}

void convert(const Header& header, const std::byte* from, std::byte* to) {
  bool wider = item_size(header.dtype) != header.item_size;
  bool is_signed = header.kind == 'i';
  switch (header.item_size) {
    case 1:
      return wider ? convert<uint8_t, int8_t, int32_t>(header, from, to)
                   : convert<uint8_t>(header, from, to);
    case 2:
      if (!wider) return convert<uint16_t>(header, from, to);
      return is_signed ? convert<uint16_t, int16_t, int32_t>(header, from, to)
                       : convert<uint16_t, uint16_t, int32_t>(header, from, to);
    case 4:
      return wider ? convert<uint32_t, uint32_t, int64_t>(header, from, to)
                   : convert<uint32_t>(header, from, to);
    case 8:
      return header.kind == 'c' ? convert<ComplexBits<uint32_t>>(header, from, to)
                                : convert<uint64_t>(header, from, to);
    default:
      return convert<ComplexBits<uint64_t>>(header, from, to);
  }
}

}  // namespace

size_t header_size(std::span<const std::byte> preamble, const std::string& name) {
  std::string_view text = io::as_text(preamble);
  check(text.starts_with(kMagic), name, "npy file must start with \\x93NUMPY",
        io::quote(text.substr(0, kMagic.size())));
  check(text.size() >= 8, name, "npy header must be whole", text.size(), " bytes");
  int major = std::to_integer<int>(preamble[6]);
  int minor = std::to_integer<int>(preamble[7]);
  check(major >= 1 && major <= 3 && minor == 0, name, "npy version must be 1.0, 2.0 or 3.0", major,
        ".", minor);
  size_t start = major == 1 ? 10 : 12;
  check(text.size() >= start, name, "npy header must be whole", text.size(), " bytes");
  size_t length = major == 1 ? io::load<uint16_t>(preamble, 8) : io::load<uint32_t>(preamble, 8);
  check(length <= kLongestDictionary, name, "npy header must be at most 1 MiB long", length,
        " bytes");
  return start + length;
}

Header parse_header(std::span<const std::byte> bytes, const std::string& name) {
  size_t end = header_size(bytes.first(std::min(bytes.size(), kPreambleSize)), name);
  check(bytes.size() >= end, name, "npy header must be whole", bytes.size(), " of ", end, " bytes");
  size_t start = bytes[6] == std::byte{1} ? 10 : 12;
  Header header;
  parse_dictionary(io::as_text(bytes.subspan(start, end - start)), name, header);
  header.data_offset = end;
  header.data_size = io::size_in_bytes(name, header.shape, header.item_size * 8);
  return header;
}

std::string make_header(DType dtype, std::span<const int64_t> shape, const std::string& name) {
  check(dtype != DType::bf16, name, "dtype must be one that numpy has; convert to f32 first",
        "bf16");
  constexpr const char* kCodes[kDTypeCount] = {"<f4", "<f8", "<f2", "",    "<i8",
                                               "<i4", "|u1", "|b1", "<c8", "<c16"};
  std::string dictionary = std::string("{'descr': '") + kCodes[static_cast<int>(dtype)] +
                           "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    dictionary += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  dictionary += shape.size() == 1 ? ",), }" : "), }";
  // numpy leaves room for the first size to grow to 21 digits.
  if (!shape.empty()) dictionary.append(21 - std::to_string(shape[0]).size(), ' ');

  constexpr size_t kStart = 10;
  size_t end = kStart + dictionary.size() + 1;  // 1 for the line end
  dictionary.append((kAlignment - end % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += {'\1', '\0'};
  io::append(header, static_cast<uint16_t>(dictionary.size()));
  return header + dictionary;
}

io::Array parse(std::shared_ptr<const io::FileBytes> file, size_t offset, size_t size,
                const std::string& name) {
  std::span<const std::byte> bytes = file->bytes().subspan(offset, size);
  Header header = parse_header(bytes, name);
  check(header.data_size == size - header.data_offset, name,
        "data must be as long as the shape says", size - header.data_offset, " bytes for shape ",
        io::shape_text(header.shape), " of ", header.item_size, "-byte elements");
  if (header.dtype == DType::boolean) io::check_bools(name, bytes.subspan(header.data_offset));

  io::Array array{header.dtype, header.shape, file, offset + header.data_offset, header.data_size};
  auto longer_than_one = [](int64_t n) { return n > 1; };
  bool permuted = header.fortran_order &&
                  std::count_if(header.shape.begin(), header.shape.end(), longer_than_one) > 1;
  auto item = static_cast<size_t>(item_size(header.dtype));
  if (!permuted && !header.big_endian && item == static_cast<size_t>(header.item_size))
    return array;

  array.size_bytes = io::size_in_bytes(name, header.shape, item_size(header.dtype) * 8);
  array.bytes = io::FileBytes::allocate(name, array.size_bytes);
  array.offset = 0;
  if (array.size_bytes > 0) convert(header, bytes.data() + header.data_offset, array.bytes->data());
  return array;
}

}  // namespace aorta::npy

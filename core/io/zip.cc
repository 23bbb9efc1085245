#include <aorta/core/check.h>
#include <aorta/core/io/zip.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <set>

namespace aorta::io {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr size_t kLocalSize = 30;
constexpr size_t kDirectoryEntrySize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kZip64EndSize = 56;
constexpr size_t kZip64LocatorSize = 20;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kAlignmentExtra = 0xd935;  // the padding field that Android's zipalign writes
constexpr uint16_t kUtf8Flag = 1 << 11;
constexpr uint64_t kDeflateLimit = 1032;  // zlib's technical details: the largest ratio
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

// One field after another of a record whose range has been checked.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, size_t offset) : bytes_(bytes), offset_(offset) {}

  template <class T>
  T next() {
    T value = load<T>(bytes_, offset_);
    offset_ += sizeof(T);
    return value;
  }
  void skip(size_t size) { offset_ += size; }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_;
};

struct Directory {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  uint64_t end = 0;  // where the records after it begin
};

// The end record stands last, followed by a comment of at most 65,535 bytes.
size_t find_end(std::span<const std::byte> bytes, const std::string& name) {
  check(bytes.size() >= kEndSize, name, "zip file must have an end record", bytes.size(), " bytes");
  size_t last = bytes.size() - kEndSize;
  size_t first = last - std::min<size_t>(last, 0xffff);
  for (size_t at = last + 1; at-- > first;) {
    if (load<uint32_t>(bytes, at) != kEndSignature) continue;
    if (load<uint16_t>(bytes, at + 20) == last - at) return at;
  }
  fail(name, "zip file must have an end record", "none: not a zip file, or cut short");
}

Directory find_zip64_directory(std::span<const std::byte> bytes, size_t end,
                               const std::string& name) {
  const char* rule = "zip64 end record must stand before its locator";
  check(end >= kZip64LocatorSize + kZip64EndSize, name, rule, end, " bytes");
  size_t locator = end - kZip64LocatorSize;
  check(load<uint32_t>(bytes, locator) == kZip64LocatorSignature, name, rule, "no locator");
  uint64_t at = load<uint64_t>(bytes, locator + 8);
  check(at <= locator - kZip64EndSize && load<uint32_t>(bytes, at) == kZip64EndSignature, name,
        rule, "offset ", at);
  check(load<uint64_t>(bytes, at + 4) == locator - at - 12, name, rule, "another size");
  Fields fields(bytes, at + 16);
  auto disk = fields.next<uint32_t>();
  auto directory_disk = fields.next<uint32_t>();
  check(disk == 0 && directory_disk == 0, name, "zip file must be one volume", disk);
  Directory directory;
  fields.skip(8);
  directory.count = fields.next<uint64_t>();
  directory.size = fields.next<uint64_t>();
  directory.offset = fields.next<uint64_t>();
  directory.end = at;
  return directory;
}

Directory find_directory(std::span<const std::byte> bytes, const std::string& name) {
  size_t end = find_end(bytes, name);
  Fields fields(bytes, end + 4);
  auto disk = fields.next<uint16_t>();
  auto directory_disk = fields.next<uint16_t>();
  fields.skip(2);
  Directory directory;
  directory.count = fields.next<uint16_t>();
  directory.size = fields.next<uint32_t>();
  directory.offset = fields.next<uint32_t>();
  directory.end = end;
  // Some writers add the zip64 record where the old one would do.
  bool has_locator = end >= kZip64LocatorSize &&
                     load<uint32_t>(bytes, end - kZip64LocatorSize) == kZip64LocatorSignature;
  if (has_locator || directory.count == 0xffff || directory.size == 0xffffffff ||
      directory.offset == 0xffffffff)
    directory = find_zip64_directory(bytes, end, name);
  else
    check(disk == 0 && directory_disk == 0, name, "zip file must be one volume", disk);
  check(directory.offset <= directory.end && directory.size == directory.end - directory.offset,
        name, "zip directory must end where the end record starts", "offset ", directory.offset,
        " and size ", directory.size, " before ", directory.end);
  check(directory.count <= directory.size / kDirectoryEntrySize, name,
        "zip directory must hold its members", directory.count, " in ", directory.size, " bytes");
  return directory;
}

// Replaces what doesn't fit 32 bits by the fields of the zip64 extra, in the order that they have.
void read_zip64_extra(std::span<const std::byte> extra, const std::string& name,
                      ZipMember& member) {
  uint64_t* wide[] = {&member.size, &member.compressed_size, &member.header_offset};
  bool needed = std::any_of(wide, wide + 3, [](const uint64_t* v) { return *v == 0xffffffff; });
  if (!needed) return;
  for (size_t at = 0; extra.size() - at >= 4;) {
    auto id = load<uint16_t>(extra, at);
    size_t size = load<uint16_t>(extra, at + 2);
    check(size <= extra.size() - at - 4, name, "zip extra field must be whole", size, " bytes");
    if (id != kZip64Extra) {
      at += 4 + size;
      continue;
    }
    std::span<const std::byte> field = extra.subspan(at + 4, size);
    for (uint64_t* value : wide) {
      if (*value != 0xffffffff) continue;
      check(field.size() >= 8, name, "zip64 field must hold each size that needs it", size,
            " bytes");
      *value = load<uint64_t>(field, 0);
      field = field.subspan(8);
    }
    return;
  }
  fail(name, "zip64 field must hold each size that needs it", "no such field");
}

// One directory entry at `at`; moves `at` behind it.
ZipMember read_entry(const FileBytes& file, const Directory& directory, size_t& at) {
  std::span<const std::byte> bytes = file.bytes();
  const std::string& path = file.name();
  check(
      directory.end - at >= kDirectoryEntrySize && load<uint32_t>(bytes, at) == kDirectorySignature,
      path, "zip directory must hold its members", "something else at offset ", at);
  Fields fields(bytes, at + 8);
  auto flags = fields.next<uint16_t>();
  auto method = fields.next<uint16_t>();
  fields.skip(4);  // time and date
  ZipMember member;
  member.crc32 = fields.next<uint32_t>();
  member.compressed_size = fields.next<uint32_t>();
  member.size = fields.next<uint32_t>();
  size_t name_size = fields.next<uint16_t>();
  size_t extra_size = fields.next<uint16_t>();
  size_t comment_size = fields.next<uint16_t>();
  auto disk = fields.next<uint16_t>();
  fields.skip(6);  // attributes
  member.header_offset = fields.next<uint32_t>();
  size_t variable = name_size + extra_size + comment_size;
  check(variable <= directory.end - at - kDirectoryEntrySize, path,
        "zip directory must hold its members", "a member longer than it");
  member.name = as_text(bytes.subspan(at + kDirectoryEntrySize, name_size));
  const std::string name = member_name(file, member);
  check(is_utf8(member.name), path, "member name must be UTF-8", quote(member.name));
  read_zip64_extra(bytes.subspan(at + kDirectoryEntrySize + name_size, extra_size), name, member);
  check((flags & 0x2041) == 0, name, "member must not be encrypted", "flags ", flags);
  check(method == kStored || method == kDeflated, name, "member must be stored (0) or deflated (8)",
        "method ", method);
  check(disk == 0, name, "zip file must be one volume", disk);
  member.deflated = method == kDeflated;
  check(member.deflated || member.size == member.compressed_size, name,
        "stored member must have one size", member.size, " and ", member.compressed_size);
  at += kDirectoryEntrySize + variable;
  return member;
}

// Finds the data behind the member's local header, which must agree with the directory.
void locate_data(const FileBytes& file, const Directory& directory, ZipMember& member) {
  std::span<const std::byte> bytes = file.bytes();
  const std::string name = member_name(file, member);
  uint64_t at = member.header_offset;
  const char* rule = "member must lie before the zip directory";
  check(directory.offset >= kLocalSize && at <= directory.offset - kLocalSize, name, rule,
        "offset ", at);
  check(load<uint32_t>(bytes, at) == kLocalSignature, name, "member must have a local header",
        "something else at offset ", at);
  size_t name_size = load<uint16_t>(bytes, at + 26);
  size_t extra_size = load<uint16_t>(bytes, at + 28);
  uint64_t room = directory.offset - at - kLocalSize;
  check(name_size + extra_size <= room, name, rule, "a name of ", name_size,
        " bytes and an extra field of ", extra_size);
  room -= name_size + extra_size;
  check(as_text(bytes.subspan(at + kLocalSize, name_size)) == member.name, name,
        "local header must name the member",
        quote(as_text(bytes.subspan(at + kLocalSize, name_size))));
  check((load<uint16_t>(bytes, at + 8) == kDeflated) == member.deflated, name,
        "local header must agree on the method", load<uint16_t>(bytes, at + 8));
  check(member.compressed_size <= room, name, rule, member.compressed_size, " bytes at offset ",
        at);
  member.data_offset = at + kLocalSize + name_size + extra_size;
}

void check_no_overlap(const FileBytes& file, const std::vector<ZipMember>& members) {
  std::vector<const ZipMember*> sorted;
  for (const ZipMember& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](auto* a, auto* b) { return a->header_offset < b->header_offset; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const ZipMember& before = *sorted[i - 1];
    check(before.data_offset + before.compressed_size <= sorted[i]->header_offset,
          member_name(file, *sorted[i]), "members must not overlap", quote(before.name),
          " before it");
  }
}

void check_sizes(const FileBytes& file, const std::vector<ZipMember>& members,
                 uint64_t max_inflated_bytes) {
  uint64_t total = 0;
  for (const ZipMember& member : members) {
    if (!member.deflated) continue;
    const std::string name = member_name(file, member);
    check(member.size / kDeflateLimit <= member.compressed_size, name,
          "deflated member must be at most 1032 times its compressed size", member.size, " from ",
          member.compressed_size, " bytes");
    check(member.size <= max_inflated_bytes - total, name,
          "deflated members must fit in max_inflated_bytes", "more than ", max_inflated_bytes);
    total += member.size;
  }
}

// zlib's counters have 32 bits.
uInt chunk(size_t left) { return static_cast<uInt>(std::min<size_t>(left, 1u << 30)); }

struct InflateStream {
  z_stream z{};
  InflateStream() {
    check(inflateInit2(&z, -MAX_WBITS) == Z_OK, "inflate", "zlib must start", "an error");
  }
  ~InflateStream() { inflateEnd(&z); }
};

uint32_t zip_crc(uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;  // zlib takes a null pointer for a request of the start value
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string member_name(const FileBytes& file, const ZipMember& member) {
  return file.name() + ":" + quote(member.name);
}

std::vector<ZipMember> read_zip_directory(const FileBytes& file, uint64_t max_inflated_bytes) {
  Directory directory = find_directory(file.bytes(), file.name());
  std::vector<ZipMember> members;
  std::set<std::string_view> names;
  members.reserve(directory.count);
  size_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    members.push_back(read_entry(file, directory, at));
    locate_data(file, directory, members.back());
    check(names.insert(members.back().name).second, file.name(), "member names must differ",
          quote(members.back().name), " twice");
  }
  check(at == directory.end, file.name(), "zip directory must hold its members alone",
        directory.end - at, " more bytes");
  check_no_overlap(file, members);
  check_sizes(file, members, max_inflated_bytes);
  return members;
}

void inflate_member(const FileBytes& file, const ZipMember& member, std::span<std::byte> out) {
  const std::string name = member_name(file, member);
  InflateStream stream;
  // zlib's input pointer lacks a const; it doesn't write there.
  auto* input = reinterpret_cast<Bytef*>(file.data() + member.data_offset);
  size_t input_left = member.compressed_size;
  size_t done = 0;
  std::byte beyond{};  // room for a byte too many, so that a longer stream shows
  bool whole = out.size() == member.size;
  stream.z.next_in = input;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    bool full = done == out.size();
    if (full && !whole) return;
    uInt in = chunk(input_left);
    uInt room = full ? 1 : chunk(out.size() - done);
    stream.z.avail_in = in;
    stream.z.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out.data() + done);
    stream.z.avail_out = room;
    status = inflate(&stream.z, Z_NO_FLUSH);
    check(status == Z_OK || status == Z_STREAM_END, name, "deflated member must be sound",
          stream.z.msg ? stream.z.msg : "the end of its data", " after ", done, " bytes");
    check(!full || stream.z.avail_out == 1, name, "deflated member must have the size it says",
          "more than ", member.size, " bytes");
    input_left -= in - stream.z.avail_in;
    if (!full) done += room - stream.z.avail_out;
  }
  check(done == out.size(), name, "deflated member must have the size it says", done, " of ",
        member.size, " bytes");
  check(!whole || input_left == 0, name, "deflated member must end with its data", input_left,
        " more bytes");
}

void check_crc(const FileBytes& file, const ZipMember& member,
               std::span<const std::byte> contents) {
  uint32_t crc = zip_crc(0, contents);
  check(crc == member.crc32, member_name(file, member), "CRC-32 must match the zip directory's",
        crc, " and ", member.crc32);
}

namespace {

std::string deflate_all(std::string_view head, std::span<const std::byte> body) {
  struct Stream {
    z_stream z{};
    Stream() {
      check(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK,
            "deflate", "zlib must start", "an error");
    }
    ~Stream() { deflateEnd(&z); }
  } stream;
  std::string out;
  char buffer[1 << 16];
  std::string_view parts[2] = {head, as_text(body)};
  for (int part = 0; part < 2; ++part) {
    std::string_view rest = parts[part];
    do {
      uInt in = chunk(rest.size());
      stream.z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      stream.z.avail_in = in;
      rest.remove_prefix(in);
      int flush = part == 1 && rest.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream.z.next_out = reinterpret_cast<Bytef*>(buffer);
        stream.z.avail_out = sizeof buffer;
        deflate(&stream.z, flush);
        out.append(buffer, sizeof buffer - stream.z.avail_out);
      } while (stream.z.avail_out == 0);
    } while (!rest.empty());
  }
  return out;
}

// What local header and directory entry have in common, from "version needed" to the name's length.
std::string common_fields(const ZipMember& member, bool zip64_sizes) {
  std::string text;
  append(text, static_cast<uint16_t>(zip64_sizes ? 45 : 20));
  append(text, kUtf8Flag);
  append(text, member.deflated ? kDeflated : kStored);
  append(text, uint16_t{0});     // midnight
  append(text, uint16_t{0x21});  // 1980-01-01: the same tensors give the same bytes
  append(text, member.crc32);
  append(text, zip64_sizes ? 0xffffffff : static_cast<uint32_t>(member.compressed_size));
  append(text, zip64_sizes ? 0xffffffff : static_cast<uint32_t>(member.size));
  append(text, static_cast<uint16_t>(member.name.size()));
  return text;
}

std::string zip64_field(std::initializer_list<uint64_t> values) {
  std::string text;
  append(text, kZip64Extra);
  append(text, static_cast<uint16_t>(8 * values.size()));
  for (uint64_t value : values) append(text, value);
  return text;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view head, std::span<const std::byte> body,
                    bool compress) {
  check(name.size() <= 0xffff, quote(name), "member name must have at most 65535 bytes",
        name.size());
  ZipMember member;
  member.name = name;
  member.deflated = compress;
  member.size = head.size() + body.size();
  member.crc32 = zip_crc(zip_crc(0, std::as_bytes(std::span(head))), body);
  std::string compressed = compress ? deflate_all(head, body) : std::string();
  member.compressed_size = compress ? compressed.size() : member.size;
  member.header_offset = file_.size_bytes();

  bool zip64 = std::max(member.size, member.compressed_size) >= zip64_from_;
  std::string extra = zip64 ? zip64_field({member.size, member.compressed_size}) : std::string();
  if (!compress) {
    constexpr size_t kAlignment = 64;
    constexpr size_t kFieldSize = 6;  // id, size, alignment
    size_t end = member.header_offset + kLocalSize + name.size() + extra.size() + kFieldSize;
    size_t padding = (kAlignment - end % kAlignment) % kAlignment;
    append(extra, kAlignmentExtra);
    append(extra, static_cast<uint16_t>(2 + padding));
    append(extra, static_cast<uint16_t>(kAlignment));
    extra.append(padding, '\0');
  }
  std::string header;
  append(header, kLocalSignature);
  header += common_fields(member, zip64);
  append(header, static_cast<uint16_t>(extra.size()));
  file_.write(header + name + extra);
  if (compress) {
    file_.write(compressed);
  } else {
    file_.write(head);
    file_.write(body.data(), body.size());
  }
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  uint64_t offset = file_.size_bytes();
  std::string text;
  for (const ZipMember& member : members_) {
    bool zip64 =
        std::max({member.size, member.compressed_size, member.header_offset}) >= zip64_from_;
    std::string extra =
        zip64 ? zip64_field({member.size, member.compressed_size, member.header_offset}) : "";
    append(text, kDirectorySignature);
    append(text, uint16_t{45});  // made by: version 4.5, MS-DOS attributes
    text += common_fields(member, zip64);
    append(text, static_cast<uint16_t>(extra.size()));
    text.append(10, '\0');  // no comment, first volume, no attributes
    append(text, zip64 ? 0xffffffff : static_cast<uint32_t>(member.header_offset));
    text += member.name + extra;
  }
  uint64_t size = text.size(), end = offset + size, count = members_.size();
  bool zip64 = std::max(size, offset) >= zip64_from_ || count >= 0xffff;
  if (zip64) {
    append(text, kZip64EndSignature);
    append(text, uint64_t{kZip64EndSize - 12});
    append(text, uint16_t{45});
    append(text, uint16_t{45});
    append(text, uint64_t{0});  // first volume
    for (uint64_t value : {count, count, size, offset}) append(text, value);
    append(text, kZip64LocatorSignature);
    append(text, uint32_t{0});
    append(text, end);
    append(text, uint32_t{1});
  }
  append(text, kEndSignature);
  append(text, uint32_t{0});
  for (int i = 0; i < 2; ++i) append(text, static_cast<uint16_t>(zip64 ? 0xffff : count));
  append(text, zip64 ? 0xffffffff : static_cast<uint32_t>(size));
  append(text, zip64 ? 0xffffffff : static_cast<uint32_t>(offset));
  append(text, uint16_t{0});
  file_.write(text);
}

}  // namespace aorta::io

#include <aorta/core/check.h>
#include <aorta/core/io/npz_format.h>

#include <algorithm>
#include <set>

namespace aorta::npz {

std::vector<Entry> read_entries(const io::FileBytes& file, const ReadOptions& options) {
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (io::ZipMember& member : io::read_zip_directory(file, options.max_inflated_bytes)) {
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    check(names.insert(name).second, file.name(), "array names must differ", io::quote(name),
          " twice");
    entries.push_back({std::move(name), std::move(member)});
  }
  return entries;
}

npy::Header read_header(const io::FileBytes& file, const Entry& entry) {
  const io::ZipMember& member = entry.member;
  const std::string name = io::member_name(file, member);
  std::vector<std::byte> inflated;
  // The first `size` bytes of the member, which has at least as many.
  auto start = [&](uint64_t size) {
    if (!member.deflated) return file.bytes().subspan(member.data_offset, size);
    inflated.resize(size);
    io::inflate_member(file, member, inflated);
    return std::span<const std::byte>(inflated);
  };
  size_t size = npy::header_size(start(std::min<uint64_t>(member.size, npy::kPreambleSize)), name);
  check(size <= member.size, name, "npy header must be whole", member.size, " of ", size, " bytes");
  npy::Header header = npy::parse_header(start(size), name);
  check(header.data_size == member.size - header.data_offset, name,
        "data must be as long as the shape says", member.size - header.data_offset,
        " bytes for shape ", io::shape_text(header.shape), " of ", header.item_size,
        "-byte elements");
  return header;
}

io::Array read_array(const std::shared_ptr<const io::FileBytes>& file, const Entry& entry,
                     const ReadOptions& options) {
  const io::ZipMember& member = entry.member;
  const std::string name = io::member_name(*file, member);
  if (!member.deflated) {
    if (options.verify)
      io::check_crc(*file, member, file->bytes().subspan(member.data_offset, member.size));
    return npy::parse(file, member.data_offset, member.size, name);
  }
  read_header(*file, entry);  // a bomb is refused before its memory is asked for
  auto contents = io::FileBytes::allocate(name, member.size);
  io::inflate_member(*file, member, {contents->data(), contents->size()});
  if (options.verify) io::check_crc(*file, member, contents->bytes());
  return npy::parse(contents, 0, member.size, name);
}

io::NamedArrays parse(const std::shared_ptr<const io::FileBytes>& file,
                      const ReadOptions& options) {
  io::NamedArrays arrays;
  for (const Entry& entry : read_entries(*file, options))
    arrays.emplace_back(entry.name, read_array(file, entry, options));
  return arrays;
}

}  // namespace aorta::npz

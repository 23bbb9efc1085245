#include <aorta/core/check.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/npz_format.h>

#include <algorithm>
#include <set>

namespace aorta::npz {
namespace {

// The header is inflated and read first: a bomb is refused before its memory is asked for.
std::shared_ptr<const io::FileBytes> inflate(const io::FileBytes& file,
                                             const io::ZipMember& member) {
  const std::string name = io::member_name(file, member);
  std::vector<std::byte> start(std::min<uint64_t>(member.size, npy::kPreambleSize));
  io::inflate_member(file, member, start);
  size_t header_size = npy::header_size(start, name);
  check(header_size <= member.size, name, "npy header must be whole", member.size, " of ",
        header_size, " bytes");
  start.resize(header_size);
  io::inflate_member(file, member, start);
  npy::Header header = npy::parse_header(start, name);
  check(header.data_size == member.size - header.data_offset, name,
        "data must be as long as the shape says", member.size - header.data_offset,
        " bytes for shape ", io::shape_text(header.shape), " of ", header.item_size,
        "-byte elements");
  auto contents = io::FileBytes::allocate(name, member.size);
  io::inflate_member(file, member, {contents->data(), contents->size()});
  return contents;
}

}  // namespace

io::NamedArrays parse(const std::shared_ptr<const io::FileBytes>& file,
                      const ReadOptions& options) {
  io::NamedArrays arrays;
  std::set<std::string> names;
  for (const io::ZipMember& member : io::read_zip_directory(*file, options.max_inflated_bytes)) {
    std::shared_ptr<const io::FileBytes> bytes = file;
    size_t offset = member.data_offset;
    if (member.deflated) {
      bytes = inflate(*file, member);
      offset = 0;
    }
    if (options.verify) io::check_crc(*file, member, bytes->bytes().subspan(offset, member.size));
    io::Array array = npy::parse(bytes, offset, member.size, io::member_name(*file, member));
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    check(names.insert(name).second, file->name(), "array names must differ", io::quote(name),
          " twice");
    arrays.emplace_back(std::move(name), std::move(array));
  }
  return arrays;
}

}  // namespace aorta::npz

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/video/avi_format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace aorta::data {
namespace {

constexpr size_t kWindowSize = 8192;  // holds the headers that OpenCV and FFmpeg write
constexpr uint64_t kHead = 8;         // of a chunk: its name and its size
constexpr int kMaxStreams = 100;      // chunks name theirs with two digits

// Part of an error's text, which is made only when there is one.
struct At {
  uint64_t offset;
};
std::string to_string(At place) { return " at byte " + std::to_string(place.offset); }

// A file's bytes around the place that is being parsed.
class Window {
 public:
  explicit Window(const ByteSource& file) : file_(file) {}

  const ByteSource& file() const { return file_; }
  const std::string& name() const { return file_.name(); }
  // Bytes from `offset` on, until the next call; `what` is the error's word for them.
  std::span<const std::byte> fetch(uint64_t offset, uint64_t size, const char* what) {
    if (size > file_.size() || offset > file_.size() - size)
      fail(name(), std::string("AVI ") + what + " must lie inside the file", size, " bytes",
           At{offset}, " of ", file_.size());
    if (offset < start_ || offset + size > start_ + bytes_.size()) {
      bytes_.resize(static_cast<size_t>(
          std::min(std::max<uint64_t>(size, kWindowSize), file_.size() - offset)));
      start_ = offset;
      bytes_.resize(file_.read(offset, bytes_));
      check(bytes_.size() >= size, name(), "file must not get shorter while it is read",
            bytes_.size(), " bytes", At{offset});
    }
    return std::span(bytes_).subspan(static_cast<size_t>(offset - start_),
                                     static_cast<size_t>(size));
  }

 private:
  const ByteSource& file_;
  std::vector<std::byte> bytes_;
  uint64_t start_ = 0;
};

struct Chunk {
  char id[5] = {};    // its name
  char list[5] = {};  // of a LIST or RIFF: the list's name
  uint64_t offset = 0;
  uint64_t size = 0;  // of its data, a list's name included

  uint64_t data() const { return offset + kHead; }
  uint64_t end() const { return data() + size; }
  uint64_t next() const { return end() + (size & 1); }  // chunks start at even places
  bool is(std::string_view name) const { return name == id; }
  std::string_view fourcc() const { return {id, 4}; }  // zeros and all
  bool is_list(std::string_view name) const { return is("LIST") && name == list; }
};

// The chunk at `offset`, which must end by `limit`.
Chunk read_chunk(Window& window, uint64_t offset, uint64_t limit) {
  Chunk chunk;
  const auto head = window.fetch(offset, kHead, "chunk");
  std::memcpy(chunk.id, head.data(), 4);
  chunk.size = io::load<uint32_t>(head, 4);
  chunk.offset = offset;
  if (chunk.end() > limit)
    fail(window.name(), "AVI chunk must end inside the list or file that it is in",
         io::quote(chunk.id), " of ", chunk.size, " bytes", At{offset}, ", which ends at byte ",
         limit);
  if (chunk.is("LIST") || chunk.is("RIFF")) {
    check(chunk.size >= 4, window.name(), "AVI list must have a name", chunk.size, " bytes",
          At{offset});
    std::memcpy(chunk.list, window.fetch(chunk.data(), 4, "list").data(), 4);
  }
  return chunk;
}

// `visit(chunk)` for what a list holds.
template <class Visit>
void each_chunk(Window& window, uint64_t begin, uint64_t end, const Visit& visit) {
  for (uint64_t offset = begin; offset + kHead <= end;) {
    const Chunk chunk = read_chunk(window, offset, end);
    visit(chunk);
    offset = chunk.next();
  }
}

// What the headers say beside the AviIndex.
struct Headers {
  bool found = false;     // a video stream
  int streams = 0;        // so far
  Chunk super_index;      // OpenDML's; its size is 0 where there is none
  uint32_t frame_us = 0;  // of avih
};

double rate_of(uint32_t rate, uint32_t scale) {
  return scale == 0 ? 0 : static_cast<double>(rate) / scale;
}

// LIST 'strl'.
void parse_stream(Window& window, const Chunk& list, AviIndex& avi, Headers& headers) {
  const int number = headers.streams++;
  check(number < kMaxStreams, window.name(), "AVI file must have at most 100 streams", "more",
        At{list.offset});
  bool is_video = false;
  AviIndex stream;
  Chunk index;
  each_chunk(window, list.data() + 4, list.end(), [&](const Chunk& chunk) {
    if (chunk.is("strh")) {
      const auto bytes = window.fetch(chunk.data(), std::min<uint64_t>(chunk.size, 64), "strh");
      check(bytes.size() >= 28, window.name(), "AVI strh must have 28 bytes at least", bytes.size(),
            At{chunk.offset});
      is_video = io::as_text(bytes.first(4)) == "vids";
      stream.codec = io::as_text(bytes.subspan(4, 4));
      stream.fps = rate_of(io::load<uint32_t>(bytes, 24), io::load<uint32_t>(bytes, 20));
    } else if (chunk.is("strf") && is_video) {
      const auto bytes = window.fetch(chunk.data(), std::min<uint64_t>(chunk.size, 40), "strf");
      check(bytes.size() >= 20, window.name(), "AVI strf must have 20 bytes at least", bytes.size(),
            At{chunk.offset});
      stream.width = io::load<int32_t>(bytes, 4);
      stream.height = std::abs(int64_t{io::load<int32_t>(bytes, 8)});
      stream.codec = io::as_text(bytes.subspan(16, 4));
    } else if (chunk.is("indx")) {
      index = chunk;
    }
  });
  if (!is_video || headers.found) return;
  check(stream.width > 0 && stream.height > 0, window.name(),
        "AVI video must have a positive width and height", stream.width, " x ", stream.height,
        At{list.offset});
  headers.found = true;
  headers.super_index = index;
  stream.stream = number;
  for (char& c : stream.codec) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  avi = std::move(stream);
}

void parse_headers(Window& window, const Chunk& hdrl, AviIndex& avi, Headers& headers) {
  each_chunk(window, hdrl.data() + 4, hdrl.end(), [&](const Chunk& chunk) {
    if (chunk.is("avih") && chunk.size >= 4)
      headers.frame_us = io::load<uint32_t>(window.fetch(chunk.data(), 4, "avih"), 0);
    if (chunk.is_list("strl")) parse_stream(window, chunk, avi, headers);
  });
}

// True for the name of a chunk of the stream's frames: '00dc', or '00db' for whole bitmaps.
bool is_frame(std::string_view id, int stream) {
  return id[0] == '0' + stream / 10 && id[1] == '0' + stream % 10 && id[2] == 'd' &&
         (id[3] == 'c' || id[3] == 'b');
}

void add_frame(const ByteSource& file, AviIndex& avi, uint64_t offset, uint32_t size) {
  check(offset <= file.size() && kHead + size <= file.size() - offset, file.name(),
        "AVI frame must lie inside the file", "frame ", avi.frames.size(), " of ", size, " bytes",
        At{offset}, " of ", file.size());
  // Frames may repeat by being empty, but each has a chunk.
  check(avi.frames.size() < file.size() / kHead, file.name(),
        "AVI index must not have more frames than the file has room for", "more than ",
        file.size() / kHead);
  avi.frames.push_back({offset, size});
}

// OpenDML's 'ix00', or an 'indx' that is one: entries of (offset of the data, size).
void parse_standard_index(Window& window, uint64_t data, uint64_t size, AviIndex& avi) {
  const auto head = window.fetch(data, 24, "index");
  const uint64_t base = io::load<uint64_t>(head, 12);
  const uint64_t count = io::load<uint32_t>(head, 4);
  check(io::load<uint16_t>(head, 0) == 2 && std::to_integer<int>(head[3]) == 1, window.name(),
        "AVI index of chunks must have entries of 2 words", io::load<uint16_t>(head, 0), At{data});
  check(count <= (size - 24) / 8, window.name(), "AVI index must be as long as its entries", count,
        " entries in ", size, " bytes", At{data});
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = window.fetch(data + 24 + i * 8, 8, "index");
    const uint64_t offset = base + io::load<uint32_t>(entry, 0);
    check(offset >= kHead, window.name(), "AVI frame must lie inside the file", "one", At{offset});
    add_frame(window.file(), avi, offset - kHead, io::load<uint32_t>(entry, 4) & 0x7fffffffu);
  }
}

// 'indx': an index of chunks, or one of such indexes.
void parse_super_index(Window& window, const Chunk& indx, AviIndex& avi) {
  check(indx.size >= 24, window.name(), "AVI indx must have 24 bytes at least", indx.size,
        At{indx.offset});
  const auto head = window.fetch(indx.data(), 24, "indx");
  if (std::to_integer<int>(head[3]) == 1)
    return parse_standard_index(window, indx.data(), indx.size, avi);
  const uint64_t count = io::load<uint32_t>(head, 4);
  check(io::load<uint16_t>(head, 0) == 4 && std::to_integer<int>(head[3]) == 0, window.name(),
        "AVI index of indexes must have entries of 4 words", io::load<uint16_t>(head, 0),
        At{indx.offset});
  check(count <= (indx.size - 24) / 16, window.name(), "AVI index must be as long as its entries",
        count, " entries in ", indx.size, " bytes", At{indx.offset});
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t offset =
        io::load<uint64_t>(window.fetch(indx.data() + 24 + i * 16, 16, "indx"), 0);
    const Chunk chunk = read_chunk(window, offset, window.file().size());
    check(chunk.id[0] == 'i' && chunk.id[1] == 'x' && chunk.size >= 24, window.name(),
          "AVI indx must point at indexes", io::quote(chunk.id), " of ", chunk.size, " bytes",
          At{offset});
    parse_standard_index(window, chunk.data(), chunk.size, avi);
  }
}

// 'idx1': entries of (name, flags, offset of the chunk, size). The offset counts from the name of
// 'movi' or, as some programs write it, from the start of the file.
void parse_idx1(Window& window, const Chunk& idx1, uint64_t movi, AviIndex& avi) {
  uint64_t base = 0;
  for (uint64_t entry = idx1.data(); entry + 16 <= idx1.end(); entry += 16) {
    const auto bytes = window.fetch(entry, 16, "idx1");
    if (!is_frame(io::as_text(bytes.first(4)), avi.stream)) continue;
    const uint64_t offset = io::load<uint32_t>(bytes, 8);
    const uint32_t size = io::load<uint32_t>(bytes, 12);
    if (avi.frames.empty()) {
      const auto is_there = [&](uint64_t place) {
        std::byte id[4];
        return window.file().read(place, id) == 4 && is_frame(io::as_text(id), avi.stream);
      };
      if (is_there(movi + offset))
        base = movi;
      else
        check(is_there(offset), window.name(), "AVI idx1 must point at the frames", "bytes ",
              movi + offset, " and ", offset, " for the first, which isn't at either");
    }
    add_frame(window.file(), avi, base + offset, size);
  }
}

// The chunks of 'movi', some of them in lists called 'rec '.
void scan_movi(Window& window, uint64_t begin, uint64_t end, AviIndex& avi) {
  each_chunk(window, begin, end, [&](const Chunk& chunk) {
    if (is_frame(chunk.fourcc(), avi.stream))
      add_frame(window.file(), avi, chunk.offset, static_cast<uint32_t>(chunk.size));
    if (chunk.is_list("rec "))
      each_chunk(window, chunk.data() + 4, chunk.end(), [&](const Chunk& inner) {
        if (is_frame(inner.fourcc(), avi.stream))
          add_frame(window.file(), avi, inner.offset, static_cast<uint32_t>(inner.size));
      });
  });
}

}  // namespace

bool is_avi(const ByteSource& file) {
  std::byte head[12];
  return file.read(0, head) == 12 && io::as_text(std::span(head).first(4)) == "RIFF" &&
         io::as_text(std::span(head).subspan(8)) == "AVI ";
}

AviIndex parse_avi(const ByteSource& file) {
  check(is_avi(file), file.name(), "AVI file must start with \"RIFF\", its size and \"AVI \"",
        file.size(), " bytes without them");
  Window window(file);
  AviIndex avi;
  Headers headers;
  std::vector<Chunk> movies;
  Chunk idx1;
  bool first = true;
  // What lies behind the last RIFF list is none of ours.
  for (uint64_t offset = 0; offset + 12 <= file.size();) {
    if (!first && io::as_text(window.fetch(offset, 4, "chunk")) != "RIFF") break;
    const Chunk riff = read_chunk(window, offset, file.size());
    if (!first && std::string_view(riff.list) != "AVIX") break;
    each_chunk(window, riff.data() + 4, riff.end(), [&](const Chunk& chunk) {
      if (first && chunk.is_list("hdrl")) parse_headers(window, chunk, avi, headers);
      if (chunk.is_list("movi")) movies.push_back(chunk);
      if (first && chunk.is("idx1")) idx1 = chunk;
    });
    first = false;
    offset = riff.next();
  }
  check(headers.found, file.name(), "AVI file must have a video stream", headers.streams,
        " streams, none of video");
  check(!movies.empty(), file.name(), "AVI file must have a list \"movi\"", "none in ", file.size(),
        " bytes");
  if (avi.fps <= 0 && headers.frame_us > 0) avi.fps = 1e6 / headers.frame_us;
  if (headers.super_index.size > 0) parse_super_index(window, headers.super_index, avi);
  if (avi.frames.empty() && idx1.size > 0) parse_idx1(window, idx1, movies[0].data(), avi);
  if (avi.frames.empty())
    for (const Chunk& movi : movies) scan_movi(window, movi.data() + 4, movi.end(), avi);
  check(!avi.frames.empty(), file.name(), "AVI file must have frames", "none of stream ",
        avi.stream);
  avi.frames.shrink_to_fit();
  return avi;
}

std::span<const std::byte> read_avi_frame(const ByteSource& file, const AviIndex& avi,
                                          int64_t index, std::vector<std::byte>& buffer) {
  check(index >= 0 && static_cast<uint64_t>(index) < avi.frames.size(), file.name(),
        "frame must be 0 to the number of frames - 1", index, " of ", avi.frames.size());
  auto i = static_cast<size_t>(index);
  while (i > 0 && avi.frames[i].size == 0) --i;
  const AviIndex::Frame& frame = avi.frames[i];
  check(frame.size > 0, file.name(), "AVI file's first frame must not be empty", "frame ", i,
        " of 0 bytes", At{frame.offset});
  buffer.resize(kHead + frame.size);
  const size_t count = file.read(frame.offset, buffer);
  check(count == buffer.size(), file.name(), "AVI frame must lie inside the file", "frame ", i,
        " of ", frame.size, " bytes", At{frame.offset}, ", of which ", count, " are there");
  const uint32_t size = io::load<uint32_t>(buffer, 4);
  const std::string_view id = io::as_text(std::span(buffer).first(4));
  if (!is_frame(id, avi.stream))
    fail(file.name(), "AVI index must point at the frames", io::quote(id), At{frame.offset},
         " for frame ", i);
  // Some programs count the byte that pads an odd chunk.
  check(size == frame.size || (size > 0 && size + 1 == frame.size), file.name(),
        "AVI index and chunk must agree about a frame's size", frame.size, " and ", size,
        " bytes for frame ", i, At{frame.offset});
  return std::span<const std::byte>(buffer).subspan(kHead, size);
}

}  // namespace aorta::data

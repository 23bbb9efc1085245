#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file_system.h>
#include <aorta/data/video/avi_format.h>
#include <aorta/data/video/avi_writer.h>

#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace aorta::data {
namespace {

std::string chunk(const std::string& name, const std::string& data) {
  std::string text = name;
  io::append(text, static_cast<uint32_t>(data.size()));
  text += data;
  if (data.size() % 2 == 1) text += '\0';
  return text;
}

std::string words(std::initializer_list<uint32_t> values) {
  std::string text;
  for (const uint32_t value : values) io::append(text, value);
  return text;
}

std::string strh(const char* kind, const char* codec, uint32_t rate = 50, uint32_t scale = 1) {
  return chunk("strh", std::string(kind) + codec +
                           words({0, 0, 0, scale, rate, 0, 0, 0, 0xffffffffu, 0, 0, 0}));
}

std::string strf(const char* codec, uint32_t width = 4, uint32_t height = 3) {
  return chunk("strf", words({40, width, height, 1 | 24 << 16}) + codec + words({0, 0, 0, 0, 0}));
}

std::string list(const std::string& name, const std::string& data) {
  return chunk("LIST", name + data);
}

std::string video_stream(const std::string& more = "") {
  return list("strl", strh("vids", "MJPG") + strf("MJPG") + more);
}

// A file of these parts; `between` comes before 'movi', `after` behind it.
std::string avi(const std::string& streams, const std::string& movi, const std::string& after = "",
                const std::string& between = "") {
  const std::string avih = chunk("avih", words({20000, 0, 0, 0x10, 0, 0, 1, 0, 4, 3, 0, 0, 0, 0}));
  return chunk("RIFF",
               "AVI " + list("hdrl", avih + streams) + between + list("movi", movi) + after);
}

std::string entry(const std::string& name, uint32_t offset, uint32_t size) {
  return name + words({0x10, offset, size});
}

struct Parsed {
  explicit Parsed(const std::string& text)
      : contents(text),
        source(
            ByteSource::view("a.avi", std::as_bytes(std::span(contents.data(), contents.size())))),
        index(parse_avi(*source)) {}
  std::string frame(int64_t i) const {
    std::vector<std::byte> buffer;
    return std::string(io::as_text(read_avi_frame(*source, index, i, buffer)));
  }
  std::vector<std::string> frames() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < index.frames.size(); ++i) all.push_back(frame(static_cast<int64_t>(i)));
    return all;
  }
  std::string contents;
  std::shared_ptr<const ByteSource> source;
  AviIndex index;
};

std::string error_in_avi(const std::string& text) {
  return error_of([&] { Parsed{text}.frames(); });
}

const std::string kMovi = chunk("00dc", "first") + chunk("00dc", "second!");
const std::vector<std::string> kFrames{"first", "second!"};

TEST(Avi, ReadsTheHeaders) {
  const Parsed file(
      avi(list("strl", strh("vids", "mjpg", 30000, 1001) + strf("mjpg", 112, 84)), kMovi));
  EXPECT_EQ(file.index.codec, "MJPG");
  EXPECT_EQ(file.index.width, 112);
  EXPECT_EQ(file.index.height, 84);
  EXPECT_DOUBLE_EQ(file.index.fps, 30000. / 1001);
  // A bitmap may stand on its head, and a file may give its rate as time a frame.
  const Parsed other(
      avi(list("strl", strh("vids", "MJPG", 0, 0) + strf("MJPG", 4, ~uint32_t{2})), kMovi));
  EXPECT_EQ(other.index.height, 3);
  EXPECT_EQ(other.index.fps, 50);
}

TEST(Avi, FindsFramesByIdx1) {
  // Offsets from 'movi', the first chunk at 4; an index may leave a chunk out.
  const std::string from_movi = chunk("idx1", entry("00dc", 4, 5) + entry("00dc", 18, 7));
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi, from_movi)).frames(), kFrames);
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 18, 7)))).frames(),
            std::vector<std::string>{"second!"});
  const std::string plain = avi(video_stream(), kMovi);
  const auto movi = static_cast<uint32_t>(plain.find("movi"));
  const std::string from_start =
      chunk("idx1", entry("00dc", movi + 4, 5) + entry("00dc", movi + 18, 7));
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi, from_start)).frames(), kFrames);
  // A size that counts the padding.
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 4, 6)))).frames(),
            std::vector<std::string>{"first"});
}

TEST(Avi, ScansWhereThereIsNoIndex) {
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi)).frames(), kFrames);
  EXPECT_EQ(Parsed(avi(video_stream(), list("rec ", kMovi) + chunk("JUNK", "x"))).frames(),
            kFrames);
  EXPECT_EQ(
      Parsed(avi(video_stream(), kMovi, "",
                 chunk("JUNK", std::string(9000, 'j')) + list("INFO", chunk("ISFT", "a program"))))
          .frames(),
      kFrames);
  EXPECT_EQ(Parsed(avi(video_stream(), kMovi) + "what follows").frames(), kFrames);
}

TEST(Avi, TakesTheFirstVideoStream) {
  const std::string sound = list("strl", strh("auds", "\1\0\0\0") + chunk("strf", "sound"));
  const std::string movi = chunk("00wb", "noise") + chunk("01dc", "first") +
                           chunk("01wb", "noise") + chunk("01dc", "second!");
  EXPECT_EQ(Parsed(avi(sound + video_stream(), movi)).frames(), kFrames);
  EXPECT_EQ(Parsed(avi(sound + video_stream(), movi,
                       chunk("idx1", entry("00wb", 4, 5) + entry("01dc", 18, 5))))
                .frames(),
            std::vector<std::string>{"first"});
}

TEST(Avi, ReadsOpenDmlsIndexes) {
  // An index of chunks in 'movi', and one that leads to it; what it leads to says where data lie.
  const std::string super = chunk("indx", std::string("\4\0\0\0", 4) + words({1}) + "00dc" +
                                              words({0, 0, 0}) + std::string(16, '\0'));
  std::string file = avi(video_stream(super), kMovi + chunk("ix00", std::string(40, '\0')));
  const auto movi = static_cast<uint32_t>(file.find("movi"));
  const auto ix00 = static_cast<uint32_t>(file.find("ix00"));
  const std::string standard = std::string("\2\0\0\1", 4) + words({2}) + "00dc" +
                               words({movi, 0, 0}) + words({12, 5}) + words({26, 7 | 1u << 31});
  file.replace(ix00 + 8, standard.size(), standard);
  const size_t slot = file.find("indx") + 8 + 24;
  file.replace(slot, 16, words({ix00, 0, 48, 2}));
  EXPECT_EQ(Parsed(file).frames(), kFrames);
  // Frames of a second RIFF list, which a file without index has to be scanned for.
  EXPECT_EQ(Parsed(avi(video_stream(), chunk("00dc", "first")) +
                   chunk("RIFF", "AVIX" + list("movi", chunk("00dc", "second!"))))
                .frames(),
            kFrames);
  std::string bad = file;
  bad.replace(ix00 + 8 + 24, 4, words({0x7fffffff}));
  EXPECT_EQ(error_in_avi(bad),
            "a.avi: AVI frame must lie inside the file, got frame 0 of 5 bytes at byte " +
                std::to_string(0x7fffffffull + movi - 8) + " of " + std::to_string(bad.size()));
  bad = file;
  bad.replace(ix00 + 8 + 4, 4, words({3}));
  EXPECT_EQ(error_in_avi(bad),
            "a.avi: AVI index must be as long as its entries, got 3 entries in 40 "
            "bytes at byte " +
                std::to_string(ix00 + 8));
  bad = file;
  bad.replace(slot, 4, words({movi + 4}));
  EXPECT_EQ(error_in_avi(bad),
            "a.avi: AVI indx must point at indexes, got \"00dc\" of 5 bytes at byte " +
                std::to_string(movi + 4));
}

TEST(Avi, RepeatsForAnEmptyFrame) {
  const std::string movi =
      chunk("00dc", "a") + chunk("00dc", "") + chunk("00dc", "") + chunk("00dc", "b");
  EXPECT_EQ(Parsed(avi(video_stream(), movi)).frames(),
            (std::vector<std::string>{"a", "a", "a", "b"}));
  EXPECT_TRUE(error_in_avi(avi(video_stream(), chunk("00dc", "") + chunk("00dc", "b")))
                  .starts_with("a.avi: AVI file's first frame must not be empty, got frame 0 of 0 "
                               "bytes at byte "));
}

TEST(Avi, RefusesWhatIsWrong) {
  EXPECT_EQ(error_in_avi("RIFFxxxxWAVE"),
            "a.avi: AVI file must start with \"RIFF\", its size and \"AVI \", got 12 bytes without "
            "them");
  EXPECT_EQ(error_in_avi(avi("", kMovi)),
            "a.avi: AVI file must have a video stream, got 0 streams, none of video");
  EXPECT_EQ(error_in_avi(chunk("RIFF", "AVI " + list("hdrl", video_stream()))),
            "a.avi: AVI file must have a list \"movi\", got none in 148 bytes");
  EXPECT_EQ(error_in_avi(avi(video_stream(), chunk("01dc", "x"))),
            "a.avi: AVI file must have frames, got none of stream 0");
  EXPECT_TRUE(error_in_avi(avi(list("strl", strh("vids", "MJPG") + strf("MJPG", 0, 3)), kMovi))
                  .starts_with("a.avi: AVI video must have a positive width and height, got 0 x 3 "
                               "at byte "));
  const std::string file = avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 4, 5)));
  EXPECT_EQ(error_in_avi(file.substr(0, file.size() - 1)),
            "a.avi: AVI chunk must end inside the list or file that it is in, got \"RIFF\" of " +
                std::to_string(file.size() - 8) + " bytes at byte 0, which ends at byte " +
                std::to_string(file.size() - 1));
  const std::string movi = std::to_string(file.find("movi"));
  EXPECT_EQ(error_in_avi(avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 4, 4)))),
            "a.avi: AVI index and chunk must agree about a frame's size, got 4 and 5 bytes for "
            "frame 0 at byte " +
                std::to_string(file.find("first") - 8));
  EXPECT_TRUE(error_in_avi(avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 5, 4))))
                  .starts_with("a.avi: AVI idx1 must point at the frames, got bytes "));
  EXPECT_TRUE(error_in_avi(avi(video_stream(), kMovi,
                               chunk("idx1", entry("00dc", 4, 5) + entry("00dc", 6, 5))))
                  .starts_with("a.avi: AVI index must point at the frames, got \""));
  EXPECT_EQ(error_of([&] { Parsed{file}.frame(1); }),
            "a.avi: frame must be 0 to the number of frames - 1, got 1 of 1");
}

// Cut anywhere, and changed anywhere: frames, or one line that names the file.
TEST(Avi, StandsDamage) {
  const std::string file =
      avi(video_stream(), kMovi, chunk("idx1", entry("00dc", 4, 5) + entry("00dc", 18, 7)));
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_TRUE(error_in_avi(file.substr(0, length)).starts_with("a.avi: ")) << length;
  for (size_t i = 0; i < file.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      const std::string error = error_in_avi(damaged);
      EXPECT_TRUE(error == "no error" || error.starts_with("a.avi: ")) << error;
    }
  }
}

TEST(AviWriter, WritesWhatItsParserReads) {
  const TestFolder folder;
  const std::string path = folder.file("a.avi");
  {
    AviWriter writer(path, 3, 4, 29.97);
    for (const std::string frame : {"first", "second!", "even"})
      writer.add(std::as_bytes(std::span(frame.data(), frame.size())));
    EXPECT_FALSE(std::filesystem::exists(path));
    writer.close();
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.avi"});
  const std::string text = read_text(path);
  const Parsed file(text);
  EXPECT_EQ(file.frames(), (std::vector<std::string>{"first", "second!", "even"}));
  EXPECT_EQ(file.index.codec, "MJPG");
  EXPECT_EQ(file.index.width, 4);
  EXPECT_EQ(file.index.height, 3);
  EXPECT_DOUBLE_EQ(file.index.fps, 30000. / 1001);
  // Without its index the frames are found as well: sizes and padding are right.
  std::string bare = text;
  bare.replace(bare.find("idx1"), 4, "JUNK");
  EXPECT_EQ(Parsed(bare).frames(), file.frames());
  for (const double fps : {50., 0.5, 23.976, 59.94, 12.3456, 1000.}) {
    AviWriter writer(path, 3, 4, fps);
    writer.add(std::as_bytes(std::span("x", 1)));
    writer.close();
    EXPECT_NEAR(Parsed(read_text(path)).index.fps, fps, 5e-5 * fps);
  }
}

TEST(AviWriter, LeavesNothingBehindUnlessClosed) {
  const TestFolder folder;
  const std::string path = folder.write("a.avi", "old");
  { AviWriter writer(path, 3, 4, 50); }
  {
    AviWriter writer(path, 3, 4, 50);
    EXPECT_EQ(error_of([&] { writer.close(); }), path + ": AVI file must have frames, got none");
    EXPECT_EQ(error_of([&] { writer.add({}); }),
              path + ": AVI frame must not be empty, got 0 bytes");
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.avi"});
  EXPECT_EQ(error_of([&] { AviWriter(folder.file("no/a.avi"), 3, 4, 50); }),
            folder.file("no/a.avi") +
                ": writing must succeed: open, got ENOENT (No such file or directory) after 0 "
                "bytes; the file is as it was before");
  EXPECT_EQ(error_of([&] { AviWriter(path, 3, 4, 0); }),
            path + ": fps must be 0.001 to 100000, got 0");
  EXPECT_EQ(error_of([&] { AviWriter(path, 0, 4, 50); }),
            path + ": AVI video must be 1 to 32767 pixels wide and high, got 0 x 4");
}

// A disk that fills up: the old file stays.
TEST(AviWriter, StandsAFullDisk) {
  static int room;
  io::FileSystem full = io::kernel_file_system();
  full.write = [](int descriptor, const void* data, size_t size) -> ssize_t {
    if (room <= 0) {
      errno = ENOSPC;
      return -1;
    }
    const ssize_t count =
        io::kernel_file_system().write(descriptor, data, std::min<size_t>(size, 1 + size / 2));
    room -= static_cast<int>(count);
    return count;
  };
  const TestFolder folder;
  const std::string path = folder.write("a.avi", "old");
  const io::ScopedFileSystem scope(full);
  for (room = 0; room < 400; room += 37) {
    const int all = room;
    const std::string error = error_of([&] {
      AviWriter writer(path, 3, 4, 50);
      for (int i = 0; i < 10; ++i) writer.add(std::as_bytes(std::span("frame", 5)));
      writer.close();
    });
    EXPECT_TRUE(error.starts_with(
        path + ": writing must succeed: write, got ENOSPC (No space left on device) after "))
        << error;
    EXPECT_EQ(read_text(path), "old");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.avi"});
    room = all;
  }
}

}  // namespace
}  // namespace aorta::data

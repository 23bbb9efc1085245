#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/crc32c.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/png.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>

#include <aorta/report/events.h>

namespace aorta::report {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The messages of an event file; fails the test unless every frame is sound.
std::vector<std::string> messages(const std::string& file) {
  const auto masked = [](const std::string& data) {
    const uint32_t crc = io::crc32c_table(data.data(), data.size());
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
  };
  const auto word = [&](size_t at) {
    return io::load<uint32_t>(std::as_bytes(std::span(file)), at);
  };
  std::vector<std::string> messages;
  for (size_t at = 0; at < file.size();) {
    if (file.size() - at < 16) {
      ADD_FAILURE() << "a cut frame at " << at;
      break;
    }
    const size_t length = word(at);
    EXPECT_EQ(word(at + 4), 0u);
    EXPECT_EQ(word(at + 8), masked(file.substr(at, 8)));
    messages.push_back(file.substr(at + 12, length));
    EXPECT_EQ(word(at + 12 + length), masked(messages.back()));
    at += 16 + length;
  }
  return messages;
}

// The first bytes field with that number in a message.
std::string field(const std::string& message, uint64_t wanted) {
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    if ((key & 7) == 0)
      varint();
    else if ((key & 7) == 1)
      at += 8;
    else if ((key & 7) == 5)
      at += 4;
    else {
      const size_t size = varint();
      if (key >> 3 == wanted) return message.substr(at, size);
      at += size;
    }
  }
  return "";
}

double next_time = 0;
double fixed_clock() { return next_time; }
void at(double time) { next_time = time; }

class Events : public testing::Test {
 protected:
  Events()
      : folder(std::filesystem::temp_directory_path() /
               ("aorta_events_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder);
    at(1700000000.25);
  }
  ~Events() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(Events, AreTheBytesThatTensorBoardWrites) {
  EventWriter events(folder, fixed_clock);
  at(1700000001.5);
  events.scalar("loss/train", 0.625, 0);
  at(1700000002.5);
  events.scalar("loss/train", std::numeric_limits<double>::quiet_NaN(), 1);
  at(1700000003.5);
  events.scalar("Dice – größer <1>", -1e-3, int64_t{1} << 40);
  at(1700000004.5);
  events.text("settings", "| lr | 1e-5 |", 7);
  at(1700000005.5);
  std::vector<uint8_t> values;
  for (int i = 0; i < 3 * 4 * 5; ++i) values.push_back(static_cast<uint8_t>(4 * i));
  const Tensor ramp = tensor<uint8_t>(values, {3, 4, 5});
  events.image("sample", ramp, 8);
  events.flush();

  const std::string ours = bytes_of(events.path());
  EXPECT_EQ(events.size_bytes(), ours.size());
  const std::vector<std::string> got = messages(ours);
  const std::vector<std::string> expected =
      messages(bytes_of("tests/fixtures/tools/events.tfevents"));
  ASSERT_EQ(expected.size(), 6u);
  ASSERT_EQ(got.size(), 6u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(got[i], expected[i]) << i;
  // The two PNG files of one picture may differ, and so the lengths around them.
  const auto image = [](const std::string& message) {
    return field(field(field(message, 5), 1), 4);
  };
  const std::string png = field(image(got[5]), 4);
  const std::string ours_before = image(got[5]), theirs_before = image(expected[5]);
  EXPECT_EQ(got[5].substr(0, 11), expected[5].substr(0, 11));       // time and step
  EXPECT_EQ(ours_before.substr(0, 7), theirs_before.substr(0, 7));  // height, width, colours
  EXPECT_EQ(field(field(field(got[5], 5), 1), 1), "sample");
  for (const std::string& file : {png, field(theirs_before, 4)}) {
    const Tensor back = data::decode_png(std::as_bytes(std::span(file)));
    EXPECT_EQ(back.to_vector<uint8_t>(), values);
  }
}

TEST_F(Events, NameTheirFileAsTensorBoardExpects) {
  EventWriter first(folder / "deep" / "er", fixed_clock),
      second(folder / "deep" / "er", fixed_clock);
  const std::string name = std::filesystem::path(first.path()).filename();
  EXPECT_EQ(name.find("events.out.tfevents.1700000000."), 0u) << name;
  EXPECT_NE(first.path(), second.path());
  const double now = EventWriter::wall_clock();
  EXPECT_GT(now, 1.7e9);
}

TEST_F(Events, GoOnWithoutARowTwiceOrMissing) {
  const auto record = [](EventWriter& events, int from, int to) {
    for (int i = from; i < to; ++i) events.scalar("loss", 1. / i, i);
  };
  EventWriter straight(folder, fixed_clock);
  record(straight, 1, 20);
  straight.flush();
  std::string path;
  uint64_t size = 0;
  {
    EventWriter interrupted(folder, fixed_clock);
    path = interrupted.path();
    record(interrupted, 1, 12);
    interrupted.flush();
    size = interrupted.size_bytes();
    record(interrupted, 12, 17);  // after the checkpoint: done again
  }
  EXPECT_GT(std::filesystem::file_size(path), size);
  std::ofstream(path, std::ios::app) << "half a rec";
  {
    EventWriter resumed = EventWriter::resume(path, size, fixed_clock);
    EXPECT_EQ(std::filesystem::file_size(path), size);
    EXPECT_EQ(resumed.size_bytes(), size);
    record(resumed, 12, 20);
    EventWriter moved = std::move(resumed);
    moved.flush();
  }
  EXPECT_EQ(bytes_of(path), bytes_of(straight.path()));
}

TEST_F(Events, AreNotCutInTheMiddleOfARecord) {
  std::string path;
  {
    EventWriter events(folder, fixed_clock);
    path = events.path();
    events.scalar("loss", 1, 1);
  }
  const uint64_t size = std::filesystem::file_size(path);
  const std::string rule = path + ": size must be at the end of a record of an event file, got ";
  for (const uint64_t wrong : {uint64_t{5}, size - 1, size + 1, ~uint64_t{0}}) {
    EXPECT_EQ(error_of([&] { EventWriter::resume(path, wrong); }),
              rule + std::to_string(wrong) + " of " + std::to_string(size) + " bytes");
    EXPECT_EQ(std::filesystem::file_size(path), size);
  }
  // A length that isn't what was written.
  std::string bytes = bytes_of(path);
  bytes[1] = 1;
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(error_of([&] { EventWriter::resume(path, size); }).find(rule), 0u);
  EXPECT_NE(error_of([&] { EventWriter::resume(folder / "none", 10); }), "no error");
}

// The bytes that the disk still takes.
int64_t room = 0;
int sync_error = 0;

ssize_t write_while_room(int descriptor, const void* data, size_t size) {
  if (room <= 0) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t written =
      io::kernel_file_system().write(descriptor, data, std::min(size, static_cast<size_t>(room)));
  room -= written;
  return written;
}

int sync_with_error(int descriptor) {
  if (sync_error == 0) return io::kernel_file_system().fsync(descriptor);
  errno = sync_error;
  return -1;
}

TEST_F(Events, SurviveAFullDisk) {
  EventWriter straight(folder, fixed_clock), events(folder, fixed_clock);
  const auto record = [&](int step) {
    straight.scalar("loss", step, step);
    events.scalar("loss", step, step);
  };
  record(1);
  straight.flush();
  events.flush();
  const uint64_t size = events.size_bytes();
  io::FileSystem table = io::kernel_file_system();
  table.write = write_while_room;
  table.fsync = sync_with_error;
  {
    const io::ScopedFileSystem scope(table);
    room = 10;  // in the middle of a record
    record(2);
    EXPECT_EQ(
        error_of([&] { events.flush(); }),
        events.path() + ": cannot write the event file, got ENOSPC (No space left on device)");
    EXPECT_EQ(events.size_bytes(), size);  // a checkpoint made now can be resumed from
    EXPECT_EQ(
        error_of([&] { events.flush(); }),
        events.path() + ": cannot write the event file, got ENOSPC (No space left on device)");
    for (int step = 3; step < 100; ++step) record(step);  // no error: nothing is tried
    room = 1 << 20;
    sync_error = EIO;
    EXPECT_EQ(error_of([&] { events.flush(); }),
              events.path() + ": cannot sync the event file, got EIO (Input/output error)");
    sync_error = 0;
    events.flush();
  }
  straight.flush();
  EXPECT_EQ(events.dropped(), 0u);
  EXPECT_EQ(bytes_of(events.path()), bytes_of(straight.path()));
  EXPECT_EQ(messages(bytes_of(events.path())).size(), 100u);
}

TEST_F(Events, GoOnFromNothing) {
  EventWriter straight(folder, fixed_clock);
  straight.scalar("loss", 1, 1);
  straight.flush();
  std::string path;
  {
    io::FileSystem table = io::kernel_file_system();
    table.write = write_while_room;
    const io::ScopedFileSystem scope(table);
    room = 7;
    EventWriter events(folder, fixed_clock);
    path = events.path();
    EXPECT_NE(error_of([&] { events.flush(); }), "no error");
    EXPECT_EQ(events.size_bytes(), 0u);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 7u);
  EventWriter resumed = EventWriter::resume(path, 0, fixed_clock);
  resumed.scalar("loss", 1, 1);
  resumed.flush();
  EXPECT_EQ(bytes_of(path), bytes_of(straight.path()));
}

TEST_F(Events, DropRecordsWhenADiskStaysFull) {
  EventWriter events(folder, fixed_clock);
  io::FileSystem table = io::kernel_file_system();
  table.write = write_while_room;
  const io::ScopedFileSystem scope(table);
  room = 0;
  const std::string text(size_t{8} << 20, 'x');
  EXPECT_NE(error_of([&] { events.text("a", text, 0); }), "no error");  // more than a MiB
  for (int i = 1; i < 12; ++i) events.text("a", text, i);
  EXPECT_EQ(events.dropped(), 5u);  // 7 x 8 MiB and a little lie below 64 MiB
  room = int64_t{1} << 30;
  events.flush();
  EXPECT_EQ(messages(bytes_of(events.path())).size(), 8u);
}

TEST_F(Events, TakeTagsOfAnyBytes) {
  EventWriter events(folder, fixed_clock);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& tag :
       {all, std::string(), std::string("a\"<b>'\n"), std::string(300, 'y')})
    events.scalar(tag, std::numeric_limits<double>::infinity(), -1);
  events.flush();
  const std::vector<std::string> got = messages(bytes_of(events.path()));
  ASSERT_EQ(got.size(), 5u);
  EXPECT_TRUE(is_utf8(field(field(field(got[1], 5), 1), 1)));
  EXPECT_EQ(field(field(field(got[3], 5), 1), 1), "a\"<b>'\n");
}

TEST_F(Events, NameWhatIsWrong) {
  EventWriter events(folder, fixed_clock);
  EXPECT_EQ(error_of([&] {
              events.image("x", zeros({2, 4, 4}, {.dtype = u8}), 0);
            }),
            "events: image must be u8 (1|3, H, W), got u8 [2,4,4]");
  EXPECT_EQ(error_of([&] { events.image("x", Tensor(), 0); }),
            "events: image must be defined, got an undefined tensor");
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(error_of([&] { EventWriter(folder / "file" / "under"); }),
            (folder / "file" / "under").string() +
                ": cannot create the folder of the event file, got ENOTDIR (Not a directory)");
}

}  // namespace
}  // namespace aorta::report

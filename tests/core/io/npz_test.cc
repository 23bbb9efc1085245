#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>

#include <functional>

#include <aorta/tests/core/io/fixtures.h>

namespace aorta {
namespace {

using io_test::elements;
using io_test::fails_with;
using io_test::fixture;
using io_test::formula;
using io_test::in_memory;
using io_test::read_file;
using io_test::temporary;

NamedTensors load_npz(const std::string& name) {
  return npz::load(fixture("npz/" + name + ".npz"));
}

io::NamedArrays parse_npz(std::string_view contents, const npz::ReadOptions& options = {}) {
  return npz::parse(in_memory(contents), options);
}

TEST(Npz, ReadsWhatNumpyWrote) {
  for (const char* name : {"numpy", "numpy_compressed"}) {
    NamedTensors tensors = load_npz(name);
    ASSERT_EQ(tensors.size(), 3u) << name;
    EXPECT_EQ(tensors[0].first, "a");
    EXPECT_EQ(tensors[0].second.shape(), (Shape{2, 3}));
    EXPECT_EQ(elements(tensors[0].second), formula('f', 6));
    EXPECT_EQ(tensors[1].second.dtype(), i64);
    EXPECT_EQ(elements(tensors[1].second), formula('i', 5));
    EXPECT_EQ(tensors[2].second.dtype(), boolean);
    EXPECT_EQ(elements(tensors[2].second), formula('b', 12));
  }
}

TEST(Npz, ReadsStoredDeflatedZip64AndCommentedFiles) {
  for (const char* name : {"stored", "deflated", "zip64", "comment"}) {
    NamedTensors tensors = load_npz(name);
    ASSERT_EQ(tensors.size(), 2u) << name;
    EXPECT_EQ(tensors[0].first, "a");
    EXPECT_EQ(tensors[1].first, "dir/b");  // no ".npy" in its name
    EXPECT_EQ(elements(tensors[0].second), formula('f', 6)) << name;
    EXPECT_EQ(elements(tensors[1].second), formula('i', 5)) << name;
  }
  EXPECT_TRUE(load_npz("none").empty());
}

TEST(Npz, ReadsOneArrayAmongOthersThatItCannot) {
  std::string path = temporary("mixed.npz");
  {
    io::AtomicFile file(path);
    io::ZipWriter zip(file);
    for (const char* name : {"i1", "refused_uint64", "f4"})
      zip.add(std::string(name) + ".npy", read_file(fixture("npy/" + std::string(name) + ".npy")),
              {}, name[0] == 'i');
    zip.finish();
    file.commit();
  }
  npz::Reader reader(path);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"i1", "refused_uint64", "f4"}));
  EXPECT_EQ(elements(reader.tensor("i1")), formula('i', 6));
  EXPECT_EQ(reader.numpy_dtype("i1"), "i1");
  EXPECT_EQ(reader.numpy_dtype("f4"), "f4");
  EXPECT_TRUE(fails_with("mixed.npz:\"refused_uint64.npy\": numpy dtype must be one of",
                         [&] { reader.tensor("refused_uint64"); }));
  EXPECT_TRUE(
      fails_with("mixed.npz: array must be in the file, got \"x\"", [&] { reader.tensor("x"); }));
}

TEST(Npz, RefusesOtherMethodsAndMembers) {
  EXPECT_TRUE(fails_with(
      "refused_bzip2.npz:\"a.npy\": member must be stored (0) or deflated (8), got method 12",
      [] { load_npz("refused_bzip2"); }));
  EXPECT_TRUE(fails_with("npz:\"readme.txt\": npy file must start with \\x93NUMPY, got \"hello,\"",
                         [] { load_npz("refused_not_npy"); }));
}

TEST(Npz, WritesWhatItReads) {
  for (bool compress : {false, true}) {
    std::string path = temporary("written.npz");
    NamedTensors tensors = npz::load(fixture("npz/numpy.npz"));
    tensors.emplace_back("layer.0.weight", empty({0, 3}));
    npz::save(tensors, path, compress);
    NamedTensors back = npz::load(path);
    ASSERT_EQ(back.size(), tensors.size());
    for (size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].first, tensors[i].first);
      EXPECT_EQ(back[i].second.dtype(), tensors[i].second.dtype());
      EXPECT_EQ(back[i].second.shape(), tensors[i].second.shape());
      EXPECT_EQ(elements(back[i].second), elements(tensors[i].second));
      if (compress || back[i].second.numel() == 0) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(back[i].second.data()) % 64, 0u);  // used where mapped
    }
    npz::save({}, path, compress);
    EXPECT_TRUE(npz::load(path).empty());
  }
}

TEST(Npz, CompressesMoreThanOneBuffer) {
  std::string path = temporary("large.npz");
  Tensor tensor = empty({300'000}, {.dtype = i32});
  for (int32_t i = 0; i < 300'000; ++i) tensor.data<int32_t>()[i] = i * (i % 1000);
  npz::save({{"x", tensor}}, path, true);
  EXPECT_LT(read_file(path).size(), 1'200'000u);
  EXPECT_EQ(elements(npz::load(path)[0].second), elements(tensor));
}

TEST(Npz, WritesZip64Fields) {
  std::string path = temporary("zip64.npz");
  std::string member = read_file(fixture("npy/f4.npy"));
  for (uint64_t zip64_from : {1, 150, 250, 700}) {
    for (bool compress : {false, true}) {
      io::AtomicFile file(path);
      io::ZipWriter zip(file, zip64_from);
      for (const char* name : {"a.npy", "b.npy", "c.npy"})
        zip.add(name, member.substr(0, 128), std::as_bytes(std::span(member)).subspan(128),
                compress);
      zip.finish();
      file.commit();
      NamedTensors tensors = npz::load(path);
      ASSERT_EQ(tensors.size(), 3u);
      for (auto& [name, tensor] : tensors) EXPECT_EQ(elements(tensor), formula('f', 6));
    }
  }
}

TEST(Npz, RefusesNamesThatClash) {
  std::string path = temporary("names.npz");
  Tensor x = empty({1});
  EXPECT_TRUE(fails_with("tensor names must differ, got \"x\" twice", [&] {
    npz::save({{"x", x}, {"x", x}}, path);
  }));
  EXPECT_TRUE(fails_with("\"x\" must be defined, got an undefined tensor", [&] {
    npz::save({{"x", Tensor()}}, path);
  }));
  npz::save({{"x", x}, {"x.npy", x}}, path);  // members x.npy and x.npy.npy
  EXPECT_EQ(npz::load(path)[1].first, "x.npy");
}

// The places of stored.npz's records: two local headers, a directory of two entries, the end
// record.
struct Layout {
  std::string bytes = read_file(fixture("npz/stored.npz"));
  size_t first = 0;
  size_t second = bytes.find("PK\3\4", 4);
  size_t directory = bytes.find("PK\1\2");
  size_t entry2 = bytes.find("PK\1\2", bytes.find("PK\1\2") + 4);
  size_t end = bytes.find("PK\5\6");

  template <class T>
  Layout& put(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
};

TEST(Npz, NamesTheRuleThatAFileBreaks) {
  struct Row {
    std::function<void(Layout&)> damage;
    const char* text;
  };
  const Row kRows[] = {
      {[](Layout& z) { z.bytes = "PK"; }, "file: zip file must have an end record, got 2 bytes"},
      {[](Layout& z) { z.bytes.pop_back(); }, "zip file must have an end record, got none"},
      {[](Layout& z) { z.bytes += "x"; }, "zip file must have an end record, got none"},
      {[](Layout& z) { z.put<uint16_t>(z.end + 4, 1); }, "zip file must be one volume, got 1"},
      {[](Layout& z) { z.put<uint16_t>(z.end + 10, 3); }, "zip directory must hold its members"},
      {[](Layout& z) { z.put<uint16_t>(z.end + 10, 1); },
       "zip directory must hold its members alone"},
      {[](Layout& z) { z.put<uint16_t>(z.end + 10, 60000); },
       "zip directory must hold its members"},
      {[](Layout& z) { z.put<uint32_t>(z.end + 12, 5); },
       "zip directory must end where the end record starts"},
      {[](Layout& z) { z.put<uint32_t>(z.end + 16, 0x7fffffff); },
       "zip directory must end where the end record starts"},
      {[](Layout& z) { z.put<uint32_t>(z.end + 16, 0xffffffff); },
       "zip64 end record must stand before its locator, got no locator"},
      {[](Layout& z) { z.put<uint32_t>(z.directory, 0); }, "zip directory must hold its members"},
      {[](Layout& z) { z.put<uint16_t>(z.directory + 8, 1); },
       "file:\"a.npy\": member must not be encrypted, got flags 1"},
      {[](Layout& z) { z.put<uint16_t>(z.directory + 10, 99); },
       "member must be stored (0) or deflated (8), got method 99"},
      {[](Layout& z) { z.put<uint32_t>(z.directory + 16, 1); },
       "file:\"a.npy\": CRC-32 must match the zip directory's"},
      {[](Layout& z) { z.put<uint32_t>(z.directory + 20, 10); },
       "stored member must have one size, got 152 and 10"},
      {[](Layout& z) {
         z.put<uint32_t>(z.directory + 20, 100000).put<uint32_t>(z.directory + 24, 100000);
       },
       "member must lie before the zip directory, got 100000 bytes at offset 0"},
      {[](Layout& z) { z.put<uint32_t>(z.directory + 24, 0xffffffff); },
       "zip64 field must hold each size that needs it, got no such field"},
      {[](Layout& z) { z.put<uint16_t>(z.directory + 28, 65535); },
       "zip directory must hold its members, got a member longer than it"},
      {[](Layout& z) { z.put<uint16_t>(z.directory + 34, 7); },
       "zip file must be one volume, got 7"},
      {[](Layout& z) { z.put<uint32_t>(z.directory + 42, 0x7fffffff); },
       "member must lie before the zip directory, got offset 2147483647"},
      {[](Layout& z) { z.put<uint32_t>(z.directory + 42, 3); },
       "member must have a local header, got something else at offset 3"},
      {[](Layout& z) { z.put<uint8_t>(z.directory + 46, 'z'); },
       "file:\"z.npy\": local header must name the member, got \"a.npy\""},
      {[](Layout& z) { z.put<uint8_t>(z.directory + 46, 0x80); },
       "member name must be UTF-8, got \"\\x80.npy\""},
      {[](Layout& z) { z.put<uint16_t>(8, 8); }, "local header must agree on the method, got 8"},
      {[](Layout& z) { z.put<uint16_t>(28, 60000); }, "member must lie before the zip directory"},
      {[](Layout& z) { z.put<uint8_t>(z.first + 35 + 100, 'X'); }, "CRC-32 must match"},
      {[](Layout& z) {
         uint32_t size = static_cast<uint32_t>(z.second - 35 + 10);
         z.put(z.directory + 20, size).put(z.directory + 24, size);
       },
       "file:\"dir/b\": members must not overlap, got \"a.npy\" before it"},
  };
  for (const Row& row : kRows) {
    Layout layout;
    row.damage(layout);
    EXPECT_TRUE(fails_with(row.text, [&] { parse_npz(layout.bytes); }));
  }
}

std::string zip_of(std::initializer_list<std::pair<const char*, std::string>> members) {
  std::string path = temporary("zip_of.npz");
  io::AtomicFile file(path);
  io::ZipWriter zip(file);
  for (const auto& [name, contents] : members) zip.add(name, contents, {}, true);
  zip.finish();
  file.commit();
  return read_file(path);
}

TEST(Npz, RefusesTwoMembersOfOneName) {
  std::string member = read_file(fixture("npy/f4.npy"));
  EXPECT_TRUE(fails_with("file: member names must differ, got \"x\" twice", [&] {
    parse_npz(zip_of({{"x", member}, {"x", member}}));
  }));
  EXPECT_TRUE(fails_with("file: array names must differ, got \"x\" twice", [&] {
    parse_npz(zip_of({{"x", member}, {"x.npy", member}}));
  }));
}

TEST(Npz, RefusesBombs) {
  // 40 MB of zeros in 40 kB, which are what they say: read, unless the limit is lower.
  std::string zeros(40'000'000, '\0');
  std::string header = npy::make_header(u8, std::vector<int64_t>{40'000'000}, "zeros");
  std::string bomb = zip_of({{"x.npy", header + zeros}});
  EXPECT_LT(bomb.size(), 50'000u);
  EXPECT_EQ(parse_npz(bomb)[0].second.size_bytes, zeros.size());
  EXPECT_TRUE(fails_with("deflated members must fit in max_inflated_bytes, got more than 1000000",
                         [&] { parse_npz(bomb, {.max_inflated_bytes = 1'000'000}); }));

  // The header says one element, the member is 40 MB: refused before they are inflated.
  std::string lie = npy::make_header(u8, std::vector<int64_t>{1}, "lie");
  EXPECT_TRUE(
      fails_with("data must be as long as the shape says, got 40000000 bytes for shape [1]", [&] {
        parse_npz(zip_of({{"x.npy", lie + zeros}}));
      }));

  // A size that no deflated stream of that length can reach.
  std::string claim = zip_of({{"x.npy", header + "1"}});
  size_t entry = claim.find("PK\1\2");
  uint32_t size = 0xfffffff0;
  std::memcpy(claim.data() + entry + 24, &size, 4);
  EXPECT_TRUE(fails_with("deflated member must be at most 1032 times its compressed size",
                         [&] { parse_npz(claim); }));
}

TEST(Npz, RefusesDamagedStreams) {
  std::string member = read_file(fixture("npy/f4.npy"));
  std::string good = zip_of({{"x.npy", member}});
  size_t entry = good.find("PK\1\2");
  auto with = [&](size_t at, uint32_t value) {
    std::string bad = good;
    std::memcpy(bad.data() + at, &value, 4);
    return bad;
  };
  auto compressed = io::load<uint32_t>(std::as_bytes(std::span(good)), entry + 20);
  EXPECT_TRUE(fails_with("deflated member must be sound, got the end of its data after",
                         [&] { parse_npz(with(entry + 20, compressed - 3)); }));
  EXPECT_TRUE(fails_with("data must be as long as the shape says",
                         [&] { parse_npz(with(entry + 24, 151)); }));
  EXPECT_TRUE(fails_with("deflated member must be sound, got invalid block type after 0 bytes",
                         [&] { parse_npz(with(35, 0xffffffff)); }));
  EXPECT_TRUE(fails_with("CRC-32 must match", [&] { parse_npz(with(entry + 16, 0)); }));
  EXPECT_EQ(parse_npz(with(entry + 16, 0), {.verify = false}).size(), 1u);
}

// Any one byte changed: an error, or the same arrays.
TEST(Npz, SurvivesEveryMutation) {
  for (const char* name : {"npz/stored.npz", "npz/deflated.npz", "npz/zip64.npz"}) {
    std::string good = read_file(fixture(name));
    for (size_t at = 0; at < good.size(); ++at) {
      for (int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ change);
        error_of([&] {
          io::NamedArrays arrays = parse_npz(bad);
          ASSERT_EQ(arrays.size(), 2u) << at;
          EXPECT_EQ(elements(arrays[0].second), formula('f', 6)) << at;
          EXPECT_EQ(elements(arrays[1].second), formula('i', 5)) << at;
        });
      }
      EXPECT_NE(error_of([&] { parse_npz(good.substr(0, at)); }), kNoError) << at;
    }
  }
}

}  // namespace
}  // namespace aorta

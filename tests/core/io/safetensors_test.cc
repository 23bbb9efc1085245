#include <aorta/core/io/load_save.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/core/ops/creation.h>

#include <aorta/tests/core/io/fixtures.h>

#include <algorithm>

namespace aorta {
namespace {

using io_test::elements;
using io_test::fails_with;
using io_test::fixture;
using io_test::formula;
using io_test::in_memory;
using io_test::read_file;
using io_test::temporary;
using io_test::write_file;

std::string fixture_path(const std::string& name) {
  return fixture("safetensors/" + name + ".safetensors");
}

std::string behind_header(const std::string& header, const std::string& data = "") {
  std::string text;
  io::append(text, uint64_t{header.size()});
  return text + header + data;
}

// Reads and checks everything, as `load` does.
io::NamedArrays parse_safetensors(const std::string& contents) {
  auto file = in_memory(contents);
  auto header = safetensors::parse_header(file->bytes(), "file");
  bool sums = safetensors::verify_header(file->bytes(), header, "file");
  io::NamedArrays arrays;
  for (const auto& entry : header.tensors) {
    if (sums) safetensors::verify_tensor(file->bytes(), header, entry, "file");
    arrays.emplace_back(entry.name, safetensors::read_array(file, header, entry));
  }
  return arrays;
}

NamedTensors example() {
  NamedTensors tensors;
  tensors.emplace_back("conv.bias", npy::load(fixture("npy/f2.npy")));
  for (const char* code : {"b1", "u1", "i4", "i8", "f4", "f8"})
    tensors.emplace_back(code, npy::load(fixture("npy/" + std::string(code) + ".npy")));
  Tensor half = empty({3}, {.dtype = bf16});
  for (uint16_t i = 0; i < 3; ++i) static_cast<uint16_t*>(half.data())[i] = uint16_t(0x3f80 + i);
  tensors.emplace_back("half", half);
  tensors.emplace_back("none", empty({0, 3}));
  tensors.emplace_back("n\xc3\xa4me \"\\\n", npy::load(fixture("npy/scalar.npy")));
  return tensors;
}

TEST(Safetensors, ReadsWhatTheReferenceWrote) {
  safetensors::Reader reader(fixture_path("numpy"));
  struct Row {
    const char* name;
    DType dtype;
    Shape shape;
    char kind;
  };
  const Row kRows[] = {{"b", f32, {2, 3}, 'f'},    {"a", f64, {3}, 'f'},
                       {"i", i64, {2, 2}, 'i'},    {"h", f16, {5}, 'f'},
                       {"q", i32, {2}, 'i'},       {"u", u8, {3}, 'u'},
                       {"t", boolean, {3}, 'b'},   {"scalar", f32, {}, 'f'},
                       {"none", f32, {0, 3}, 'f'}, {"n\xc3\xa4me \"x\"\n", u8, {1}, 'u'}};
  EXPECT_EQ(reader.names().size(), std::size(kRows));
  for (const Row& row : kRows) {
    Tensor tensor = reader.tensor(row.name);
    EXPECT_EQ(tensor.dtype(), row.dtype) << row.name;
    EXPECT_EQ(tensor.shape(), row.shape) << row.name;
    EXPECT_EQ(elements(tensor), formula(row.kind, row.shape.numel())) << row.name;
  }
  safetensors::Metadata metadata{{"format", "np"}, {"k\xc3\xa4se", "\xe2\x82\xac\xf0\x9f\x98\x80"}};
  EXPECT_EQ(reader.metadata(), metadata);
  EXPECT_TRUE(fails_with("numpy.safetensors: tensor must be in the file, got \"weight\"",
                         [&] { reader.tensor("weight"); }));
  EXPECT_TRUE(safetensors::load(fixture_path("none")).empty());
}

TEST(Safetensors, CopiesATensorThatIsNotAligned) {
  Tensor tensor = safetensors::load(fixture_path("unaligned_bf16")).at(0).second;
  EXPECT_EQ(tensor.dtype(), bf16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 2, 0u);
  EXPECT_EQ(elements(tensor), (std::vector<double>{1, -2}));
}

TEST(Safetensors, RefusesAForeignDtypeWhenItIsRead) {
  safetensors::Reader reader(fixture_path("other_dtypes"));
  EXPECT_EQ(elements(reader.tensor("f")), formula('f', 2));
  const char* rule = "dtype must be one of BOOL U8 I32 I64 F16 BF16 F32 F64 C64, got ";
  EXPECT_TRUE(fails_with(rule + std::string("I8 in \"i8\""), [&] { reader.tensor("i8"); }));
  EXPECT_TRUE(fails_with(rule + std::string("U16 in \"u16\""), [&] { reader.tensor("u16"); }));
  EXPECT_TRUE(fails_with(rule + std::string("U64 in \"u64\""), [&] { reader.tensor("u64"); }));
}

TEST(Safetensors, WritesWhatItReads) {
  std::string path = temporary("written.safetensors");
  NamedTensors tensors = example();
  safetensors::save(tensors, path, {{"note", "a \"b\"\n\xc3\xa4"}});
  safetensors::Reader reader(path);
  EXPECT_EQ(reader.names().size(), tensors.size());
  EXPECT_EQ(reader.metadata(), (safetensors::Metadata{{"note", "a \"b\"\n\xc3\xa4"}}));
  for (const auto& [name, tensor] : tensors) {
    Tensor back = reader.tensor(name);
    EXPECT_EQ(back.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(back.shape(), tensor.shape()) << name;
    EXPECT_EQ(elements(back), elements(tensor)) << name;
  }
  safetensors::save({}, path);
  EXPECT_TRUE(safetensors::load(path).empty());
}

TEST(Safetensors, OrdersAndAlignsLikeTheReference) {
  std::string path = temporary("order.safetensors");
  safetensors::save(example(), path);
  std::string contents = read_file(path);
  auto header = safetensors::parse_header(std::as_bytes(std::span(contents)), path);
  EXPECT_EQ(header.data_offset % 64, 0u);
  std::vector<std::string> dtypes;
  for (const auto& entry : header.tensors) {
    if (dtypes.empty() || dtypes.back() != entry.dtype) dtypes.push_back(entry.dtype);
    if (entry.end > entry.begin) {
      auto item = (entry.end - entry.begin) / static_cast<uint64_t>(Shape(entry.shape).numel());
      EXPECT_EQ((header.data_offset + entry.begin) % item, 0u) << entry.name;
    }
  }
  EXPECT_EQ(dtypes,
            (std::vector<std::string>{"I64", "F64", "F32", "I32", "BF16", "F16", "U8", "BOOL"}));
  // Tensors in another order give the same bytes.
  NamedTensors reversed = example();
  std::reverse(reversed.begin(), reversed.end());
  safetensors::save(reversed, path);
  EXPECT_EQ(read_file(path), contents);
}

TEST(Safetensors, WritesViewsRowMajor) {
  std::string path = temporary("view.safetensors");
  Tensor tensor = npy::load(fixture("npy/f4.npy"));
  safetensors::save({{"x", tensor.t()}}, path);
  Tensor back = safetensors::load(path)[0].second;
  EXPECT_EQ(back.shape(), (Shape{3, 2}));
  EXPECT_EQ(elements(back.t().contiguous()), formula('f', 6));
}

TEST(Safetensors, AMappedTensorIsPrivateAndOutlivesTheReader) {
  std::string path = temporary("private.safetensors");
  safetensors::save({{"x", npy::load(fixture("npy/f4.npy"))}}, path);
  Tensor tensor = safetensors::load(path)[0].second;
  safetensors::save({{"x", empty({1})}}, path);  // the old mapping stays
  EXPECT_EQ(elements(tensor), formula('f', 6));
  tensor.data<float>()[0] = 5;
  EXPECT_EQ(safetensors::load(path)[0].second.numel(), 1);
}

TEST(Safetensors, RefusesNamesAndMetadataThatCannotBe) {
  std::string path = temporary("names.safetensors");
  Tensor x = empty({1});
  EXPECT_TRUE(fails_with(path + ": tensor names must differ, got \"x\" twice", [&] {
    safetensors::save({{"x", x}, {"x", x}}, path);
  }));
  EXPECT_TRUE(fails_with("tensor names must be UTF-8, got \"\\xff\"", [&] {
    safetensors::save({{"\xff", x}}, path);
  }));
  EXPECT_TRUE(fails_with("tensor must not have the name of the metadata, got __metadata__", [&] {
    safetensors::save({{"__metadata__", x}}, path);
  }));
  EXPECT_TRUE(fails_with("metadata must be UTF-8, got \"k\"", [&] {
    safetensors::save({}, path, {{"k", "\x80"}});
  }));
  EXPECT_TRUE(fails_with("metadata key must not be a checksum's, got \"aorta.crc32c.x\"", [&] {
    safetensors::save({}, path, {{"aorta.crc32c.x", "1"}});
  }));
}

// A header of one f32 tensor "x" with these fields.
std::string x(const std::string& shape, const std::string& offsets,
              const std::string& dtype = "F32") {
  return "\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

TEST(Safetensors, NamesTheRuleThatAFileBreaks) {
  std::string y = "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":";
  std::string deep(100'000, '[');
  struct Row {
    std::string contents, text;
  };
  const Row kRows[] = {
      {"1234567", "file: file must start with an 8-byte header length, got 7 bytes"},
      {std::string("\1\xe1\xf5\5\0\0\0\0", 8),
       "header must be at most 100,000,000 bytes, got 100000001"},
      {std::string(8, '\xff'),
       "header must be at most 100,000,000 bytes, got 18446744073709551615"},
      {std::string("\3\0\0\0\0\0\0\0{}", 10),
       "header must lie inside the file, got 3 bytes in a file of 10"},
      {behind_header(""), "header must start with '{', got \"\""},
      {behind_header(" {}"), "header must start with '{', got \" \""},
      {behind_header("{\"\xff\":1}"), "header must be UTF-8"},
      {behind_header("{"), "header must be JSON, got an error at byte 10"},
      {behind_header("{}x"), "header must be JSON, got an error at byte"},
      {behind_header(std::string("{}\0{}", 5)), "header must be JSON, got an error at byte 11"},
      {behind_header("{\"\\ud800\":{}}"), "header must be JSON"},
      {behind_header("{\"x\":" + deep),
       "must hold tensors and __metadata__ alone, got an array in \"x\""},
      {behind_header("{\"x\":{\"shape\":" + deep), "alone, got an array in \"x\""},
      {behind_header("{\"x\":{\"shape\":[{"), "alone, got an object inside \"x\""},
      {behind_header("{\"x\":1}"), "alone, got a number in \"x\""},
      {behind_header("{\"x\":null}"), "alone, got null in \"x\""},
      {behind_header("{\"x\":true}"), "alone, got a bool in \"x\""},
      {behind_header("{\"x\":\"y\"}"), "alone, got text in \"x\""},
      {behind_header("{\"x\":{}}"),
       "tensor must have dtype, shape and data_offsets, got \"x\" without"},
      {behind_header("{\"x\":{\"other\":1}}"), "data_offsets alone, got \"other\" in \"x\""},
      {behind_header("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}"),
       "tensor must have each field once, got \"dtype\" twice in \"x\""},
      {behind_header("{\"x\":{\"dtype\":[1]}}"), "alone, got an array in \"x\""},
      {behind_header("{\"x\":{\"shape\":1}}"), "alone, got a number in \"x\""},
      {behind_header("{\"x\":{\"shape\":[\"1\"]}}"), "alone, got text in \"x\""},
      {behind_header("{\"x\":{\"shape\":[-1]}}"),
       "numbers must be whole and not negative, got -1 in \"x\""},
      {behind_header("{\"x\":{\"shape\":[1.5]}}"),
       "numbers must be whole and below 2^64, got \"1.5\""},
      {behind_header("{\"x\":{\"shape\":[99999999999999999999]}}"),
       "numbers must be whole and below 2^64"},
      {behind_header("{\"x\":{\"shape\":[9223372036854775808]}}"), "sizes must be below 2^63"},
      {behind_header("{\"x\":{\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1]}}"),
       "tensor must have at most 12 dimensions, got more in \"x\""},
      {behind_header("{" + x("[1]", "[0]") + "}", "1234"),
       "data_offsets must be [begin, end], got 1 numbers"},
      {behind_header("{" + x("[1]", "[0,4,4]") + "}", "1234"),
       "data_offsets must be [begin, end], got more"},
      {behind_header("{" + x("[1]", "[4,0]") + "}", "1234"),
       "data_offsets must not decrease, got \"x\" at [4,0]"},
      {behind_header("{" + x("[1]", "[0,4]") + "}", "123"),
       "tensors must lie inside the file, got \"x\" at [0,4] of 3"},
      {behind_header("{" + x("[1]", "[0,4]") + "}", "12345"),
       "tensors must fill the file, got 1 bytes after the last"},
      {behind_header("{}", "1"), "tensors must fill the file, got 1 bytes after the last"},
      {behind_header("{" + x("[1]", "[1,5]") + "}", "12345"),
       "there must be no hole before a tensor, got \"x\" at [1,5] after 0"},
      {behind_header("{" + x("[1]", "[0,4]") + "," + y + "[2,4]}}", "1234"),
       "tensors must not overlap, got \"y\" at [2,4] after 4"},
      {behind_header("{" + x("[1]", "[0,4]") + "," + y + "[5,7]}}", "1234567"),
       "no hole before a tensor, got \"y\" at [5,7] after 4"},
      {behind_header("{" + x("[1]", "[0,4]") + "," + x("[1]", "[4,8]") + "}", "12345678"),
       "header must have each name once, got \"x\" twice"},
      {behind_header("{" + x("[2]", "[0,4]") + "}", "1234"),
       "shape x dtype must be the tensor's bytes, got \"x\" at [0,4] for F32 [2]"},
      {behind_header("{" + x("[1]", "[0,4]", "F33") + "}", "1234"),
       "dtype must be one of the safetensors format, got \"F33\" in \"x\""},
      {behind_header("{" + x("[4611686018427387904,4]", "[0,4]") + "}", "1234"),
       "file:\"x\": shape x item size must fit in 63 bits"},
      {behind_header("{" + x("[3]", "[0,1]", "F4") + "}", "1"),
       "array must end on a whole byte, got 12 bits"},
      {behind_header("{" + x("[2]", "[0,1]", "F4") + "}", "1"),
       "dtype must be one of BOOL U8 I32 I64 F16 BF16 F32 F64 C64, got F4"},
      {behind_header("{" + x("[1]", "[0,1]", "BOOL") + "}", "\7"),
       "file:\"x\": bool elements must be 0 or 1, got 7"},
      {behind_header("{\"__metadata__\":{\"a\":1}}"),
       "__metadata__ must map text to text, got a number in"},
      {behind_header("{\"__metadata__\":{\"a\":{}}}"), "got an object inside \"__metadata__\""},
      {behind_header("{\"__metadata__\":{\"a\":[]}}"),
       "__metadata__ must map text to text, got an array"},
      {behind_header("{\"__metadata__\":1}"), "got a number in \"__metadata__\""},
      {behind_header("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"),
       "__metadata__ must have each key once, got \"a\" twice"},
      {behind_header("{\"__metadata__\":{},\"__metadata__\":{}}"),
       "header must have each name once, got \"__metadata__\" twice"},
      {behind_header("{\"__metadata__\":{\"aorta.crc32c\":\"12345678\"}}"),
       "header must match its CRC-32C, got "},
      {behind_header("{\"__metadata__\":{\"aorta.crc32c\":\"1\"}}"),
       "header's CRC-32C must be 8 digits, got \"1\""},
      {behind_header("{\"__metadata__\":{\"aorta.state\":\"1\"}}"),
       "header must have its CRC-32C, got none"},
  };
  for (const Row& row : kRows)
    EXPECT_TRUE(fails_with(row.text, [&] { parse_safetensors(row.contents); }))
        << io::quote(row.contents);
}

TEST(Safetensors, AcceptsSpaceAfterTheHeaderAndEmptyTensorsAnywhere) {
  std::string y = ",\"y\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":";
  for (const char* offsets : {"[0,0]}", "[4,4]}"})
    EXPECT_EQ(
        parse_safetensors(behind_header("{" + x("[1]", "[0,4]") + y + offsets + "} \n\t ", "1234"))
            .size(),
        2u);
  EXPECT_TRUE(fails_with("tensors must not overlap", [&] {
    parse_safetensors(behind_header("{" + x("[1]", "[0,4]") + y + "[2,2]}}", "1234"));
  }));
}

TEST(Safetensors, ADamagedTensorIsNamed) {
  std::string path = temporary("damaged.safetensors");
  safetensors::save(example(), path);
  std::string good = read_file(path);
  auto header = safetensors::parse_header(std::as_bytes(std::span(good)), path);
  for (const auto& entry : header.tensors) {
    if (entry.begin == entry.end) continue;
    std::string bad = good;
    bad[header.data_offset + entry.begin] ^= 1;
    write_file(path, bad);
    EXPECT_TRUE(fails_with(
        path + ": tensor must match its CRC-32C, got " + io::quote(entry.name) + " with ",
        [&] { safetensors::load(path); }));
    if (entry.dtype == "BOOL") continue;
    EXPECT_EQ(safetensors::load(path, false).size(), header.tensors.size());
  }
}

// Any bit of the file changed, or its end cut off: an error, always, for the checksums see it.
TEST(Safetensors, FindsEveryMutation) {
  std::string path = temporary("mutated.safetensors");
  NamedTensors tensors{{"weight", npy::load(fixture("npy/f4.npy"))},
                       {"none", empty({0, 2})},
                       {"flag", npy::load(fixture("npy/b1.npy"))}};
  safetensors::save(tensors, path, {{"step", "12"}});
  std::string good = read_file(path);
  ASSERT_EQ(parse_safetensors(good).size(), 3u);
  for (size_t at = 0; at < good.size(); ++at) {
    for (int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      EXPECT_NE(error_of([&] { parse_safetensors(bad); }), kNoError)
          << "byte " << at << " ^ " << change;
    }
    EXPECT_NE(error_of([&] { parse_safetensors(good.substr(0, at)); }), kNoError) << at;
  }
}

TEST(LoadSave, GoesByTheExtension) {
  NamedTensors tensors{{"x", npy::load(fixture("npy/f4.npy"))}};
  for (const char* extension : {"npy", "npz", "safetensors"}) {
    std::string path = temporary("dispatch.") + extension;
    save(tensors, path);
    NamedTensors back = load(path);
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(back[0].first, extension == std::string("npy") ? "" : "x");
    EXPECT_EQ(elements(back[0].second), formula('f', 6));
  }
  save(tensors[0].second, temporary("one.npy"));
  EXPECT_EQ(elements(load(temporary("one.npy"))[0].second), formula('f', 6));
  tensors.emplace_back("y", empty({1}));
  EXPECT_TRUE(
      fails_with("an .npy file holds one tensor, got 2", [&] { save(tensors, "two.npy"); }));
  EXPECT_TRUE(fails_with("x.pt: file name must end in .safetensors, .npz or .npy, got \".pt\"",
                         [&] { save(tensors, "x.pt"); }));
  EXPECT_TRUE(
      fails_with("a.b/x: file name must end in .safetensors, .npz or .npy, got no extension",
                 [&] { load("a.b/x"); }));
  EXPECT_TRUE(fails_with("one tensor without a name goes to an .npy file",
                         [&] { save(tensors[0].second, "x.npz"); }));
}

}  // namespace
}  // namespace aorta

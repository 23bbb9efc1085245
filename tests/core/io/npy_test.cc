#include <aorta/core/io/npy.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/ops/creation.h>

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

Tensor load_npy(const std::string& name) { return npy::load(fixture("npy/" + name + ".npy")); }

io::Array parse_npy(std::string_view contents) {
  auto file = in_memory(contents);
  return npy::parse(file, 0, file->size(), "file");
}

// A file with this dictionary, as numpy would lay it out.
std::string with_header(const std::string& dictionary, const std::string& data = "",
                        char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  if (version == 1)
    io::append(text, static_cast<uint16_t>(dictionary.size() + 1));
  else
    io::append(text, static_cast<uint32_t>(dictionary.size() + 1));
  return text + dictionary + "\n" + data;
}

std::string dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST(Npy, ReadsEveryDtypeThatNumpyWrote) {
  struct Row {
    const char* code;
    DType dtype;
  };
  constexpr Row kRows[] = {{"f2", f16}, {"f4", f32}, {"f8", f64},    {"i1", i32},
                           {"i2", i32}, {"i4", i32}, {"i8", i64},    {"u1", u8},
                           {"u2", i32}, {"u4", i64}, {"b1", boolean}};
  for (const Row& row : kRows) {
    for (const char* order : {"", "_big"}) {
      if (*order && row.code[1] == '1') continue;
      Tensor tensor = load_npy(std::string(row.code) + order);
      EXPECT_EQ(tensor.dtype(), row.dtype) << row.code << order;
      EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
      EXPECT_EQ(elements(tensor), formula(row.code[0], 6)) << row.code << order;
    }
  }
}

TEST(Npy, WidensTheWholeRangeOfAnInteger) {
  auto read = [](const char* code, const std::string& data) {
    return elements(parse_npy(with_header(dictionary(code, "(2,)"), data)));
  };
  EXPECT_EQ(read("'|i1'", "\x80\x7f"), (std::vector<double>{-128, 127}));
  EXPECT_EQ(read("'<i2'", std::string("\x00\x80\xff\x7f", 4)),
            (std::vector<double>{-32768, 32767}));
  EXPECT_EQ(read("'>i2'", std::string("\x80\x00\x7f\xff", 4)),
            (std::vector<double>{-32768, 32767}));
  EXPECT_EQ(read("'<u2'", std::string("\xff\xff\x00\x00", 4)), (std::vector<double>{65535, 0}));
  EXPECT_EQ(read("'<u4'", std::string("\xff\xff\xff\xff\0\0\0\x80", 8)),
            (std::vector<double>{4294967295., 2147483648.}));
}

TEST(Npy, ReadsFortranOrder) {
  Tensor tensor = load_npy("fortran");
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4}));
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(elements(tensor), formula('f', 24));
  EXPECT_EQ(elements(load_npy("fortran_big_i2")), formula('i', 24));
}

TEST(Npy, ReadsEveryVersionAndShape) {
  EXPECT_EQ(load_npy("scalar").shape(), Shape{});
  EXPECT_EQ(elements(load_npy("scalar")), formula('f', 1));
  EXPECT_EQ(load_npy("empty").shape(), (Shape{0, 3}));
  EXPECT_EQ(load_npy("vector").shape(), Shape{5});
  for (const char* name : {"version2", "version3", "python2"}) {
    EXPECT_EQ(load_npy(name).shape(), (Shape{2, 3})) << name;
    EXPECT_EQ(elements(load_npy(name)), formula('f', 6)) << name;
  }
}

TEST(Npy, ReadsInPlaceAndNeverChangesTheFile) {
  std::string path = temporary("in_place.npy");
  io_test::write_file(path, read_file(fixture("npy/f4.npy")));
  Tensor tensor = npy::load(path);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);  // numpy's alignment, mapped
  tensor.data<float>()[0] = 100;
  EXPECT_EQ(elements(npy::load(path)), formula('f', 6));
}

TEST(Npy, AnArrayOutlivesNothingItNeeds) {
  io::Array array = parse_npy(read_file(fixture("npy/f4.npy")));  // the file object is gone
  EXPECT_EQ(elements(array), formula('f', 6));
}

// What numpy.save wrote, our writer writes too, byte by byte.
TEST(Npy, WritesWhatNumpyWrites) {
  for (const char* name : {"f2", "f4", "f8", "i4", "i8", "u1", "b1", "scalar", "empty", "vector"}) {
    std::string path = temporary("written.npy");
    npy::save(load_npy(name), path);
    EXPECT_EQ(read_file(path), read_file(fixture("npy/" + std::string(name) + ".npy"))) << name;
  }
}

TEST(Npy, WritesViewsRowMajor) {
  std::string path = temporary("view.npy");
  Tensor tensor = load_npy("fortran");
  npy::save(tensor.permute({2, 0, 1}), path);
  Tensor back = npy::load(path);
  EXPECT_EQ(back.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(elements(back.permute({1, 2, 0}).contiguous()), formula('f', 24));
  npy::save(tensor.slice(1, 1, 2), path);
  EXPECT_EQ(elements(npy::load(path)), (std::vector<double>{1, 1.5, 2, 2.5, 7, 7.5, 8, 8.5}));
}

TEST(Npy, RefusesBf16OnWriting) {
  std::string path = temporary("bf16.npy");
  Tensor tensor = empty({2}, {.dtype = bf16});
  EXPECT_TRUE(
      fails_with(path + ": dtype must be one that numpy has; convert to f32 first, got bf16",
                 [&] { npy::save(tensor, path); }));
}

TEST(Npy, RefusesDtypesByName) {
  struct Row {
    const char* name;
    const char* text;
  };
  const char* kOthers =
      ": numpy dtype must be one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 b1 c8 c16, got ";
  constexpr Row kRows[] = {{"uint64", "\"<u8\""},  {"text", "\"<U2\""}, {"bytes", "\"|S2\""},
                           {"date", "\"<M8[s]\""}, {"void", "\"|V4\""}, {"longdouble", "\"<f16\""}};
  for (const Row& row : kRows)
    EXPECT_TRUE(fails_with(std::string("npy/refused_") + row.name + ".npy" + kOthers + row.text,
                           [&] { load_npy(std::string("refused_") + row.name); }));
  EXPECT_TRUE(fails_with("object dtype (a Python pickle) is refused, got \"|O\"",
                         [] { load_npy("refused_object"); }));
  EXPECT_TRUE(fails_with("structured dtype is refused", [] { load_npy("refused_structured"); }));
}

TEST(Npy, NamesTheRuleThatAFileBreaks) {
  auto f4 = [](const std::string& shape) { return dictionary("'<f4'", shape); };
  std::string big = "123456789012345678901234567890";
  struct Row {
    std::string contents, text;
  };
  const Row kRows[] = {
      {"", "file: npy file must start with \\x93NUMPY, got \"\""},
      {"PK\3\4 something", "npy file must start with \\x93NUMPY, got \"PK\\x03\\x04 s\""},
      {std::string("\x93NUMPY\1", 7), "npy header must be whole, got 7 bytes"},
      {std::string("\x93NUMPY\4\0\0\0", 10), "npy version must be 1.0, 2.0 or 3.0, got 4.0"},
      {std::string("\x93NUMPY\1\1\0\0", 10), "npy version must be 1.0, 2.0 or 3.0, got 1.1"},
      {std::string("\x93NUMPY\2\0\0\0", 10), "npy header must be whole, got 10 bytes"},
      {std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12),
       "npy header must be at most 1 MiB long, got 4294967295 bytes"},
      {std::string("\x93NUMPY\1\0\x80\0{", 11), "npy header must be whole, got 11 of 138 bytes"},
      {with_header("[]"), "npy header must have '{' here, got \"[]\\x0a\""},
      {with_header("{'descr' '<f4'}"), "npy header must have ':' here, got \"'<f4'}\\x0a\""},
      {with_header("{'descr': '<f4"), "npy header must have the end of a string here"},
      {with_header("{'descr': '<f\\x34'}"), "npy header must have a string without escapes here"},
      {with_header("{'descr': 4}"), "npy header must have a string here, got \"4}\\x0a\""},
      {with_header("{'descr': '<f4' 'shape'}"), "npy header must have ',' here"},
      {with_header("{'descr': '<f4',"), "npy header must have a string here, got its end"},
      {with_header("{'shape': (), 'fortran_order': 0}"), "npy header must have True or False here"},
      {with_header(f4("(1 2)")), "npy header must have ',' between sizes here"},
      {with_header(f4("(1)")), "npy header must have a shape such as (3,) here"},
      {with_header(f4("(-1,)")), "npy header must have a size here, got \"-1,), }\\x0a\""},
      {with_header(f4("(" + big + ",)")), "npy header must have a size below 2^63 here"},
      {with_header(f4("(0,)") + " x"), "npy header must have nothing after the dictionary here"},
      {with_header("{'descr': '<f4'}"),
       "keys descr, fortran_order and shape, got none named fortran"},
      {with_header("{'extra': '<f4'}"), "fortran_order and shape alone, got \"extra\""},
      {with_header("{'shape': (), 'shape': ()}"), "must have each key once, got \"shape\""},
      {with_header(f4("(1,1,1,1,1,1,1,1,1,1,1,1,1)"), "1234"),
       "array must have at most 12 dimensions, got more"},
      {with_header(f4("(4611686018427387904,4611686018427387904)")),
       "shape x item size must fit in 63 bits, got [4611686018427387904,4611686018427387904]"},
      {with_header(f4("(0,4611686018427387904,4)")), "shape x item size must fit in 63 bits"},
      {with_header(f4("(1000000000000,)"), "1234"),
       "data must be as long as the shape says, got 4 bytes for shape [1000000000000] of 4-byte"},
      {with_header(f4("(1,)"), "12345"), "data must be as long as the shape says, got 5 bytes"},
      {with_header(dictionary("'|f4'", "(1,)"), "1234"), "numpy dtype must name its byte order"},
      {with_header(dictionary("''", "(1,)"), "1234"), "numpy dtype must be one of"},
      {with_header(dictionary("('<f4', (2,))", "(1,)"), "1234"), "structured dtype is refused"},
      {with_header(dictionary("'|b1'", "(3,)"), "\1\1\2"),
       "bool elements must be 0 or 1, got 2 at element 2"},
  };
  for (const Row& row : kRows)
    EXPECT_TRUE(fails_with(row.text, [&] { parse_npy(row.contents); })) << io::quote(row.contents);
}

TEST(Npy, AcceptsWhatPythonAccepts) {
  std::string data(24, '\0');
  for (const char* text : {
           "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}",
           "{'shape': (2, 3,), 'fortran_order': True, 'descr': '<f4'}   ",
           "  { 'shape':(2,3) ,'descr':'=f4','fortran_order':False , }",
       }) {
    for (char version : {1, 2, 3})
      EXPECT_EQ(parse_npy(with_header(text, data, version)).shape, (std::vector<int64_t>{2, 3}))
          << text;
  }
}

// Any one byte changed, or the end cut off: an error, or an array of the size it says.
TEST(Npy, SurvivesEveryMutation) {
  std::string good = read_file(fixture("npy/fortran_big_i2.npy"));
  auto attempt = [](const std::string& contents) {
    error_of([&] { EXPECT_EQ(elements(parse_npy(contents)).size(), 24u); });
  };
  for (size_t at = 0; at < good.size(); ++at) {
    for (int change = 1; change < 256; change = change < 128 ? change * 2 : change + 127) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      attempt(bad);
    }
    EXPECT_NE(error_of([&] { parse_npy(good.substr(0, at)); }), kNoError) << at;
  }
}

}  // namespace
}  // namespace aorta

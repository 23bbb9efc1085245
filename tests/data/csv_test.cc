#include <aorta/data/byte_source.h>
#include <aorta/data/csv.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

using Records = std::vector<std::vector<std::string>>;

CsvReader reader_of(std::string_view text, const CsvOptions& options = {}) {
  return CsvReader(ByteSource::view("t.csv", std::as_bytes(std::span(text.data(), text.size()))),
                   options);
}

Records records_of(std::string_view text, const CsvOptions& options = {}) {
  CsvReader reader = reader_of(text, options);
  Records records;
  while (reader.next()) {
    auto& record = records.emplace_back();
    for (size_t i = 0; i < reader.columns().size(); ++i)
      record.emplace_back(reader.text(static_cast<int>(i)));
  }
  return records;
}

std::string error_of_csv(std::string_view text, const CsvOptions& options = {}) {
  return error_of([&] { records_of(text, options); });
}

// The examples of RFC 4180, section 2.
TEST(Csv, ReadsTheFormsOfRfc4180) {
  const Records expected{{"aaa", "bbb", "ccc"}, {"zzz", "yyy", "xxx"}};
  const CsvOptions bare{.header = false};
  EXPECT_EQ(records_of("aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", bare), expected);
  EXPECT_EQ(records_of("aaa,bbb,ccc\r\nzzz,yyy,xxx", bare), expected);
  EXPECT_EQ(records_of("aaa,bbb,ccc\nzzz,yyy,xxx\n", bare), expected);
  EXPECT_EQ(records_of("\"aaa\",\"bbb\",\"ccc\"\r\nzzz,yyy,xxx", bare), expected);
  EXPECT_EQ(records_of("\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx", bare),
            (Records{{"aaa", "b\r\nbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(records_of("\"aaa\",\"b\"\"bb\",\"c,c\"\r\n", bare),
            (Records{{"aaa", "b\"bb", "c,c"}}));
  EXPECT_EQ(records_of("field_name1,field_name2\r\naaa,bbb\r\n"), (Records{{"aaa", "bbb"}}));
}

TEST(Csv, ReadsWhatPeopleWrite) {
  EXPECT_EQ(reader_of("\xef\xbb\xbf"
                      "a,b\n1,2\n")
                .columns(),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(records_of("\xef\xbb\xbf"
                       "1,2\n3,4",
                       {.header = false}),
            (Records{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(records_of("a,b\n\n1,2\r\n\r\n3,4\n\n"), (Records{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(records_of("a,b\n,\n\"\",x\n1,"), (Records{{"", ""}, {"", "x"}, {"1", ""}}));
  EXPECT_EQ(records_of("a\n\"\"\n"), (Records{{""}}));
  EXPECT_EQ(records_of("a;b\n1,5;2\n", {.delimiter = ';'}), (Records{{"1,5", "2"}}));
  EXPECT_EQ(reader_of("1,2\n", {.header = false}).columns(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(records_of("a,b\n"), Records{});
}

// Fields that lie across the edges of the buffer of 16,384 bytes.
TEST(Csv, ReadsAcrossItsBuffer) {
  for (size_t length = 16370; length < 16390; ++length) {
    const std::string field(length, 'x');
    EXPECT_EQ(records_of("a,b\n" + field + ",\"1\"\"2\"\r\n3,4\n"),
              (Records{{field, "1\"2"}, {"3", "4"}}))
        << length;
  }
}

TEST(Csv, SaysLines) {
  CsvReader reader = reader_of("a,b\n\n1,\"x\ny\"\n2,z\n");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 3);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 5);
  EXPECT_EQ(error_of([&] { reader.fail_here("EF must be 0 to 100", "104"); }),
            "read_csv: t.csv:5: EF must be 0 to 100, got 104");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(Csv, ReadsNumbers) {
  CsvReader reader = reader_of("a,b,c\n 68.7996,-12\t,+3\n1e3,9223372036854775807,0.5\n");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(0), 68.7996);
  EXPECT_EQ(reader.integer(1), -12);
  EXPECT_EQ(reader.number(reader.column("c")), 3);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(0), 1000);
  EXPECT_EQ(reader.integer(1), 9223372036854775807);
  EXPECT_EQ(error_of([&] { reader.integer(2); }),
            "read_csv: t.csv:3: c must be an integer of 64 bits, got \"0.5\"");
  for (const char* bad : {"", "n/a", "1 2", "nan", "inf", "1e999", "0x10", "--1", "+-1"}) {
    CsvReader other = reader_of("EF,b\n" + std::string(bad) + ",\n");
    ASSERT_TRUE(other.next());
    EXPECT_EQ(error_of([&] { other.number(0); }),
              "read_csv: t.csv:2: EF must be a finite number, got \"" + std::string(bad) + "\"");
  }
  for (const char* small : {"1e-400", "-0.1e-999"}) {
    CsvReader other = reader_of("EF,b\n" + std::string(small) + ",\n");
    ASSERT_TRUE(other.next());
    EXPECT_EQ(error_of([&] { other.number(0); }),
              "read_csv: t.csv:2: EF must be 0 or at least 5e-324 in size, got \"" +
                  std::string(small) + "\"");
  }
  CsvReader odd = reader_of("\xff\x01 b\nx\n");
  ASSERT_TRUE(odd.next());
  EXPECT_EQ(error_of([&] { odd.number(0); }),
            "read_csv: t.csv:2: \"\\xff\\x01 b\" must be a finite number, got \"x\"");
  CsvReader large = reader_of("a\n9223372036854775808\n");
  ASSERT_TRUE(large.next());
  EXPECT_EQ(error_of([&] { large.integer(0); }),
            "read_csv: t.csv:2: a must be an integer of 64 bits, got \"9223372036854775808\"");
}

TEST(Csv, RefusesWhatIsWrong) {
  EXPECT_EQ(error_of_csv(""), "read_csv: t.csv:1: a table must have a line at least, got none");
  EXPECT_EQ(
      error_of_csv("a,b\n1,2\n1,2,3\n"),
      "read_csv: t.csv:3: a record must have as many fields as there are columns, got 3 of 2");
  EXPECT_EQ(
      error_of_csv("a,b\n1\n"),
      "read_csv: t.csv:2: a record must have as many fields as there are columns, got 1 of 2");
  EXPECT_EQ(error_of_csv("a,b\n1,\"2\n3,4\n"),
            "read_csv: t.csv:2: a quoted field must end with a quote, got the end of the file");
  EXPECT_EQ(
      error_of_csv("a,b\n1,\"2\"x\n"),
      "read_csv: t.csv:2: a quoted field must end with its closing quote, got \"x\" after it");
  EXPECT_EQ(error_of_csv("a,b\n1,2\"\n"),
            "read_csv: t.csv:2: a field with a quote in it must be in quotes, got a quote");
  EXPECT_EQ(error_of_csv("a,b\r1,2\r"),
            "read_csv: t.csv:1: a carriage return must be followed by a line feed, got none");
  EXPECT_EQ(error_of_csv(std::string_view("a,b\n1,\0\n", 8)),
            "read_csv: t.csv:2: text must not hold a zero byte, got one at byte 6");
  EXPECT_EQ(error_of_csv("a,b,a\n"),
            "read_csv: t.csv:1: columns must have different names, got \"a\" twice");
  EXPECT_EQ(
      error_of_csv("a,b\n12345678,12345678\n", {.max_record_bytes = 10}),
      "read_csv: t.csv:2: a record must not be longer than max_record_bytes, got more than 10");
  EXPECT_EQ(
      error_of_csv("a\n" + std::string(50, ','), {.max_record_bytes = 10}),
      "read_csv: t.csv:2: a record must not be longer than max_record_bytes, got more than 10");
  EXPECT_EQ(error_of([] { reader_of("a,b\n").column("EF"); }),
            "read_csv: t.csv:1: a column must be called \"EF\", got \"a\", \"b\"");
  EXPECT_EQ(error_of_csv("a", {.delimiter = '"'}),
            "read_csv: delimiter must not be a quote, a line end or a zero byte, got \"\\\"\"");
  EXPECT_EQ(error_of([] { CsvReader("/nowhere/t.csv"); }),
            "/nowhere/t.csv: file must be readable, got ENOENT (No such file or directory)");
}

TEST(Csv, ReadsATable) {
  const std::string path =
      std::filesystem::path(testing::TempDir()) / ("table_" + std::to_string(getpid()) + ".csv");
  std::ofstream(path, std::ios::binary) << "name,EF,n\r\nfirst,68.5,3\r\n\r\n\"a,b\",x,4\r\n";
  const CsvTable table = read_csv(path);
  std::filesystem::remove(path);
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.text(1, table.column("name")), "a,b");
  EXPECT_EQ(table.number(0, 1), 68.5);
  EXPECT_EQ(table.integer(1, 2), 4);
  EXPECT_EQ(table.find_column("no"), -1);
  EXPECT_EQ(table.line(1), 4);
  EXPECT_EQ(error_of([&] { table.number(1, 1); }),
            "read_csv: " + path + ":4: EF must be a finite number, got \"x\"");
  EXPECT_EQ(error_of([&] { table.text(2, 0); }),
            "read_csv: row must be 0 to the number of rows - 1, got 2 of 2");
  EXPECT_EQ(error_of([&] { table.text(0, 3); }),
            "read_csv: column must be 0 to the number of columns - 1, got 3 of 3");
}

}  // namespace
}  // namespace aorta::data

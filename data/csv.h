#pragma once

#include <aorta/core/list.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aorta::data {

class ByteSource;

/// How a CSV file is written.
struct CsvOptions {
  char delimiter = ',';
  /// The first record names the columns; without it they are called "0", "1", ...
  bool header = true;
  /// No record may be longer: what one takes in memory.
  int64_t max_record_bytes = 1 << 20;
};

/// The records of a CSV file one after another, in memory for one record.
///
///     data::CsvReader rows("FileList.csv");
///     const int ef = rows.column("EF");
///     while (rows.next()) sum += rows.number(ef);
///
/// RFC 4180: fields between delimiters, or in quotes, in which "" is a quote and delimiters and
/// line ends are text; lines end with LF or CRLF; a byte order mark (UTF-8) is skipped. Blank lines
/// are skipped too. Errors name the file and the record's line: `read_csv: FileList.csv:17: a
/// record must have as many fields as there are columns, got 8 of 9`.
class CsvReader {
 public:
  explicit CsvReader(const Text& path, const CsvOptions& options = {});
  explicit CsvReader(std::shared_ptr<const ByteSource> source, const CsvOptions& options = {});

  /// The file's name.
  const std::string& name() const;
  const std::vector<std::string>& columns() const { return columns_; }
  /// The column of that name; throws `read_csv: FileList.csv:1: a column must be called "EF", got
  /// "FileName", ...`.
  int column(std::string_view name) const;
  /// The column of that name, or -1.
  int find_column(std::string_view name) const;

  /// Reads the next record; false at the end.
  bool next();
  /// The line on which the present record starts, from 1.
  int64_t line() const { return line_; }
  /// A field of the present record. The text stays until the next call of next().
  std::string_view text(int column) const;
  /// The field as a number, blanks around it skipped. Errors: `... EF must be a number, got "n/a"`;
  /// an integer that doesn't fit in 64 bits, and a number that isn't finite or would vanish.
  double number(int column) const;
  int64_t integer(int column) const;
  /// Throws `read_csv: FILE:LINE: rule, got ...` for the present record.
  [[noreturn]] void fail_here(const std::string& rule, const std::string& got) const;

 private:
  bool read_record();
  void read_quoted(int64_t line);
  int peek();
  void put(char c);
  [[noreturn]] void fail_at(int64_t line, const std::string& rule, const std::string& got) const;

  std::shared_ptr<const ByteSource> source_;
  CsvOptions options_;
  std::vector<std::string> columns_;
  std::vector<char> buffer_;
  size_t position_ = 0;       // in the buffer
  uint64_t offset_ = 0;       // of the buffer's end in the file
  int64_t next_line_ = 1;     // where the parser is
  int64_t line_ = 0;          // of the record
  std::string record_;        // its fields' text, one after another
  std::vector<size_t> ends_;  // where each ends in it
};

/// All of a CSV file: one string and one array of positions.
class CsvTable {
 public:
  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }
  const std::vector<std::string>& columns() const { return columns_; }
  /// The column of that name; throws as CsvReader's does.
  int column(std::string_view name) const;
  int find_column(std::string_view name) const;

  std::string_view text(int64_t row, int column) const;
  double number(int64_t row, int column) const;
  int64_t integer(int64_t row, int column) const;
  /// The line of the file on which a row starts, from 1.
  int64_t line(int64_t row) const;
  /// Throws `read_csv: FILE:LINE: rule, got ...` for a row.
  [[noreturn]] void fail_at(int64_t row, const std::string& rule, const std::string& got) const;

 private:
  friend CsvTable read_csv(CsvReader& reader);
  std::string name_;
  std::vector<std::string> columns_;
  std::string pool_;
  std::vector<size_t> ends_;
  std::vector<int64_t> lines_;
};

/// `path` as a table: `table.number(row, table.column("EF"))`.
CsvTable read_csv(const Text& path, const CsvOptions& options = {});
/// What is left of `reader` as a table.
CsvTable read_csv(CsvReader& reader);

}  // namespace aorta::data

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/byte_source.h>
#include <aorta/data/csv.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace aorta::data {
namespace {

constexpr const char* kOp = "read_csv";
constexpr size_t kBufferSize = 1 << 14;
constexpr int kEnd = -1;

[[noreturn]] void fail_in(const std::string& name, int64_t line, const std::string& rule,
                          const std::string& got) {
  fail(kOp, name + ":" + std::to_string(line) + ": " + rule, got);
}

int find_name(const std::vector<std::string>& columns, std::string_view name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

int find_name(const std::vector<std::string>& columns, std::string_view name,
              const std::string& file) {
  const int column = find_name(columns, name);
  if (column >= 0) return column;
  std::string known;
  for (const std::string& each : columns) {
    if (known.size() > 400) {
      known += ", ...";
      break;
    }
    known += (known.empty() ? "" : ", ") + io::quote(each);
  }
  fail_in(file, 1, "a column must be called " + io::quote(name), known);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The value, if the whole text is one; else the rule that it breaks.
template <class T>
const char* parse(std::string_view text, T& value) {
  constexpr bool kReal = std::is_same_v<T, double>;
  constexpr const char* kRule =
      kReal ? " must be a finite number" : " must be an integer of 64 bits";
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return kRule;
  if constexpr (kReal) {
    if (error == std::errc::result_out_of_range &&
        std::abs(std::strtod(std::string(text).c_str(), nullptr)) < 1)
      return " must be 0 or at least 5e-324 in size";
    if (!std::isfinite(value)) return kRule;
  }
  return error == std::errc() ? nullptr : kRule;
}

// A column as a message names it: in quotes where it isn't a word.
std::string shown(const std::string& column) {
  const bool word = !column.empty() && !std::isdigit(static_cast<unsigned char>(column[0])) &&
                    std::all_of(column.begin(), column.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
                    });
  return word ? column : io::quote(column);
}

template <class T>
T parse_or_fail(std::string_view text, const std::string& file, int64_t line,
                const std::string& column) {
  T value = 0;
  if (const char* rule = parse(text, value))
    fail_in(file, line, shown(column) + rule, io::quote(text));
  return value;
}

}  // namespace

CsvReader::CsvReader(const Text& path, const CsvOptions& options)
    : CsvReader(ByteSource::open(path), options) {}

CsvReader::CsvReader(std::shared_ptr<const ByteSource> source, const CsvOptions& options)
    : source_(std::move(source)), options_(options) {
  const char delimiter = options.delimiter;
  check(delimiter != '"' && delimiter != '\n' && delimiter != '\r' && delimiter != '\0', kOp,
        "delimiter must not be a quote, a line end or a zero byte",
        io::quote(std::string_view(&delimiter, 1)));
  check(options.max_record_bytes > 0, kOp, "max_record_bytes must be positive",
        options.max_record_bytes);
  buffer_.resize(kBufferSize);
  position_ = buffer_.size();
  char mark[3];
  const bool marked = source_->read(0, std::as_writable_bytes(std::span(mark))) == 3 &&
                      std::string_view(mark, 3) == "\xef\xbb\xbf";
  offset_ = marked ? 3 : 0;
  if (!read_record()) fail_at(1, "a table must have a line at least", "none");
  const auto fields = static_cast<int>(ends_.size());
  for (int i = 0; i < fields; ++i) {
    std::string name(options.header ? trim(text(i)) : std::string_view(std::to_string(i)));
    if (find_name(columns_, name) >= 0)
      fail_at(line_, "columns must have different names", io::quote(name) + " twice");
    columns_.push_back(std::move(name));
  }
  if (!options.header) {  // the first record is data: from the start again
    buffer_.resize(kBufferSize);
    position_ = buffer_.size();
    offset_ = marked ? 3 : 0;
    next_line_ = 1;
  }
}

const std::string& CsvReader::name() const { return source_->name(); }

int CsvReader::find_column(std::string_view name) const { return find_name(columns_, name); }

int CsvReader::column(std::string_view name) const {
  return find_name(columns_, name, source_->name());
}

bool CsvReader::next() {
  if (!read_record()) return false;
  if (ends_.size() != columns_.size())
    fail_at(line_, "a record must have as many fields as there are columns",
            std::to_string(ends_.size()) + " of " + std::to_string(columns_.size()));
  return true;
}

// The next byte, or kEnd.
int CsvReader::peek() {
  if (position_ == buffer_.size()) {
    if (buffer_.size() < kBufferSize) return kEnd;  // the last piece was the file's end
    buffer_.resize(source_->read(offset_, std::as_writable_bytes(std::span(buffer_))));
    offset_ += buffer_.size();
    position_ = 0;
    if (buffer_.empty()) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[position_]);
}

void CsvReader::put(char c) {
  if (c == '\0')
    fail_at(next_line_, "text must not hold a zero byte",
            "one at byte " + std::to_string(offset_ - buffer_.size() + position_ - 1));
  if (static_cast<int64_t>(record_.size() + ends_.size()) >= options_.max_record_bytes)
    fail_at(line_, "a record must not be longer than max_record_bytes",
            "more than " + std::to_string(options_.max_record_bytes));
  record_ += c;
}

// What lies between quotes, of which the first has been read.
void CsvReader::read_quoted(int64_t line) {
  for (;;) {
    const int c = peek();
    if (c == kEnd) fail_at(line, "a quoted field must end with a quote", "the end of the file");
    ++position_;
    if (c == '\n') ++next_line_;
    if (c != '"') {
      put(static_cast<char>(c));
    } else if (peek() == '"') {
      ++position_;
      put('"');
    } else {
      break;
    }
  }
  const int c = peek();
  if (c != kEnd && c != options_.delimiter && c != '\r' && c != '\n') {
    const char after = static_cast<char>(c);
    fail_at(next_line_, "a quoted field must end with its closing quote",
            io::quote(std::string_view(&after, 1)) + " after it");
  }
}

bool CsvReader::read_record() {
  record_.clear();
  ends_.clear();
  line_ = next_line_;
  bool in_field = false;  // something of the present field was read
  for (;;) {
    const int c = peek();
    if (c == kEnd) {
      if (!in_field && ends_.empty()) return false;
      ends_.push_back(record_.size());
      return true;
    }
    ++position_;
    if (c == options_.delimiter) {
      if (static_cast<int64_t>(record_.size() + ends_.size()) >= options_.max_record_bytes)
        put(',');
      ends_.push_back(record_.size());
      in_field = false;
    } else if (c == '\n' || c == '\r') {
      if (c == '\r' && peek() != '\n')
        fail_at(next_line_, "a carriage return must be followed by a line feed", "none");
      if (c == '\r') ++position_;
      ++next_line_;
      if (!in_field && ends_.empty()) {  // a blank line
        line_ = next_line_;
        continue;
      }
      ends_.push_back(record_.size());
      return true;
    } else if (c == '"') {
      if (in_field) fail_at(next_line_, "a field with a quote in it must be in quotes", "a quote");
      in_field = true;
      read_quoted(next_line_);
    } else {
      in_field = true;
      put(static_cast<char>(c));
    }
  }
}

std::string_view CsvReader::text(int column) const {
  check(column >= 0 && static_cast<size_t>(column) < ends_.size(), kOp,
        "column must be 0 to the number of columns - 1, of a record", column, " of ", ends_.size());
  const auto i = static_cast<size_t>(column);
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(record_).substr(begin, ends_[i] - begin);
}

double CsvReader::number(int column) const {
  const std::string_view field = text(column);
  return parse_or_fail<double>(field, source_->name(), line_,
                               columns_[static_cast<size_t>(column)]);
}

int64_t CsvReader::integer(int column) const {
  const std::string_view field = text(column);
  return parse_or_fail<int64_t>(field, source_->name(), line_,
                                columns_[static_cast<size_t>(column)]);
}

void CsvReader::fail_here(const std::string& rule, const std::string& got) const {
  fail_at(line_, rule, got);
}

void CsvReader::fail_at(int64_t line, const std::string& rule, const std::string& got) const {
  fail_in(source_->name(), line, rule, got);
}

int CsvTable::find_column(std::string_view name) const { return find_name(columns_, name); }

int CsvTable::column(std::string_view name) const { return find_name(columns_, name, name_); }

int64_t CsvTable::line(int64_t row) const {
  check(row >= 0 && row < rows(), kOp, "row must be 0 to the number of rows - 1", row, " of ",
        rows());
  return lines_[static_cast<size_t>(row)];
}

std::string_view CsvTable::text(int64_t row, int column) const {
  line(row);
  check(column >= 0 && static_cast<size_t>(column) < columns_.size(), kOp,
        "column must be 0 to the number of columns - 1", column, " of ", columns_.size());
  const size_t i = static_cast<size_t>(row) * columns_.size() + static_cast<size_t>(column);
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(pool_).substr(begin, ends_[i] - begin);
}

double CsvTable::number(int64_t row, int column) const {
  const std::string_view field = text(row, column);
  return parse_or_fail<double>(field, name_, line(row), columns_[static_cast<size_t>(column)]);
}

int64_t CsvTable::integer(int64_t row, int column) const {
  const std::string_view field = text(row, column);
  return parse_or_fail<int64_t>(field, name_, line(row), columns_[static_cast<size_t>(column)]);
}

void CsvTable::fail_at(int64_t row, const std::string& rule, const std::string& got) const {
  fail_in(name_, line(row), rule, got);
}

CsvTable read_csv(CsvReader& reader) {
  CsvTable table;
  table.name_ = reader.name();
  table.columns_ = reader.columns();
  while (reader.next()) {
    for (size_t i = 0; i < table.columns_.size(); ++i) {
      table.pool_ += reader.text(static_cast<int>(i));
      table.ends_.push_back(table.pool_.size());
    }
    table.lines_.push_back(reader.line());
  }
  return table;
}

CsvTable read_csv(const Text& path, const CsvOptions& options) {
  CsvReader reader(path, options);
  return read_csv(reader);
}

}  // namespace aorta::data

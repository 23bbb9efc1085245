#include <aorta/data/byte_source.h>
#include <aorta/data/csv.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  for (const bool header : {true, false}) {
    try {
      data::CsvReader reader(data::ByteSource::view("input", std::as_bytes(std::span(data, size))),
                             {.header = header, .max_record_bytes = 1000});
      while (reader.next()) {
        size_t record = 0;
        for (size_t i = 0; i < reader.columns().size(); ++i) {
          const int column = static_cast<int>(i);
          record += reader.text(column).size();
          try {
            static_cast<void>(reader.number(column));
            static_cast<void>(reader.integer(column));
          } catch (const Error& error) {
            fuzz::judge(error.what(), data, size);
          }
        }
        if (record > 1000 || reader.line() < 1) std::abort();
      }
    } catch (const Error& error) {
      fuzz::judge(error.what(), data, size, "read_csv: input:");
    }
  }
  return 0;
}

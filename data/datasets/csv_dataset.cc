#include <aorta/core/ops/creation.h>
#include <aorta/data/csv.h>
#include <aorta/data/datasets/csv_dataset.h>

#include <algorithm>
#include <cstring>

namespace aorta::data {
namespace {

std::vector<int> columns_of(const CsvReader& rows, const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (const std::string& name : names) columns.push_back(rows.column(name));
  return columns;
}

int64_t class_of(const CsvReader& rows, int column, const std::vector<std::string>& classes) {
  const std::string_view text = rows.text(column);
  const auto place = std::find(classes.begin(), classes.end(), text);
  if (place != classes.end()) return place - classes.begin();
  std::string known;
  for (const std::string& name : classes) known += (known.empty() ? "" : ", ") + io::quote(name);
  rows.fail_here("a class must be one of " + known, io::quote(text));
}

// The part of a row-major table that is row `index`.
void copy_row(const Tensor& table, int64_t index, const Tensor& place) {
  const auto bytes = static_cast<size_t>(place.nbytes());
  if (bytes == 0) return;
  std::memcpy(place.data(),
              static_cast<const char*>(table.data()) + static_cast<size_t>(index) * bytes, bytes);
}

}  // namespace

CsvDataset::CsvDataset(const Text& path, const CsvDatasetOptions& options) : path_(path) {
  const char* op = "csv_dataset";
  const bool by_class = !options.classes.empty();
  check(!by_class || options.targets.size() == 1, op, "classes are of one target column",
        options.targets.size(), " target columns");
  check(options.target_dtype == f32 || options.target_dtype == i64, op,
        "target_dtype must be f32 or i64", options.target_dtype);
  CsvReader rows(path, {.delimiter = options.delimiter, .header = options.header});
  const std::vector<int> targets = columns_of(rows, options.targets);
  std::vector<int> features = columns_of(rows, options.features);
  if (options.features.empty())
    for (int i = 0; i < static_cast<int>(rows.columns().size()); ++i)
      if (std::find(targets.begin(), targets.end(), i) == targets.end()) features.push_back(i);
  std::vector<float> values, target_values;
  std::vector<int64_t> numbers;
  int64_t count = 0;
  for (; rows.next(); ++count) {
    for (const int column : features) values.push_back(static_cast<float>(rows.number(column)));
    for (const int column : targets) {
      if (by_class)
        numbers.push_back(class_of(rows, column, options.classes));
      else if (options.target_dtype == i64)
        numbers.push_back(rows.integer(column));
      else
        target_values.push_back(static_cast<float>(rows.number(column)));
    }
  }
  features_ = tensor(values, {count, static_cast<int64_t>(features.size())});
  if (targets.empty()) return;
  Shape shape{count};
  if (targets.size() > 1) shape.push_back(static_cast<int64_t>(targets.size()));
  targets_ = by_class || options.target_dtype == i64 ? tensor(numbers, shape)
                                                     : tensor(target_values, shape);
}

std::vector<TensorSpec> CsvDataset::specs() const {
  std::vector<TensorSpec> specs{{"features", f32, {features_.size(1)}}};
  if (!targets_.defined()) return specs;
  Shape shape = targets_.shape();
  shape.erase(0);
  specs.push_back({"target", targets_.dtype(), shape});
  return specs;
}

void CsvDataset::read(int64_t index, Sample& sample, Generator&) const {
  check(index >= 0 && index < size(), "csv_dataset", "index must be in [0, size)", index, " of ",
        size());
  sample.set_file(path_);
  copy_row(features_, index, sample["features"]);
  if (targets_.defined()) copy_row(targets_, index, sample["target"]);
}

}  // namespace aorta::data

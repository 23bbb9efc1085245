#pragma once

#include <aorta/data/dataset.h>

namespace aorta::data {

/// Which columns of the table a sample has, and how the table is written.
struct CsvDatasetOptions {
  /// Columns by name; none: all but the targets.
  List<std::string> features = {};
  List<std::string> targets = {};
  /// f32, or i64 for the numbers of classes.
  DType target_dtype = DType::f32;
  /// For a target column of text: a field's place in this list is the target, i64.
  List<std::string> classes = {};
  char delimiter = ',';
  /// The first line names the columns; without it they are called "0", "1", ...
  bool header = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(features, targets, target_dtype, classes, delimiter, header);
  }
};

/// The rows of a CSV table as samples: "features", f32 (F), and "target", (T), or () for one column
/// and not there for none. Numbers are kept, not text: 4 or 8 bytes a field.
///
///     auto flowers = data::make_dataset<data::CsvDataset>("iris.csv", data::CsvDatasetOptions{
///         .targets = {"species"}, .classes = {"setosa", "versicolor", "virginica"}});
class CsvDataset : public Dataset {
 public:
  /// Throws `read_csv: FILE:LINE: rule, got ...` for what isn't a number or a class, see csv.h.
  explicit CsvDataset(const Text& path, const CsvDatasetOptions& options = {});

  int64_t size() const override { return features_.size(0); }
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

  /// All of them: f32 (N, F), and (N, T) or (N), undefined without targets.
  const Tensor& features() const { return features_; }
  const Tensor& targets() const { return targets_; }

 private:
  std::string path_;
  Tensor features_, targets_;
};

}  // namespace aorta::data

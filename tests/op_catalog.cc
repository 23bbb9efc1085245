#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/op_catalog.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace aorta::catalog {
namespace {

struct Family {
  std::vector<Row> rows;
  const char* fixture;  // empty where there is none
  bool takes_more_dimensions = false;
};

std::vector<Row> all_rows() {
  std::vector<Row> all;
  for (Family& family : std::vector<Family>{
           {.rows = pointwise_rows(), .fixture = "pointwise", .takes_more_dimensions = true},
           {.rows = activation_rows(), .fixture = "pointwise", .takes_more_dimensions = true},
           {.rows = reduction_rows(), .fixture = "reduction", .takes_more_dimensions = true},
           {.rows = line_rows(), .fixture = "lines", .takes_more_dimensions = true},
           {linalg_rows(), "linalg"},
           {decomposition_rows(), "decompositions"},
           {view_rows(), "shape"},
           {creation_rows(), "shape"},
           {rearrange_rows(), "shape"},
           {indexing_rows(), "indexing"},
           {pooling_rows(), "pooling"},
           {interpolate_rows(), "interpolate"},
           {convolution_rows(), "convolution"},
           {loss_rows(), "loss"},
           {embedding_rows(), "embedding"},
           {dropout_rows(), "dropout"},
           {attention_rows(), "attention"},
           {normalization_rows(), "normalization"},
           {recurrent_rows(), "recurrent"},
           {statistics_rows(), "statistics"},
           {searchsorted_rows(), "searchsorted"},
           {im2col_rows(), "im2col"},
           {ctc_loss_rows(), "ctc_loss"},
           {complex_rows(), "complex"},
           {spectra_rows(), "complex"},
           {composed_rows(), "composed"},
           {linalg_function_rows(), "linalg_functions"},
           {random_rows(), ""},
           {update_rows(), ""}}) {
    for (Row& row : family.rows) {
      row.family = family.fixture;
      row.takes_more_dimensions = family.takes_more_dimensions;
      all.push_back(std::move(row));
    }
  }
  return all;
}

using Members = std::map<std::string, Tensor>;

// Gives each sample its rows of the file's table, one an output; one that was added to the file
// later has its own.
void give_dtypes(std::map<std::string, Members>& samples, const Tensor& table) {
  int64_t row = 0;
  for (auto& [key, members] : samples) {
    if (members.contains("dtypes")) continue;
    int64_t outputs = 0;
    while (members.contains("out" + std::to_string(outputs))) ++outputs;
    members["dtypes"] = table.narrow(0, row, outputs);
    row += outputs;
  }
  const int64_t rows = table.defined() ? table.size(0) : 0;
  check(row == rows, "op_catalog", "the table of dtypes must have a row an output", row, " for ",
        rows);
}

// A fixture file by OP/CALL/SAMPLE and member.
const std::map<std::string, Members>& fixture(const std::string& family) {
  static std::map<std::string, std::map<std::string, Members>> files;
  auto [file, is_new] = files.try_emplace(family);
  if (is_new) {
    Tensor dtypes;
    for (const auto& [key, tensor] : fixture_arrays("core/" + family + ".npz")) {
      const size_t slash = key.rfind('/');
      if (slash == std::string::npos)
        dtypes = tensor;
      else
        file->second[key.substr(0, slash)][key.substr(slash + 1)] = tensor;
    }
    give_dtypes(file->second, dtypes);
  }
  return file->second;
}

Sample make_sample(const std::string& name, const Call& call, const Members& members) {
  Sample sample{name, &call, {}, {}, {}, {}, {}};
  for (int i = 0;; ++i) {
    const std::string number = std::to_string(i);
    const auto varied = members.find("x" + number), kept = members.find("k" + number);
    if (varied == members.end() && kept == members.end()) break;
    sample.varied.push_back(varied != members.end());
    sample.inputs.push_back((varied != members.end() ? varied : kept)->second);
  }
  for (int i = 0;; ++i) {
    const auto out = members.find("out" + std::to_string(i));
    if (out == members.end()) break;
    sample.outputs.push_back(out->second);
    const auto scale = members.find("scale" + std::to_string(i));
    sample.scales.push_back(scale == members.end() ? Tensor() : scale->second);
  }
  sample.dtypes = members.at("dtypes");
  return sample;
}

std::vector<Sample> load_samples(const Row& row) {
  std::vector<Sample> result;
  for (const Call& call : row.calls) {
    const std::string prefix = row.op + "/" + call.name + "/";
    const auto& file = fixture(row.family);
    for (auto it = file.lower_bound(prefix);
         it != file.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
      result.push_back(make_sample(it->first.substr(row.op.size() + 1), call, it->second));
    }
  }
  return result;
}

}  // namespace

bool keeps_complex = false;

const std::vector<Row>& rows() {
  static const std::vector<Row> all = all_rows();
  return all;
}

const Row& find_row(const std::string& op) {
  const auto it =
      std::find_if(rows().begin(), rows().end(), [&](const Row& r) { return r.op == op; });
  check(it != rows().end(), "op_catalog", "the op must have a row", op);
  return *it;
}

const std::vector<Sample>& samples(const Row& row) {
  static std::map<std::string, std::vector<Sample>> loaded;
  auto [it, is_new] = loaded.try_emplace(row.op);
  if (is_new) it->second = load_samples(row);
  return it->second;
}

std::string fixture_path(const std::string& name) {
  const char* folder = std::getenv("AORTA_FIXTURES");
  return std::string(folder ? folder : "tests/fixtures") + "/" + name;
}

std::map<std::string, Tensor> fixture_arrays(const std::string& name) {
  const NamedTensors loaded = npz::load(fixture_path(name));
  std::map<std::string, Tensor> arrays(loaded.begin(), loaded.end()), result;
  const auto keys = arrays.find("keys");
  if (keys == arrays.end()) return arrays;
  const std::vector<uint8_t> text = keys->second.to_vector<uint8_t>();
  std::istringstream lines(std::string(text.begin(), text.end()));
  std::map<std::string, int64_t> places;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, kind;
    words >> key >> kind;
    Shape shape;
    for (int64_t size; words >> size;) shape.push_back(size);
    int64_t& place = places[kind];
    result[key] = arrays.at(kind).narrow(0, place, shape.numel()).clone().view(shape);
    place += shape.numel();
  }
  return result;
}

std::vector<std::string> unused_fixture_keys() {
  std::map<std::string, bool> used;
  for (const Row& row : rows()) {
    if (row.calls.empty()) continue;
    for (const auto& [key, members] : fixture(row.family))
      used.try_emplace(row.family + ": " + key);
    for (const Sample& sample : samples(row))
      used[row.family + ": " + row.op + "/" + sample.name] = true;
  }
  std::vector<std::string> result;
  for (const auto& [key, is_used] : used) {
    if (!is_used) result.push_back(key);
  }
  return result;
}

}  // namespace aorta::catalog

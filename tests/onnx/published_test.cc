#include <aorta/core/io/npz.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/onnx/program.h>
#include <aorta/tests/changes.h>
#include <aorta/tests/is_near.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/onnx/published.h>
#include <aorta/tests/page_table.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

// Published single-operator cases (ONNX node tests), each made a network of one node that the
// importer reads. Those of the tree run everywhere, the others where AORTA_ONNX_VECTORS names their
// folder.
namespace aorta::onnx {
namespace {

// How far floating results may be from the published ones: |error| <= relative * |value| +
// absolute. What isn't named is exact, or a few units in the last place.
struct Tolerance {
  double relative = 4e-7, absolute = 0;
};

Tolerance tolerance_of(const std::string& op) {
  static const std::map<std::string, Tolerance> all{
      {"AffineGrid", {1e-6, 1e-6}},
      {"Attention", {1e-5, 1e-6}},
      {"AveragePool", {1e-6, 1e-4}},  // one case is published in four digits
      {"BatchNormalization", {1e-5, 1e-5}},
      {"BlackmanWindow", {1e-6, 1e-7}},
      {"CausalConvWithState", {1e-6, 1e-6}},
      {"Conv", {1e-5, 1e-5}},
      {"ConvTranspose", {1e-5, 1e-5}},
      {"DFT", {1e-6, 1e-5}},
      {"DeformConv", {1e-6, 1e-6}},
      {"Det", {1e-5, 1e-6}},
      {"Einsum", {1e-6, 1e-6}},
      {"GRU", {1e-6, 1e-6}},
      {"Gelu", {1e-6, 1e-7}},
      {"Gemm", {1e-6, 1e-6}},
      {"GlobalAveragePool", {1e-6, 1e-6}},
      {"GridSample", {1e-6, 1e-4}},  // published in four digits
      {"GroupNormalization", {1e-5, 1e-5}},
      {"HammingWindow", {1e-6, 1e-7}},
      {"HannWindow", {1e-6, 1e-7}},
      {"HardSigmoid", {4e-7, 1e-7}},
      {"InstanceNormalization", {1e-5, 1e-5}},
      {"LRN", {1e-6, 1e-6}},
      {"LSTM", {1e-6, 1e-6}},
      {"LayerNormalization", {1e-5, 1e-5}},
      {"LinearAttention", {1e-6, 1e-6}},
      {"LogSoftmax", {1e-6, 1e-6}},
      {"LpNormalization", {1e-6, 0}},
      {"LpPool", {1e-6, 1e-6}},
      {"MatMul", {1e-6, 1e-6}},
      {"MeanVarianceNormalization", {1e-5, 1e-5}},
      {"MelWeightMatrix", {1e-6, 0}},
      {"NegativeLogLikelihoodLoss", {1e-6, 1e-6}},
      {"RMSNormalization", {1e-5, 1e-5}},
      {"RNN", {1e-6, 1e-6}},
      {"ReduceL1", {1e-6, 0}},
      {"ReduceL2", {1e-6, 0}},
      {"ReduceLogSum", {1e-6, 1e-6}},
      {"ReduceLogSumExp", {1e-6, 0}},
      {"ReduceMean", {1e-6, 1e-6}},
      {"ReduceProd", {1e-6, 0}},
      {"ReduceSum", {1e-6, 1e-6}},
      {"ReduceSumSquare", {1e-6, 0}},
      {"Resize", {1e-6, 2e-6}},
      {"RoiAlign", {1e-6, 1e-4}},  // published in four digits
      {"RotaryEmbedding", {1e-6, 1e-6}},
      {"STFT", {1e-6, 1e-4}},
      {"Selu", {1e-6, 2e-7}},
      {"Softmax", {1e-6, 0}},
      {"SoftmaxCrossEntropyLoss", {1e-6, 1e-6}},
      {"Softplus", {1e-6, 1e-7}}};
  const auto found = all.find(op);
  return found == all.end() ? Tolerance{} : found->second;
}

// Quantised numbers are saturated by their dtype, and bits have its number: a wider one is none.
std::string dtype_reason(const nlohmann::json& entry, const std::vector<std::string>& dtypes) {
  const std::string op = entry["op"];
  for (const std::string& dtype : dtypes) {
    if (op == "BitCast" && (dtype == "i1" || dtype == "i2" || dtype == "u2" || dtype == "u4"))
      return "bits must be of a dtype that Aorta has, got \"" + dtype + "\"";
    if ((op.find("Quantize") != std::string::npos || op.find("QLinear") != std::string::npos) &&
        (dtype == "i1" || dtype == "i2" || dtype == "u2"))
      return "quantised numbers must be u8, got \"" + dtype + "\"";
  }
  return "";
}

// Results that are random, or that Aorta's generator makes others.
std::string random_reason(const nlohmann::json& entry, const Tensors& inputs) {
  const std::string op = entry["op"];
  const bool drops = op == "Dropout" && inputs.size() > 2 && inputs[2].item<bool>() &&
                     (!inputs[1].defined() || inputs[1].item<double>() > 0);
  return drops || op.starts_with("Random") || op == "Bernoulli"
             ? "its random numbers are another generator's"
             : "";
}

DataType data_type_of(DType dtype) {
  for (int number = 1; number <= 16; ++number) {
    const auto type = static_cast<DataType>(number);
    if (dtype_of_file(type) == dtype) return type;
  }
  return DataType::undefined;
}

// A tensor stands in the file of arrays.
AttributeProto attribute_of(const std::string& name, const nlohmann::json& value,
                            const npz::Reader& arrays) {
  using Kind = AttributeProto::Kind;
  AttributeProto result;
  result.name = name;
  const auto is_real = [](const nlohmann::json& x) { return x.is_number_float(); };
  if (value.is_object()) {
    const Tensor tensor = arrays.tensor(value["tensor"].get<std::string>());
    result.kind = Kind::tensor;
    result.t = {
        .data_type = data_type_of(tensor.dtype()),
        .dims = {tensor.shape().begin(), tensor.shape().end()},
        .bytes = std::string(static_cast<const char*>(tensor.data()),
                             static_cast<size_t>(tensor.numel() * item_size(tensor.dtype())))};
  } else if (value.is_number_integer()) {
    result.kind = Kind::integer;
    result.i = value;
  } else if (value.is_number()) {
    result.kind = Kind::number;
    result.f = value;
  } else if (value.is_string()) {
    result.kind = Kind::text;
    result.s = value;
  } else if (std::all_of(value.begin(), value.end(),
                         [](const nlohmann::json& x) { return x.is_string(); }) &&
             !value.empty()) {
    result.kind = Kind::texts;
    result.strings = value.get<std::vector<std::string>>();
  } else if (std::any_of(value.begin(), value.end(), is_real)) {
    result.kind = Kind::numbers;
    result.floats = value.get<std::vector<float>>();
  } else {
    result.kind = Kind::integers;
    result.ints = value.get<std::vector<int64_t>>();
  }
  return result;
}

// A network of the case's node, as a file's bytes hold it; of several nodes, or of sequences, the
// file is published. An operator of a set before the 7th is the same in the 7th.
std::string file_of(const nlohmann::json& entry, const Tensors& inputs, const npz::Reader& arrays) {
  if (entry.contains("model")) {
    const Tensor bytes = arrays.tensor(entry["model"].get<std::string>());
    return {static_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.numel())};
  }
  ModelProto model;
  model.ir_version = 8;
  model.opset_import = {{"", std::max<int64_t>(entry["opset"].get<int64_t>(), kOldestOpset)}};
  NodeProto node;
  node.name = entry["name"];
  node.op_type = entry["op"];
  for (const auto& [name, value] : entry["attributes"].items())
    node.attribute.push_back(attribute_of(name, value, arrays));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    node.input.push_back(inputs[i].defined() ? name : "");
    if (inputs[i].defined())
      model.graph.input.push_back({name, data_type_of(inputs[i].dtype()), false, {}});
  }
  for (size_t i = 0; i < entry["outputs"].size(); ++i) {
    const bool published = !entry["outputs"][i].is_null();
    const std::string name = "out" + std::to_string(i);
    node.output.push_back(published ? name : "");
    if (published) model.graph.output.push_back({name, DataType::f32, false, {}});
  }
  model.graph.node.push_back(node);
  std::string bytes;
  EXPECT_EQ(plugin("case").serialize(model, bytes), "");
  return bytes;
}

// Arrays of i1, i2, u2 and u4 are read as the next wider dtype: results wrap around as theirs do.
Tensor wrapped(const Tensor& result, const std::string& numpy_dtype) {
  if (numpy_dtype == "i1") return remainder(result + 0x80, 0x100) - 0x80;
  if (numpy_dtype == "i2") return remainder(result + 0x8000, 0x10000) - 0x8000;
  if (numpy_dtype == "u2") return remainder(result, 1 << 16);
  if (numpy_dtype == "u4") return remainder(result, int64_t{1} << 32);
  return result;
}

// The first element that is too far from the published one.
std::string difference(const Tensor& made, const Tensor& wanted, const Tolerance& tolerance) {
  // numpy has no bfloat16: such results are published as f32.
  const Tensor result = made.dtype() == bf16 ? made.to(f32) : made;
  if (result.shape() != wanted.shape())
    return "shape " + to_string(result.shape()) + ", published " + to_string(wanted.shape());
  if (result.dtype() != wanted.dtype())
    return std::string("dtype ") + to_string(result.dtype()) + ", published " +
           to_string(wanted.dtype());
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  // A unit in the last place of a half type; of what is composed of ops, some.
  const double unit =
      (made.dtype() == bf16 ? 0x1p-8 : 0x1p-11) * (tolerance.relative > 4e-7 ? 4 : 1);
  const double relative = std::max(tolerance.relative, is_half(made.dtype()) ? unit : 0.0);
  for (size_t i = 0; i < a.size(); ++i) {
    const double allowed =
        is_floating(result.dtype()) ? relative * std::abs(b[i]) + tolerance.absolute : 0;
    if (!is_near(a[i], b[i], allowed)) {
      char text[160];
      std::snprintf(text, sizeof text, "element %zu is %.9g, published %.9g", i, a[i], b[i]);
      return text;
    }
  }
  return "";
}

// What an error says without the places where it was found.
std::string reason_of(const std::string& message) {
  for (const char* place : {"): ", ".npy\": "}) {
    const size_t end = message.find(place);
    if (end != std::string::npos) return message.substr(end + std::strlen(place));
  }
  return message;
}

// What a case is made of.
struct Published {
  nlohmann::json entry;
  Tensors inputs, wanted;
  std::vector<std::string> dtypes;  // of what is wanted
  const npz::Reader& arrays;
};

// What came of a case: why it was left out, or what is wrong, or nothing.
struct Outcome {
  std::string left_out, wrong;
};

Outcome outcome_of(const Published& one) {
  Tensors given;
  for (const Tensor& input : one.inputs)
    if (input.defined()) given.push_back(input);
  const std::string bytes = file_of(one.entry, one.inputs, one.arrays);
  std::optional<Model> net;
  try {
    net.emplace(load(io::FileBytes::copy("case", std::as_bytes(std::span(bytes)))));
  } catch (const Error& error) {
    return {reason_of(error.what()), ""};
  }
  try {
    const Tensors results = (*net)(given);
    for (size_t i = 0; i < one.wanted.size(); ++i) {
      const std::string text = difference(wrapped(results[i], one.dtypes[i]), one.wanted[i],
                                          tolerance_of(one.entry["op"]));
      if (!text.empty()) return {"", "output " + std::to_string(i) + ": " + text};
    }
  } catch (const Error& error) {
    return {"", error.what()};
  }
  return {};
}

// Takes the wrong results of a case that passes.
using Judge = std::function<void(const Published& one)>;

// Runs a case; returns why it was left out, or nothing.
std::string run_case(const nlohmann::json& entry, bool here, const Judge& judge = {}) {
  SCOPED_TRACE(entry["name"].get<std::string>());
  Published one{entry, {}, {}, {}, published::vectors(entry["op"], here)};
  std::vector<std::string> given_dtypes;
  try {
    for (const auto& key : entry["inputs"]) {
      one.inputs.push_back(key.is_null() ? Tensor() : one.arrays.tensor(key.get<std::string>()));
      if (one.inputs.back().defined())
        given_dtypes.push_back(one.arrays.numpy_dtype(key.get<std::string>()));
    }
    for (const auto& key : entry["outputs"]) {
      if (key.is_null()) continue;  // not published
      one.wanted.push_back(one.arrays.tensor(key.get<std::string>()));
      one.dtypes.push_back(one.arrays.numpy_dtype(key.get<std::string>()));
    }
  } catch (const Error& error) {
    return reason_of(error.what());
  }
  if (const std::string reason = dtype_reason(entry, given_dtypes); !reason.empty()) return reason;
  if (const std::string reason = random_reason(entry, one.inputs); !reason.empty()) return reason;
  const Outcome outcome = outcome_of(one);
  EXPECT_EQ(outcome.wrong, "");
  if (judge && outcome.left_out.empty()) judge(one);
  return outcome.left_out;
}

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed = setenv("AORTA_ONNX_PLUGIN", "onnx/libaorta_onnx.so", 0);
#endif

constexpr const char* kPage = "docs/onnx.md";

// The rows of the page: an operator, its cases that pass, and why others are left out.
TEST(Onnx, PublishedCasesPassOrHaveAReason) {
  if (published::folder().empty()) GTEST_SKIP() << "AORTA_ONNX_VECTORS names no folder";
  ASSERT_FALSE(published::cases().empty()) << published::folder() << "/cases.json holds no cases";
  struct Row {
    int ran = 0, all = 0;
    std::string left_out;
  };
  std::map<std::string, Row> rows;
  for (const auto& [name, op] : operators()) rows[name];
  rows["Constant"];
  std::map<std::string, int> others;
  const size_t published_there = published::cases().size();
  for (size_t i = 0; i < published_there + published::cases_here().size(); ++i) {
    const bool here = i >= published_there;
    const auto& entry = here ? published::cases_here()[i - published_there] : published::cases()[i];
    const std::string op = entry["op"];
    if (!rows.count(op)) {
      ++others[op];
      continue;
    }
    const std::string reason = run_case(entry, here);
    ++rows[op].all;
    if (reason.empty()) {
      ++rows[op].ran;
    } else {
      rows[op].left_out += (rows[op].left_out.empty() ? "" : "; ") +
                           entry["name"].get<std::string>() + ": " + reason;
    }
  }
  std::vector<std::string> lines;
  int ran = 0, all = 0;
  for (const auto& [name, row] : rows) {
    const std::string count =
        row.all == 0 ? "" : std::to_string(row.ran) + " of " + std::to_string(row.all);
    lines.push_back("| " + name + " | " + count + " | " + row.left_out + " |");
    ran += row.ran;
    all += row.all;
    if (!row.left_out.empty()) std::printf("%s\n", lines.back().c_str());
  }
  std::printf("%d of %d cases of the importer's operators pass\n", ran, all);
  for (const auto& [name, count] : others)
    std::printf("no operator of the importer: %s (%d)\n", name.c_str(), count);
  expect_table(kPage, lines);
}

// Also where there are no others.
TEST(Onnx, PublishedCasesOfTheTreePass) {
  EXPECT_GT(published::cases_here().size(), 100u);
  for (const auto& entry : published::cases_here())
    EXPECT_EQ(run_case(entry, true), "") << entry["name"];
}

// By an operator and what it ignores, whether a case tells; and by an operator's results.
std::map<std::string, bool> mutants_of_cases() {
  std::map<std::string, bool> caught;
  const Judge judge = [&](const Published& one) {
    const std::string op = one.entry["op"];
    const auto tried = [&](const std::string& mutant, const Published& changed) {
      bool& found = caught[op + " " + mutant];
      if (found) return;
      const Outcome outcome = outcome_of(changed);
      found = !outcome.left_out.empty() || !outcome.wrong.empty();
    };
    if (one.entry.contains("attributes")) {
      for (const auto& [name, value] : one.entry["attributes"].items()) {
        Published changed = one;
        changed.entry["attributes"].erase(name);
        tried("ignores " + name, changed);
      }
    }
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      if (!one.inputs[i].defined() || one.inputs[i].numel() < 2) continue;
      Published changed = one;
      changed.inputs[i] = mutants::alike(one.inputs[i]);
      tried("of input " + std::to_string(i) + " alike", changed);
    }
    for (const auto& [change, of] : mutants::changes()) {
      for (size_t i = 0; i < one.wanted.size(); ++i) {
        if (one.wanted[i].numel() < 2) continue;
        bool& found = caught[op + " with output " + std::to_string(i) + " " + change];
        found |= !difference(of(one.wanted[i]), one.wanted[i], tolerance_of(op)).empty();
      }
    }
  };
  const size_t published_there = published::cases().size();
  for (size_t i = 0; i < published_there + published::cases_here().size(); ++i) {
    const bool here = i >= published_there;
    run_case(here ? published::cases_here()[i - published_there] : published::cases()[i], here,
             judge);
  }
  return caught;
}

const std::vector<mutants::Exception> kUntold = {
    {"it repeats a shape",
     "(Conv|ConvTranspose|DeformConv) ignores kernel_shape|"
     "(LSTM|GRU|RNN) ignores hidden_size|Split ignores num_outputs"},
    {"the cases have its default; tests/onnx/operator_test.cc has another",
     "(Softmax|TopK) ignores axis|Reduce(L1|Mean|Sum) ignores keepdims|Celu ignores alpha"},
    {"the cases have its default, or what doesn't depend on it",
     "(AffineGrid ignores align_corners|DeformConv ignores pads|(Quantize|Dequantize)Linear "
     "ignores "
     "axis|OneHot ignores axis|NonMaxSuppression ignores center_point_box|RoiAlign ignores "
     "spatial_scale|Swish ignores alpha|Upsample ignores mode|Dropout ignores (ratio|seed))"},
    {"the cases' weights or boxes are alike",
     "(Conv|ConvInteger|ConvTranspose|DeformConv|LSTM|RNN) of input 1 alike|LSTM of input 2 alike|"
     "RoiAlign of input 2 alike|Scan of input 0 alike"},
    {"only the shape is read", "(EyeLike|Shape|Size) of input 0 alike"},
    {"all elements are alike, or the same from both ends",
     "(ConstantOfShape|RNN) with output 0 (reversed|rolled)|Dropout with output 1 "
     "(reversed|rolled)|BlackmanWindow with output 0 reversed"},
    {"published in few digits", "(Einsum|ReduceLogSumExp|RoiAlign) with output 0 off"}};

TEST(OnnxMutants, ThePageCountsThem) {
  if (published::folder().empty()) GTEST_SKIP() << "AORTA_ONNX_VECTORS names no folder";
  mutants::expect_operators("ONNX operators", "published cases", mutants_of_cases(), kUntold);
}

TEST(Onnx, ThePageListsTheOperators) {
  std::set<std::string> wanted, found;
  for (const auto& [name, op] : operators()) wanted.insert(name);
  wanted.insert("Constant");
  for (const std::string& line : lines_of(kPage))
    if (is_of_table(line)) found.insert(line.substr(2, line.find(' ', 2) - 2));
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace aorta::onnx

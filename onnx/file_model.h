#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What an ONNX file says, as plain structs: the messages of onnx.proto3 with their names, of those
// parts that Aorta reads and writes. libaorta_onnx.so makes them of a file's bytes and back, by
// protobuf, and shares nothing else with the library that loads it.
namespace aorta::onnx {

/// The numbers of TensorProto.DataType.
enum class DataType : int32_t {
  undefined,
  f32,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  text,
  boolean,
  f16,
  f64,
  u32,
  u64,
  c64,
  c128,
  bf16
};

struct TensorProto {
  std::string name = {};
  DataType data_type = DataType::undefined;
  std::vector<int64_t> dims = {};
  /// The elements, row-major and little-endian, whichever field of the message had them.
  std::string bytes = {};
  /// Whether the elements stand in another file, `location`, from `offset` on; -1: not said.
  bool is_external = false;
  std::string location = {};
  int64_t offset = 0, length = -1;
};

/// An input or output: its dtype and shape; a size is -1 where it isn't fixed, and may have a name.
struct ValueInfoProto {
  struct Dimension {
    int64_t size = -1;
    std::string name;
  };
  std::string name;
  DataType elem_type = DataType::undefined;  // also where the file doesn't say it
  bool has_shape = false;
  std::vector<Dimension> shape;
  /// Whether it is a sequence of such tensors, a value that may be none, or both.
  bool is_sequence = false, is_optional = false;
};

struct GraphProto;

struct AttributeProto {
  enum class Kind : uint8_t {
    number,
    integer,
    text,
    tensor,
    numbers,
    integers,
    texts,
    graph,
    type,
    other
  };
  std::string name;
  Kind kind = Kind::other;
  float f = 0;
  int64_t i = 0;
  std::string s;
  TensorProto t;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<GraphProto> g;  // one, of kind `graph`
  ValueInfoProto tp = {};     // without a name
};

struct NodeProto {
  std::string name, op_type, domain;
  /// Names of values; "" where an optional one is left out.
  std::vector<std::string> input, output;
  std::vector<AttributeProto> attribute;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<ValueInfoProto> input, output;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer_name, producer_version;
  std::vector<std::pair<std::string, int64_t>> opset_import;  // domain, version
  GraphProto graph;
};

/// What a call answers where there is no room for the model.
inline constexpr char kNoMemory[] = "no more memory";

/// What libaorta_onnx.so offers. Both calls return "", or what is wrong, without the file's name.
struct PluginTable {
  /// The version of this header; a library that was built for another one is refused.
  int version;
  std::string (*parse)(const void* bytes, size_t size, ModelProto& model);
  std::string (*serialize)(const ModelProto& model, std::string& bytes);
};

inline constexpr int kPluginVersion = 2;

}  // namespace aorta::onnx

extern "C" const aorta::onnx::PluginTable* aorta_onnx_table();

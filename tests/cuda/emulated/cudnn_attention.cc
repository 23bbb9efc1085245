// Attention by cuDNN's double: the patterns that its engines know, and the graph's operations one
// after the other, in f64. Tensors are rounded to their types, also those that lie in no memory.
#include <aorta/tests/cuda/emulated/cudnn_descriptors.h>
#include <aorta/tests/cuda/emulated/settings.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace aorta::emulated {
namespace {

/// The first sums less exactly than it may. The second adds blocks of keys to the query's gradient
/// in any order, and as NVIDIA's engines it doesn't say so.
enum Engine { kCoarse, kFlash, kPlain };

constexpr size_t kBlock = 16;  // keys

using Dims = std::vector<int64_t>;
using Values = std::vector<double>;

Dims dims_of(const CudnnDescriptor& tensor) {
  return tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

cudnnDataType_t type_of(const CudnnDescriptor& tensor) {
  return tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

bool is_half(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

/// One character an operation.
char letter_of(const CudnnDescriptor& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return 'M';
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return 'T';
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: {
      const CudnnDescriptor& rule = *operation.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
      const auto by = rule.one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
      return by == CUDNN_REDUCE_TENSOR_MAX ? 'X' : 'S';
    }
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      break;
    default:
      return 'C';
  }
  const CudnnDescriptor& rule = *operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  switch (rule.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)) {
    case CUDNN_POINTWISE_ADD:
      return '+';
    case CUDNN_POINTWISE_MUL:
      return '*';
    case CUDNN_POINTWISE_DIV:
      return '/';
    case CUDNN_POINTWISE_SUB:
      return '-';
    case CUDNN_POINTWISE_EXP:
      return 'e';
    case CUDNN_POINTWISE_LOG:
      return 'l';
    case CUDNN_POINTWISE_IDENTITY:
      return '=';
    case CUDNN_POINTWISE_GEN_INDEX:
      return 'i';
    case CUDNN_POINTWISE_CMP_GE:
      return '>';
    default:
      return '?';
  }
}

std::string letters_of(const CudnnGraph& graph) {
  std::string letters;
  for (const CudnnDescriptor* operation : graph.operations) letters += letter_of(*operation);
  return letters;
}

/// A number that differs from problem to problem, and with the seed.
uint64_t hash_of(const CudnnGraph& graph) {
  uint64_t hash = 14695981039346656037u ^ settings().seed;
  const auto add = [&](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 1099511628211u;
    hash ^= hash >> 29;
  };
  add(graph.result);
  add(static_cast<int64_t>(graph.operations.size()));
  for (const CudnnDescriptor* t : graph.tensors()) {
    add(type_of(*t));
    for (const int64_t n : dims_of(*t)) add(n);
  }
  return hash;
}

/// What engines can load: rows of halves, or columns, at multiples of 16 bytes.
bool is_loadable(const CudnnDescriptor& tensor) {
  constexpr int64_t kTogether = 8, kMostFeatures = 256;
  if (!is_half(type_of(tensor))) return true;
  const Dims dims = dims_of(tensor), strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) % 16 != 0) return false;
  const size_t inner = strides[3] == 1 ? 3 : 2;
  if (strides[inner] != 1 || dims[inner] % kTogether != 0 || dims[inner] > kMostFeatures)
    return false;
  for (size_t d = 0; d < 4; ++d) {
    if (d != inner && dims[d] > 1 && (strides[d] == 0 || strides[d] % kTogether != 0)) return false;
  }
  return true;
}

/// For each number of a tensor of `to`, the last dimension the fastest, the place of that of `from`
/// which broadcasts to it.
std::vector<size_t> places(const Dims& from, const Dims& to) {
  std::vector<size_t> result{0};
  for (size_t d = 0; d < to.size(); ++d) {
    std::vector<size_t> next;
    next.reserve(result.size() * static_cast<size_t>(to[d]));
    for (const size_t place : result) {
      for (int64_t i = 0; i < to[d]; ++i)
        next.push_back(place * static_cast<size_t>(from[d]) +
                       static_cast<size_t>(from[d] == 1 ? 0 : i));
    }
    result = std::move(next);
  }
  return result;
}

/// The values of a graph's tensors as its operations make them.
class Interpreter {
 public:
  Interpreter(const CudnnGraph& graph, int engine, const std::map<int64_t, void*>& pointers)
      : graph_(graph), engine_(engine), pointers_(pointers) {}

  void run() {
    for (const CudnnDescriptor* operation : graph_.operations) {
      Values values = result_of(*operation);
      const CudnnDescriptor* const to = cudnn_output(*operation);
      for (double& value : values) value = cudnn_rounded(type_of(*to), value);
      values_[to] = std::move(values);
    }
    for (const CudnnDescriptor* t : graph_.tensors()) {
      if (!graph_.writes(*t)) continue;
      const std::vector<int64_t> offsets = cudnn_offsets(*t);
      for (size_t i = 0; i < offsets.size(); ++i)
        cudnn_store(data_of(*t), type_of(*t), offsets[i], values_.at(t)[i]);
    }
  }

 private:
  void* data_of(const CudnnDescriptor& tensor) const {
    return pointers_.at(tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
  }

  const Values& read(const CudnnDescriptor& tensor) {
    const auto [found, fresh] = values_.try_emplace(&tensor);
    if (!fresh) return found->second;
    for (const int64_t offset : cudnn_offsets(tensor))
      found->second.push_back(cudnn_load(data_of(tensor), type_of(tensor), offset));
    return found->second;
  }

  Values result_of(const CudnnDescriptor& operation) {
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return product_of(operation);
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return reduction_of(operation);
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return reshaped(operation);
      default:
        return pointwise(operation);
    }
  }

  Values product_of(const CudnnDescriptor& operation) {
    const std::vector<const CudnnDescriptor*> inputs = cudnn_inputs(operation);
    const CudnnDescriptor& to = *cudnn_output(operation);
    const Values &a = read(*inputs[0]), &b = read(*inputs[1]);
    const Dims left = dims_of(*inputs[0]), dims = dims_of(to);
    const auto m = static_cast<size_t>(dims[2]), n = static_cast<size_t>(dims[3]),
               k = static_cast<size_t>(left[3]);
    const size_t matrices = static_cast<size_t>(dims[0] * dims[1]);
    const bool single = engine_ == kFlash && !cudnn_is_virtual(to) && !is_half(type_of(to));
    Values c(matrices * m * n, 0.0);
    for (size_t matrix = 0; matrix < matrices; ++matrix) {
      const size_t first =
          single ? static_cast<size_t>(random_below(static_cast<int>(k))) / kBlock * kBlock : 0;
      for (size_t step = 0; step < k; ++step) {
        const size_t inner = (step + first) % k;
        for (size_t row = 0; row < m; ++row) {
          const double factor = a[(matrix * m + row) * k + inner];
          const double* const from = &b[(matrix * k + inner) * n];
          double* const sums = &c[(matrix * m + row) * n];
          for (size_t column = 0; column < n; ++column) {
            sums[column] += factor * from[column];
            if (single) sums[column] = static_cast<float>(sums[column]);
          }
        }
      }
    }
    if (engine_ == kCoarse) {
      for (double& value : c) value = cudnn_rounded(type_of(*inputs[1]), value);
    }
    return c;
  }

  Values reduction_of(const CudnnDescriptor& operation) {
    const CudnnDescriptor& from = *cudnn_inputs(operation)[0];
    const Values& x = read(from);
    const bool sum = letter_of(operation) == 'S';
    const Dims dims = dims_of(*cudnn_output(operation));
    int64_t count = 1;
    for (const int64_t n : dims) count *= n;
    Values y(static_cast<size_t>(count), sum ? 0 : -std::numeric_limits<double>::infinity());
    const std::vector<size_t> to = places(dims, dims_of(from));
    for (size_t i = 0; i < x.size(); ++i)
      y[to[i]] = sum ? y[to[i]] + x[i] : std::max(y[to[i]], x[i]);
    return y;
  }

  // Reads the same memory with other strides.
  Values reshaped(const CudnnDescriptor& operation) {
    const CudnnDescriptor& from = *cudnn_inputs(operation)[0];
    const Values& x = read(from);
    const std::vector<int64_t> before = cudnn_offsets(from),
                               after = cudnn_offsets(*cudnn_output(operation));
    std::unordered_map<int64_t, double> memory;
    for (size_t i = 0; i < x.size(); ++i) memory[before[i]] = x[i];
    Values y;
    for (const int64_t offset : after) y.push_back(memory.at(offset));
    return y;
  }

  Values pointwise(const CudnnDescriptor& operation) {
    const Dims dims = dims_of(*cudnn_output(operation));
    const CudnnDescriptor& rule = *operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto axis = static_cast<size_t>(rule.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
    const char letter = letter_of(operation);
    const std::vector<const CudnnDescriptor*> inputs = cudnn_inputs(operation);
    std::vector<std::vector<size_t>> from;
    for (const CudnnDescriptor* input : inputs) from.push_back(places(dims_of(*input), dims));
    size_t inner = 1;
    for (size_t d = axis + 1; d < dims.size(); ++d) inner *= static_cast<size_t>(dims[d]);
    Values y(from[0].size());
    for (size_t i = 0; i < y.size(); ++i) {
      const auto operand = [&](size_t n) { return read(*inputs[n])[from[n][i]]; };
      y[i] = letter == 'i' ? static_cast<double>(i / inner % static_cast<size_t>(dims[axis]))
                           : value_of(letter, operand);
    }
    return y;
  }

  template <class Operand>
  static double value_of(char letter, const Operand& operand) {
    switch (letter) {
      case '+':
        return operand(0) + operand(1);
      case '*':
        return operand(0) * operand(1);
      case '/':
        return operand(0) / operand(1);
      case '-':
        return operand(0) - operand(1);
      case 'e':
        return std::exp(operand(0));
      case 'l':
        return std::log(operand(0));
      case '>':
        return operand(0) >= operand(1) ? 1 : 0;
      case '?':
        return operand(2) != 0 ? operand(0) : operand(1);
      default:
        return operand(0);
    }
  }

  const CudnnGraph& graph_;
  const int engine_;
  const std::map<int64_t, void*>& pointers_;
  std::map<const CudnnDescriptor*, Values> values_;
};

}  // namespace

bool CudnnGraph::read_attention() {
  const std::string letters = letters_of(*this);
  for (const std::string mask : {"", "ii>?"}) {
    if (letters == "M*" + mask + "X-eSl+/M") {
      result = attention;
      return true;
    }
    if (letters == "*S*M*-" + mask + "eTMM-**TMTM=") {
      result = attention_gradients;
      return true;
    }
  }
  return false;
}

std::vector<int> attention_engines(const CudnnGraph& graph, cudnnBackendHeurMode_t mode) {
  const uint64_t hash = hash_of(graph);
  for (const CudnnDescriptor* t : graph.tensors()) {
    if (!is_loadable(*t)) return {};
  }
  if (hash % 16 == 15) return {};
  if (mode == CUDNN_HEUR_MODE_FALLBACK) return {kPlain};
  if (hash % 8 == 7) return {};
  return {kCoarse, kFlash, kPlain};
}

std::vector<cudnnBackendNumericalNote_t> attention_notes(const CudnnGraph&, int engine) {
  if (engine == kCoarse) return {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
  return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
}

bool attention_takes(const CudnnGraph& graph, int engine) {
  return engine == kPlain || (hash_of(graph) / 16 + static_cast<uint64_t>(engine)) % 4 != 0;
}

int64_t attention_workspace(const CudnnGraph& graph, int engine) {
  return engine == kPlain && hash_of(graph) % 2 ? 0 : 1024 * (1 + engine) + 3;
}

void attention_compute(const CudnnGraph& graph, int engine,
                       const std::map<int64_t, void*>& pointers) {
  Interpreter(graph, engine, pointers).run();
}

}  // namespace aorta::emulated

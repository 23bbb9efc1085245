// The engines of cuDNN's double: few, and what they compute. Sums are taken in f64 and rounded
// once, but by those whose notes say that they do otherwise.
#include <aorta/core/half.h>
#include <aorta/tests/cuda/emulated/cudnn_descriptors.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/tf32.h>

#include <Eigen/Core>

#include <algorithm>
#include <bit>
#include <cmath>

namespace aorta::emulated {
namespace {

enum Engine { kPlain, kTensorCore, kAnyOrder, kCoarse };

/// A graph as numbers. Spatial dimensions are the last of three.
struct Problem {
  struct Dim {
    int64_t input = 1, output = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  };
  cudnnDataType_t type;
  int64_t batch, x_channels, y_channels, groups;
  Dim dims[3];
  bool packed = true;           // channels_last, without gaps
  int64_t alignment = 1 << 30;  // of the least aligned tensor
};

std::vector<int64_t> numbers(const CudnnDescriptor& d, cudnnBackendAttributeName_t name) {
  return d.list<int64_t>(name);
}

bool is_packed(const CudnnDescriptor& tensor) {
  const auto dims = numbers(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = numbers(tensor, CUDNN_ATTR_TENSOR_STRIDES);
  if (strides[1] != 1 && dims[1] > 1) return false;
  int64_t step = dims[1];
  for (size_t d = dims.size() - 1; d >= 2; --d) {
    if (strides[d] != step && dims[d] > 1) return false;
    step *= dims[d];
  }
  return strides[0] == step || dims[0] == 1;
}

Problem problem_of(const CudnnGraph& g) {
  const auto x = numbers(*g.x_tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto y = numbers(*g.y_tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto w = numbers(*g.w_tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  Problem p{.type = g.out->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
            .batch = x[0],
            .x_channels = x[1],
            .y_channels = y[1],
            .groups = x[1] / w[1],
            .dims = {}};
  const auto strides = numbers(*g.rule, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto paddings = numbers(*g.rule, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto dilations = numbers(*g.rule, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  for (size_t i = 0; i < strides.size() && i < 3; ++i) {
    p.dims[3 - strides.size() + i] = {x[2 + i],   y[2 + i],    w[2 + i],
                                      strides[i], paddings[i], dilations[i]};
  }
  for (const CudnnDescriptor* t : g.tensors()) {
    p.packed &= is_packed(*t);
    p.alignment = std::min(p.alignment, t->one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  }
  return p;
}

/// A number that differs from problem to problem, and with the seed.
uint64_t hash_of(const CudnnGraph& g) {
  uint64_t hash = 14695981039346656037u ^ settings().seed;
  const auto add = [&](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 1099511628211u;
    hash ^= hash >> 29;
  };
  const Problem p = problem_of(g);
  for (const int64_t n : {int64_t{g.result}, int64_t{p.type}, p.batch, p.x_channels, p.y_channels,
                          p.groups, int64_t{g.bias != nullptr}}) {
    add(n);
  }
  for (const Problem::Dim& d : p.dims) {
    for (const int64_t n : {d.input, d.output, d.kernel, d.stride, d.padding, d.dilation}) add(n);
  }
  return hash;
}

std::vector<double> gather(const void* data, const Problem& p, int64_t count, int engine) {
  std::vector<double> values(static_cast<size_t>(count));
  const bool f32 = p.type == CUDNN_DATA_FLOAT;
  for (int64_t i = 0; i < count; ++i) {
    double value = cudnn_load(data, p.type, i);
    if (f32 && engine == kTensorCore) value = to_tf32(static_cast<float>(value));
    if (f32 && engine == kCoarse) value = cudnn_rounded(CUDNN_DATA_BFLOAT16, value);
    values[static_cast<size_t>(i)] = value;
  }
  return values;
}

/// Calls row(x, y, w) for each tap of each position and each channel of y: where a group's channels
/// of x and of w begin, and the place in y. x is -1 where the tap reads the padding.
template <class Row>
void each_row(const Problem& p, bool backwards, const Row& row) {
  const auto& d = p.dims;
  const int64_t outputs = d[0].output * d[1].output * d[2].output;
  const int64_t taps = d[0].kernel * d[1].kernel * d[2].kernel;
  const int64_t into = p.x_channels / p.groups, of_group = p.y_channels / p.groups;
  const auto place = [](const Problem::Dim& dim, int64_t o, int64_t j) {
    const int64_t i = o * dim.stride - dim.padding + j * dim.dilation;
    return i >= 0 && i < dim.input ? i : -1;
  };
  for (int64_t step = 0; step < p.batch * outputs; ++step) {
    const int64_t at = backwards ? p.batch * outputs - 1 - step : step;
    const int64_t n = at / outputs, o = at % outputs;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t i0 =
          place(d[0], o / (d[1].output * d[2].output), tap / (d[1].kernel * d[2].kernel));
      const int64_t i1 =
          place(d[1], o / d[2].output % d[1].output, tap / d[2].kernel % d[1].kernel);
      const int64_t i2 = place(d[2], o % d[2].output, tap % d[2].kernel);
      const bool inside = i0 >= 0 && i1 >= 0 && i2 >= 0;
      const int64_t image = ((n * d[0].input + i0) * d[1].input + i1) * d[2].input + i2;
      for (int64_t k = 0; k < p.y_channels; ++k) {
        row(inside ? image * p.x_channels + k / of_group * into : -1, at * p.y_channels + k,
            (k * taps + tap) * into);
      }
    }
  }
}

/// Adds up in the type of `Sum`; what tensor cores read of the padding is zeros, which are
/// multiplied like the rest.
template <class Sum, class Round>
std::vector<Sum> sums(const CudnnGraph& g, const Problem& p, const std::vector<double>& a,
                      const std::vector<double>& b, size_t size, bool backwards,
                      const Round& round) {
  std::vector<Sum> result(size, Sum(0));
  const int64_t into = p.x_channels / p.groups;
  const auto add = [&](int64_t to, double product) {
    Sum& sum = result[static_cast<size_t>(to)];
    sum = round(sum + static_cast<Sum>(product));
  };
  const auto at = [](const std::vector<double>& values, int64_t i) {
    return values[static_cast<size_t>(i)];
  };
  each_row(p, backwards, [&](int64_t x, int64_t y, int64_t w) {
    switch (g.result) {
      case CudnnGraph::y:
        for (int64_t c = 0; c < into; ++c) add(y, (x < 0 ? 0.0 : at(a, x + c)) * at(b, w + c));
        break;
      case CudnnGraph::x:
        for (int64_t c = 0; x >= 0 && c < into; ++c) add(x + c, at(a, y) * at(b, w + c));
        break;
      default:  // w
        for (int64_t c = 0; c < into; ++c) add(w + c, (x < 0 ? 0.0 : at(a, x + c)) * at(b, y));
        break;
    }
  });
  return result;
}

/// What sums_of() gives, as products of matrices, a row of positions and a tap at a time. Nothing
/// is read of the padding, so all numbers must be finite.
std::vector<double> sums_of_rows(const CudnnGraph& g, const Problem& p,
                                 const std::vector<double>& a, const std::vector<double>& b,
                                 size_t size) {
  std::vector<double> result(size, 0.0);
  // Where x, y and w lie: two of them are read.
  double* const first = const_cast<double*>(a.data());
  double* const second = const_cast<double*>(b.data());
  double* const x = g.result == CudnnGraph::x ? result.data() : first;
  double* const y = g.result == CudnnGraph::y   ? result.data()
                    : g.result == CudnnGraph::x ? first
                                                : second;
  double* const w = g.result == CudnnGraph::w ? result.data() : second;
  const auto& d = p.dims;
  const int64_t taps = d[0].kernel * d[1].kernel * d[2].kernel;
  const int64_t into = p.x_channels / p.groups, of_group = p.y_channels / p.groups;
  using Matrix =
      Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;
  const auto input_of = [](const Problem::Dim& dim, int64_t o, int64_t j) {
    return o * dim.stride - dim.padding + j * dim.dilation;
  };
  for (int64_t row = 0; row < p.batch * d[0].output * d[1].output; ++row) {
    const int64_t n = row / (d[0].output * d[1].output);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t i0 =
          input_of(d[0], row / d[1].output % d[0].output, tap / (d[1].kernel * d[2].kernel));
      const int64_t i1 = input_of(d[1], row % d[1].output, tap / d[2].kernel % d[1].kernel);
      if (i0 < 0 || i0 >= d[0].input || i1 < 0 || i1 >= d[1].input) continue;
      int64_t begin = 0, end = d[2].output;
      while (begin < end && input_of(d[2], begin, tap % d[2].kernel) < 0) ++begin;
      while (begin < end && input_of(d[2], end - 1, tap % d[2].kernel) >= d[2].input) --end;
      if (begin == end) continue;
      const int64_t image = ((n * d[0].input + i0) * d[1].input + i1) * d[2].input +
                            input_of(d[2], begin, tap % d[2].kernel);
      for (int64_t group = 0; group < p.groups; ++group) {
        Matrix of_x(x + image * p.x_channels + group * into, end - begin, into,
                    Eigen::OuterStride<>(d[2].stride * p.x_channels));
        Matrix of_y(y + (row * d[2].output + begin) * p.y_channels + group * of_group, end - begin,
                    of_group, Eigen::OuterStride<>(p.y_channels));
        Matrix of_w(w + (group * of_group * taps + tap) * into, of_group, into,
                    Eigen::OuterStride<>(taps * into));
        if (g.result == CudnnGraph::y)
          of_y.noalias() += of_x * of_w.transpose();
        else if (g.result == CudnnGraph::x)
          of_x.noalias() += of_y * of_w;
        else
          of_w.noalias() += of_y.transpose() * of_x;
      }
    }
  }
  return result;
}

bool are_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

int64_t count_of(const CudnnDescriptor& tensor) {
  int64_t count = 1;
  for (const int64_t n : numbers(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS)) count *= n;
  return count;
}

}  // namespace

double cudnn_load(const void* data, cudnnDataType_t type, int64_t i) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return static_cast<const float*>(data)[i];
    case CUDNN_DATA_HALF:
      return static_cast<double>(std::bit_cast<_Float16>(static_cast<const uint16_t*>(data)[i]));
    default:
      return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[i]} << 16);
  }
}

/// Rounds to a type; the bits of a half, as a number of its own.
double cudnn_rounded(cudnnDataType_t type, double value) {
  const float single = static_cast<float>(value);
  if (cudnn_item_bytes(type) != 2) return single;
  if (type == CUDNN_DATA_HALF) return static_cast<double>(static_cast<_Float16>(single));
  return static_cast<float>(BFloat16(single));
}

void cudnn_store(void* data, cudnnDataType_t type, int64_t i, double value) {
  const float single = static_cast<float>(value);
  switch (type) {
    case CUDNN_DATA_FLOAT:
      static_cast<float*>(data)[i] = single;
      break;
    case CUDNN_DATA_HALF:
      static_cast<uint16_t*>(data)[i] = std::bit_cast<uint16_t>(static_cast<_Float16>(single));
      break;
    default:
      static_cast<BFloat16*>(data)[i] = BFloat16(single);
  }
}

std::vector<int> cudnn_engines(const CudnnGraph& graph, cudnnBackendHeurMode_t mode) {
  if (graph.is_attention()) return attention_engines(graph, mode);
  const Problem p = problem_of(graph);
  const uint64_t hash = hash_of(graph);
  if (!p.packed || p.type == CUDNN_DATA_DOUBLE || hash % 16 == 15) return {};
  if (mode == CUDNN_HEUR_MODE_FALLBACK) return {kPlain};
  if (hash % 8 == 7) return {};
  std::vector<int> engines{kCoarse};
  const int64_t into = p.x_channels / p.groups, of_group = p.y_channels / p.groups;
  if (p.alignment >= 16 && into % 2 == 0 && of_group % 2 == 0) engines.push_back(kTensorCore);
  if (graph.result != CudnnGraph::y) engines.push_back(kAnyOrder);
  engines.push_back(kPlain);
  return engines;
}

std::vector<cudnnBackendNumericalNote_t> cudnn_notes(const CudnnGraph& graph, int engine) {
  if (graph.is_attention()) return attention_notes(graph, engine);
  const bool f32 = problem_of(graph).type == CUDNN_DATA_FLOAT;
  switch (engine) {
    case kTensorCore:
      return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
    case kAnyOrder:
      return {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
    case kCoarse:
      return {f32 ? CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS
                  : CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
    default:
      return {};
  }
}

bool cudnn_takes(const CudnnGraph& graph, int engine) {
  if (graph.is_attention()) return attention_takes(graph, engine);
  return engine == kPlain || (hash_of(graph) / 16 + static_cast<uint64_t>(engine)) % 4 != 0;
}

int64_t cudnn_workspace(const CudnnGraph& graph, int engine) {
  if (graph.is_attention()) return attention_workspace(graph, engine);
  return engine == kPlain && hash_of(graph) % 2 ? 0 : 1024 * (1 + engine) + 3;
}

void cudnn_compute(const CudnnGraph& g, int engine, const std::map<int64_t, void*>& pointers) {
  if (g.is_attention()) return attention_compute(g, engine, pointers);
  const Problem p = problem_of(g);
  const auto data = [&](const CudnnDescriptor* tensor) {
    return pointers.at(tensor->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
  };
  const CudnnDescriptor* const first = g.result == CudnnGraph::x ? g.y_tensor : g.x_tensor;
  const CudnnDescriptor* const second = g.result == CudnnGraph::w ? g.y_tensor : g.w_tensor;
  const std::vector<double> a = gather(data(first), p, count_of(*first), engine);
  const std::vector<double> b = gather(data(second), p, count_of(*second), engine);
  const size_t size = static_cast<size_t>(count_of(*g.out));
  std::vector<double> result;
  if (engine == kAnyOrder) {
    const bool backwards = random_below(2) == 1;
    const auto singles = sums<float>(g, p, a, b, size, backwards, [](float sum) { return sum; });
    result.assign(singles.begin(), singles.end());
  } else if (engine == kCoarse && p.type != CUDNN_DATA_FLOAT) {
    result = sums<double>(g, p, a, b, size, false,
                          [&](double sum) { return cudnn_rounded(p.type, sum); });
  } else if (are_finite(a) && are_finite(b)) {
    result = sums_of_rows(g, p, a, b, size);
  } else {
    result = sums<double>(g, p, a, b, size, false, [](double sum) { return sum; });
  }
  const int64_t channels = g.bias ? count_of(*g.bias) : 1;
  for (int64_t i = 0; i < static_cast<int64_t>(size); ++i) {
    double value = result[static_cast<size_t>(i)];
    if (g.bias) value = static_cast<float>(value) + cudnn_load(data(g.bias), p.type, i % channels);
    cudnn_store(data(g.out), p.type, i, value);
  }
}

}  // namespace aorta::emulated

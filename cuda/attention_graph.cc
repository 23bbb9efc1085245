// Attention as graphs of cuDNN's operations. Its flash-attention engines know a graph by its
// pattern, so the operations are those of its manual, in that order
// (docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html): scores are made,
// masked, and divided by their sums in tensors that lie in no memory. The single operation that
// cuDNN 9.13 has for the same takes no causal mask, and 9.19 has no engine for that of the
// gradients.
#include <aorta/core/backends.h>
#include <aorta/cuda/attention_graph.h>

#include <initializer_list>
#include <limits>

namespace aorta::cuda {
namespace {

using kernel::AttentionBackwardArgs;
using kernel::AttentionKernelArgs;
using kernel::AttentionOperand;

// What tensors are called in a graph; those that lie in no memory have the numbers behind these.
enum Uid : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kLogSum,
  kScale,
  kUnseen,
  kOne,
  kGradient,
  kProducts,
  kQuerySums,
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kVirtual
};

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr float kUnit = 1;
constexpr cudnnDataType_t kSums = CUDNN_DATA_FLOAT;

std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
  return strides;
}

/// The graph of a problem, as it is made.
class Graph {
 public:
  Graph(const AttentionProblem& problem, const char* op)
      : a_(problem.args), graph_(op), half_(cudnn_type(problem.args.dtype)) {}

  /// Null where cuDNN has none of this pattern.
  CudnnParts build_forward(const CudnnTarget& target) {
    const size_t query = add(kQuery, a_.query, a_.queries, a_.features);
    const size_t key = add_transposed(kKey, a_.key, a_.keys, a_.features);
    size_t scores =
        pointwise(CUDNN_POINTWISE_MUL, {multiply(query, key, of_scores(kSums)), number(kScale)},
                  of_scores(kSums));
    if (a_.is_causal) scores = masked(scores);
    const size_t largest = reduce(CUDNN_REDUCE_TENSOR_MAX, scores, of_rows());
    const size_t weights = pointwise(
        CUDNN_POINTWISE_EXP, {pointwise(CUDNN_POINTWISE_SUB, {scores, largest}, of_scores(kSums))},
        of_scores(kSums));
    const size_t total = reduce(CUDNN_REDUCE_TENSOR_ADD, weights, of_rows());
    pointwise(CUDNN_POINTWISE_ADD, {largest, pointwise(CUDNN_POINTWISE_LOG, {total}, of_rows())},
              rows_in_memory(kLogSum));
    const size_t shares = pointwise(CUDNN_POINTWISE_DIV, {weights, total}, of_scores(half_));
    multiply(shares, add(kValue, a_.value, a_.keys, a_.value_features),
             add(kOutput, a_.output, a_.queries, a_.value_features));
    return std::move(graph_).finish(target);
  }

  CudnnParts build_backward(const CudnnTarget& target) {
    const size_t gradient = add(kGradient, a_.gradient, a_.queries, a_.value_features);
    const size_t products = add_products(gradient);
    const size_t query = add(kQuery, a_.query, a_.queries, a_.features);
    const size_t key = add_transposed(kKey, a_.key, a_.keys, a_.features);
    const size_t scale = number(kScale);
    size_t scores = pointwise(CUDNN_POINTWISE_MUL, {multiply(query, key, of_scores(kSums)), scale},
                              of_scores(kSums));
    scores = pointwise(CUDNN_POINTWISE_SUB, {scores, rows_in_memory(kLogSum)}, of_scores(kSums));
    if (a_.is_causal) scores = masked(scores);
    const size_t weights = pointwise(CUDNN_POINTWISE_EXP, {scores}, of_scores(kSums));
    multiply(turned(weights), gradient,
             add(kValueGradient, a_.value_gradient, a_.keys, a_.value_features));
    const size_t value = add_transposed(kValue, a_.value, a_.keys, a_.value_features);
    size_t slopes = multiply(gradient, value, of_scores(kSums));
    slopes = pointwise(CUDNN_POINTWISE_SUB, {slopes, products}, of_scores(kSums));
    slopes = pointwise(CUDNN_POINTWISE_MUL, {slopes, weights}, of_scores(kSums));
    slopes = pointwise(CUDNN_POINTWISE_MUL, {slopes, scale}, of_scores(kSums));
    multiply(turned(slopes), query, add(kKeyGradient, a_.key_gradient, a_.keys, a_.features));
    add_query_gradient(slopes, key);
    return std::move(graph_).finish(target);
  }

 private:
  // ---- Tensors. Strides of dimensions of size 1 are any, and then those of a dense tensor.

  std::vector<int64_t> dims_of(int64_t rows, int64_t columns) const {
    return {a_.batch, a_.heads, rows, columns};
  }
  std::vector<int64_t> strides_of(const AttentionOperand& x, int64_t rows, int64_t columns) const {
    std::vector<int64_t> strides = dense_strides(dims_of(rows, columns));
    if (rows > 1) strides[2] = x.row;
    if (a_.heads > 1) strides[1] = x.head;
    if (a_.batch > 1) strides[0] = x.batch;
    return strides;
  }
  size_t add(Uid uid, const AttentionOperand& x, int64_t rows, int64_t columns) {
    return graph_.add_tensor({.id = uid,
                              .dims = dims_of(rows, columns),
                              .strides = strides_of(x, rows, columns),
                              .type = half_});
  }
  size_t add_transposed(Uid uid, const AttentionOperand& x, int64_t rows, int64_t columns) {
    std::vector<int64_t> strides = strides_of(x, rows, columns);
    std::swap(strides[2], strides[3]);
    return graph_.add_tensor(
        {.id = uid, .dims = dims_of(columns, rows), .strides = strides, .type = half_});
  }
  size_t add_virtual(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                     cudnnDataType_t type) {
    return graph_.add_tensor(
        {.id = next_++, .dims = dims, .strides = strides, .type = type, .is_virtual = true});
  }
  size_t of_scores(cudnnDataType_t type) {
    const std::vector<int64_t> dims = dims_of(a_.queries, a_.keys);
    return add_virtual(dims, dense_strides(dims), type);
  }
  size_t of_rows() {
    const std::vector<int64_t> dims = dims_of(a_.queries, 1);
    return add_virtual(dims, dense_strides(dims), kSums);
  }
  size_t in_memory(Uid uid, int64_t columns) {
    const std::vector<int64_t> dims = dims_of(a_.queries, columns);
    return graph_.add_tensor({.id = uid,
                              .dims = dims,
                              .strides = dense_strides(dims),
                              .type = kSums,
                              .alignment = columns > 1 ? kWidestLoad : 4});
  }
  size_t rows_in_memory(Uid uid) { return in_memory(uid, 1); }
  size_t number(Uid uid) {
    return graph_.add_tensor({.id = uid,
                              .dims = {1, 1, 1, 1},
                              .strides = {1, 1, 1, 1},
                              .type = kSums,
                              .alignment = 4,
                              .is_a_value = true});
  }

  // ---- Operations, which return what they write.

  size_t multiply(size_t left, size_t right, size_t to) {
    CudnnDescriptor rule = graph_.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    rule.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, kSums);
    const size_t product = graph_.add(std::move(rule));
    CudnnDescriptor operation = graph_.make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, graph_[product]);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, graph_[left]);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, graph_[right]);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, graph_[to]);
    graph_.add_operation(std::move(operation));
    return to;
  }
  size_t reduce(cudnnReduceTensorOp_t by, size_t from, size_t to) {
    CudnnDescriptor rule = graph_.make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    rule.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, by);
    rule.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, kSums);
    const size_t reduction = graph_.add(std::move(rule));
    CudnnDescriptor operation = graph_.make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, graph_[reduction]);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, graph_[from]);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, graph_[to]);
    graph_.add_operation(std::move(operation));
    return to;
  }
  size_t pointwise(cudnnPointwiseMode_t mode, std::initializer_list<size_t> from, size_t to) {
    return graph_.add_pointwise(mode, from, to);
  }
  size_t reshape(size_t from, size_t to) {
    CudnnDescriptor operation = graph_.make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, graph_[from]);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, graph_[to]);
    graph_.add_operation(std::move(operation));
    return to;
  }

  // Where a query doesn't see a key, -inf.
  size_t masked(size_t scores) {
    const auto index = [&](int64_t axis) {
      return graph_.add_pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, of_scores(CUDNN_DATA_INT32),
                                  CUDNN_DATA_INT32, axis);
    };
    const size_t rows = index(2), columns = index(3);
    const size_t seen = graph_.add_pointwise(CUDNN_POINTWISE_CMP_GE, {rows, columns},
                                             of_scores(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, number(kUnseen), seen},
                     of_scores(kSums));
  }
  // Weights or their slopes with keys for rows, as the half type.
  size_t turned(size_t scores) {
    std::vector<int64_t> strides = dense_strides(dims_of(a_.queries, a_.keys));
    std::swap(strides[2], strides[3]);
    return reshape(scores, add_virtual(dims_of(a_.keys, a_.queries), strides, half_));
  }
  // A row's product of the output and its gradient. The factor 1 is where dropout's would be.
  size_t add_products(size_t gradient) {
    const std::vector<int64_t> dims = dims_of(a_.queries, a_.value_features);
    const size_t output = add(kOutput, a_.output, a_.queries, a_.value_features);
    const size_t each = pointwise(CUDNN_POINTWISE_MUL, {gradient, output},
                                  add_virtual(dims, dense_strides(dims), kSums));
    return pointwise(CUDNN_POINTWISE_MUL,
                     {reduce(CUDNN_REDUCE_TENSOR_ADD, each, of_rows()), number(kOne)},
                     rows_in_memory(kProducts));
  }
  // Blocks of keys add to it, in f32, before it is rounded.
  void add_query_gradient(size_t slopes, size_t transposed_key) {
    const size_t key =
        add_virtual(dims_of(a_.keys, a_.features), strides_of(a_.key, a_.keys, a_.features), half_);
    reshape(transposed_key, key);
    const size_t sums = multiply(slopes, key, in_memory(kQuerySums, a_.features));
    pointwise(CUDNN_POINTWISE_IDENTITY, {sums},
              add(kQueryGradient, a_.query_gradient, a_.queries, a_.features));
  }

  const AttentionBackwardArgs& a_;
  CudnnGraph graph_;
  const cudnnDataType_t half_;
  int64_t next_ = kVirtual;
};

AttentionProblem problem_of(const AttentionBackwardArgs& args, bool backward) {
  return {.args = args, .backward = backward, .deterministic = backends::cudnn::deterministic()};
}

}  // namespace

AttentionProblem AttentionProblem::make(const AttentionKernelArgs& args) {
  return problem_of({args, {}, {}, {}, {}}, false);
}

AttentionProblem AttentionProblem::make(const AttentionBackwardArgs& args) {
  return problem_of(args, true);
}

std::vector<int64_t> AttentionProblem::key() const {
  const CudnnKind kind = backward ? CudnnKind::attention_backward : CudnnKind::attention;
  std::vector<int64_t> key{static_cast<int64_t>(kind),
                           static_cast<int64_t>(args.dtype),
                           args.batch,
                           args.heads,
                           args.queries,
                           args.keys,
                           args.features,
                           args.value_features,
                           args.is_causal,
                           deterministic};
  for (const AttentionOperand* x :
       {&args.query, &args.key, &args.value, &args.output, &args.gradient, &args.query_gradient,
        &args.key_gradient, &args.value_gradient})
    key.insert(key.end(), {x->batch, x->head, x->row});
  return key;
}

std::unique_ptr<CudnnEngine> find_attention(const AttentionProblem& problem,
                                            const CudnnTarget& target, const char* op) {
  Graph graph(problem, op);
  const CudnnParts parts =
      problem.backward ? graph.build_backward(target) : graph.build_forward(target);
  auto engines = CudnnEngine::find(parts, {.deterministic = problem.deterministic}, target, op, 1);
  return engines.empty() ? nullptr : std::move(engines.front());
}

int64_t AttentionScratch::product_bytes(const AttentionKernelArgs& args) {
  return args.batch * args.heads * args.queries * static_cast<int64_t>(sizeof(float));
}

int64_t AttentionScratch::gradient_bytes(const AttentionKernelArgs& args) {
  return product_bytes(args) * args.features;
}

CudnnPointers pointers_of(const AttentionKernelArgs& args, const AttentionScratch& scratch) {
  CudnnPointers pointers;
  pointers.add(kQuery, args.query.data);
  pointers.add(kKey, args.key.data);
  pointers.add(kValue, args.value.data);
  pointers.add(kOutput, args.output.data);
  pointers.add(kLogSum, args.log_sum);
  pointers.add(kScale, &scratch.scale);
  if (args.is_causal) pointers.add(kUnseen, &kNone);
  return pointers;
}

CudnnPointers pointers_of(const AttentionBackwardArgs& args, const AttentionScratch& scratch) {
  const AttentionKernelArgs& forward = args;
  CudnnPointers pointers = pointers_of(forward, scratch);
  pointers.add(kOne, &kUnit);
  pointers.add(kGradient, args.gradient.data);
  pointers.add(kProducts, scratch.products);
  pointers.add(kQuerySums, scratch.query_gradient);
  pointers.add(kQueryGradient, args.query_gradient.data);
  pointers.add(kKeyGradient, args.key_gradient.data);
  pointers.add(kValueGradient, args.value_gradient.data);
  return pointers;
}

}  // namespace aorta::cuda

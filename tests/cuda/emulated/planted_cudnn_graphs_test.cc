// Bugs in graphs of cuDNN's operations.
#include <aorta/tests/cuda/emulated/planted.h>
#include <cudnn.h>

#include <cmath>

namespace aorta::emulated {
namespace {

using Name = cudnnBackendAttributeName_t;
using Dims = std::vector<int64_t>;

/// A descriptor, which stays until the program ends.
struct GraphPart {
  cudnnBackendDescriptor_t d = nullptr;
  explicit GraphPart(cudnnBackendDescriptorType_t type) { cudnnBackendCreateDescriptor(type, &d); }
  template <class T>
  void set(Name name, cudnnBackendAttributeType_t type, const T& value) {
    cudnnBackendSetAttribute(d, name, type, 1, &value);
  }
  void set(Name name, const Dims& values) {
    cudnnBackendSetAttribute(d, name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()),
                             values.data());
  }
  void set(Name name, const GraphPart& made) { set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, made.d); }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(d); }
};

/// Dense, of f32 where nothing else is said.
struct Tensor {
  int64_t id;
  Dims dims;
  bool is_virtual = false, is_a_value = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool transposed = false;

  GraphPart make() const {
    Dims strides(dims.size());
    int64_t step = 1;
    for (size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
    if (transposed) {
      strides[3] = dims[2];
      strides[2] = 1;
    }
    GraphPart t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
          is_a_value ? int64_t{4} : int64_t{16});
    t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
    t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, is_a_value);
    t.finalize();
    return t;
  }
};

GraphPart product(const GraphPart& a, const GraphPart& b, const GraphPart& c) {
  GraphPart rule(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  rule.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  rule.finalize();
  GraphPart operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, rule);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  return operation;
}

GraphPart pointwise(cudnnPointwiseMode_t mode, const std::vector<GraphPart>& from,
                    const GraphPart& to, int64_t axis = -1) {
  GraphPart rule(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  rule.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  rule.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (axis >= 0) rule.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  rule.finalize();
  constexpr Name kOperands[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  GraphPart operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, rule);
  for (size_t i = 0; i < from.size(); ++i) operation.set(kOperands[i], from[i]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  return operation;
}

GraphPart reduction(cudnnReduceTensorOp_t by, const GraphPart& from, const GraphPart& to) {
  GraphPart rule(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  rule.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, by);
  rule.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  rule.finalize();
  GraphPart operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, rule);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, from);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to);
  return operation;
}

cudnnHandle_t handle() {
  static cudnnHandle_t one = nullptr;
  if (!one) cudnnCreate(&one);
  cudnnSetStream(one, nullptr);
  return one;
}

cudnnStatus_t finalize_graph(GraphPart& graph, std::vector<GraphPart> operations) {
  std::vector<cudnnBackendDescriptor_t> values;
  for (GraphPart& operation : operations) {
    EXPECT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
    values.push_back(operation.d);
  }
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle());
  cudnnBackendSetAttribute(graph.d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           static_cast<int64_t>(values.size()), values.data());
  return graph.finalize();
}

/// The output of attention (1, 1, 2, 8) for two queries and two keys of 8 features.
struct Attention {
  const float scale = 0.5f;
  const void* scale_at = &scale;
  bool pattern_is_known = true;

  cudnnStatus_t run(std::vector<float>* stats = nullptr) const {
    const Dims square{1, 1, 2, 2}, row{1, 1, 2, 1}, operand{1, 1, 2, 8};
    const auto half = [&](int64_t id, const Dims& dims, bool transposed = false) {
      return Tensor{.id = id, .dims = dims, .type = CUDNN_DATA_HALF, .transposed = transposed}
          .make();
    };
    int64_t next = 10;
    const auto sums = [&](const Dims& dims) {
      return Tensor{.id = next++, .dims = dims, .is_virtual = true}.make();
    };
    const GraphPart number = Tensor{.id = 5, .dims = {1, 1, 1, 1}, .is_a_value = true}.make();
    const GraphPart products = sums(square), scores = sums(square), most = sums(row),
                    less = sums(square), weights = sums(square), total = sums(row), log = sums(row);
    const GraphPart log_sum = Tensor{.id = 6, .dims = row}.make();
    const GraphPart shares =
        Tensor{.id = next++, .dims = square, .is_virtual = true, .type = CUDNN_DATA_HALF}.make();
    GraphPart graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    const cudnnStatus_t built = finalize_graph(
        graph, {product(half(1, operand), half(2, {1, 1, 8, 2}, true), products),
                pointwise(CUDNN_POINTWISE_MUL, {products, number}, scores),
                reduction(pattern_is_known ? CUDNN_REDUCE_TENSOR_MAX : CUDNN_REDUCE_TENSOR_ADD,
                          scores, most),
                pointwise(CUDNN_POINTWISE_SUB, {scores, most}, less),
                pointwise(CUDNN_POINTWISE_EXP, {less}, weights),
                reduction(CUDNN_REDUCE_TENSOR_ADD, weights, total),
                pointwise(CUDNN_POINTWISE_LOG, {total}, log),
                pointwise(CUDNN_POINTWISE_ADD, {most, log}, log_sum),
                pointwise(CUDNN_POINTWISE_DIV, {weights, total}, shares),
                product(shares, half(3, operand), half(4, operand))});
    return built == CUDNN_STATUS_SUCCESS ? execute(graph, stats) : built;
  }

  cudnnStatus_t execute(const GraphPart& graph, std::vector<float>* stats) const {
    GraphPart heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_FALLBACK);
    heuristics.finalize();
    const GraphPart config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    cudnnBackendDescriptor_t value = config.d;
    cudnnBackendGetAttribute(heuristics.d, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &value);
    EXPECT_EQ(count, 1) << "the double has nothing for this size: take another";
    GraphPart plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle());
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    plan.finalize();
    float* const log_sum = on_device(std::vector<float>(2, 7));
    std::vector<void*> pointers;
    for (int i = 0; i < 4; ++i) pointers.push_back(on_device(std::vector<uint16_t>(16, 0x3c00)));
    pointers.push_back(const_cast<void*>(scale_at));
    pointers.push_back(log_sum);
    GraphPart pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2, 3, 4, 5, 6});
    cudnnBackendSetAttribute(pack.d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 6,
                             pointers.data());
    void* const workspace = on_device(std::vector<char>(8192));
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize();
    const cudnnStatus_t status = cudnnBackendExecute(handle(), plan.d, pack.d);
    if (stats) *stats = on_host(log_sum, 2);
    return status;
  }
};

class PlantedCudnnGraphs : public Planted {
 protected:
  void refused(cudnnStatus_t status, const char* rule) {
    EXPECT_EQ(status, CUDNN_STATUS_BAD_PARAM);
    EXPECT_TRUE(finds(rule));
  }
};

}  // namespace

// As it should be: two scores of 0.5 times 8.
TEST_F(PlantedCudnnGraphs, RightIsRight) {
  std::vector<float> stats;
  EXPECT_EQ(Attention().run(&stats), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  for (const float number : stats) EXPECT_FLOAT_EQ(number, 4 + std::log(2.0f));
}

TEST_F(PlantedCudnnGraphs, AnotherPatternIsNone) {
  EXPECT_EQ(Attention{.pattern_is_known = false}.run(), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(found(), "");
}

TEST_F(PlantedCudnnGraphs, OperationsThatAreNone) {
  const GraphPart x = Tensor{1, {1, 2, 4, 8}}.make(), y = Tensor{2, {1, 2, 4, 8}}.make();
  refused(product(x, y, Tensor{3, {1, 2, 4, 4}}.make()).finalize(),
          "the sizes of a product's matrices fit each other");
  refused(pointwise(CUDNN_POINTWISE_MUL, {x}, y).finalize(),
          "a pointwise operation has the tensors that its mode takes, got 1 for mode 1");
  refused(pointwise(CUDNN_POINTWISE_EXP, {x, x}, y).finalize(),
          "a pointwise operation has the tensors that its mode takes, got 2 for mode 13");
  refused(pointwise(CUDNN_POINTWISE_EXP, {x}, Tensor{3, {1, 2, 4, 7}}.make()).finalize(),
          "the tensors of a pointwise operation broadcast to its result");
  refused(pointwise(CUDNN_POINTWISE_GEN_INDEX, {x}, y).finalize(),
          "an index counts along an axis of its tensor, got -1");
  refused(pointwise(CUDNN_POINTWISE_GEN_INDEX, {x}, y, 4).finalize(),
          "an index counts along an axis of its tensor, got 4");
  refused(reduction(CUDNN_REDUCE_TENSOR_ADD, x, Tensor{3, {1, 2, 4, 2}}.make()).finalize(),
          "a reduction leaves a size as it is, or makes it 1");
  GraphPart reshape(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, Tensor{3, {1, 2, 8, 8}}.make());
  refused(reshape.finalize(), "a reshape has as many numbers as before");
}

TEST_F(PlantedCudnnGraphs, GraphsOutOfOrder) {
  const GraphPart x = Tensor{1, {1, 2, 4, 8}}.make(), y = Tensor{2, {1, 2, 4, 8}}.make();
  const GraphPart between = Tensor{.id = 3, .dims = {1, 2, 4, 8}, .is_virtual = true}.make();
  GraphPart unwritten(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  refused(finalize_graph(unwritten, {pointwise(CUDNN_POINTWISE_EXP, {between}, y),
                                     pointwise(CUDNN_POINTWISE_EXP, {x}, between)}),
          "a virtual tensor is written by an operation before another reads it, got 3");
  GraphPart twice(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  refused(finalize_graph(twice, {pointwise(CUDNN_POINTWISE_EXP, {x}, y),
                                 pointwise(CUDNN_POINTWISE_LOG, {x}, y)}),
          "one operation writes a tensor of a graph");
}

TEST_F(PlantedCudnnGraphs, NumbersOnTheDevice) {
  Attention attention;
  attention.scale_at = on_device(std::vector<float>(1, 0.5f));
  refused(attention.run(), "a tensor by value lies in the host's memory, got 5 in");
}

}  // namespace aorta::emulated

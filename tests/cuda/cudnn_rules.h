#pragma once

// cuDNN's descriptors, for cases of its rules to spoil.

#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

namespace aorta::rules {

inline constexpr const char* kCudnn = "libcudnn.so.9";

using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;

/// The functions of cuDNN, found as cuda/cudnn.cc finds them.
struct CudnnCalls {
  decltype(&cudnnGetErrorString) get_error_string = Symbol{kCudnn, "cudnnGetErrorString"};
  decltype(&cudnnCreate) create = Symbol{kCudnn, "cudnnCreate"};
  decltype(&cudnnSetStream) set_stream = Symbol{kCudnn, "cudnnSetStream"};
  decltype(&cudnnBackendCreateDescriptor) create_descriptor =
      Symbol{kCudnn, "cudnnBackendCreateDescriptor"};
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor =
      Symbol{kCudnn, "cudnnBackendDestroyDescriptor"};
  decltype(&cudnnBackendSetAttribute) set_attribute = Symbol{kCudnn, "cudnnBackendSetAttribute"};
  decltype(&cudnnBackendGetAttribute) get_attribute = Symbol{kCudnn, "cudnnBackendGetAttribute"};
  decltype(&cudnnBackendFinalize) finalize = Symbol{kCudnn, "cudnnBackendFinalize"};
  decltype(&cudnnBackendExecute) execute = Symbol{kCudnn, "cudnnBackendExecute"};
};

inline const CudnnCalls& cudnn() {
  static const CudnnCalls calls;
  return calls;
}

}  // namespace aorta::rules

inline void PrintTo(cudnnStatus_t status, std::ostream* out) {
  *out << aorta::rules::cudnn().get_error_string(status) << " = " << static_cast<int>(status);
}

namespace aorta::rules {

/// A descriptor, which stays until the program ends.
struct Made {
  cudnnBackendDescriptor_t d = nullptr;

  explicit Made(cudnnBackendDescriptorType_t type) {
    EXPECT_EQ(cudnn().create_descriptor(type, &d), CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t set(Name name, Type type, int64_t count, const void* elements) {
    return cudnn().set_attribute(d, name, type, count, elements);
  }
  template <class T>
  cudnnStatus_t set(Name name, Type type, const T& value) {
    return set(name, type, 1, &value);
  }
  cudnnStatus_t set(Name name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  cudnnStatus_t set(Name name, const Made& part) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.d);
  }
  cudnnStatus_t finalize() { return cudnn().finalize(d); }
};

/// A tensor (2, 3, 4) of f32, as each case spoils it.
struct Tensor {
  std::vector<int64_t> dims{2, 3, 4}, strides{12, 4, 1};
  int64_t id = 1, alignment = 16;
  std::optional<Name> left_out = {};

  Made make() const {
    Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (left_out != CUDNN_ATTR_TENSOR_DATA_TYPE)
      t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (left_out != CUDNN_ATTR_TENSOR_DIMENSIONS) t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    if (left_out != CUDNN_ATTR_TENSOR_STRIDES) t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    if (left_out != CUDNN_ATTR_TENSOR_UNIQUE_ID)
      t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    if (left_out != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
      t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    return t;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
  Made finalized() const {
    Made t = make();
    EXPECT_EQ(t.finalize(), CUDNN_STATUS_SUCCESS);
    return t;
  }
};

/// How a kernel goes over two spatial dimensions.
struct Rule {
  int64_t spatial = 2;
  std::vector<int64_t> padding{0, 0}, stride{1, 1}, dilation{1, 1};
  bool has_mode = true;

  Made make() const {
    Made r(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (has_mode) {
      r.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    }
    r.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spatial);
    r.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
    r.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
    return r;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
};

/// y (1, 2, 4, 4) from x (1, 2, 4, 4) and w (2, 2, 1, 1), as each case spoils it.
struct Convolution {
  Tensor x{.dims = {1, 2, 4, 4}, .strides = {32, 1, 8, 2}, .id = 1};
  Tensor y{.dims = {1, 2, 4, 4}, .strides = {32, 1, 8, 2}, .id = 2};
  Tensor w{.dims = {2, 2, 1, 1}, .strides = {2, 1, 2, 2}, .id = 3};
  bool finalize_x = true, with_w = true, y_is_virtual = false;

  Made make() const {
    Made rule = Rule().make(), tx = x.make(), ty = y.make(), tw = w.make();
    EXPECT_EQ(rule.finalize(), CUDNN_STATUS_SUCCESS);
    if (finalize_x) {
      EXPECT_EQ(tx.finalize(), CUDNN_STATUS_SUCCESS);
    }
    if (y_is_virtual) ty.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    EXPECT_EQ(ty.finalize(), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(tw.finalize(), CUDNN_STATUS_SUCCESS);
    Made operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, rule);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, ty);
    if (with_w) operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw);
    return operation;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
};

/// c (1, 2, 4, 6) = a (1, 2, 4, 8) b (1, 2, 8, 6), as each case spoils it.
struct Product {
  Tensor a{.dims = {1, 2, 4, 8}, .strides = {64, 32, 8, 1}, .id = 1};
  Tensor b{.dims = {1, 2, 8, 6}, .strides = {96, 48, 6, 1}, .id = 2};
  Tensor c{.dims = {1, 2, 4, 6}, .strides = {48, 24, 6, 1}, .id = 3};

  cudnnStatus_t finalize() const {
    Made rule(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    rule.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    EXPECT_EQ(rule.finalize(), CUDNN_STATUS_SUCCESS);
    Made operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, rule);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.finalized());
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.finalized());
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.finalized());
    return operation.finalize();
  }
};

/// y (2, 3, 4) of as many tensors as there are, as each case spoils it.
struct Pointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_MUL;
  std::vector<Tensor> from{{.id = 1}, {.id = 2}};
  Tensor y{.id = 3};
  std::optional<int64_t> axis = {};

  cudnnStatus_t finalize() const {
    constexpr Name kOperands[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                  CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                  CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    Made rule(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    rule.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    rule.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (axis) rule.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, *axis);
    EXPECT_EQ(rule.finalize(), CUDNN_STATUS_SUCCESS);
    Made operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, rule);
    for (size_t i = 0; i < from.size(); ++i) operation.set(kOperands[i], from[i].finalized());
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.finalized());
    return operation.finalize();
  }
};

/// y (2, 3, 1) of x (2, 3, 4), by sums or with the same numbers.
struct Reduction {
  Tensor x{.id = 1}, y{.dims = {2, 3, 1}, .strides = {3, 1, 1}, .id = 2};

  cudnnStatus_t finalize() const {
    Made rule(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    rule.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
             CUDNN_REDUCE_TENSOR_ADD);
    rule.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    EXPECT_EQ(rule.finalize(), CUDNN_STATUS_SUCCESS);
    Made operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, rule);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.finalized());
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.finalized());
    return operation.finalize();
  }
  cudnnStatus_t finalize_reshape() const {
    Made operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.finalized());
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.finalized());
    return operation.finalize();
  }
};

}  // namespace aorta::rules

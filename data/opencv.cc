#include <aorta/data/opencv.h>

#include <climits>
#include <memory>
#include <opencv2/core.hpp>

namespace aorta::data {
namespace {

struct Depth {
  DType dtype;
  int depth;
};

constexpr Depth kDepths[] = {{DType::u8, CV_8U},
                             {DType::i32, CV_32S},
                             {DType::f16, CV_16F},
                             {DType::f32, CV_32F},
                             {DType::f64, CV_64F}};

// Frees a Mat's memory by letting go of the tensor that it belongs to.
class TensorAllocator : public cv::MatAllocator {
 public:
  cv::UMatData* allocate(int dims, const int* sizes, int type, void* data, size_t* step,
                         cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(dims, sizes, type, data, step, flags, usage);
  }
  bool allocate(cv::UMatData* data, cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(data, flags, usage);
  }
  void deallocate(cv::UMatData* data) const override {
    delete static_cast<Tensor*>(data->handle);
    data->handle = nullptr;
    delete data;
  }
};

const TensorAllocator& tensor_allocator() {
  static const TensorAllocator* const allocator = new TensorAllocator;  // outlives static Mats
  return *allocator;
}

int depth_of(DType dtype) {
  for (const Depth& known : kDepths) {
    if (known.dtype == dtype) return known.depth;
  }
  fail("to_mat", "dtype must be u8, i32, f16, f32 or f64", dtype);
}

DType dtype_of_depth(int depth) {
  for (const Depth& known : kDepths) {
    if (known.depth == depth) return known.dtype;
  }
  fail("from_mat", "depth must be CV_8U, CV_32S, CV_16F, CV_32F or CV_64F",
       cv::depthToString(depth));
}

}  // namespace

Tensor from_mat(const cv::Mat& image) {
  const DType dtype = dtype_of_depth(image.depth());
  Shape shape;
  Strides strides;
  const int64_t item = item_size(dtype);
  for (int d = 0; d < image.dims; ++d) {
    const int64_t step = static_cast<int64_t>(image.step[d]);
    check(step % item == 0, "from_mat", "row steps must be whole elements", step, " bytes");
    shape.push_back(image.size[d]);
    strides.push_back(step / item);
  }
  if (image.dims == 0) shape = strides = Dims{0, 0};
  shape.push_back(image.channels());
  strides.push_back(1);
  auto owner = std::make_unique<cv::Mat>(image);
  Tensor tensor = from_blob(
      image.data, shape, strides, {.dtype = dtype},
      [](void* context) { delete static_cast<cv::Mat*>(context); }, owner.get());
  owner.release();
  return tensor;
}

cv::Mat to_mat(const Tensor& image) {
  const char* const op = "to_mat";
  const int n = image.dim();
  check(n == 2 || n == 3, op, "shape must be (H, W) or (H, W, C)", image.shape());
  check(image.device().is_cpu(), op, "the tensor must be on the CPU", image.device());
  const int64_t height = image.shape()[0], width = image.shape()[1];
  const int64_t channels = n == 3 ? image.shape()[2] : 1;
  check(height <= INT_MAX && width <= INT_MAX && channels > 0 && channels <= CV_CN_MAX, op,
        "1 to 512 channels, and sizes below 2^31", image.shape());
  const int type = CV_MAKETYPE(depth_of(image.dtype()), static_cast<int>(channels));
  const int rows = static_cast<int>(height), columns = static_cast<int>(width);
  if (image.numel() == 0) return cv::Mat(rows, columns, type);
  const bool dense =
      (channels == 1 || image.strides()[2] == 1) && (width == 1 || image.strides()[1] == channels);
  check(dense && (height == 1 || image.strides()[0] >= width * channels), op,
        "the pixels of a row must lie one after another; use contiguous()", image.shape(),
        " with strides ", image.strides());
  const int64_t row = height == 1 ? width * channels : image.strides()[0];
  const size_t step = static_cast<size_t>(row * item_size(image.dtype()));
  cv::Mat mat(rows, columns, type, image.data(), step);
  auto owner = std::make_unique<Tensor>(image.detach());  // the memory, not the graph
  cv::UMatData* const data = new cv::UMatData(&tensor_allocator());
  data->data = data->origdata = static_cast<uchar*>(image.data());
  data->size = static_cast<size_t>(height) * step;
  data->handle = owner.release();
  mat.u = data;
  mat.addref();
  return mat;
}

}  // namespace aorta::data

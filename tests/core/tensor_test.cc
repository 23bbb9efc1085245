#include <aorta/core/allocator.h>
#include <aorta/core/dlpack.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace aorta {
namespace {

TEST(Tensor, Undefined) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  const std::string text = ": tensor must be defined, got an undefined tensor";
  EXPECT_EQ(error_of([&] { none.shape(); }), "shape" + text);
  EXPECT_EQ(error_of([&] { none.size(0); }), "size" + text);
  EXPECT_EQ(error_of([&] { none.stride(0); }), "stride" + text);
  EXPECT_EQ(error_of([&] { none.dim(); }), "dim" + text);
  EXPECT_EQ(error_of([&] { none.numel(); }), "numel" + text);
  EXPECT_EQ(error_of([&] { none.dtype(); }), "dtype" + text);
  EXPECT_EQ(error_of([&] { none.device(); }), "device" + text);
  EXPECT_EQ(error_of([&] { none.is_contiguous(); }), "is_contiguous" + text);
  EXPECT_EQ(error_of([&] { none.data(); }), "data" + text);
  EXPECT_EQ(error_of([&] { none.requires_grad(); }), "requires_grad" + text);
  EXPECT_EQ(error_of([&] { none.impl(); }), "tensor" + text);
  const std::string rule = " must be defined, got an undefined tensor";
  EXPECT_EQ(error_of([&] { none.fill_(1); }), "fill_: input" + rule);
  EXPECT_EQ(error_of([&] { ones({1}).copy_(none); }), "copy_: source" + rule);
  EXPECT_EQ(error_of([&] { none.to(f64); }), "to: input" + rule);
  Tensor x = ones({2});
  const Tensor taken = std::move(x);
  EXPECT_EQ(error_of([&] { add(taken, x); }), "add: other" + rule);
  EXPECT_EQ(error_of([&] { conv2d(ones({1, 1, 2, 2}), x); }), "conv2d: weight" + rule);
  EXPECT_EQ(error_of([&] { cat({taken, x}); }), "cat: tensors[1]" + rule);
  EXPECT_EQ(error_of([&] { index(taken, {x}); }), "index: indices[0]" + rule);
  EXPECT_EQ(error_of([&] { none.item<float>(); }), "item: input" + rule);
  EXPECT_EQ(error_of([&] { none.detach(); }), "detach: input" + rule);
  EXPECT_EQ(error_of([&] { none.requires_grad_(); }), "requires_grad_: input" + rule);
  EXPECT_EQ(error_of([&] { to_dlpack(none); }), "to_dlpack: input" + rule);
}

TEST(Tensor, IsIndexedAsInPython) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_EQ(x(1, 2).item<int>(), 6);
  EXPECT_EQ(x(-1, Slice{1, 3}).to_vector<int>(), (std::vector<int>{9, 10}));
  EXPECT_EQ(x(Ellipsis, None, 0).shape(), Shape({3, 1}));
  EXPECT_EQ(x[Slice{1}].shape(), Shape({2, 4}));
  EXPECT_EQ(x[gt(x, 9)].to_vector<int>(), (std::vector<int>{10, 11}));
  EXPECT_EQ(x[tensor({2, 0})].shape(), Shape({2, 4}));
  EXPECT_EQ(x[-1].shape(), Shape({4}));
  EXPECT_EQ(x[true].shape(), Shape({1, 3, 4}));  // a mask, not 1
  x(0, 1).fill_(7);                              // a view
  EXPECT_EQ(x[0][1].item<int>(), 7);
}

TEST(Tensor, Metadata) {
  const Tensor x = empty({2, 3, 4}, {.dtype = f64});
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.nbytes(), 192);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.stride(0), 12);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_FALSE(x.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(x.storage()->size_bytes(), 192);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % 64, 0u);
  EXPECT_EQ(error_of([&] { x.size(3); }),
            "size: dimension out of range, got dim 3 of a 3-d tensor");
  EXPECT_EQ(error_of([] {
              empty({0}).view({0, INT64_MAX, 4});
            }),
            "view: the number of bytes must fit in 63 bits, got [0,9223372036854775807,4]");
  const Tensor number = ones({});
  for (const int64_t dim : {-1, 0, 1}) {
    const std::string got = ": a 0-d tensor has no dimensions, got dim " + std::to_string(dim);
    EXPECT_EQ(error_of([&] { number.size(dim); }), "size" + got);
    EXPECT_EQ(error_of([&] { number.stride(dim); }), "stride" + got);
  }
  EXPECT_EQ(error_of([&] { x.data<float>(); }),
            "data: the element type must match the dtype, got f32 for a tensor of f64");
}

TEST(Tensor, ElementAccess) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.dtype(), i64);
  EXPECT_EQ((x.at<int64_t>({1, 2})), 6);
  EXPECT_EQ((x.transpose(0, 1).at<int64_t>({2, 1})), 6);
  x.at<int64_t>({0, 0}) = 9;
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{9, 2, 3, 4, 5, 6}));
  EXPECT_EQ(error_of([&] {
              x.at<int64_t>({2, 0});
            }),
            "at: index out of range, got [2,0] for shape [2,3]");
  EXPECT_EQ(error_of([&] {
              x.at<int64_t>({0, -1});
            }),
            "at: index out of range, got [0,-1] for shape [2,3]");
  EXPECT_EQ(error_of([&] { x.at<int64_t>({0}); }),
            "at: one index a dimension, got [0] for shape [2,3]");
  EXPECT_EQ(error_of([&] {
              x.at<float>({0, 0});
            }),
            "data: the element type must match the dtype, got f32 for a tensor of i64");
}

// LibTorch's rule: a fraction is cut, and what the type doesn't hold is refused.
TEST(Tensor, ItemMustFitTheType) {
  const auto refused = [](const std::function<void()>& ask, const char* value) {
    EXPECT_EQ(error_of(ask),
              std::string("item: the value must fit the type that is asked for, got ") + value);
  };
  refused([] { full({}, NAN).item<int>(); }, "nan");
  refused([] { full({}, INFINITY).item<int64_t>(); }, "inf");
  refused([] { full({}, 1e10).item<int>(); }, "1e+10");
  refused([] { full({}, 0x1p63, {.dtype = f64}).item<int64_t>(); }, "9.223372036854776e+18");
  refused([] { full({}, -1.0).item<uint8_t>(); }, "-1");
  refused([] { full({}, 128).item<int8_t>(); }, "128");
  refused([] { full({}, int64_t{1} << 31).item<int>(); }, "2147483648");
  refused([] { full({}, 1e300, {.dtype = f64}).item<float>(); }, "1e+300");
  EXPECT_EQ(full({}, -0x1p63, {.dtype = f64}).item<int64_t>(), INT64_MIN);
  EXPECT_EQ(full({}, -128).item<int8_t>(), -128);
  EXPECT_EQ(full({}, -1).item<uint8_t>(), 255);
  EXPECT_EQ(full({}, -1).item<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(full({}, 1e19, {.dtype = f64}).item<uint64_t>(), 10'000'000'000'000'000'000u);
  refused([] { full({}, 0x1p64, {.dtype = f64}).item<uint64_t>(); }, "1.8446744073709552e+19");
  EXPECT_EQ(full({}, -2.9).item<int>(), -2);
  EXPECT_EQ(full({}, INFINITY, {.dtype = f64}).item<float>(), INFINITY);
  EXPECT_TRUE(full({}, NAN).item<bool>());
  EXPECT_EQ(error_of([] { full({1}, UINT64_MAX); }),
            "number: an integer must be less than 2^63, got 18446744073709551615");
}

TEST(Tensor, ItemOfEveryDType) {
  for (DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    EXPECT_EQ(full({}, 3, {.dtype = dtype}).item<double>(), 3.0) << name(dtype);
    EXPECT_EQ(full({1, 1}, 3, {.dtype = dtype}).item<int>(), 3) << name(dtype);
    EXPECT_EQ(full({}, 3, {.dtype = dtype, .device = "cpu:1"}).item<float>(), 3.0f) << name(dtype);
    EXPECT_EQ(full({}, 3, {.dtype = dtype}).item().is_floating(), is_floating(dtype));
  }
  EXPECT_TRUE(full({}, true).item<bool>());
  EXPECT_TRUE(full({}, true).item().is_boolean());
  EXPECT_EQ(full({}, INT64_MAX).item<int64_t>(), INT64_MAX);
  EXPECT_TRUE(std::isnan(full({}, NAN).item<float>()));
  EXPECT_EQ(tensor({1, 2, 3}).slice(0, 2).item<int>(), 3);
  EXPECT_EQ(error_of([] { zeros({2}).item(); }),
            "item: only a tensor with one element has a value, got [2]");
  EXPECT_EQ(error_of([] { zeros({0}).item(); }),
            "item: only a tensor with one element has a value, got [0]");
}

TEST(Tensor, VersionsCountWrites) {
  const Tensor x = zeros({4});
  const uint32_t start = x.version();
  const Tensor view = x.slice(0, 1, 3);
  EXPECT_EQ(view.version(), start);
  view.fill_(1);
  EXPECT_EQ(x.version(), start + 1);
  x.copy_(ones({4}));
  EXPECT_EQ(view.version(), start + 2);
  add_(view, 1);
  EXPECT_EQ(x.version(), start + 3);
  x.zero_();
  EXPECT_EQ(x.version(), start + 4);
  add(x, 1);
  x.clone().fill_(3);
  EXPECT_EQ(x.version(), start + 4);
  zeros({0}).fill_(1);
  EXPECT_EQ(x.detach().version(), x.version());
}

TEST(Tensor, RequiresGradOfFloatingOnly) {
  const Tensor x = zeros({2});
  EXPECT_FALSE(x.requires_grad());
  x.requires_grad_();
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
  x.requires_grad_(false);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_EQ(error_of([] { zeros({2}, {.dtype = i64, .requires_grad = true}); }),
            "zeros: only floating and complex tensors can require gradients, got i64");
  zeros({2}, {.dtype = i64}).requires_grad_(false);
}

int deleted = 0;
void count_deletion(void* context) { deleted += *static_cast<int*>(context); }

TEST(FromBlob, LivesAsLongAsItsViews) {
  float values[6] = {0, 1, 2, 3, 4, 5};
  int one = 1;
  deleted = 0;
  {
    Tensor view;
    {
      const Tensor x = from_blob(values, {2, 3}, {}, count_deletion, &one);
      EXPECT_EQ(x.data(), values);
      view = x.transpose(0, 1).select(0, 2);
    }
    EXPECT_EQ(deleted, 0);
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{2, 5}));
    view.fill_(7);
    EXPECT_EQ(values[5], 7.0f);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  from_blob(values, {0}, {}, count_deletion, &one);
  EXPECT_EQ(deleted, 2);
}

TEST(FromBlob, Strides) {
  double values[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Tensor x = from_blob(values, {2, 3}, {5, 2}, {.dtype = f64});
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(x.storage()->size_bytes(), 80);
  EXPECT_EQ(error_of([&] {
              from_blob(values, {2, 3}, {5}, {});
            }),
            "from_blob: one stride a dimension, got [5] for shape [2,3]");
  EXPECT_EQ(error_of([&] { from_blob(values, {2}, {-1}, {}); }),
            "from_blob: strides can't be negative, got [-1]");
  EXPECT_EQ(error_of([] { from_blob(nullptr, {2}); }), "from_blob: data must not be null, got [2]");
  EXPECT_EQ(error_of([&] { from_blob(values, {3}, {INT64_MAX / 2}, {}); }),
            "from_blob: the number of bytes must fit in 63 bits, got [3] with strides "
            "[4611686018427387903]");
  EXPECT_EQ(from_blob(nullptr, {0, 3}).numel(), 0);
}

TEST(FromBlob, ADeleterRunsEvenWhenTheTensorIsRefused) {
  float value = 0;
  int one = 1;
  deleted = 0;
  EXPECT_EQ(error_of([&] {
              from_blob(&value, {1}, {.dtype = i64, .requires_grad = true}, count_deletion, &one);
            }),
            "requires_grad_: only floating and complex tensors can require gradients, got i64");
  EXPECT_EQ(deleted, 1);
}

TEST(Tensor, MostDimensions) {
  const Shape shape = Dims::filled(12, 2);
  const Tensor x = arange(4096).view(shape);
  EXPECT_EQ(add(x, x).flatten().to_vector<int64_t>()[4095], 8190);
  Dims order;
  for (int i = 12; i-- > 0;) order.push_back(i);
  const Tensor y = x.permute(order);
  EXPECT_EQ(add(y, x).contiguous().flatten().to_vector<int64_t>()[1], 1 + 2048);
  EXPECT_EQ(error_of([&] { x.unsqueeze(0); }), "tensor: at most 12 dimensions, got 13");
}

TEST(Tensor, ScalarsAndEmptyThroughEverything) {
  const Tensor scalar = tensor(2.5);
  EXPECT_EQ(scalar.dim(), 0);
  EXPECT_TRUE(scalar.is_contiguous());
  EXPECT_EQ(scalar.clone().item<float>(), 2.5f);
  EXPECT_EQ(scalar.to(f16).item<float>(), 2.5f);
  EXPECT_EQ(scalar.expand({2, 2}).contiguous().to_vector<float>(),
            (std::vector<float>{2.5f, 2.5f, 2.5f, 2.5f}));
  EXPECT_EQ(scalar.reshape({1, 1}).shape(), (Shape{1, 1}));
  for (const Shape& shape : {Shape{0}, Shape{2, 0, 3}, Shape{0, 0}}) {
    const Tensor none = zeros(shape);
    EXPECT_EQ(none.numel(), 0);
    EXPECT_TRUE(none.is_contiguous());
    EXPECT_EQ(none.clone().shape(), shape);
    EXPECT_EQ(none.to(f64).shape(), shape);
    EXPECT_EQ(none.contiguous().shape(), shape);
    EXPECT_EQ(exp(none).shape(), shape);
    EXPECT_EQ(none.flatten().shape(), Shape{0});
    EXPECT_TRUE(none.to_vector<float>().empty());
    none.fill_(1);
    none.copy_(zeros(shape));
    EXPECT_FALSE(to_string(none).empty());
  }
}

TEST(Tensor, LogicalDevices) {
  const Tensor x = ones({2, 3}, {.device = "cpu:1"});
  EXPECT_EQ(x.device(), Device("cpu:1"));
  for (const Tensor& y :
       {x.t(), x + 1, x.clone(), x.to(f64), zeros_like(x), x.contiguous(), x[0], exp(x)}) {
    EXPECT_EQ(y.device(), Device("cpu:1"));
  }
  EXPECT_EQ(x.cpu().device(), Device());
  EXPECT_FALSE(x.cpu().shares_storage(x));
  EXPECT_EQ(add(x, full({}, 2.0)).device(), Device("cpu:1"));  // a 0-d CPU tensor goes with any
  EXPECT_EQ(add(full({}, 2.0), x).device(), Device("cpu:1"));
  EXPECT_EQ(error_of([&] { add(x, ones({3})); }),
            "add: tensors must be on one device, got cpu:1 and cpu");
  EXPECT_EQ(error_of([&] {
              add_(ones({2, 3}), x);
            }),
            "add_: tensors must be on one device, got cpu and cpu:1");
}

}  // namespace
}  // namespace aorta

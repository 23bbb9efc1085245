#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/data/opencv.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <opencv2/core.hpp>

namespace aorta::data {
namespace {

TEST(FromMat, IsHeightWidthChannelsAndShares) {
  Tensor x;
  {
    cv::Mat image(2, 3, CV_8UC3);
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 3; ++column)
        image.at<cv::Vec3b>(row, column) =
            cv::Vec3b(static_cast<uchar>(row), static_cast<uchar>(column), 7);
    x = from_mat(image);
    EXPECT_EQ(x.data(), image.data);
    x.at<uint8_t>({0, 2, 2}) = 9;
    EXPECT_EQ(image.at<cv::Vec3b>(0, 2)[2], 9);
  }
  // The image is gone, its memory isn't.
  EXPECT_EQ(to_string(x.shape()), "[2,3,3]");
  EXPECT_EQ(x.at<uint8_t>({1, 2, 0}), 1);
  EXPECT_EQ(x.at<uint8_t>({1, 2, 1}), 2);
  EXPECT_EQ(x.at<uint8_t>({1, 2, 2}), 7);
}

TEST(FromMat, TakesRegionsAndEveryKnownDepth) {
  const cv::Mat image(5, 6, CV_32FC2, cv::Scalar(1, 2));
  const Tensor part = from_mat(image(cv::Rect(1, 2, 3, 2)));
  EXPECT_EQ(to_string(part.shape()), "[2,3,2]");
  EXPECT_EQ(to_string(part.strides()), "[12,2,1]");
  EXPECT_EQ(part.at<float>({1, 2, 1}), 2);
  const std::pair<int, DType> known[] = {
      {CV_8U, u8}, {CV_32S, i32}, {CV_16F, f16}, {CV_32F, f32}, {CV_64F, f64}};
  for (const auto& [depth, dtype] : known)
    EXPECT_EQ(from_mat(cv::Mat(1, 1, CV_MAKETYPE(depth, 1))).dtype(), dtype);
  EXPECT_EQ(to_string(from_mat(cv::Mat(2, 2, CV_8U)).shape()), "[2,2,1]");
  EXPECT_EQ(to_string(from_mat(cv::Mat()).shape()), "[0,0,1]");
  const int sizes[] = {2, 3, 4};
  EXPECT_EQ(to_string(from_mat(cv::Mat(3, sizes, CV_8U)).shape()), "[2,3,4,1]");
  EXPECT_EQ(error_of([] { from_mat(cv::Mat(2, 2, CV_16U)); }),
            "from_mat: depth must be CV_8U, CV_32S, CV_16F, CV_32F or CV_64F, got CV_16U");
}

TEST(ToMat, SharesAndKeepsTheTensorAlive) {
  cv::Mat image;
  Ref<Storage> storage;
  {
    const Tensor x = arange(24, {.dtype = f32}).view({2, 4, 3});
    storage = x.storage();
    image = to_mat(x.narrow(1, 1, 2));
    EXPECT_EQ(image.ptr(), static_cast<uchar*>(x.data()) + 3 * sizeof(float));
  }
  EXPECT_EQ(storage->use_count(), 2);
  EXPECT_EQ(image.rows, 2);
  EXPECT_EQ(image.cols, 2);
  EXPECT_EQ(image.type(), CV_32FC3);
  EXPECT_EQ(image.at<cv::Vec3f>(1, 1)[2], 20);
  const cv::Mat second = image;  // counted like any Mat
  image = cv::Mat();
  EXPECT_EQ(second.at<cv::Vec3f>(0, 0)[0], 3);
  EXPECT_EQ(storage->use_count(), 2);
  cv::Mat third = second.clone();
  EXPECT_EQ(third.at<cv::Vec3f>(0, 1)[1], 7);
  const_cast<cv::Mat&>(second).release();
  EXPECT_EQ(storage->use_count(), 1);
}

TEST(ToMat, ANewSizeTakesNewMemory) {
  const Tensor x = zeros({2, 2}, {.dtype = u8});
  cv::Mat image = to_mat(x);
  image.create(8, 8, CV_8U);
  image.setTo(5);
  EXPECT_EQ(x.at<uint8_t>({1, 1}), 0);
  EXPECT_EQ(x.storage()->use_count(), 1);
}

TEST(ToMat, RoundTripsAndRefuses) {
  const Tensor x = arange(12, {.dtype = i32}).view({3, 4});
  const Tensor back = from_mat(to_mat(x));
  EXPECT_EQ(back.data(), x.data());
  EXPECT_EQ(back.to_vector<int>(), x.to_vector<int>());
  EXPECT_TRUE(to_mat(zeros({0, 3}, {.dtype = u8})).empty());
  EXPECT_EQ(to_mat(zeros({1, 5, 1}, {.dtype = u8})).cols, 5);
  EXPECT_EQ(error_of([&] { to_mat(x.t()); }),
            "to_mat: the pixels of a row must lie one after another; use contiguous(), got [4,3] "
            "with strides [1,4]");
  EXPECT_EQ(error_of([] {
              to_mat(zeros({1, 3}).expand({2, 3}));
            }),
            "to_mat: the pixels of a row must lie one after another; use contiguous(), got [2,3] "
            "with strides [0,1]");
  EXPECT_EQ(error_of([&] { to_mat(x.to(i64)); }),
            "to_mat: dtype must be u8, i32, f16, f32 or f64, got i64");
  EXPECT_EQ(error_of([&] { to_mat(x[0]); }), "to_mat: shape must be (H, W) or (H, W, C), got [4]");
  EXPECT_EQ(error_of([] {
              to_mat(zeros({2, 2, 513}));
            }),
            "to_mat: 1 to 512 channels, and sizes below 2^31, got [2,2,513]");
}

}  // namespace
}  // namespace aorta::data

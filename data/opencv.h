#pragma once

#include <aorta/core/tensor.h>

namespace cv {
class Mat;
}

// Tensors as OpenCV images and back, without a copy; target //data:opencv, which nothing else
// links. Dtypes: u8 (CV_8U), i32 (CV_32S), f16 (CV_16F), f32 (CV_32F), f64 (CV_64F). Channels stay
// in OpenCV's order (blue, green, red).

namespace aorta::data {

/// An image as a tensor (H, W, C), C = 1 for a grey one; a Mat of n dimensions as one of n + 1.
/// Rows may have gaps (a region of interest). The tensor holds a reference to the Mat's memory;
/// what the Mat doesn't own must outlive the tensor. Error: a depth without a dtype.
Tensor from_mat(const cv::Mat& image);

/// A tensor (H, W) or (H, W, C) as an image, which keeps the tensor's memory alive. The pixels of a
/// row must lie one after another and rows not overlap; C is at most 512. Writes through the Mat
/// don't show in the tensor's version. Errors: another shape, layout, dtype or device.
cv::Mat to_mat(const Tensor& image);

}  // namespace aorta::data

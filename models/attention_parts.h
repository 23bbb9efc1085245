#pragma once

#include <aorta/core/tensor.h>

// What is added to the products of attention for the distance of two positions of a square, with
// torchvision's tables.

namespace aorta::models::detail {

/// Where each pair of the window^2 positions finds its distance in a table of (2 window - 1)^2
/// rows: (window^2, window^2), i64.
Tensor pair_distances(int64_t window);

/// The rows of table (distances, heads) for index, of L^2 elements -> (heads, L, L).
Tensor distance_bias(const Tensor& table, const Tensor& index);

/// A table that starts as torchvision's: ((2 window - 1)^2, heads), normal with deviation 0.02.
Tensor distance_table(int64_t window, int64_t heads);

}  // namespace aorta::models::detail

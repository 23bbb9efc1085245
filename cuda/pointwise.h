#pragma once

namespace aorta::cuda {

/// The op lists are compiled in parts, so that no file takes long: op i stands in part
/// i % kPointwiseParts.
inline constexpr int kPointwiseParts = 8;

/// Fills the CUDA column of the pointwise ops of one part.
template <int part>
void register_pointwise_part();

}  // namespace aorta::cuda

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/models/attention_parts.h>
#include <aorta/nn/init.h>

#include <cmath>
#include <vector>

namespace aorta::models::detail {

Tensor pair_distances(int64_t window) {
  const int64_t span = 2 * window - 1, positions = window * window;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < positions; ++i)
    for (int64_t j = 0; j < positions; ++j)
      places.push_back((i / window - j / window + window - 1) * span + i % window - j % window +
                       window - 1);
  return tensor(places).reshape({positions, positions});
}

Tensor distance_bias(const Tensor& table, const Tensor& index) {
  const auto positions =
      static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(index.numel()))));
  return index_select(table, 0, index.reshape({-1}))
      .reshape({positions, positions, table.size(1)})
      .permute({2, 0, 1});
}

Tensor distance_table(int64_t window, int64_t heads) {
  const int64_t span = 2 * window - 1;
  return nn::init::trunc_normal_(empty({span * span, heads}), {.std = 0.02});
}

}  // namespace aorta::models::detail

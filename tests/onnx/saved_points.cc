// Pictures read at points between their elements, and numbers taken apart.
#include <aorta/aorta.h>
#include <aorta/tests/onnx/saved_networks.h>

namespace aorta::onnx {
namespace {

using Tensors = std::vector<Tensor>;

}  // namespace

SavedNetwork points_of_grids() {
  manual_seed(0);
  const auto run = [](const Tensors& in) {
    const Tensor &image = in[0], &grid = in[1], turned = nn::affine_grid(in[2], image.shape());
    using enum nn::GridSamplePadding;
    return Tensors{nn::grid_sample(image, grid),
                   nn::grid_sample(image, grid, {.padding_mode = border, .align_corners = true}),
                   nn::grid_sample(image, grid, {.padding_mode = reflection}),
                   nn::grid_sample(image, grid, {.mode = nn::GridSampleMode::nearest}),
                   nn::grid_sample(image, grid, {.mode = nn::GridSampleMode::bicubic}),
                   nn::grid_sample(image, turned),
                   turned};
  };
  const auto inputs = [](int64_t batch) {
    // No point on an element, where the derivative jumps.
    return Tensors{randn({batch, 2, 5, 6}), randn({batch, 3, 4, 2}) * 0.9, randn({batch, 2, 3})};
  };
  return {std::make_shared<nn::Module>(), run, inputs(2), inputs(3)};
}

SavedNetwork mantissas() {
  manual_seed(0);
  const auto run = [](const Tensors& in) {
    const Tensor x = in[0], sizes = x * (10 * x).exp();
    const auto [small, of_small] = frexp(sizes * 1e-20);
    const auto [large, of_large] = frexp(sizes * 1e20);
    const Tensor wide = sizes.to(f64);
    const auto [ends, of_ends] = frexp(x.relu());  // 0 as it is
    return Tensors{small,
                   of_small,
                   large,
                   of_large,
                   ends,
                   of_ends,
                   frexp(sizes * 1e-38).exponent,  // subnormal numbers among them
                   frexp(1 / x.relu().round()).exponent,
                   frexp(wide * 1e-290).mantissa,
                   frexp(wide * 1e290).exponent,
                   frexp(x.to(bf16)).mantissa.to(f32)};
  };
  return {std::make_shared<nn::Module>(), run, {randn({2, 3, 4})}, {randn({3, 3, 4})}};
}

}  // namespace aorta::onnx

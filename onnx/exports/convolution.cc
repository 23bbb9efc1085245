#include <aorta/core/body/im2col.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/im2col.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/onnx/export_call.h>

#include <algorithm>

// Convolutions, blocks of images, and resampling.
namespace aorta::onnx {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionPlan;

std::vector<int64_t> numbers(const ConvolutionPlan& plan, int64_t ConvDim::*field) {
  std::vector<int64_t> result;
  for (int d = 3 - plan.spatial; d < 3; ++d) result.push_back(plan.dims[d].*field);
  return result;
}

Attributes window(const ConvolutionPlan& plan, std::vector<int64_t> pads) {
  return {attribute("kernel_shape", numbers(plan, &ConvDim::kernel)),
          attribute("strides", numbers(plan, &ConvDim::stride)),
          attribute("dilations", numbers(plan, &ConvDim::dilation)),
          attribute("pads", std::move(pads)), attribute("group", plan.groups)};
}

Names operands(const ExportCall& call) {
  Names inputs{call[0], call[1]};
  if (call.has(2)) inputs.push_back(call[2]);
  return inputs;
}

Names convolution(const ExportCall& call) {
  const auto& [plan] = call.options<ConvolutionPlan>();
  std::vector<int64_t> pads = numbers(plan, &ConvDim::padding), after;
  for (int d = 3 - plan.spatial; d < 3; ++d) {
    const ConvDim& dim = plan.dims[d];
    // "same" pads one more behind where the reach is even.
    const int64_t needed = (dim.output - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1 -
                           dim.input - dim.padding;
    after.push_back(std::max(dim.padding, needed));
  }
  pads.insert(pads.end(), after.begin(), after.end());
  return {call.node("Conv", operands(call), window(plan, std::move(pads)))};
}

Names convolution_transpose(const ExportCall& call) {
  const auto& [plan] = call.options<ConvolutionPlan>();
  std::vector<int64_t> pads = numbers(plan, &ConvDim::padding), more;
  const std::vector<int64_t> after = pads;
  pads.insert(pads.end(), after.begin(), after.end());
  for (int d = 3 - plan.spatial; d < 3; ++d) {
    const ConvDim& dim = plan.dims[d];
    more.push_back(dim.input - ((dim.output - 1) * dim.stride - 2 * dim.padding +
                                (dim.kernel - 1) * dim.dilation + 1));
  }
  Attributes attributes = window(plan, std::move(pads));
  attributes.push_back(attribute("output_padding", std::move(more)));
  return {call.node("ConvTranspose", operands(call), attributes)};
}

// Weights of a single 1 each, which take the taps of a block apart: (channels * taps, 1, kernel).
std::string taps_of(const ExportCall& call, const kernel::BlockPlan& plan, int64_t channels) {
  const int64_t h = plan.height.kernel, w = plan.width.kernel;
  const Tensor one = eye(h * w, {.dtype = call.input(0).dtype()}).reshape({h * w, 1, h, w});
  return call.constant(one.expand({channels, h * w, 1, h, w}).reshape({channels * h * w, 1, h, w}));
}
Attributes window(const kernel::BlockPlan& plan, int64_t channels) {
  const body::Im2colDim &h = plan.height, &w = plan.width;
  return {attribute("kernel_shape", {h.kernel, w.kernel}),
          attribute("strides", {h.stride, w.stride}),
          attribute("dilations", {h.dilation, w.dilation}),
          attribute("pads", {h.padding, w.padding, h.padding, w.padding}),
          attribute("group", channels)};
}

// The columns of an image are its convolution with such weights.
Names im2col(const ExportCall& call) {
  const auto& [plan] = call.options<kernel::BlockPlan>();
  const Shape& shape = call.input(0).shape();
  call.check(shape.size() == 4, "the image must be (N, C, H, W)", shape);
  const std::string columns =
      call.node("Conv", {call[0], taps_of(call, plan, shape[1])}, window(plan, shape[1]));
  return {call.reshaped(columns, call.output().shape())};
}

// And the image is their transposed convolution.
Names col2im(const ExportCall& call) {
  const auto& [plan] = call.options<kernel::BlockPlan>();
  const Shape &from = call.input(0).shape(), &to = call.output().shape();
  call.check(from.size() == 3 && to.size() == 4, "the columns must be (N, C * taps, L)", from);
  Attributes attributes = window(plan, to[1]);
  std::vector<int64_t> more;
  for (const body::Im2colDim& dim : {plan.height, plan.width})
    more.push_back(dim.input - ((dim.output - 1) * dim.stride - 2 * dim.padding +
                                (dim.kernel - 1) * dim.dilation + 1));
  attributes.push_back(attribute("output_padding", std::move(more)));
  const std::string maps =
      call.reshaped(call[0], {from[0], from[1], plan.height.output, plan.width.output});
  return {call.node("ConvTranspose", {maps, taps_of(call, plan, to[1])}, attributes)};
}

// What both nearest modes read, a dimension at a time: readers find other places where they divide.
std::string picked(const ExportCall& call, const kernel::InterpolatePlan& plan) {
  std::string value = call[0];
  for (int d = 0; d < plan.spatial; ++d) {
    const kernel::InterpolateTable& table = plan.tables[3 - plan.spatial + d];
    const std::vector<int64_t> places(table.index.begin(), table.index.end());
    // Places ascend: as many as there are, none of them twice, are all.
    const bool all = table.input == table.output &&
                     std::adjacent_find(places.begin(), places.end()) == places.end();
    if (!all)
      value = call.node("Gather", {value, call.integers(places)}, {attribute("axis", 2 + d)});
  }
  return value;
}

// A linear map of each spatial dimension: a product with its weights, for which it comes last.
std::string weighted(const ExportCall& call, const kernel::InterpolatePlan& plan) {
  const int ndim = call.input(0).dim();
  std::string value = call[0];
  for (int d = 0; d < plan.spatial; ++d) {
    const kernel::InterpolateTable& table = plan.tables[3 - plan.spatial + d];
    const Tensor weights = zeros({table.input, table.output}, {.dtype = f64});
    for (int64_t o = 0; o < table.output; ++o) {
      const auto place = static_cast<size_t>(o);
      for (auto i = static_cast<size_t>(table.first[place]);
           i < static_cast<size_t>(table.first[place + 1]); ++i)
        weights.at<double>({table.index[i], o}) += table.weight[i];
    }
    std::vector<int64_t> order;
    for (int i = 0; i < ndim; ++i) order.push_back(i);
    std::swap(order[static_cast<size_t>(ndim - plan.spatial + d)], order.back());
    const Attributes swap{attribute("perm", order)};
    const std::string matrix = call.constant(weights.to(call.input(0).dtype()));
    value = call.node("MatMul", {call.node("Transpose", {value}, swap), matrix});
    value = call.node("Transpose", {value}, swap);
  }
  return value;
}
Names resample(const ExportCall& call) {
  const auto& [plan] = call.options<kernel::InterpolatePlanRef>();
  return {weighted(call, *plan)};
}

Names interpolate(const ExportCall& call) {
  const auto& [options] = call.options<InterpolateOptions>();
  const Shape &from = call.input(0).shape(), &to = call.output().shape();
  const InterpolateMode mode = options.mode;
  if (mode == InterpolateMode::nearest || mode == InterpolateMode::nearest_exact)
    return {picked(call, *kernel::interpolate_plan(from, to, options))};
  if (mode == InterpolateMode::area || options.antialias)  // not as ONNX's Resize of opset 17
    return {weighted(call, *kernel::interpolate_plan(from, to, options))};
  const bool is_cubic = mode == InterpolateMode::bicubic;
  const bool is_aligned = options.align_corners.value_or(false);
  Attributes attributes{
      attribute("mode", is_cubic ? "cubic" : "linear"),
      attribute("coordinate_transformation_mode", is_aligned ? "align_corners" : "half_pixel")};
  if (is_cubic) attributes.push_back(attribute("cubic_coeff_a", -0.75));
  // A factor that was given counts itself, and not the ratio of the sizes.
  const bool by_factor =
      options.scale_factor.size() > 0 && !options.recompute_scale_factor && !is_aligned;
  if (!by_factor)
    return {call.node("Resize", {call[0], "", "", call.integers(list_of(to))}, attributes)};
  const Tensor scales = ones({from.size()}, {.dtype = DType::f32});
  for (int d = 2; d < from.size(); ++d) {
    // The linear modes copy a dimension whose size stays.
    if (from[d] == to[d] && !is_cubic) continue;
    const size_t given = options.scale_factor.size() == 1 ? 0 : static_cast<size_t>(d - 2);
    const auto factor = static_cast<float>(options.scale_factor[given]);
    scales.data<float>()[d] = factor;
    // Readers round down the factor's product in f32, or in f64, and copy where no size changes.
    const auto size = static_cast<double>(from[d]), product = static_cast<double>(factor) * size;
    if (static_cast<int64_t>(static_cast<float>(product)) != to[d] ||
        static_cast<int64_t>(product) != to[d] || from == to)
      return {weighted(call, *kernel::interpolate_plan(from, to, options))};
  }
  return {call.node("Resize", {call[0], "", call.constant(scales)}, attributes)};
}

}  // namespace

void add_convolution_exports(Exports& table) {
  table["convolution"] = convolution;
  table["convolution_transpose"] = convolution_transpose;
  table["im2col"] = im2col;
  table["col2im"] = col2im;
  table["interpolate"] = interpolate;
  table["resample"] = resample;
}

}  // namespace aorta::onnx

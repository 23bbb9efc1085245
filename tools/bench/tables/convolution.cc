// The 61 convolutions of DeepLabV3-ResNet50 on images of 112x112, and some in groups: forward and
// both gradients, against oneDNN's direct ones. Its weights are in its own layout before; ours are
// packed in each run. The first row of a kind is the whole network.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

// Channels in and out, kernel, stride, padding, dilation, size, size of the output, count.
const std::vector<ConvolutionShape>& network() {
  static const std::vector<ConvolutionShape> shapes = {
      {3, 64, 7, 2, 3, 1, 112, 56, 1, true}, {64, 64, 1, 1, 0, 1, 28, 28, 1},
      {64, 64, 3, 1, 1, 1, 28, 28, 3},       {64, 256, 1, 1, 0, 1, 28, 28, 4},
      {256, 64, 1, 1, 0, 1, 28, 28, 2},      {256, 128, 1, 1, 0, 1, 28, 28, 1},
      {128, 128, 3, 2, 1, 1, 28, 14, 1},     {128, 512, 1, 1, 0, 1, 14, 14, 4},
      {256, 512, 1, 2, 0, 1, 28, 14, 1},     {512, 128, 1, 1, 0, 1, 14, 14, 3},
      {128, 128, 3, 1, 1, 1, 14, 14, 3},     {512, 256, 1, 1, 0, 1, 14, 14, 1},
      {256, 256, 3, 1, 1, 1, 14, 14, 2},     {256, 1024, 1, 1, 0, 1, 14, 14, 6},
      {512, 1024, 1, 1, 0, 1, 14, 14, 1},    {1024, 256, 1, 1, 0, 1, 14, 14, 5},
      {256, 256, 3, 1, 2, 2, 14, 14, 5},     {1024, 512, 1, 1, 0, 1, 14, 14, 1},
      {512, 512, 3, 1, 2, 2, 14, 14, 1},     {512, 2048, 1, 1, 0, 1, 14, 14, 3},
      {1024, 2048, 1, 1, 0, 1, 14, 14, 1},   {2048, 512, 1, 1, 0, 1, 14, 14, 2},
      {512, 512, 3, 1, 4, 4, 14, 14, 2},     {2048, 256, 1, 1, 0, 1, 14, 14, 1},
      {2048, 256, 3, 1, 12, 12, 14, 14, 1},  {2048, 256, 3, 1, 24, 24, 14, 14, 1},
      {2048, 256, 3, 1, 36, 36, 14, 14, 1},  {2048, 256, 1, 1, 0, 1, 1, 1, 1},
      {1280, 256, 1, 1, 0, 1, 14, 14, 1},    {256, 1, 1, 1, 0, 1, 14, 14, 1}};
  return shapes;
}

// Depthwise layers of MobileNetV2 and ConvNeXt, and those in groups of ResNeXt-50.
const std::vector<ConvolutionShape>& grouped() {
  static const std::vector<ConvolutionShape> shapes = {
      {32, 32, 3, 1, 1, 1, 56, 56, 1, false, 32},    {96, 96, 3, 2, 1, 1, 56, 28, 1, false, 96},
      {144, 144, 3, 1, 1, 1, 28, 28, 1, false, 144}, {384, 384, 3, 1, 1, 1, 14, 14, 1, false, 384},
      {96, 96, 7, 1, 3, 1, 56, 56, 1, false, 96},    {384, 384, 7, 1, 3, 1, 14, 14, 1, false, 384},
      {768, 768, 7, 1, 3, 1, 7, 7, 1, false, 768},   {128, 128, 3, 1, 1, 1, 56, 56, 1, false, 32},
      {256, 256, 3, 1, 1, 1, 28, 28, 1, false, 32},  {512, 512, 3, 1, 1, 1, 14, 14, 1, false, 32},
      {1024, 1024, 3, 1, 1, 1, 7, 7, 1, false, 32}};
  return shapes;
}

// One shape's operands and what is computed of them.
struct Layer {
  ConvolutionOperands operands;
  kernel::ConvolutionPlan plan;
  ConvolutionParts parts;
  int64_t count;

  Layer(const ConvolutionShape& s, int64_t batch, DType dtype, const ConvolutionParts& wanted)
      : operands(s, batch, dtype), parts(wanted), count(s.count) {
    for (int d = 1; d < 3; ++d)
      plan.dims[d] = {s.size, s.output, s.kernel, s.stride, s.padding, s.dilation};
    plan.groups = s.groups;
    parts.input &= !s.of_image;
  }

  template <class F>
  void run(const F& result) const {
    const auto& [x, w, y] = operands;
    if (parts.forward) result(kernel::convolution(x, w, {}, plan));
    if (parts.input) result(kernel::convolution_transpose(y, w, {}, plan));
    if (parts.weight) result(kernel::convolution_weight(x, y, plan, true));
  }
};

Side ours(const std::vector<ConvolutionShape>& shapes, int64_t batch, DType dtype,
          const ConvolutionParts& parts) {
  std::vector<Layer> layers;
  for (const ConvolutionShape& shape : shapes) layers.emplace_back(shape, batch, dtype, parts);
  return {.name = "Aorta",
          .run =
              [layers](int64_t repetitions) {
                const double start = seconds_now();
                for (int64_t i = 0; i < repetitions; ++i) {
                  for (const Layer& layer : layers) {
                    for (int64_t k = 0; k < layer.count; ++k) layer.run([](const Tensor&) {});
                  }
                }
                return seconds_now() - start;
              },
          .values =
              [layers] {
                std::vector<double> values;
                for (const Layer& layer : layers) {
                  layer.run([&](const Tensor& result) {
                    for (const double x : sample(result)) values.push_back(x);
                  });
                }
                return values;
              }};
}

// Multiplications and additions, padding counted.
double flops(const ConvolutionShape& s, int64_t batch, const ConvolutionParts& parts) {
  const int computations = parts.forward + (parts.input && !s.of_image) + parts.weight;
  return 2.0 * computations * static_cast<double>(s.count * batch * s.in * s.out / s.groups) *
         static_cast<double>(s.kernel * s.kernel * s.output * s.output);
}

struct Layers {
  std::string name;
  std::vector<ConvolutionShape> shapes;
  int64_t batch;
  DType dtype;
  Target target = {};
  ConvolutionParts parts = {};
};

void add_row(Rows& rows, const Plan& plan, const Layers& layers) {
  const auto& [name, shapes, batch, dtype, target, parts] = layers;
  double work = 0;
  for (const ConvolutionShape& shape : shapes) work += flops(shape, batch, parts);
  rows.push_back({.name = fmt::format("{}, {}, batch {}", name, aorta::name(dtype), batch),
                  .threads = plan.threads.back(),
                  .unit = Unit::flops,
                  .work = work,
                  .target = target,
                  .tolerance = dtype == f32 ? 1e-4 : 0.05,  // two roundings to 8 bits
                  .make = [shapes = shapes, batch = batch, dtype = dtype, parts = parts] {
                    return Case{
                        .ours = ours(shapes, batch, dtype, parts),
                        .reference = onednn_convolution_side(shapes, batch, dtype, parts, false),
                        .peer = onednn_convolution_side(shapes, batch, dtype, parts, true)};
                  }});
}

}  // namespace

ConvolutionOperands::ConvolutionOperands(const ConvolutionShape& s, int64_t batch, DType dtype) {
  const auto last = [&](const Shape& shape, int64_t seed) {
    return make(shape, -1, 1, seed, dtype).contiguous(MemoryFormat::channels_last);
  };
  x = last({batch, s.in, s.size, s.size}, 1);
  w = last({s.out, s.in / s.groups, s.kernel, s.kernel}, 2);
  y = last({batch, s.out, s.output, s.output}, 3);
}

Rows convolution_rows(const Plan& plan) {
  Rows rows;
  const ConvolutionParts input{false, true, false}, weight{false, false, true};
  const std::vector<int64_t> batches =
      plan.tiny ? std::vector<int64_t>{1} : std::vector<int64_t>{8, 20};
  for (const int64_t batch : batches) {
    for (const DType dtype : {f32, bf16}) {
      add_row(rows, plan, {"all 61", network(), batch, dtype, at_most(dtype == f32 ? 0.75 : 0.80)});
      for (const ConvolutionShape& s : network()) {
        const std::string name = fmt::format("{}x{} k{} s{} d{} {}x{}", s.in, s.out, s.kernel,
                                             s.stride, s.dilation, s.size, s.size);
        // Layers of more than 1 % of the whole.
        const bool large = flops(s, 1, {}) / static_cast<double>(s.count) > 4.7e8;
        ConvolutionShape once = s;
        once.count = 1;
        add_row(rows, plan, {name, {once}, batch, dtype, large ? at_most(1.03) : Target{}});
        if (s.dilation < 12) continue;
        const bool apart = s.dilation > 12;
        add_row(
            rows, plan,
            {name + " x gradient", {once}, batch, dtype, apart ? at_most(0.2) : Target{}, input});
        add_row(rows, plan,
                {name + " w gradient",
                 {once},
                 batch,
                 dtype,
                 apart ? at_most(0.2) : at_most(1.0 / 3),
                 weight});
      }
      for (const ConvolutionShape& s : grouped()) {
        const std::string name = fmt::format("{}x{} in {} groups k{} s{} {}x{}", s.in, s.out,
                                             s.groups, s.kernel, s.stride, s.size, s.size);
        add_row(rows, plan, {name, {s}, batch, dtype});
      }
    }
  }
  return rows;
}

}  // namespace aorta::bench

#include <aorta/tests/nn/function_cases.h>

namespace aorta::nn {
namespace {

void add_bags(std::vector<FunctionCase>& cases) {
  using Mode = EmbeddingBagMode;
  for (const auto& [suffix, m] :
       {std::pair{"sum", Mode::sum}, std::pair{"mean", Mode::mean}, std::pair{"max", Mode::max}}) {
    const std::string name = std::string("bag_") + suffix;
    const Mode mode = m;
    cases.push_back({name, {"flat", "weight", "offsets"}, [mode](const Tensors& in) {
                       return embedding_bag(in[0], in[1], in[2], {.mode = mode});
                     }});
    cases.push_back(
        {name + "_padding", {"flat", "weight", "offsets_last"}, [mode](const Tensors& in) {
           // i32, and a row that is counted from the end.
           return embedding_bag(in[0].to(DType::i32), in[1], in[2].to(DType::i32),
                                {.mode = mode, .include_last_offset = true, .padding_idx = -1});
         }});
  }
  cases.push_back({"bag_factors", {"flat", "weight", "offsets", "factors"}, [](const Tensors& in) {
                     return embedding_bag(in[0], in[1], in[2],
                                          {.mode = Mode::sum, .per_sample_weights = in[3]});
                   }});
}

Tensor all_grid_samples(const Tensors& in, GridSampleMode mode) {
  Tensors results;
  for (const auto padding :
       {GridSamplePadding::zeros, GridSamplePadding::border, GridSamplePadding::reflection}) {
    for (const bool align : {false, true}) {
      results.push_back(grid_sample(
          in[0], in[1], {.mode = mode, .padding_mode = padding, .align_corners = align}));
    }
  }
  return stack(results);
}

}  // namespace

std::vector<FunctionCase> function_cases() {
  std::vector<FunctionCase> cases;
  add_bags(cases);
  for (const std::string d : {"2", "3"}) {
    const std::vector<std::string> inputs{"image" + d, "grid" + d};
    using Mode = GridSampleMode;
    for (const auto& [name, m] :
         {std::pair{"bilinear", Mode::bilinear}, std::pair{"nearest", Mode::nearest},
          std::pair{"bicubic", Mode::bicubic}}) {
      const Mode mode = m;
      if (mode == Mode::bicubic && d == "3") continue;
      cases.push_back({"grid_sample" + d + "_" + name, inputs,
                       [mode](const Tensors& in) { return all_grid_samples(in, mode); }});
    }
    const Shape size = d == "2" ? Shape{2, 1, 3, 1} : Shape{2, 1, 3, 1, 4};
    for (const bool align : {false, true}) {
      cases.push_back({"affine_grid" + d + (align ? "_True" : "_False"),
                       {"theta" + d},
                       [=](const Tensors& in) { return affine_grid(in[0], size, align); }});
    }
  }
  return cases;
}

const Fixture& function_fixtures() {
  static const Fixture all = read_fixture("functions");
  return all;
}

Tensors leaves_of(const FunctionCase& one, DType dtype, Device device) {
  Tensors leaves;
  for (const std::string& name : one.inputs) {
    const Tensor& value = function_fixtures().at("inputs/" + name);
    leaves.push_back(
        is_floating(value.dtype())
            ? value.to({.dtype = dtype, .device = device, .copy = true}).requires_grad_()
            : value.to(device));
  }
  return leaves;
}

std::string function_difference(const FunctionCase& one, DType dtype, Device device) {
  const Fixture fixture = part(function_fixtures(), one.name);
  if (fixture.empty()) return "there is no fixture";
  const double tolerance = dtype == DType::f64 ? 1e-12 : 5e-5;
  std::string text;
  const auto compare = [&](const Tensor& got, const Tensor& wanted, const std::string& what) {
    const auto result = near(got, wanted, tolerance);
    if (!result) text += what + ": " + result.message() + "\n";
  };
  const Tensors inputs = leaves_of(one, dtype, device);
  const Tensor out = one.call(inputs);
  if (out.dtype() != dtype) text += "the output has another dtype\n";
  if (out.device() != device) text += "the output is on another device\n";
  compare(out, fixture.at("out"), "output");
  // As in make_nn.py.
  out.backward(cos(arange(out.numel(), {.dtype = dtype, .device = device})).reshape(out.shape()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = fixture.find("din" + std::to_string(i));
    if (found != fixture.end())
      compare(inputs[i].grad(), found->second, "gradient " + std::to_string(i));
  }
  return text;
}

}  // namespace aorta::nn

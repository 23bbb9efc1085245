// Layers, losses and functions on a GPU, as PyTorch's: outputs, gradients, buffers and eval mode.
#include <aorta/tests/needs_gpu.h>
#include <aorta/tests/nn/function_cases.h>
#include <aorta/tests/nn/layer_cases.h>
#include <aorta/tests/nn/loss_cases.h>

namespace aorta::nn {
namespace {

template <class OneCase>
class OnADevice : public NeedsGpu, public testing::WithParamInterface<OneCase> {};

using LayersOnADevice = OnADevice<Case>;
using LossesOnADevice = OnADevice<LossCase>;
using FunctionsOnADevice = OnADevice<FunctionCase>;

const auto name_of = [](const auto& test) { return test.param.name; };

TEST_P(LayersOnADevice, AgreesWithPyTorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    EXPECT_EQ(layer_difference(GetParam(), GetParam().make, dtype, "cuda:0"), "")
        << to_string(dtype);
}

TEST_P(LossesOnADevice, AgreesWithPyTorch) {
  EXPECT_EQ(loss_difference(GetParam().name, GetParam().call.run, "cuda:0"), "");
}

TEST_P(FunctionsOnADevice, AgreesWithPyTorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    EXPECT_EQ(function_difference(GetParam(), dtype, "cuda:0"), "") << to_string(dtype);
}

INSTANTIATE_TEST_SUITE_P(All, LayersOnADevice, testing::ValuesIn(layer_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(All, LossesOnADevice, testing::ValuesIn(loss_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(All, FunctionsOnADevice, testing::ValuesIn(function_cases()), name_of);

}  // namespace
}  // namespace aorta::nn

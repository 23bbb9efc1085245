#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/core/elements.h>

#include <gtest/gtest.h>

// What PyTorch 2.15 gives where an op's rule isn't plain arithmetic; the catalogue has the rest.
namespace {

using namespace aorta;
using namespace aorta::testing;

TEST(Pointwise, IntegersToNegativePowers) {
  for (const DType dtype : {i64, i32}) {
    const Tensor base = tensor({2, 1, -1, -1, 0, -2, 5}).to(dtype);
    const Tensor power = tensor({-1, -3, -1, -2, 0, -3, 2}).to(dtype);
    const Tensor result = pow(base, power);
    EXPECT_EQ(result.dtype(), dtype);
    expect_values(result, {7}, {0, 1, -1, 1, 1, 0, 25});
    expect_values(pow(base, tensor(-1).to(dtype)), {7}, {0, 1, -1, -1, 0, 0, 0});
  }
  expect_values(pow(2, tensor({-1, 2})), {2}, {0, 4});
  expect_values(pow(0, tensor({-1, 2})), {2}, {0, 0});
  const Tensor mixed = pow(tensor({2, 1, 3}).to(u8), tensor({-1, -1, 2}).to(i32));
  EXPECT_EQ(mixed.dtype(), i32);
  expect_values(mixed, {3}, {0, 1, 9});
  expect_error([] { pow(tensor({2}), -1); }, "pow: an integer can't have a negative power, got -1");
  const Tensor self = tensor({2});
  expect_error([&] { pow_(self, -1); }, "pow: an integer can't have a negative power, got -1");
  EXPECT_EQ(self.version(), 0u);
}

}  // namespace

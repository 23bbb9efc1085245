#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <set>

namespace aorta {
namespace {

using namespace kernel;

using TestOp = Op<int (*)(int), void (*)(int)>;
constinit TestOp lonely_op{"lonely"};
constinit TestOp filled_op{"filled"};

TEST(KernelRegistry, NamesAreUnique) {
  std::set<std::string> names;
  for (const OpRow* row = first_op(); row; row = row->next()) {
    EXPECT_TRUE(names.insert(row->name()).second) << row->name();
  }
  EXPECT_GT(names.size(), 100u);
  EXPECT_TRUE(names.count("add") && names.count("to") && names.count("view"));
}

TEST(KernelRegistry, MissingEntriesSayWhich) {
  EXPECT_FALSE(lonely_op.has_kernel(DeviceType::cpu));
  EXPECT_EQ(error_of([] { lonely_op.kernel("cpu"); }),
            "lonely: there must be a kernel for the device, got cpu");
  EXPECT_THROW(lonely_op.kernel("cpu"), MissingKernel);
  EXPECT_EQ(error_of([] { lonely_op.gradient(); }),
            "lonely: an op whose input requires a gradient must have a gradient entry, got none");
  if (!cuda::is_available()) {
    EXPECT_NE(error_of([] { lonely_op.kernel("cuda:0"); }), "no error");
  }
}

TEST(KernelRegistry, SettingAnEntryLinksTheRowOnce) {
  const auto count = [] {
    int found = 0;
    for (const OpRow* row = first_op(); row; row = row->next()) found += row == &filled_op;
    return found;
  };
  EXPECT_EQ(count(), 0);
  filled_op.set_kernel(DeviceType::cpu, [](int x) { return x + 1; });
  filled_op.set_gradient([](int) {});
  filled_op.link();
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(filled_op.has_kernel(DeviceType::cpu));
  EXPECT_FALSE(filled_op.has_kernel(DeviceType::cuda));
  EXPECT_TRUE(filled_op.has_gradient());
  EXPECT_EQ(filled_op.kernel("cpu:3")(4), 5);
}

TEST(KernelRegistry, AnInputThatNeedsAGradientAsksForTheEntry) {
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_TRUE(needs_gradient(x));
  set_grad_mode({.enabled = false});
  EXPECT_FALSE(needs_gradient(x));
  EXPECT_FALSE(add(x, 1).requires_grad());
  set_grad_mode({});
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE(needs_gradient(Tensor()));
  EXPECT_FALSE(needs_gradient(ones({2})));
  EXPECT_FALSE(eq(x, x).requires_grad());  // a result that isn't floating has no gradient
}

}  // namespace
}  // namespace aorta

// Our declarations of CUDA's names against the toolkit's.
#include <aorta/tests/cuda/emulated/header_facts.h>

#include <gtest/gtest.h>

namespace aorta::emulated {

TEST(EmulatedHeaders, AreThoseOfTheToolkit) {
  const auto own = own_facts(), toolkit = toolkit_facts();
  ASSERT_GT(own.size(), 100u);
  for (const auto& [name, fact] : own) {
    const auto theirs = toolkit.find(name);
    ASSERT_NE(theirs, toolkit.end()) << name;
    EXPECT_EQ(fact, theirs->second) << name;
  }
}

TEST(EmulatedHeaders, AreThoseOfCufftAndCusolver) {
  const auto own = own_library_facts();
  ASSERT_GT(own.size(), 50u);
  EXPECT_EQ(own, toolkit_library_facts());
}

TEST(EmulatedHeaders, AreThoseOfNccl) {
  const auto own = own_nccl_facts(), toolkit = toolkit_nccl_facts();
  if (toolkit.empty()) GTEST_SKIP() << "the toolkit has no NCCL";
  ASSERT_GT(own.size(), 50u);
  EXPECT_EQ(own, toolkit);
}

TEST(EmulatedHeaders, AreThoseOfCudnn) {
  const auto own = own_cudnn_facts(), toolkit = toolkit_cudnn_facts();
  if (toolkit.empty()) GTEST_SKIP() << "the toolkit has no cuDNN";
  ASSERT_GT(own.size(), 100u);
  EXPECT_EQ(own, toolkit);
}

}  // namespace aorta::emulated

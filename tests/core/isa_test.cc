// Which instruction set a program takes, from what the CPU has, what was built and what AORTA_ISA
// says.
#include <aorta/core/cpu/isa.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <string>

namespace aorta::cpu {
namespace {

constexpr Isa kV2 = Isa::v2, kV3 = Isa::v3, kV4 = Isa::v4;

TEST(Isa, IsTheBestOfTheCpuOrALowerOneThatIsNamed) {
  EXPECT_EQ(choose_isa(kV4, nullptr, nullptr), kV4);
  EXPECT_EQ(choose_isa(kV3, nullptr, ""), kV3);
  EXPECT_EQ(choose_isa(kV4, nullptr, "v2"), kV2);
  EXPECT_EQ(error_of([] { choose_isa(kV3, nullptr, "v4"); }),
            "AORTA_ISA: the CPU must have the instruction set, got v4 on a CPU with v3");
  EXPECT_EQ(error_of([] { choose_isa(kV3, nullptr, "v33"); }), "AORTA_ISA: v2, v3 or v4, got v33");
}

TEST(Isa, ABuildForOneMachineHasOne) {
  EXPECT_EQ(choose_isa(kV4, &kV3, nullptr), kV3);
  EXPECT_EQ(choose_isa(kV4, &kV3, "v3"), kV3);
  EXPECT_EQ(
      error_of([] { choose_isa(kV3, &kV4, nullptr); }),
      "cpu: the CPU must have the one instruction set of this build, got v4 on a CPU with v3");
  for (const char* wish : {"v2", "v3"}) {
    EXPECT_EQ(error_of([&] { choose_isa(kV4, &kV4, wish); }),
              "AORTA_ISA: this build has kernels of one instruction set (--isa=machine), got " +
                  std::string(wish) + " where it has v4");
  }
}

}  // namespace
}  // namespace aorta::cpu

#include <aorta/core/init.h>

#include <gtest/gtest.h>

// Tests of worker processes start as programs do: with a zygote.
int main(int argc, char** argv) {
  aorta::init(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

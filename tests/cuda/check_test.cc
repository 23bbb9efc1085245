#include <aorta/core/check.h>
#include <aorta/core/module_path.h>
#include <aorta/cuda/check.h>

#include <gtest/gtest.h>

using namespace aorta;

namespace {

std::string text_of(cudaError_t error, const char* op) {
  try {
    cuda::check_cuda(error, op);
  } catch (const Error& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST(CudaCheck, NamesTheOpAndTheError) {
  EXPECT_EQ(text_of(cudaErrorIllegalAddress, "add"),
            "add: CUDA must succeed, got cudaErrorIllegalAddress (an illegal memory access was "
            "encountered)");
  EXPECT_EQ(text_of(cudaErrorMemoryAllocation, "matmul"),
            "matmul: CUDA must succeed, got cudaErrorMemoryAllocation (out of memory)");
}

TEST(CudaCheck, SuccessIsSilent) { EXPECT_EQ(text_of(cudaSuccess, "add"), ""); }

TEST(CudaCheck, NamesTheModule) {
  const ModuleScope scope("classifier.0");
  EXPECT_EQ(text_of(cudaErrorInvalidValue, "mul"),
            "classifier.0: mul: CUDA must succeed, got cudaErrorInvalidValue (invalid argument)");
}

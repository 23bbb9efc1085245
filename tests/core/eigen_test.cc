#include <aorta/core/eigen.h>
#include <aorta/tests/core/elements.h>

namespace aorta {
namespace {

using namespace elements;

TEST(Eigen, MapsAnyMatrixAndWritesThrough) {
  const Tensor x = arange(6, {.dtype = f32}).view({2, 3});
  auto matrix = eigen_matrix<float>(x);
  EXPECT_EQ(matrix.rows(), 2);
  EXPECT_EQ(matrix.cols(), 3);
  EXPECT_EQ(matrix(1, 0), 3);
  EXPECT_EQ((eigen_matrix<float>(x.t()) * matrix)(2, 2), 2 * 2 + 5 * 5);
  EXPECT_EQ(eigen_matrix<float>(x.slice(1, 0, 3, 2))(1, 1), 5);
  matrix(0, 2) = 9;
  EXPECT_EQ(x.at<float>({0, 2}), 9);
  EXPECT_EQ(eigen_vector<float>(x.select(1, 2)).sum(), 14);
  EXPECT_EQ(eigen_vector<float>(x[1]).dot(eigen_vector<float>(x[1])), 50);
  expect_error([&] { eigen_matrix<float>(x[0]); },
               "eigen_matrix: the tensor must have 2 dimensions, got [3]");
  expect_error([&] { eigen_vector<float>(x); },
               "eigen_vector: the tensor must have 1 dimension, got [2,3]");
  EXPECT_THROW(eigen_matrix<double>(x), Error);
}

TEST(Eigen, LendsItsMemory) {
  Eigen::MatrixXd columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  const Tensor x = from_eigen(columns);
  EXPECT_EQ(x.dtype(), f64);
  expect_values(x, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(x.strides()), "[1,2]");
  x.at<double>({0, 1}) = 7;
  EXPECT_EQ(columns(0, 1), 7);
  auto block = columns.block(0, 1, 2, 2);
  expect_values(from_eigen(block), {2, 2}, {7, 3, 5, 6});
  Eigen::VectorXi vector(2);
  vector << 5, 6;
  expect_values(from_eigen(vector), {2}, {5, 6});
  Eigen::Matrix<int64_t, 2, 2, Eigen::RowMajor> rows;
  rows << 1, 2, 3, 4;
  expect_values(from_eigen(rows), {2, 2}, {1, 2, 3, 4});
}

TEST(Eigen, GivesItsMemoryAway) {
  Tensor x;
  {
    Eigen::MatrixXf matrix = Eigen::MatrixXf::Identity(2, 2);
    const float* const data = matrix.data();
    x = from_eigen(std::move(matrix));
    EXPECT_EQ(x.data(), data);
  }
  expect_values(x, {2, 2}, {1, 0, 0, 1});
  expect_values(from_eigen(Eigen::MatrixXf(0, 3)), {0, 3}, {});
}

}  // namespace
}  // namespace aorta

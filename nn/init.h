#pragma once

#include <aorta/core/random.h>
#include <aorta/core/tensor.h>

// Initial values, written in place outside the graph. Names, defaults and distributions are
// PyTorch's; `generator` is the default one when null. Each returns its tensor. For a weight (O, I,
// *kernel), fan_in = I x kernel and fan_out = O x kernel.

namespace aorta::nn::init {

/// Uniform in [a, b).
const Tensor& uniform_(const Tensor& tensor, double a = 0, double b = 1,
                       Generator* generator = nullptr);
/// Normal with this mean and standard deviation.
const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1,
                      Generator* generator = nullptr);
/// What trunc_normal_ takes by name: `trunc_normal_(w, {.std = 0.02})`.
struct TruncNormalOptions {
  double mean = 0;
  double std = 1;
  double a = -2;
  double b = 2;
};
/// Normal within [a, b]: values outside are drawn from what is inside.
const Tensor& trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1, double a = -2,
                            double b = 2, Generator* generator = nullptr);
const Tensor& trunc_normal_(const Tensor& tensor, const TruncNormalOptions& options,
                            Generator* generator = nullptr);
/// One value everywhere: any, 1, or 0.
const Tensor& constant_(const Tensor& tensor, double value);
const Tensor& ones_(const Tensor& tensor);
const Tensor& zeros_(const Tensor& tensor);
/// The identity matrix; two dimensions.
const Tensor& eye_(const Tensor& tensor);

/// U(-a, a) with a = gain sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio 2010).
const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1,
                              Generator* generator = nullptr);
/// N(0, s^2) with s = gain sqrt(2 / (fan_in + fan_out)).
const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);

/// Which of the two fans the variance is kept for: the inputs, or the outputs of a layer.
enum class Fan : uint8_t { in, out };
/// What comes behind the layer whose weight is set.
enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };
/// The factor that keeps variances: 1, 1, 5/3, sqrt(2), sqrt(2 / (1 + slope^2)), 3/4.
double calculate_gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

/// The options of kaiming_uniform_ and kaiming_normal_, with PyTorch's names and defaults.
struct KaimingOptions {
  double a = 0;  // the negative slope of leaky_relu
  Fan mode = Fan::in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};
/// U(-b, b) with b = gain sqrt(3 / fan) (He et al. 2015).
const Tensor& kaiming_uniform_(const Tensor& tensor, const KaimingOptions& options = {},
                               Generator* generator = nullptr);
/// N(0, s^2) with s = gain / sqrt(fan).
const Tensor& kaiming_normal_(const Tensor& tensor, const KaimingOptions& options = {},
                              Generator* generator = nullptr);

/// A matrix (rows, the rest) with orthogonal rows, or columns when there are fewer of those, times
/// gain (Saxe et al. 2013).
const Tensor& orthogonal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);

/// The identity as a convolution's weight (O, I, *kernel) of 3 to 5 dimensions: the first min(O /
/// groups, I) outputs of each group are the inputs. Errors: O isn't a multiple of groups.
const Tensor& dirac_(const Tensor& tensor, int64_t groups = 1);
/// N(0, std^2), and 0 at ceil(sparsity x rows) random places of each column; two dimensions
/// (Martens 2010). Errors: sparsity outside of [0, 1].
const Tensor& sparse_(const Tensor& tensor, double sparsity, double std = 0.01,
                      Generator* generator = nullptr);

/// How many inputs an output of a layer has, and how many outputs an input.
struct Fans {
  int64_t in, out;
};
/// Errors: fewer than two dimensions.
Fans calculate_fans(const Tensor& tensor);

}  // namespace aorta::nn::init
